"""Task order: the order of the kernels of a program, chosen so that few bytes are alive at once.

A program is a list of tasks, each of which reads and writes buffers. A buffer is alive from the
task that writes it to its last reader, or to the end if it is kept; the most bytes alive at any
moment are the peak of an order, and no arena can be smaller.

>>> large, small = [Task((), (0,)), Task((), (1,))], [Task((0,), (2,)), Task((1,), (3,))]
>>> halves = [*large, *small, Task((2, 3), (4,))]
>>> sizes = {0: 6400, 1: 6400, 2: 64, 3: 64, 4: 64}
>>> peak(halves, sizes, {4}, range(5))
12864
>>> order(halves, sizes, {4})
[0, 2, 1, 3, 4]
>>> peak(halves, sizes, {4}, [0, 2, 1, 3, 4])
6528

A search finds the best order, mostly at once: training programs leave few choices that matter.
The problem is NP-hard, though, so where the search takes too long several orders are made and the
best is taken: the given one, greedy ones from the first task on and from the last one back, and one
that goes depth first from the ends (as Sethi and Ullman, 1970, numbered the registers of an
expression), each polished by moves that do no harm.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from wengert.codegen.memory.search import by_number, orders, search
from wengert.codegen.memory.tasks import Task, check_order, flow_of, peak_of

__all__ = ["Task", "order", "peak"]

SEARCHED = 10  # programs of up to this many tasks are searched to the end: at most 2**10 states
EFFORT = 3000  # steps weighed in the search through larger ones, and 4 more for each task


def order(
    tasks: Sequence[Task],
    sizes: Mapping[int, int],
    kept: Collection[int],
    alias: Mapping[int, int] | None = None,
) -> list[int]:
    """The task numbers in an order that respects all dependencies and has a small peak.

    `sizes` has the bytes of the buffers in the arena, and only of those. `kept` are alive to the
    end. `alias` is that of `packing.place`: which buffer may be written over which other.
    """
    flow = flow_of(tasks, sizes, kept, alias or {})
    given = by_number(flow)
    count = len(tasks)
    effort = EFFORT + (2 * count**2 << count if count <= SEARCHED else 4 * count)
    best = search(flow, given, effort)
    if best is None:  # the search ran out of time
        best = min([given, *orders(flow, given)], key=lambda each: peak_of(flow, each))
    return best


def peak(
    tasks: Sequence[Task],
    sizes: Mapping[int, int],
    kept: Collection[int],
    order: Sequence[int],
    alias: Mapping[int, int] | None = None,
) -> int:
    """The most bytes alive at once in this order: what its arena needs at the very least.

    Bytes are counted in whole cache lines, as they are placed, and with scratch. With `alias`, a
    buffer counts once with the one it may be written over.
    """
    flow = flow_of(tasks, sizes, kept, alias or {})
    check_order(flow, order)
    return peak_of(flow, order)
