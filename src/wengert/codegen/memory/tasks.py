"""Tasks and the buffers they touch: what a schedule and a memory plan know of a program."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

Item = TypeVar("Item")
ALIGNMENT = 64  # bytes of a cache line; every buffer takes whole ones


@dataclass(frozen=True, slots=True)
class Task:
    """One kernel, loop or branch of a program, as far as memory is concerned."""

    reads: tuple[int, ...]  # buffers
    writes: tuple[int, ...]  # buffers, each written by one task; one written by none is an input
    after: tuple[int, ...] = ()  # tasks that must come before for other reasons
    scratch: int = 0  # bytes needed while it runs and no longer


@dataclass(slots=True)
class Flow:
    """Tasks and arena buffers as a graph in which time goes forward or, reversed, backward."""

    before: list[list[int]]  # of each task, those that come before it
    after: list[list[int]]  # and those that come after it
    touched: list[list[int]]  # the arena buffers each task reads or writes
    users: dict[int, list[int]]  # the tasks that touch a buffer; its writer is the first
    size: dict[int, int]
    scratch: list[int]
    kept: frozenset[int]
    over: list[list[tuple[int, int]]]  # (a, b) of each task: it may write b over a, if read last
    forward: bool = True

    def without(self, buffers: Container[int]) -> Flow:
        """The same with these buffers somewhere else."""

        def left(touched: list[int]) -> list[int]:
            return [buffer for buffer in touched if buffer not in buffers]

        return replace(
            self,
            touched=list(map(left, self.touched)),
            users={buffer: users for buffer, users in self.users.items() if buffer not in buffers},
            size={buffer: size for buffer, size in self.size.items() if buffer not in buffers},
            over=[
                [(a, b) for a, b in pairs if a not in buffers and b not in buffers]
                for pairs in self.over
            ],
        )

    def reversed(self) -> Flow:
        """The same program seen from its end."""
        return Flow(
            self.after,
            self.before,
            self.touched,
            self.users,
            self.size,
            self.scratch,
            self.kept,
            self.over,
            not self.forward,
        )


def flow_of(
    tasks: Sequence[Task], sizes: Mapping[int, int], kept: Collection[int], alias: Mapping[int, int]
) -> Flow:
    """The dependencies between tasks and their use of the arena; refuses what is no program."""
    writer = _writers(tasks, sizes)
    before: list[list[int]] = []
    after: list[list[int]] = [[] for _ in tasks]
    touched: list[list[int]] = []
    users: dict[int, list[int]] = {buffer: [writer[buffer]] for buffer in sizes}
    for number, task in enumerate(tasks):
        reads = dict.fromkeys(task.reads)
        needs = {writer[buffer]: None for buffer in reads if buffer in writer}
        needs.update(dict.fromkeys(task.after))
        before.append(list(needs))
        for earlier in needs:
            after[earlier].append(number)
        mine = [buffer for buffer in reads if buffer in sizes]
        for buffer in mine:
            users[buffer].append(number)
        touched.append(mine + [buffer for buffer in task.writes if buffer in sizes])
    size = {buffer: whole_lines(sizes[buffer]) for buffer in sizes}
    scratch = [whole_lines(task.scratch) for task in tasks]
    over = [_overwritable(task, sizes, kept, alias) for task in tasks]
    return Flow(before, after, touched, users, size, scratch, frozenset(kept), over)


def _writers(tasks: Sequence[Task], sizes: Mapping[int, int]) -> dict[int, int]:
    """The task that writes each buffer."""
    writer: dict[int, int] = {}
    for number, task in enumerate(tasks):
        for buffer in task.writes:
            if buffer in writer:
                raise ValueError(
                    f"order: tasks {writer[buffer]} and {number} write buffer {buffer}; "
                    "a buffer is written by one task. Give the second result its own buffer."
                )
            writer[buffer] = number
    for buffer in sizes:
        if buffer not in writer:
            raise ValueError(
                f"order: buffer {buffer} has a size and no task writes it; the arena holds what "
                "tasks write. Leave inputs out of sizes."
            )
    return writer


def _overwritable(
    task: Task, sizes: Mapping[int, int], kept: Collection[int], alias: Mapping[int, int]
) -> list[tuple[int, int]]:
    """Pairs (a, b) such that the task may write b over a, if it is the last reader of a."""
    pairs: dict[int, int] = {}
    for b in task.writes:
        a = alias.get(b)
        if a is None or a in pairs or a in kept or a not in task.reads:
            continue
        if a in sizes and b in sizes and sizes[a] == sizes[b]:
            pairs[a] = b
    return list(pairs.items())


def lifetimes(flow: Flow, order: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Of each buffer the places in the order where it is first and last alive, both inclusive."""
    place = [0] * len(order)
    for position, task in enumerate(order):
        place[task] = position
    last = len(order) - 1
    lives = {}
    for buffer, users in flow.users.items():
        begin = place[users[0]]
        end = last if buffer in flow.kept else max([place[task] for task in users])
        lives[buffer] = (begin, end)
    return lives


class Living(Generic[Item]):
    """Things that live from one moment to another, and can be looked up by time."""

    STRIDE = 64  # moments that share a list

    def __init__(self) -> None:
        self._lists: dict[int, list[Item]] = {}

    def add(self, item: Item, begin: int, end: int) -> None:
        for stretch in range(begin // self.STRIDE, end // self.STRIDE + 1):
            self._lists.setdefault(stretch, []).append(item)

    def near(self, begin: int, end: int) -> set[Item]:
        """All that live at one of these moments, and some that live shortly before or after."""
        stretches = range(begin // self.STRIDE, end // self.STRIDE + 1)
        return {item for stretch in stretches for item in self._lists.get(stretch, ())}


def live_bytes(flow: Flow, order: Sequence[int], overwrite: bool = True) -> list[int]:
    """The bytes alive while each task of a valid order runs, with as many overwrites as can be."""
    change = [0] * (len(order) + 1)
    lives = lifetimes(flow, order)
    for buffer, (begin, end) in lives.items():
        size = flow.size[buffer]
        change[begin] += size
        change[end + 1] -= size
    live, alive = 0, []
    for position, task in enumerate(order):
        live += change[position]
        now = live + flow.scratch[task]
        if overwrite:
            for a, _ in flow.over[task]:
                if lives[a][1] == position:
                    now -= flow.size[a]
        alive.append(now)
    return alive


def peak_of(flow: Flow, order: Sequence[int]) -> int:
    """The peak of a valid order of a forward flow."""
    return max(live_bytes(flow, order), default=0)


def whole_lines(size: int) -> int:
    """Bytes rounded up to whole cache lines."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def check_order(flow: Flow, order: Sequence[int]) -> None:
    count = len(flow.before)
    if sorted(order) != list(range(count)):
        raise ValueError(
            f"peak: given the order {list(order)!r} of {count} tasks; each task comes once. "
            "Take an order that `order` returned."
        )
    done = [False] * count
    for task in order:
        for earlier in flow.before[task]:
            if not done[earlier]:
                raise ValueError(
                    f"peak: task {task} comes before task {earlier}, on which it depends; "
                    "an order respects all dependencies. Take one that `order` returned."
                )
        done[task] = True
