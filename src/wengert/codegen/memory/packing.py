"""Packing: where each buffer lies in the arena, the one block of memory a program works in.

Two buffers that are alive at the same time lie apart; others may share their bytes. An elementwise
task may also write its result over an operand that nobody reads later.

>>> tasks = [Task((), (0,)), Task((0,), (1,)), Task((1,), (2,)), Task((2,), (3,))]
>>> sizes = dict.fromkeys(range(4), 640)
>>> place(tasks, sizes, {3}, range(4))
Packed(offsets={0: 0, 1: 640, 2: 0, 3: 640}, size=1280, scratch={})
>>> place(tasks, sizes, {3}, range(4), alias={1: 0, 2: 1, 3: 2})
Packed(offsets={0: 0, 1: 0, 2: 0, 3: 0}, size=640, scratch={})

A buffer is a rectangle: its lifetime wide, its bytes high, and free to move up and down only. To
pack rectangles best is NP-hard. Here they are put down one by one, each as low as it can lie, and
the result depends on which come first. Several rankings are tried, then small changes to the best
of them, until the arena is (nearly) as small as the peak of the order. No arena can be smaller.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from wengert.codegen.memory.shelf import Shelf
from wengert.codegen.memory.tasks import (
    Flow,
    Task,
    check_order,
    flow_of,
    lifetimes,
    live_bytes,
    peak_of,
)

EFFORT = 400_000  # pairs of rectangles compared in search of a better packing
CLOSE = 1  # percent above the peak at which the search ends
IMPROVED = 4  # packings to improve: from several starts one gets further than from the best one


@dataclass(frozen=True)
class Packed:
    """Places in the arena, all aligned to cache lines; `size` is that of the arena."""

    offsets: dict[int, int]  # of each buffer
    size: int
    scratch: dict[int, int]  # of the scratch of each task that needs some


@dataclass(slots=True, eq=False)
class _Block:
    """Bytes that one buffer, several written one over the other, or a task's scratch take."""

    begin: int  # the first and the last moment, both inclusive
    end: int
    size: int
    buffers: list[int]
    task: int = -1  # whose scratch it is


@dataclass(frozen=True, slots=True)
class _Packing:
    """Blocks in the order in which they were put down, with their offsets."""

    blocks: list[_Block]
    offsets: list[int]
    height: int


def place(
    tasks: Sequence[Task],
    sizes: Mapping[int, int],
    kept: Collection[int],
    order: Sequence[int],
    alias: Mapping[int, int] | None = None,
) -> Packed:
    """The offsets of the arena's buffers if the tasks run in this order.

    `alias[b] = a` says that the task that writes b reads a element by element and may write b over
    it. That is done if a has the size of b, is not kept, and has no later reader.
    """
    flow = flow_of(tasks, sizes, kept, alias or {})
    check_order(flow, order)
    lowest = peak_of(flow, order)
    ranked = (rank for blocks in _choices(flow, order, lowest) for rank in _rankings(blocks))
    packing = _best(ranked, lowest)
    offsets = dict.fromkeys(sizes, 0)  # an empty buffer is in no block and lies anywhere
    scratch = {}
    for block, offset in zip(packing.blocks, packing.offsets, strict=True):
        offsets.update(dict.fromkeys(block.buffers, offset))
        if not block.buffers:
            scratch[block.task] = offset
    return Packed(offsets, packing.height, scratch)


def _choices(flow: Flow, order: Sequence[int], lowest: int) -> Iterator[list[_Block]]:
    """The rectangles to pack, with all legal overwrites, then only with those that save bytes.

    An overwrite ties two rectangles together, and free ones are easier to pack. It saves bytes
    where the arena would have to grow without it.
    """
    lives = lifetimes(flow, order)
    legal, needed = {}, {}
    alone = live_bytes(flow, order, overwrite=False)
    for position, task in enumerate(order):
        for a, b in flow.over[task]:
            if lives[a][1] == position:
                legal[b] = a
                if alone[position] > lowest:
                    needed[b] = a
    yield _blocks(flow, order, lives, legal)
    if needed != legal:
        yield _blocks(flow, order, lives, needed)


def _blocks(
    flow: Flow, order: Sequence[int], lives: dict[int, tuple[int, int]], over: dict[int, int]
) -> list[_Block]:
    """The rectangles of an order; `over` says which buffers are written over which."""
    blocks: list[_Block] = []
    block_of: dict[int, _Block] = {}
    for buffer in sorted(lives, key=lambda each: lives[each]):
        begin, end = lives[buffer]
        if buffer in over:
            block = block_of[over[buffer]]
            block.end = end
            block.buffers.append(buffer)
        else:
            block = _Block(begin, end, flow.size[buffer], [buffer])
            blocks.append(block)
        block_of[buffer] = block
    for position, task in enumerate(order):
        blocks.append(_Block(position, position, flow.scratch[task], [], task))
    return [block for block in blocks if block.size]


def _rankings(blocks: list[_Block]) -> Iterator[list[_Block]]:
    """The blocks in the orders in which to put them down, the most promising first."""
    live = _live(blocks)
    crowd = {id(block): max(live[block.begin : block.end + 1]) for block in blocks}
    life = {id(block): block.end - block.begin + 1 for block in blocks}
    yield sorted(blocks, key=lambda x: (-x.size, -life[id(x)], x.begin))
    yield sorted(blocks, key=lambda x: (-crowd[id(x)], -x.size, -life[id(x)], x.begin))
    yield sorted(blocks, key=lambda x: (-x.size * life[id(x)], x.begin))
    yield sorted(blocks, key=lambda x: (x.begin, -life[id(x)], -x.size))
    yield sorted(blocks, key=lambda x: (-life[id(x)], -x.size, x.begin))


def _live(blocks: list[_Block]) -> list[int]:
    """The bytes alive at each moment."""
    change = [0] * (2 + max((block.end for block in blocks), default=0))
    for block in blocks:
        change[block.begin] += block.size
        change[block.end + 1] -= block.size
    return list(accumulate(change))


def _best(ranked: Iterable[list[_Block]], lowest: int) -> _Packing:
    """The lowest packing there is time to find."""
    packings: list[_Packing] = []
    effort = 0
    for blocks in ranked:
        packings.append(_put_down(blocks))
        effort += len(blocks) ** 2
        if packings[-1].height == lowest or effort > EFFORT:
            break
    packings.sort(key=lambda each: each.height)
    for start in packings[:IMPROVED]:
        if _close(packings[0], lowest):
            break
        packings[0] = min(packings[0], _improved(start, lowest), key=lambda each: each.height)
    return packings[0]


def _close(packing: _Packing, lowest: int) -> bool:
    return packing.height * 100 <= lowest * (100 + CLOSE)


def _put_down(blocks: list[_Block]) -> _Packing:
    """Gives each block in turn the lowest place that is free for its lifetime."""
    height = 0
    offsets = []
    shelf = Shelf(1 + max((block.end for block in blocks), default=0))
    for block in blocks:
        bottom = shelf.lowest(block.size, block.begin, block.end)
        top = bottom + block.size
        if top > height:
            height = top
        offsets.append(bottom)
        shelf.add(bottom, top, block.begin, block.end)
    return _Packing(blocks, offsets, height)


def _improved(packing: _Packing, lowest: int) -> _Packing:
    """A packing as low or lower, by random moves; they are the same ones each time."""
    random = Random(0)
    for turn in range(EFFORT // IMPROVED // (1 + len(packing.blocks) ** 2)):
        if _close(packing, lowest):
            break
        moved = _put_down(_moved(packing, random, only_tops=turn % 2 == 0))
        if moved.height <= packing.height:
            packing = moved
    return packing


def _moved(packing: _Packing, random: Random, only_tops: bool) -> list[_Block]:
    """The blocks with one from the top put down earlier, or one alive with it anywhere."""
    blocks = packing.blocks
    ends = zip(blocks, packing.offsets, strict=True)
    tops = [i for i, (x, offset) in enumerate(ends) if offset + x.size == packing.height]
    moved = latest = random.choice(tops)
    if not only_tops:
        top, latest = blocks[moved], len(blocks) - 1
        beside = [i for i, x in enumerate(blocks) if x.begin <= top.end and top.begin <= x.end]
        moved = random.choice(beside)
    order = blocks[:moved] + blocks[moved + 1 :]
    order.insert(random.randint(0, latest), blocks[moved])
    return order
