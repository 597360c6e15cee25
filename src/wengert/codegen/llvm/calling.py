"""Calling: kernels one after the other, in their order. What comes again and again is a loop.

The steps of a loop in Python become kernels of a few forms, in the same order in every step. So the
calls are a loop again, over the rows of a table that holds the numbers of each kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from wengert.codegen.llvm.text.vectors import Code, Index, Module
from wengert.core.dtypes import int64

RUN = 64  # lines of one kind in a function: LLVM takes longer for each line of a long function
LEAST = 4  # turns from which on repeated calls are a loop
TABLE = "numbers"
Row: TypeAlias = tuple[int, ...]


class Callee(NamedTuple):
    """One kernel: the function that computes it, and the numbers that are its own, if that function
    serves others, too.
    """

    kernel: str
    function: str
    row: Row | None = None


class RowTable:
    """The rows of all calls of a module, in the order in which these are written."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.numbers: list[int] = []

    def add(self, row: Sequence[int]) -> int:
        """Where this row begins."""
        self.numbers += row
        return len(self.numbers) - len(row)

    def define(self) -> None:
        if self.numbers:
            values = ", ".join(f"i64 {number}" for number in self.numbers)
            kind = f"[{len(self.numbers)} x i64]"
            self.module.declared[TABLE] = f"@{TABLE} = internal constant {kind} [{values}], align 8"


class Caller:
    """Writes calls of kernels into functions of a module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.table = RowTable(module)

    def call(self, code: Code, callees: Sequence[Callee]) -> None:
        """Call one after the other; of many, parts are functions of their own."""
        repeats = repetitions([(each.function, each.row is None) for each in callees])
        if sum(each.period for each in repeats) <= RUN:
            for each in repeats:
                self._repeat(code, callees, each)
            return
        for part in _parts(repeats):
            own = Code(self.module, 1)
            for each in part:
                self._repeat(own, callees, each)
            name = f"{callees[part[0].begin].kernel}_and_on"
            own.function(name, "ptr %frame")
            code.do(f"call void @{name}(ptr %frame)")

    def _repeat(self, code: Code, callees: Sequence[Callee], times: Repetition) -> None:
        """Some calls, once or in a loop over their rows."""
        turns = _rows(callees[times.begin : times.end])
        once = callees[times.begin : times.begin + times.period]
        first = self.table.add([number for row in turns for number in row])
        rows = turns[: len(turns) // times.turns]  # of one turn
        if times.turns == 1:
            _write_calls(code, once, _fixed(rows, first))
            return
        width = sum(map(len, rows))

        def turn(i: Index, _: list[str]) -> None:
            begin = code.add(code.mul(i, width), first)
            place = code.let(f"getelementptr i64, ptr @{TABLE}, i64 {begin}") if rows else ""
            _write_calls(code, once, _moving(code, place, rows))

        code.loop(0, times.turns, 1, turn)


def _write_calls(code: Code, callees: Sequence[Callee], rows: Iterator[str]) -> None:
    for each in callees:
        given = "" if each.row is None else f", ptr {next(rows)}"
        code.do(f"call void @{each.function}(ptr %frame{given})")


def _rows(callees: Sequence[Callee]) -> list[Row]:
    return [each.row for each in callees if each.row is not None]


def _fixed(rows: Sequence[Row], begin: int) -> Iterator[str]:
    """Pointers to rows of the table that lie side by side."""
    for row in rows:
        yield f"getelementptr (i64, ptr @{TABLE}, i64 {begin})"
        begin += len(row)


def _moving(code: Code, place: str, rows: Sequence[Row]) -> Iterator[str]:
    """As `_fixed`, from a pointer on that changes in every turn."""
    begin = 0
    for row in rows:
        yield code.address(place, begin, int64)
        begin += len(row)


class Repetition(NamedTuple):
    """As many items as `period` says, from `begin` on, which come as often as `turns` says."""

    begin: int
    period: int
    turns: int

    @property
    def end(self) -> int:
        return self.begin + self.period * self.turns


def repetitions(items: Sequence[object]) -> list[Repetition]:
    """Items in order: those that repeat, and single ones.

    >>> [tuple(each) for each in repetitions("abxyxyxyxyc")]
    [(0, 1, 1), (1, 1, 1), (2, 2, 4), (10, 1, 1)]
    """
    repeats = []
    at = 0
    while at < len(items):
        most = max(
            (Repetition(at, period, _times(items, at, period)) for period in _periods(items, at)),
            key=lambda each: (each.end, -each.period),
            default=Repetition(at, 1, 1),
        )
        repeats.append(most if most.turns >= LEAST else Repetition(at, 1, 1))
        at = repeats[-1].end
    return repeats


def _periods(items: Sequence[object], at: int) -> Iterator[int]:
    """After how many items those from here on may come again."""
    last = min(RUN, (len(items) - at) // LEAST)
    return (period for period in range(1, last + 1) if items[at] == items[at + period])


def _times(items: Sequence[object], at: int, period: int) -> int:
    count, first = 1, items[at : at + period]
    while items[at + count * period : at + (count + 1) * period] == first:
        count += 1
    return count


def _parts(repeats: Sequence[Repetition]) -> list[list[Repetition]]:
    """The repetitions in parts, each of about as many lines as a function should have."""
    parts: list[list[Repetition]] = [[]]
    lines = 0
    for each in repeats:
        if parts[-1] and lines + each.period > RUN:
            parts.append([])
            lines = 0
        parts[-1].append(each)
        lines += each.period
    return parts
