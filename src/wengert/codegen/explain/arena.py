"""The arena as a map: which array lies where, and from which kernel to which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from string import ascii_letters, digits

from wengert.codegen.kernel import Arena, Kernel, Layout, Program, byte_size
from wengert.codegen.kernel_text.names import body_prefixes, root_text
from wengert.codegen.memory.plan import in_place, number_of, plan, tasks_of
from wengert.codegen.memory.task_order import peak
from wengert.codegen.memory.tasks import whole_lines
from wengert.codegen.views import Root

HEIGHT, WIDTH = 16, 72  # of the map as text, in letters
MARKS = ascii_letters + digits
OTHER, FREE = "#", "·"


@dataclass(frozen=True)
class Buffer:
    """Bytes in the arena for a time. Moments are places in the order of the kernels; inside a loop
    or branch, the places of its own kernels are parts of its moment.
    """

    name: str
    what: str  # the type of an array, or what scratch memory is for
    slot: int
    offset: int
    size: int
    begin: Fraction
    end: Fraction  # exclusive
    kernels: str  # in words: from which to which
    kept: bool  # to the end, for an output that goes to a donated array
    host: str = ""  # the output it lies in while that is not written yet; else it is in the arena


@dataclass(frozen=True)
class ArenaMap:
    """All of the arena, for one set of sizes."""

    buffers: list[Buffer]  # by offset
    guests: list[Buffer]  # in outputs
    size: int
    workspace: int  # bytes behind it, for contractions
    lowest: int  # the most bytes alive at once: no arena for this order is smaller
    apart: int  # what it would be if nothing shared bytes with other buffers or outputs
    offsets: dict[int, int]  # of each slot
    order: list[str]  # the names of the kernels

    @property
    def kernels(self) -> int:
        return len(self.order)

    def mark(self, number: int) -> str:
        """A letter for a buffer."""
        return MARKS[number] if number < len(MARKS) else OTHER


def arena_map(program: Program, layout: Layout, sizes: Mapping[str, int]) -> ArenaMap:
    """Where everything lies for these sizes."""
    placed = plan(program, layout, sizes)
    buffers = list(_Reader(layout, sizes, placed.offsets).buffers(program, "k", Fraction(0), 1, ""))
    buffers.sort(key=lambda each: (each.host, each.offset, each.begin, -each.size))
    guests = [each for each in buffers if each.host]
    tasks, bytes_of = tasks_of(program, layout, sizes)
    kept = layout.kept & bytes_of.keys()
    lowest = peak(tasks, bytes_of, kept, program.order, in_place(program, layout))
    apart = sum(map(whole_lines, [*bytes_of.values(), *(each.size for each in guests)]))
    return ArenaMap(
        [each for each in buffers if not each.host],
        guests,
        placed.arena,
        placed.workspace,
        lowest,
        apart + sum(whole_lines(task.scratch) for task in tasks),
        placed.offsets,
        [f"k{k}" for k in program.order],
    )


class _Reader:
    """Reads buffers and their lifetimes off a program."""

    def __init__(self, layout: Layout, sizes: Mapping[str, int], offsets: dict[int, int]) -> None:
        self.layout, self.sizes, self.offsets = layout, sizes, offsets

    def buffers(
        self, program: Program, prefix: str, start: Fraction, length: Fraction | int, inside: str
    ) -> Iterator[Buffer]:
        """Those of a program whose kernels begin at `start` and take `length` each."""
        when = {k: position for position, k in enumerate(program.order)}
        users: dict[Root, list[int]] = {}
        for k in program.order:
            for root in (*program.kernels[k].stores, *program.kernels[k].reads):
                users.setdefault(root, []).append(k)
        for k in program.order:
            kernel, begin = program.kernels[k], start + when[k] * length
            for root in kernel.stores:
                slot, last = program.slots[root], users[root][-1]
                kept = slot in self.layout.kept
                last = program.order[-1] if kept else last
                end = start + (when[last] + 1) * length
                span = f"{prefix}{k} to the end" if kept else _span(prefix, k, last)
                name, what = root_text(program, root), repr(program.root_type(root))
                size = number_of(byte_size(program.root_type(root)), self.sizes)
                yield from self.one(inside + name, what, slot, size, begin, end, span)
            yield from self.scratch(kernel, f"{prefix}{k}", begin, Fraction(length))

    def scratch(
        self, kernel: Kernel, name: str, begin: Fraction, length: Fraction
    ) -> Iterator[Buffer]:
        end, what = begin + length, "carry" if kernel.bodies else "scratch"
        for slot, wanted in kernel.scratch:
            size = number_of(wanted, self.sizes)
            yield from self.one(name, what, slot, size, begin, end, name)
        for prefix, body in zip(body_prefixes(name), kernel.bodies, strict=False):
            part = length / max(len(body.kernels), 1)
            yield from self.buffers(body, prefix, begin, part, f"{name} ")

    def one(
        self,
        name: str,
        what: str,
        slot: int,
        size: int,
        begin: Fraction,
        end: Fraction,
        kernels: str,
    ) -> Iterator[Buffer]:
        guest = self.layout.hosted.get(slot)
        if size and guest is not None:
            host = output_name(self.layout, guest.host)
            yield Buffer(name, what, slot, guest.offset, size, begin, end, kernels, False, host)
        elif size and isinstance(self.layout.slots[slot - self.layout.first], Arena):
            offset, kept = self.offsets[slot], slot in self.layout.kept
            yield Buffer(name, what, slot, offset, size, begin, end, kernels, kept)


def output_name(layout: Layout, slot: int) -> str:
    return f"output {layout.outputs.index(slot)}"


def _span(prefix: str, first: int, last: int) -> str:
    return f"{prefix}{first}" if first == last else f"{prefix}{first} to {prefix}{last}"


# As text


def arena_text(arena: ArenaMap) -> list[str]:
    """A line for each buffer, and a picture of those in the arena."""
    lines = [arena_summary(arena)]
    buffers = [*arena.buffers, *arena.guests]
    if buffers:
        offsets, sizes, spans = zip(
            *((f"{b.offset:,}", f"{b.size:,}", b.kernels) for b in buffers), strict=True
        )
        at, size, span = (max(map(len, texts)) for texts in (offsets, sizes, spans))
        lines.append("")
        for number, b in enumerate(buffers):
            mark = " " if b.host else arena.mark(number)
            host = f" in {b.host}" if b.host else ""
            lines.append(
                f"  {mark}  at {b.offset:>{at},}  {b.size:>{size},} bytes  "
                f"{b.kernels:<{span}}  {b.name} {b.what}{host}"
            )
    return [*lines, "", *_picture(arena)] if arena.buffers else lines


def arena_summary(arena: ArenaMap) -> str:
    """How good the plan is, in one line."""
    texts = [f"{arena.size:,} bytes" if arena.size else "nothing lies in it"]
    if arena.lowest:
        times = arena.size / arena.lowest
        texts.append(f"{arena.lowest:,} are alive at once ({times:.2f} ×)")
    if arena.apart:
        texts.append(f"{arena.apart:,} if nothing were used twice")
    if arena.workspace:
        texts.append(f"{arena.workspace:,} more for contractions to work in")
    return "; ".join(texts)


def _picture(arena: ArenaMap) -> list[str]:
    """Time from left to right, one column or more a kernel; addresses from below."""
    columns = max(min(WIDTH, arena.kernels * (WIDTH // arena.kernels)), 1)
    height = min(HEIGHT, max(arena.size // 64, 1))
    lines = []
    margin = len(f"{arena.size:,}")
    for row in reversed(range(height)):
        low, high = Fraction(arena.size * row, height), Fraction(arena.size * (row + 1), height)
        cells = "".join(_cell(arena, column, columns, low, high) for column in range(columns))
        lines.append(f"  {round(low):>{margin},} {cells}")
    first, last = "first kernel", "last"
    gap = columns - len(first) - len(last)
    ends = f"{first}{' ' * gap}{last}" if gap > 0 else "kernels"
    return [*lines, f"  {'':>{margin}} {ends}"]


def _cell(arena: ArenaMap, column: int, columns: int, low: Fraction, high: Fraction) -> str:
    """The letter of what fills most of a cell; the newest where it was written over another."""
    moment = Fraction((2 * column + 1) * arena.kernels, 2 * columns)
    best, most = FREE, Fraction(0)
    for number, b in enumerate(arena.buffers):
        if b.begin <= moment < b.end:
            share = min(high, Fraction(b.offset + b.size)) - max(low, Fraction(b.offset))
            if share >= most and share > 0:
                best, most = arena.mark(number), share
    return best
