"""Rows of states in the lanes of vectors: what kernels of state-space models have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.codegen.llvm.kernels.axes import load_lanes
from wengert.codegen.llvm.kernels.kernel_call import KernelCall
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.instructions import Instructions
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.codegen.numerics import LANES
from wengert.core.dims import Size

CHUNK = 32  # times whose states are alive at once on the way back


def known(size: Index | Size) -> int:
    assert isinstance(size, int)  # only the batch may be unknown until the call
    return size


def row_width(states: int) -> int:
    """How many numbers a row has in memory."""
    return -(-states // LANES) * LANES


def products(e: Instructions, x: Sequence[Vector], y: Sequence[Vector]) -> list[Vector]:
    return [e.mul(a, b) for a, b in zip(x, y, strict=True)]


def in_lanes(emit: Callable[[KernelCall], Any]) -> Callable[[KernelCall], None]:
    """The kernel with states in all lanes, also where other kernels would have one lane."""

    def written(call: KernelCall) -> None:
        with call.code.with_lanes(LANES):
            emit(call)

    return written


class StateRows:
    """Rows of so many states, for one item of the batch at a time."""

    item: Index  # of the batch

    def __init__(self, call: KernelCall, states: int) -> None:
        self.code, self.scratch = call.code, call.scratch
        assert self.code.lanes == LANES  # the order of sums over states
        self.u = call.operands[0]
        self.dtype = self.u.dtype
        self.e = Instructions(self.code, self.dtype)
        self.channels, self.time = map(known, self.u.shape[1:])
        self.states = states
        self.width = row_width(states)
        self.chunks = -(-self.time // CHUNK)

    # Rows of states.

    def vectors(self) -> range:
        return range(0, self.states, LANES)

    def mask(self, v: int) -> Vector | None:
        rest = self.states - v
        return None if rest >= LANES else self.code.first_lanes(rest)

    def load(self, x: StridedArray) -> list[Vector]:
        """A row of states of an operand or output; 0 behind the last."""
        zero, rows = self.e.const(0.0), []
        for v in self.vectors():
            mask = self.mask(v)
            row = load_lanes(self.code, x, v, mask)
            rows.append(row if mask is None else self.e.select(mask, row, zero))
        return rows

    def store(self, row: Sequence[Vector], y: StridedArray) -> None:
        """A row of states of an output."""
        for v, x in zip(self.vectors(), row, strict=True):
            self.code.store(x, y.at(self.code, v).pointer, self.mask(v))

    def memory(self, rows: int = CHUNK) -> str:
        """Rows on the stack."""
        return self.code.room(self.dtype, rows * self.width)

    def at(self, memory: str, t: Index, v: int) -> str:
        code = self.code
        return code.address(memory, code.add(code.mul(t, self.width), v), self.dtype)

    def get(self, memory: str, t: Index) -> list[Vector]:
        return [self.code.load(self.at(memory, t, v), self.dtype) for v in self.vectors()]

    def put(self, row: Sequence[Vector], memory: str, t: Index) -> None:
        for v, x in zip(self.vectors(), row, strict=True):
            self.code.store(x, self.at(memory, t, v))

    def number(self, x: StridedArray, channel: Index, t: Index) -> Vector:
        """One number, of a channel and a time, in all lanes."""
        return self.code.load_splat(x.at(self.code, self.item, channel, t).pointer, self.dtype)

    def write_number(self, value: Vector, y: StridedArray, channel: Index, t: Index) -> None:
        code, place = self.code, y.at(self.code, self.item, channel, t).pointer
        scalar = code.lane(value, 0)
        with code.with_lanes(1):
            code.store(Vector((scalar,), self.dtype), place)

    def count(self, begin: Index) -> Index:
        """How many times a chunk has that begins here."""
        return self.code.min(self.code.sub(self.time, begin), CHUNK)

    def total(self, row: Sequence[Vector]) -> Vector:
        """The sum over states, in the order `lanes`."""
        total = self.e.const(0.0)
        for x in row:
            total = self.e.add(total, x)
        return self.code.join(total, self.e.add)
