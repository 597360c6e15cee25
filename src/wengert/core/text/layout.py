"""Where the boxes and lines of a drawing go: layers from top to bottom, few crossings, short lines.

The method is Sugiyama's: give every box a layer below all it reads, let long lines pass each layer
between through a bend of their own, order each layer by the mean place of its neighbours, then move
boxes as close to their neighbours as the order allows.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

Edge: TypeAlias = tuple[int, int]

GAP = 22.0  # between boxes of one layer
BEND_GAP = 9.0  # on both sides of a line that passes
SWEEPS = 12
CENTRE = 0.05  # pull of the middle of the drawing; without it deep graphs drift aside


@dataclass(frozen=True, slots=True)
class Drawing:
    """The layer and middle of every box, and the bends (x, layer) of every edge, from the top."""

    layers: list[int]
    middles: list[float]
    bends: list[list[tuple[float, int]]]
    width: float


def layers(count: int, edges: Sequence[Edge]) -> list[int]:
    """The layer of each box: below all it reads; one that reads nothing is just above its readers.

    >>> layers(4, [(0, 1), (1, 2), (3, 2)])
    [0, 1, 2, 1]
    """
    before, after = neighbours(count, edges)
    missing = [len(each) for each in before]
    ready = [box for box in range(count) if not missing[box]]
    depths = [0] * count
    order: list[int] = []
    while ready:
        box = ready.pop()
        order.append(box)
        for reader in after[box]:
            depths[reader] = max(depths[reader], depths[box] + 1)
            missing[reader] -= 1
            if not missing[reader]:
                ready.append(reader)
    tied = _ties(order, before, after)
    for box in reversed(order):  # down to its readers, where that makes lines no longer
        if after[box] and len(set(after[box])) >= tied[box]:
            depths[box] = min(depths[reader] for reader in after[box]) - 1
    return depths


def _ties(order: list[int], before: list[list[int]], after: list[list[int]]) -> list[int]:
    """How many boxes hold each box up: those it reads, but for such as can follow it down."""
    tied = [0] * len(order)
    for box in order:
        follow = {n for n in before[box] if not tied[n] and set(after[n]) == {box}}
        tied[box] = len(set(before[box]) - follow)
    return tied


def neighbours(count: int, edges: Sequence[Edge]) -> tuple[list[list[int]], list[list[int]]]:
    """The boxes each box reads, and those that read it."""
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for start, end in edges:
        before[end].append(start)
        after[start].append(end)
    return before, after


def place(widths: Sequence[float], edges: Sequence[Edge]) -> Drawing:
    """Place boxes of these widths; edges enter a box from left to right, in their order here."""
    depths = layers(len(widths), edges)
    drawing = _Drawing(widths, depths)
    routes = drawing.route(edges)
    drawing.order()
    middles, all_widths = drawing.middles(), drawing.widths
    left = min((m - w / 2 for m, w in zip(middles, all_widths, strict=True)), default=0.0)
    middles = [m - left for m in middles]
    width = max((m + w / 2 for m, w in zip(middles, all_widths, strict=True)), default=0.0)
    bends = [[(middles[b], drawing.layers[b]) for b in route] for route in routes]
    return Drawing(depths, middles[: len(widths)], bends, width)


class _Drawing:
    """Boxes and, after them, the bends of long lines, in rows."""

    def __init__(self, widths: Sequence[float], depths: Sequence[int]) -> None:
        self.boxes = len(widths)
        self.widths = list(widths)
        self.layers = list(depths)
        self.rows: list[list[int]] = []
        self.above: list[list[int]] = []
        self.below: list[list[int]] = []
        self.port: dict[Edge, float] = {}  # where a step enters its end: 0 is the left, 1 the right

    def route(self, edges: Sequence[Edge]) -> list[list[int]]:
        """The bends of each edge; lines from the same box share theirs."""
        before, _ = neighbours(self.boxes, edges)
        shared: dict[Edge, int] = {}  # (start, layer) -> bend
        routes: list[list[int]] = []
        entered = [0] * self.boxes
        for start, end in edges:
            route: list[int] = []
            for layer in range(self.layers[start] + 1, self.layers[end]):
                bend = shared.setdefault((start, layer), len(self.layers))
                if bend == len(self.layers):
                    self.layers.append(layer)
                    self.widths.append(0.0)
                route.append(bend)
            for step in pairwise([start, *route, end]):
                self.port.setdefault(step, 0.5)
            entered[end] += 1
            self.port[[start, *route][-1], end] = entered[end] / (len(before[end]) + 1)
            routes.append(route)
        self.above, self.below = neighbours(len(self.layers), list(self.port))
        self.rows = [[] for _ in range(max(self.layers, default=-1) + 1)]
        for box, layer in enumerate(self.layers):
            self.rows[layer].append(box)
        return routes

    def order(self) -> None:
        """Sort rows by the mean place of their neighbours, down and up in turn; keep the best."""
        best, fewest = [list(row) for row in self.rows], self.crossings()
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            last = len(self.rows) - 1
            for index in range(1, last + 1) if down else range(last - 1, -1, -1):
                self.sort(index, down)
            count = self.crossings()
            if count < fewest:
                best, fewest = [list(row) for row in self.rows], count
        self.rows = best
        while self.switch():
            pass

    def switch(self) -> bool:
        """Exchange boxes side by side where that saves crossings; whether it did."""
        changed = False
        ranks = {box: i for row in self.rows for i, box in enumerate(row)}
        for row in self.rows:
            for i in range(len(row) - 1):
                left, right = row[i], row[i + 1]
                if self.crossed(left, right, ranks) > self.crossed(right, left, ranks):
                    row[i], row[i + 1] = right, left
                    ranks[left], ranks[right] = i + 1, i
                    changed = True
        return changed

    def crossed(self, left: int, right: int, ranks: dict[int, int]) -> int:
        """How often the lines of two boxes cross if they stand in this order."""
        count = sum(ranks[a] > ranks[b] for a in self.above[left] for b in self.above[right])
        for a in self.below[left]:
            end = ranks[a] + self.port[left, a]
            count += sum(end > ranks[b] + self.port[right, b] for b in self.below[right])
        return count

    def sort(self, index: int, down: bool) -> None:
        row, near = self.rows[index], self.above if down else self.below
        spot = {box: i for i, box in enumerate(self.rows[index - 1 if down else index + 1])}
        means: dict[int, float] = {}
        for i, box in enumerate(row):
            if down:
                places = [spot[n] + 0.5 for n in near[box]]
            else:
                places = [spot[n] + self.port[box, n] for n in near[box]]
            means[box] = sum(places) / len(places) if places else i + 0.5
        row.sort(key=means.__getitem__)

    def crossings(self) -> int:
        total = 0
        for row, following in pairwise(self.rows):
            spot = {box: i for i, box in enumerate(following)}
            seen: list[float] = []
            for box in row:
                ends = sorted(spot[n] + self.port[box, n] for n in self.below[box])
                total += sum(len(seen) - bisect_right(seen, end) for end in ends)
                for end in ends:
                    insort(seen, end)
        return total

    def middles(self) -> list[float]:
        """Move each box to the mean of its neighbours, as far as the next one in its row allows."""
        middles = [0.0] * len(self.widths)
        for row in self.rows:
            edge = -sum(self.widths[box] + GAP for box in row) / 2
            for box in row:
                middles[box] = edge + self.widths[box] / 2
                edge += self.widths[box] + GAP
        for sweep in range(2 * SWEEPS):
            both, down = sweep >= SWEEPS, sweep % 2 == 0
            centre = CENTRE if 2 * sweep < 3 * SWEEPS else CENTRE / 100  # at 0; straight at last
            for row in self.rows if down else reversed(self.rows):
                wanted, weights = [], []
                for box in row:
                    near = [(n, self.pull(n, box)) for n in self.above[box] if both or down]
                    near += [(n, self.pull(box, n)) for n in self.below[box] if both or not down]
                    weight = sum(w for _, w in near) + centre
                    wanted.append(sum(middles[n] * w for n, w in near) / weight)
                    weights.append(weight)
                distances = [self.distance(a, b) for a, b in pairwise(row)]
                for box, middle in zip(row, spaced(wanted, distances, weights), strict=True):
                    middles[box] = middle
        return middles

    def pull(self, start: int, end: int) -> float:
        """How much a step should be vertical: most inside a long line, least below a source."""
        bends = (start >= self.boxes) + (end >= self.boxes)
        return 8.0 if bends == 2 else 2.0 if bends else 1.0 if self.above[start] else 0.1

    def distance(self, a: int, b: int) -> float:
        """Between the middles of two boxes side by side."""
        gap = GAP if max(a, b) < self.boxes else 2 * BEND_GAP
        return (self.widths[a] + self.widths[b]) / 2 + gap


def spaced(
    wanted: Sequence[float], distances: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """The places nearest to those wanted, in least squares, that keep the distances between them.

    >>> spaced([0.0, 0.0, 10.0], [4.0, 4.0], [1.0, 1.0, 1.0])
    [-2.0, 2.0, 10.0]
    """
    offsets = [0.0]
    for distance in distances:
        offsets.append(offsets[-1] + distance)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, count: pooled where they collide
    for want, offset, weight in zip(wanted, offsets, weights, strict=False):
        mean, total, count = want - offset, weight, 1
        while blocks and blocks[-1][0] > mean:
            other, more, number = blocks.pop()
            mean = (mean * total + other * more) / (total + more)
            total, count = total + more, count + number
        blocks.append((mean, total, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]
