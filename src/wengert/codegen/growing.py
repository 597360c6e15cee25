"""Growing: a kernel while nodes join it, and where a long one ends.

A kernel takes in a limited number of members. Where it ends is chosen: what crosses the border goes
through memory, so it should be little. And where a loop in Python was unrolled, kernels that end at
the same place of the loop are alike, and written once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from wengert.codegen.kernel import Kernel, KernelKind, Program
from wengert.codegen.views import Root
from wengert.core.dims import Shape
from wengert.core.graph import Graph
from wengert.core.lowering import Elementwise, Pick
from wengert.core.op import Op

MEMBERS = 96  # of one kernel at most; registers run out long before
SLACK = 1.2  # what may cross the border, compared with the best place, for the sake of likeness
LIKE = 8  # members by which the beginnings of kernels are compared


@dataclass(slots=True)
class Growing:
    """A kernel that more members may join."""

    kind: KernelKind
    domain: Shape
    members: list[int]
    folded: tuple[int, ...] = ()
    region: int = 0
    bodies: tuple[Program, ...] = ()
    down: list[int] = field(default_factory=list)  # of its members

    @property
    def outer(self) -> Shape:
        """The domain without the folded axes."""
        return tuple(n for axis, n in enumerate(self.domain) if axis not in self.folded)

    def grown(self, reads: tuple[Root, ...], stores: tuple[Root, ...]) -> Kernel:
        """The kernel, when all that it reads and stores is known."""
        return Kernel(
            self.kind,
            self.domain,
            tuple(self.members),
            self.folded,
            tuple(self.down),
            self.region,
            self.bodies,
            stores,
            reads,
        )


class Borders:
    """Where the kernels of a graph end."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._readers: list[list[int]] | None = None

    def end(self, members: Sequence[int], following: int) -> int:
        """After how many of its members a kernel ends that another node would follow: where little
        crosses per member; among places like that, where members follow like those at its
        beginning, so that the next kernel begins as this one did; among these, as late as it can.
        """
        crossing = self._crossing(members)
        places = range(len(members) // 2, len(members) + 1)
        most = SLACK * min(crossing[place] / place for place in places)
        nodes = self.graph.nodes
        ahead = (node.op for node in nodes[following : following + 2 * LIKE])
        ops = [*(nodes[number].op for number in members), *filter(_in_loops, ahead)]
        good = [place for place in places if crossing[place] / place <= most]
        return max(good, key=lambda place: (_alike_from(ops, place), place))

    def readers(self, number: int) -> list[int]:
        """The nodes that read one, in order."""
        return self._all_readers()[number]

    def _crossing(self, members: Sequence[int]) -> list[int]:
        """For each place between members, how many of those before it are read soon behind it."""
        readers, soon = self._all_readers(), members[-1] + MEMBERS
        changes = [0] * (len(members) + 2)
        for place, number in enumerate(members):
            near = [reader for reader in readers[number] if reader <= soon]
            if near:  # it crosses all places from behind itself up to its last reader
                changes[place + 1] += 1
                changes[bisect_right(members, near[-1]) + (near[-1] > members[-1])] -= 1
        counts, count = [], 0
        for change in changes[:-1]:
            count += change
            counts.append(count)
        return counts

    def _all_readers(self) -> list[list[int]]:
        if self._readers is None:
            self._readers = [[] for _ in self.graph.nodes]
            for number, node in enumerate(self.graph.nodes):
                for i in node.operands:
                    if i is not None:
                        self._readers[i].append(number)
        return self._readers


def _in_loops(op: Op) -> bool:
    return isinstance(op.lower, Elementwise | Pick)


def _alike_from(ops: Sequence[object], place: int) -> int:
    """How many ops from a place on are those at the beginning."""
    count = 0
    while count < LIKE and place + count < len(ops) and ops[place + count] is ops[count]:
        count += 1
    return count
