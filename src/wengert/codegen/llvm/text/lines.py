"""Text: one LLVM function, written from the top down: its lines, control and 64-bit integers.

Sizes and positions are `Index`es: a Python int where the number is known while the code is written.
Arithmetic on those folds at once.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias

from wengert.codegen.targets.cpu.target import Target, host
from wengert.core.dtypes import DType, bool_

Index: TypeAlias = int | str

_SCALARS = {"f4": "float", "f8": "double", "b1": "i1"}


class Module:
    """The functions of one program, and the intrinsics they call."""

    def __init__(self, target: Target | None = None) -> None:
        self.target = host() if target is None else target
        self.width = self.target.width
        self.functions: list[str] = []
        self.declared: dict[str, str] = {}

    def text(self) -> str:
        return "\n".join((*self.declared.values(), *self.functions)) + "\n"


@cache
def scalar_type(dtype: DType) -> str:
    """The LLVM type of one number in a register; a bool there is one bit."""
    return _SCALARS.get(dtype.str[1:]) or f"i{8 * dtype.itemsize}"


@cache
def memory_type(dtype: DType) -> str:
    """The LLVM type of one number in memory."""
    return "i8" if dtype == bool_ else scalar_type(dtype)


def number(value: float | int | bool, dtype: DType) -> str:
    """One number as LLVM writes it; floats by their bits."""
    if dtype == bool_:
        return "true" if value else "false"
    if dtype.kind == "f":
        exact = float(dtype.type(value))
        return f"0x{struct.unpack('>Q', struct.pack('>d', exact))[0]:016X}"
    return str(int(value))


def _flat(lines: list[Any]) -> Iterator[str]:
    for line in lines:
        if isinstance(line, list):
            yield from _flat(line)
        else:
            yield line


class Text:
    """One function: its lines, and the block being written."""

    def __init__(self, module: Module) -> None:
        self.module = module
        # Lines, and places among them that are filled later. The head stands before all others.
        self.head: list[Any] = []
        self.lines: list[Any] = []
        self.block = "start"
        self._count = 0
        # The index of the loop being written, if that carries its multiples along, and these.
        self._multiples: tuple[str, dict[int, str]] | None = None

    # Lines.

    def let(self, text: str) -> str:
        """A new SSA name for an instruction."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append("  " + text)

    def let_first(self, text: str) -> str:
        """As `let`, at the beginning of the function."""
        self._count += 1
        name = f"%h{self._count}"
        self.head.append(f"  {name} = {text}")
        return name

    def place(self) -> list[Any]:
        """A place here, for lines that are written later with `writing`."""
        lines: list[Any] = []
        self.lines.append(lines)
        return lines

    @contextmanager
    def writing(self, lines: list[Any]) -> Iterator[None]:
        """While this is open, lines go to another place; no blocks may begin there."""
        before, self.lines = self.lines, lines
        try:
            yield
        finally:
            self.lines = before

    @property
    def here(self) -> tuple[int, str]:
        """Where lines go now: values that were written under the same `here` can be used."""
        return id(self.lines), self.block

    def label(self, name: str) -> None:
        self.lines.append(name + ":")
        self.block = name

    def fresh(self) -> int:
        self._count += 1
        return self._count

    def call(self, name: str, result: str, *operands: tuple[str, str]) -> str:
        """Call a function, an intrinsic mostly, with (type, value) pairs; it is declared once."""
        types = ", ".join(kind for kind, _ in operands)
        self.module.declared.setdefault(name, f"declare {result} @{name}({types})")
        given = ", ".join(f"{kind} {value}" for kind, value in operands)
        text = f"call {result} @{name}({given})"
        if result == "void":
            self.do(text)
            return ""
        return self.let(text)

    def function(self, name: str, params: str, linkage: str = "internal") -> None:
        """Close the function (it returns nothing) and put it into the module."""
        lines = [*self.head, "  br label %start", "start:", *self.lines, "  ret void"]
        body = "\n".join(_flat(lines))
        self.module.functions.append(
            f"define {linkage} void @{name}({params}) #0 {{\nentry:\n{body}\n}}\n"
        )

    # Control.

    def loop(
        self,
        begin: Index,
        end: Index,
        step: Index,
        body: Callable[[Index, list[str]], Sequence[str] | None],
        carry: Sequence[tuple[str, str]] = (),
        adding: bool = False,
    ) -> list[str]:
        """for i in range(begin, end, step), carrying (type, first value)s; their last values.

        `body(i, carried)` writes the body and returns the carried values after it. The step is
        positive. Known multiples of i are added up from turn to turn, if `adding`: that pays where
        the body is short.

            head:   i, carried = phi(begin and first values, the next i and values after the body)
                    if i < end: go to body, else to exit
            body:   what `body` writes
            latch:  the next i = i + step; go to head
            exit:
        """

        def below(i: Index, _: list[str]) -> str:
            return self.let(f"icmp slt i64 {i}, {end}")

        return self.repeat(below, body, carry, begin, step, adding)[1]

    def repeat(
        self,
        holds: Callable[[Index, list[str]], str],
        body: Callable[[Index, list[str]], Sequence[str] | None],
        carry: Sequence[tuple[str, str]],
        begin: Index = 0,
        step: Index = 1,
        adding: bool = False,
    ) -> tuple[Index, list[str]]:
        """While the i1 that `holds` writes is true, the body; the index and the carried values for
        which it was not.
        """
        k, before = self.fresh(), self.block
        i, carried = f"%i{k}", [f"%c{k}_{n}" for n in range(len(carry))]
        around, self._multiples = self._multiples, (i, {}) if adding else None
        ahead = self.place() if adding else []
        self.do(f"br label %head{k}")
        self.label(f"head{k}")
        position = len(self.lines)
        inside = holds(i, carried)
        self.do(f"br i1 {inside}, label %body{k}, label %exit{k}")
        self.label(f"body{k}")
        after = body(i, carried) or ()
        self.do(f"br label %latch{k}")
        self.label(f"latch{k}")
        following = self.let(f"add nsw i64 {i}, {step}")
        phis = [f"  {i} = phi i64 [ {begin}, %{before} ], [ {following}, %latch{k} ]"]
        for factor, name in self._multiples[1].items() if self._multiples else ():
            with self.writing(ahead):
                first, by = self.mul(begin, factor), self.mul(step, factor)
            last = self.let(f"add nsw i64 {name}, {by}")
            phis.append(f"  {name} = phi i64 [ {first}, %{before} ], [ {last}, %latch{k} ]")
        self._multiples = around
        self.do(f"br label %head{k}")
        for name, (kind, first), last in zip(carried, carry, after, strict=True):
            phis.append(f"  {name} = phi {kind} [ {first}, %{before} ], [ {last}, %latch{k} ]")
        self.lines[position:position] = phis
        self.label(f"exit{k}")
        return i, carried

    def repeat_at_most(
        self,
        limit: int,
        body: Callable[[list[str]], tuple[str, Sequence[str]]],
        carry: Sequence[tuple[str, str]],
    ) -> list[str]:
        """As `loop`, at most `limit` times: `body(carried)` returns an i1, whether to go on, and
        the carried values.
        """
        k, before = self.fresh(), self.block
        i, going = f"%i{k}", f"%g{k}"
        carried = [f"%c{k}_{n}" for n in range(len(carry))]
        self.do(f"br label %head{k}")
        self.label(f"head{k}")
        position = len(self.lines)
        inside = self.let(f"icmp slt i64 {i}, {limit}")
        inside = self.let(f"and i1 {inside}, {going}")
        self.do(f"br i1 {inside}, label %body{k}, label %exit{k}")
        self.label(f"body{k}")
        again, after = body(carried)
        following = self.let(f"add nsw i64 {i}, 1")
        last = self.block
        self.do(f"br label %head{k}")
        phis = [
            f"  {i} = phi i64 [ 0, %{before} ], [ {following}, %{last} ]",
            f"  {going} = phi i1 [ true, %{before} ], [ {again}, %{last} ]",
        ]
        for name, (kind, first), new in zip(carried, carry, after, strict=True):
            phis.append(f"  {name} = phi {kind} [ {first}, %{before} ], [ {new}, %{last} ]")
        self.lines[position:position] = phis
        self.label(f"exit{k}")
        return carried

    def when(self, condition: str, then: Callable[[], None]) -> None:
        """if condition: what `then` writes."""
        k = self.fresh()
        self.do(f"br i1 {condition}, label %then{k}, label %end{k}")
        self.label(f"then{k}")
        then()
        self.do(f"br label %end{k}")
        self.label(f"end{k}")

    def either(
        self,
        condition: str,
        kinds: Sequence[str],
        then: Callable[[], Sequence[str]],
        orelse: Callable[[], Sequence[str]],
    ) -> list[str]:
        """then() if condition else orelse(): the values, of these types, that it returns."""
        k = self.fresh()
        self.do(f"br i1 {condition}, label %then{k}, label %else{k}")
        ends = []
        for name, branch in (("then", then), ("else", orelse)):
            self.label(f"{name}{k}")
            values = branch()
            ends.append((self.block, values))
            self.do(f"br label %end{k}")
        self.label(f"end{k}")
        (b1, v1), (b2, v2) = ends
        return [
            self.let(f"phi {kind} [ {x}, %{b1} ], [ {y}, %{b2} ]")
            for kind, x, y in zip(kinds, v1, v2, strict=True)
        ]

    # 64-bit integers.

    def add(self, x: Index, y: Index) -> Index:
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        if x == 0:
            return y
        return x if y == 0 else self.let(f"add nsw i64 {x}, {y}")

    def sub(self, x: Index, y: Index) -> Index:
        if isinstance(x, int) and isinstance(y, int):
            return x - y
        return x if y == 0 else self.let(f"sub nsw i64 {x}, {y}")

    def mul(self, x: Index, y: Index) -> Index:
        if isinstance(x, int) and isinstance(y, int):
            return x * y
        if 0 in (x, y):
            return 0
        if x == 1:
            return y
        if y == 1:
            return x
        if self._multiples is not None and x == self._multiples[0] and isinstance(y, int):
            known = self._multiples[1]
            return known.setdefault(y, f"{x}_{len(known)}")
        return self.let(f"mul nsw i64 {x}, {y}")

    def div(self, x: Index, y: Index) -> Index:
        """x // y of numbers that are not negative; y is 0 only where the result is not used."""
        if y == 0:
            return 0
        if isinstance(x, int) and isinstance(y, int):
            return x // y
        return x if y == 1 else self.let(f"udiv i64 {x}, {y}")

    def mod(self, x: Index, y: Index) -> Index:
        """x % y of numbers that are not negative; y is 0 only where the result is not used."""
        if y == 0:
            return 0
        if isinstance(x, int) and isinstance(y, int):
            return x % y
        return 0 if y == 1 else self.let(f"urem i64 {x}, {y}")

    def min(self, x: Index, y: Index) -> Index:
        if isinstance(x, int) and isinstance(y, int):
            return min(x, y)
        return self.call("llvm.smin.i64", "i64", ("i64", str(x)), ("i64", str(y)))

    def max(self, x: Index, y: Index) -> Index:
        if isinstance(x, int) and isinstance(y, int):
            return max(x, y)
        return self.call("llvm.smax.i64", "i64", ("i64", str(x)), ("i64", str(y)))

    def compare(self, how: str, x: Index, y: Index) -> str:
        """An i1; `how` is slt, sle, sgt, sge, eq or ne."""
        return self.let(f"icmp {how} i64 {x}, {y}")

    def address(self, base: str, position: Index, dtype: DType) -> str:
        """The pointer to an element."""
        if position == 0:
            return base
        return self.let(f"getelementptr {memory_type(dtype)}, ptr {base}, i64 {position}")

    def copy(self, target: str, source: str, size: Index) -> None:
        """Copy so many bytes between places that do not overlap."""
        pointers = ("ptr", target), ("ptr", source)
        rest = ("i64", str(size)), ("i1", "false")
        self.call("llvm.memcpy.p0.p0.i64", "void", *pointers, *rest)

    def clear(self, target: str, size: Index) -> None:
        """Write so many bytes of zero."""
        rest = ("i8", "0"), ("i64", str(size)), ("i1", "false")
        self.call("llvm.memset.p0.i64", "void", ("ptr", target), *rest)

    def room(self, dtype: DType, count: int) -> str:
        """Memory on the stack for so many numbers, for the whole call; keep it small."""
        return self.let_first(f"alloca [{count} x {memory_type(dtype)}], align 64")
