"""Guests: the memory of an output lies idle until it is written. Arrays that nobody needs any more
by then can live there, which makes the arena smaller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wengert.codegen.kernel import Guest
from wengert.codegen.memory.tasks import Flow, Living, Task, lifetimes, whole_lines


def hosted(
    tasks: Sequence[Task],
    flow: Flow,
    sizes: Mapping[int, int],
    order: Sequence[int],
    outputs: Mapping[int, int],
) -> dict[int, Guest]:
    """Which buffers of these sizes outputs of those sizes take in: the largest first, and of those
    the ones that stay longest, which have the least choice.

    A buffer must be done with before the task begins that writes the output.

    >>> from wengert.codegen.memory.tasks import flow_of
    >>> tasks = [Task((), (0,)), Task((0,), (1,)), Task((1,), (2,))]
    >>> flow = flow_of(tasks, {0: 64, 1: 64}, (), {})
    >>> hosted(tasks, flow, {0: 64, 1: 64}, [0, 1, 2], {2: 256})  # 1 is read while 2 is written
    {0: Guest(host=2, offset=0)}
    """
    lives = lifetimes(flow, order)
    place = {task: moment for moment, task in enumerate(order)}
    opened = {b: place[n] for n, task in enumerate(tasks) for b in task.writes if b in outputs}
    # The output that is written first takes in what it can: the others can wait longer.
    hosts = sorted(opened, key=lambda b: (opened[b], outputs[b]))
    guests: dict[int, Guest] = {}
    taken: dict[int, Living[int]] = {host: Living() for host in hosts}
    for buffer in sorted(lives, key=lambda b: (-sizes[b], -lives[b][1], b)):
        if buffer in flow.kept or not sizes[buffer]:
            continue
        for host in hosts:
            if lives[buffer][1] >= opened[host] or sizes[buffer] > outputs[host]:
                continue
            offset = _room(buffer, taken[host], outputs[host], lives, sizes, guests)
            if offset is not None:
                guests[buffer] = Guest(host, offset)
                taken[host].add(buffer, *lives[buffer])
                break
    return guests


def _room(
    buffer: int,
    others: Living[int],  # in the host already
    room: int,
    lives: Mapping[int, tuple[int, int]],
    sizes: Mapping[int, int],
    guests: Mapping[int, Guest],
) -> int | None:
    """The first place in a host where a buffer meets no other while both are alive, if it has
    one.
    """
    begin, end = lives[buffer]
    size, offset = sizes[buffer], 0
    for other in sorted(others.near(begin, end), key=lambda b: guests[b].offset):
        first, last = lives[other]
        if last < begin or end < first:
            continue
        start = guests[other].offset
        if offset + size <= start:  # all that follow lie higher
            break
        offset = max(offset, start + whole_lines(sizes[other]))
        if offset + size > room:
            return None
    return offset
