"""Code: one LLVM function with vectors.

Values are `Vector`s: so many lanes of one dtype, kept as pieces no wider than the hardware vectors
asked for. The same Python that writes one instruction writes it for every piece, so the order of
lanes, and with it every sum, does not depend on the hardware. With one lane a Vector is a scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from wengert.codegen.llvm.text.lines import Index, Module, Text, memory_type, number, scalar_type
from wengert.codegen.numerics import LANES
from wengert.core.dtypes import DType, bool_, int64

__all__ = ["LANES", "Code", "Index", "Module", "Vector", "memory_type", "number", "scalar_type"]


_ZERO = "zeroinitializer"


class Vector(NamedTuple):
    """Numbers of one dtype, one per lane, in pieces."""

    parts: tuple[str, ...]
    dtype: DType
    widened: bool = False  # whether float64 of float32: products of two such are exact
    factors: tuple[Vector, Vector] | None = None  # of an exact product


class Code(Text):
    """One function, and the shape of its vectors."""

    def __init__(self, module: Module, lanes: int = LANES) -> None:
        super().__init__(module)
        self.lanes = lanes

    # Pieces, constants, memory.

    @property
    def width(self) -> int:
        """Lanes of one piece."""
        return min(self.lanes, self.module.width)

    @property
    def pieces(self) -> int:
        return self.lanes // self.width

    @contextmanager
    def with_lanes(self, lanes: int) -> Iterator[None]:
        """While this is open, vectors have so many lanes."""
        before, self.lanes = self.lanes, lanes
        try:
            yield
        finally:
            self.lanes = before

    def type(self, dtype: DType) -> str:
        """The LLVM type of one piece."""
        scalar = scalar_type(dtype)
        return scalar if self.lanes == 1 else f"<{self.width} x {scalar}>"

    def _memory(self, dtype: DType) -> str:
        scalar = memory_type(dtype)
        return scalar if self.lanes == 1 else f"<{self.width} x {scalar}>"

    def mangled(self, dtype: DType) -> str:
        """The piece's type in the name of an intrinsic: v16f32."""
        name = {"float": "f32", "double": "f64"}.get(scalar_type(dtype)) or scalar_type(dtype)
        return name if self.lanes == 1 else f"v{self.width}{name}"

    def constant(self, value: float | int | bool, dtype: DType) -> Vector:
        """The same number in every lane."""
        text = number(value, dtype)
        if self.lanes > 1:
            text = f"splat ({scalar_type(dtype)} {text})"
        return Vector((text,) * self.pieces, dtype)

    def splat(self, scalar: str, dtype: DType) -> Vector:
        """A scalar SSA value in every lane."""
        if self.lanes == 1:
            return Vector((scalar,), dtype)
        kind, one = self.type(dtype), scalar_type(dtype)
        first = self.let(f"insertelement {kind} poison, {one} {scalar}, i32 0")
        mask = f"<{self.width} x i32> zeroinitializer"
        whole = self.let(f"shufflevector {kind} {first}, {kind} poison, {mask}")
        return Vector((whole,) * self.pieces, dtype)

    def lane(self, x: Vector, lane: int) -> str:
        """The scalar in one lane."""
        if self.lanes == 1:
            return x.parts[0]
        piece = x.parts[lane // self.width]
        return self.let(f"extractelement {self.type(x.dtype)} {piece}, i32 {lane % self.width}")

    def lane_numbers(self, dtype: DType = int64, step: int = 1) -> Vector:
        """0, step, 2 · step … in the lanes."""
        if self.lanes == 1:
            return self.constant(0, dtype)
        one = scalar_type(dtype)
        return Vector(
            tuple(
                "<"
                + ", ".join(f"{one} {(p * self.width + i) * step}" for i in range(self.width))
                + ">"
                for p in range(self.pieces)
            ),
            dtype,
        )

    def first_lanes(self, count: Index) -> Vector:
        """A mask: true in the first `count` lanes."""
        if isinstance(count, int):
            if self.lanes == 1:
                return self.constant(count > 0, bool_)
            return Vector(
                tuple(
                    "<"
                    + ", ".join(
                        f"i1 {number(p * self.width + i < count, bool_)}" for i in range(self.width)
                    )
                    + ">"
                    for p in range(self.pieces)
                ),
                bool_,
            )
        limit = self.splat(count, int64)
        return self.each("icmp slt {t} {0}, {1}", self.lane_numbers(), limit, dtype=bool_)

    def each(self, text: str, *operands: Vector, dtype: DType | None = None) -> Vector:
        """One instruction per piece: {t} is the type of operand 0, {r} that of the result, {0} …
        are the operands.
        """
        result_dtype = operands[0].dtype if dtype is None else dtype
        kinds = {"t": self.type(operands[0].dtype), "r": self.type(result_dtype)}
        parts = zip(*(x.parts for x in operands), strict=True)
        return Vector(tuple(self.let(text.format(*each, **kinds)) for each in parts), result_dtype)

    def intrinsic(self, name: str, *operands: Vector, dtype: DType | None = None) -> Vector:
        """llvm.<name> of operands of one dtype, piece by piece."""
        result_dtype = operands[0].dtype if dtype is None else dtype
        full = f"llvm.{name}.{self.mangled(operands[0].dtype)}"
        kind, result = self.type(operands[0].dtype), self.type(result_dtype)
        parts = zip(*(x.parts for x in operands), strict=True)
        calls = (self.call(full, result, *((kind, p) for p in each)) for each in parts)
        return Vector(tuple(calls), result_dtype)

    def _piece_address(self, base: str, piece: int, dtype: DType) -> str:
        return self.address(base, piece * self.width, dtype)

    def load(self, pointer: str, dtype: DType, mask: Vector | None = None) -> Vector:
        """Consecutive elements, one per lane; 0 where the mask does not hold."""
        kind, align = self._memory(dtype), dtype.itemsize
        parts = []
        for piece in range(self.pieces):
            at = self._piece_address(pointer, piece, dtype)
            if mask is None or self.lanes == 1:
                parts.append(self.let(f"load {kind}, ptr {at}, align {align}"))
                continue
            full = f"llvm.masked.load.{self._memory_name(dtype)}.p0"
            types = f"ptr, {self.type(bool_)}, {kind}"
            self.module.declared.setdefault(full, f"declare {kind} @{full}({types})")
            parts.append(
                self.let(
                    f"call {kind} @{full}(ptr align {align} {at}, "
                    f"{self.type(bool_)} {mask.parts[piece]}, {kind} zeroinitializer)"
                )
            )
        return self._from_memory(tuple(parts), dtype)

    def store(self, x: Vector, pointer: str, mask: Vector | None = None) -> None:
        """Write the lanes to consecutive elements, where the mask holds."""
        kind, align = self._memory(x.dtype), x.dtype.itemsize
        for piece, value in enumerate(self._to_memory(x)):
            at = self._piece_address(pointer, piece, x.dtype)
            if mask is None or self.lanes == 1:
                self.do(f"store {kind} {value}, ptr {at}, align {align}")
                continue
            full = f"llvm.masked.store.{self._memory_name(x.dtype)}.p0"
            types = f"{kind}, ptr, {self.type(bool_)}"
            self.module.declared.setdefault(full, f"declare void @{full}({types})")
            self.do(
                f"call void @{full}({kind} {value}, ptr align {align} {at}, "
                f"{self.type(bool_)} {mask.parts[piece]})"
            )

    def load_splat(self, pointer: str, dtype: DType) -> Vector:
        """One element in every lane."""
        kind = memory_type(dtype)
        scalar = self.let(f"load {kind}, ptr {pointer}, align {dtype.itemsize}")
        if dtype == bool_:
            scalar = self.let(f"icmp ne i8 {scalar}, 0")
        return self.splat(scalar, dtype)

    def gather(
        self,
        base: str,
        positions: Vector,
        dtype: DType,
        mask: Vector | None,
        readable: str | None = None,
    ) -> Vector:
        """Elements at int64 positions behind a base, one per lane; 0 where the mask is not set.

        Where the target has no instruction for it, and some memory is known to be readable, the
        lanes without an element read that: else there would be a branch for each lane.
        """
        kind, one = self._memory(dtype), memory_type(dtype)
        if self.lanes == 1:
            at = self.let(f"getelementptr {one}, ptr {base}, i64 {positions.parts[0]}")
            return self.load(at, dtype)
        every = self.constant(True, bool_)
        held = every if mask is None else mask
        elsewhere = mask is not None and readable is not None and not self.gathers(dtype)
        full = f"llvm.masked.gather.{self._memory_name(dtype)}.v{self.width}p0"
        pointers, bits = f"<{self.width} x ptr>", self.type(bool_)
        types = f"{pointers}, {bits}, {kind}"
        self.module.declared.setdefault(full, f"declare {kind} @{full}({types})")
        parts = []
        for position, bit, true in zip(positions.parts, held.parts, every.parts, strict=True):
            at = self.let(f"getelementptr {one}, ptr {base}, <{self.width} x i64> {position}")
            if elsewhere:
                other = self.let(f"getelementptr i8, ptr {readable}, {self.type(int64)} {_ZERO}")
                at = self.let(f"select {bits} {bit}, {pointers} {at}, {pointers} {other}")
            asked = true if elsewhere else bit
            elements = self.let(
                f"call {kind} @{full}({pointers} align {dtype.itemsize} {at}, {bits} {asked}, "
                f"{kind} {_ZERO})"
            )
            if elsewhere:
                elements = self.let(f"select {bits} {bit}, {kind} {elements}, {kind} {_ZERO}")
            parts.append(elements)
        return self._from_memory(tuple(parts), dtype)

    def gathers(self, dtype: DType) -> bool:
        """Whether the target gathers elements of this dtype with one instruction."""
        return dtype.itemsize >= 4 and self.module.target.has("avx2")

    def scatter(self, x: Vector, base: str, positions: Vector, mask: Vector | None) -> None:
        """Write lanes to int64 positions from a base, in the order of the lanes."""
        kind, one = self._memory(x.dtype), memory_type(x.dtype)
        if self.lanes == 1:
            at = self.let(f"getelementptr {one}, ptr {base}, i64 {positions.parts[0]}")
            self.store(x, at)
            return
        held = self.constant(True, bool_) if mask is None else mask
        full = f"llvm.masked.scatter.{self._memory_name(x.dtype)}.v{self.width}p0"
        pointers, bits = f"<{self.width} x ptr>", self.type(bool_)
        self.module.declared.setdefault(full, f"declare void @{full}({kind}, {pointers}, {bits})")
        values = self._to_memory(x)
        for value, position, bit in zip(values, positions.parts, held.parts, strict=True):
            at = self.let(f"getelementptr {one}, ptr {base}, <{self.width} x i64> {position}")
            self.do(
                f"call void @{full}({kind} {value}, {pointers} align {x.dtype.itemsize} {at}, "
                f"{bits} {bit})"
            )

    def _memory_name(self, dtype: DType) -> str:
        return f"v{self.width}i8" if dtype == bool_ else self.mangled(dtype)

    def _from_memory(self, parts: tuple[str, ...], dtype: DType) -> Vector:
        if dtype != bool_:
            return Vector(parts, dtype)
        zero = "0" if self.lanes == 1 else "zeroinitializer"
        kind = self._memory(bool_)
        return Vector(tuple(self.let(f"icmp ne {kind} {p}, {zero}") for p in parts), dtype)

    def _to_memory(self, x: Vector) -> tuple[str, ...]:
        if x.dtype != bool_:
            return x.parts
        kind, wide = self.type(bool_), self._memory(bool_)
        return tuple(self.let(f"zext {kind} {p} to {wide}") for p in x.parts)

    def in_registers(
        self, pieces: Sequence[str], dtype: DType, write: Callable[[Sequence[str], int], str]
    ) -> str:
        """Pieces taken apart into registers, and the piece that `write(parts of them, lanes of a
        register)` makes of these: for instructions of one target.
        """
        lanes = min(self.width, self.module.target.register_bytes // dtype.itemsize)
        if lanes == self.width:
            return write(pieces, lanes)
        one = scalar_type(dtype)

        def shuffled(x: str, y: str, given: int, numbers: range) -> str:
            kind = f"<{given} x {one}>"
            order = ", ".join(f"i32 {i}" for i in numbers)
            return self.let(
                f"shufflevector {kind} {x}, {kind} {y}, <{len(numbers)} x i32> <{order}>"
            )

        registers = []
        for begin in range(0, self.width, lanes):
            own = range(begin, begin + lanes)
            registers.append(write([shuffled(x, "poison", self.width, own) for x in pieces], lanes))
        while len(registers) > 1:
            pairs = zip(registers[::2], registers[1::2], strict=True)
            registers = [shuffled(x, y, lanes, range(2 * lanes)) for x, y in pairs]
            lanes *= 2
        return registers[0]

    # Lanes among themselves.

    def join(self, x: Vector, combine: Callable[[Vector, Vector], Vector]) -> Vector:
        """All lanes combined in a fixed binary tree: lane i with i + 8, then i + 4, 2, 1.

        The result is in every lane.
        """
        half = self.lanes // 2
        while half:
            x = combine(x, self._swapped(x, half))
            half //= 2
        return x

    def _swapped(self, x: Vector, half: int) -> Vector:
        """Lane i where lane i ^ half was."""
        if half >= self.width:
            step = half // self.width
            return Vector(tuple(x.parts[p ^ step] for p in range(self.pieces)), x.dtype)
        order = ", ".join(f"i32 {i ^ half}" for i in range(self.width))
        text = f"shufflevector {{t}} {{0}}, {{t}} poison, <{self.width} x i32> <{order}>"
        return self.each(text, x)

    def reversed(self, x: Vector) -> Vector:
        """The lanes from the last to the first."""
        if self.lanes == 1:
            return x
        order = ", ".join(f"i32 {self.width - 1 - i}" for i in range(self.width))
        text = f"shufflevector {{t}} {{0}}, {{t}} poison, <{self.width} x i32> <{order}>"
        turned = self.each(text, x)
        return Vector(turned.parts[::-1], x.dtype)
