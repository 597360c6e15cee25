"""Selective scans, forwards and backwards: states in the lanes, channels and times in loops.

Workers divide blocks of channels. Time goes in chunks; the matrices of a chunk are copied once for
all channels of a block, so that states lie side by side. The way back first finds the state before
each chunk, then goes through the chunks from the last to the first and computes the states inside
of each again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.codegen.llvm.kernels.axes import loop_vectors
from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.kernels.state_rows import (
    CHUNK,
    StateRows,
    in_lanes,
    known,
    products,
    row_width,
)
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.core.dims import Size
from wengert.core.types import ArrayType
from wengert.ops.sequences.state_spaces import channels_of_block


class _Block(StateRows):
    """One block of channels: where it lies, and rows of states in memory of its own."""

    def __init__(self, call: KernelCall) -> None:
        super().__init__(call, known(call.operands[2].shape[1]))
        _, self.delta, self.A, self.B, self.C, self.h0 = call.operands[:6]
        self.groups = known(self.B.shape[1])
        self.share = self.channels // self.groups
        self.size = channels_of_block(self.share)

    def over_blocks(self, call: KernelCall, body: Callable[[], None]) -> None:
        code, blocks = self.code, self.share // self.size

        def one(r: Index, _: list[str]) -> None:
            self.block = code.mod(r, blocks)
            outer = code.div(r, blocks)
            self.group, self.item = code.mod(outer, self.groups), code.div(outer, self.groups)
            begin = code.add(code.mul(self.group, self.share), code.mul(self.block, self.size))
            self.first = begin
            body()

        begin, end = call.units
        code.loop(begin, end, 1, one)

    def over_channels(self, body: Callable[[Index, Index], None]) -> None:
        """body(number in the block, number of the channel)"""
        code = self.code
        code.loop(0, self.size, 1, lambda i, _: body(i, code.add(self.first, i)))

    def copy_matrix(self, x: StridedArray, memory: str, begin: Index, count: Index) -> None:
        """A chunk of B or C, (batch, groups, states, time), as rows of states."""
        code, there = self.code, x.at(self.code, self.item, self.group)
        along = StridedArray(there.pointer, there.shape[::-1], there.strides[::-1], x.dtype)

        def one(t: Index, _: list[str]) -> None:
            self.put(self.load(along.at(code, code.add(begin, t))), memory, t)

        code.loop(0, count, 1, one)

    # Steps.

    def decays(self, d: Vector, A: Sequence[Vector]) -> list[Vector]:
        return [self.e.exp(self.e.mul(d, a)) for a in A]

    def after(
        self, h: Sequence[Vector], a: Sequence[Vector], x: Vector, B: Sequence[Vector]
    ) -> list[Vector]:
        """a h + x B, rounded twice, as in the loop that defines the op."""
        e = self.e
        rows = zip(h, a, B, strict=True)
        return [e.add(e.mul(decay, before), e.mul(x, b)) for before, decay, b in rows]


def _emit_scan(call: KernelCall) -> None:
    """for each block of channels: last = h0
    for each chunk of time:
        rows of B and C; for each channel: h = last
            for each t: h = exp(d A) h + d u B; y = sum of h C
            last = h
    """
    code, (y, last), block = call.code, call.outputs, _Block(call)
    e, (rows_b, rows_c) = block.e, (block.memory(), block.memory())

    def chunk(begin: Index, _: list[str]) -> None:
        count = block.count(begin)
        block.copy_matrix(block.B, rows_b, begin, count)
        block.copy_matrix(block.C, rows_c, begin, count)

        def channel(_i: Index, c: Index) -> None:
            A, state = block.load(block.A.at(code, c)), last.at(code, block.item, c)

            def step(t: Index, h: Sequence[Vector]) -> list[Vector]:
                now = code.add(begin, t)
                d, u = (block.number(x, c, now) for x in (block.delta, block.u))
                h = block.after(h, block.decays(d, A), e.mul(d, u), block.get(rows_b, t))
                weighed = products(e, h, block.get(rows_c, t))
                block.write_number(block.total(weighed), y, c, now)
                return list(h)

            block.store(loop_vectors(code, 0, count, step, block.load(state)), state)

        block.over_channels(channel)

    def one() -> None:
        def begin(_i: Index, c: Index) -> None:
            block.store(block.load(block.h0.at(code, block.item, c)), last.at(code, block.item, c))

        block.over_channels(begin)
        code.loop(0, block.time, CHUNK, chunk)

    block.over_blocks(call, one)


class _Pullback:
    """The way back through one block of channels."""

    def __init__(self, call: KernelCall) -> None:
        self.code, self.block = call.code, _Block(call)
        self.gy, self.glast = call.operands[6:]
        self.gu, self.gdelta, self.gA, self.gB, self.gC, self.gh0 = call.outputs
        block = self.block
        self.rows_b, self.rows_c, self.sums_b, self.sums_c, self.decays = (
            block.memory() for _ in range(5)
        )
        self.states = block.memory(CHUNK + 1)
        block.over_blocks(call, self.write)

    def write(self) -> None:
        code, block = self.code, self.block

        def begin(i: Index, c: Index) -> None:
            item = block.item
            block.put(block.load(block.h0.at(code, item, c)), *self.boundary(i, 0))
            block.store(block.load(self.glast.at(code, item, c)), self.gh0.at(code, item, c))
            zeros = [block.e.const(0.0) for _ in block.vectors()]
            block.store(zeros, self.gA.at(code, item, c))

        block.over_channels(begin)
        code.loop(0, block.chunks - 1, 1, lambda k, _: self.forward(k))
        last = block.chunks - 1
        code.loop(0, block.chunks, 1, lambda n, _: self.backward(code.sub(last, n)))

    def boundary(self, i: Index, k: Index) -> tuple[str, Index]:
        """Where the state of channel i before chunk k is kept."""
        return self.block.scratch, self.code.add(self.code.mul(i, self.block.chunks), k)

    def forward(self, k: Index) -> None:
        """The states before chunk k + 1, from those before chunk k."""
        code, block = self.code, self.block
        begin = code.mul(k, CHUNK)
        block.copy_matrix(block.B, self.rows_b, begin, CHUNK)

        def channel(i: Index, c: Index) -> None:
            A = block.load(block.A.at(code, c))

            def step(t: Index, h: Sequence[Vector]) -> list[Vector]:
                return self.step(h, A, c, begin, t)[0]

            h = loop_vectors(code, 0, CHUNK, step, block.get(*self.boundary(i, k)))
            block.put(h, *self.boundary(i, code.add(k, 1)))

        block.over_channels(channel)

    def step(
        self, h: Sequence[Vector], A: Sequence[Vector], c: Index, begin: Index, t: Index
    ) -> tuple[list[Vector], list[Vector]]:
        """The next state, and the decays on the way to it."""
        block, now = self.block, self.code.add(begin, t)
        d, u = (block.number(x, c, now) for x in (block.delta, block.u))
        decays = block.decays(d, A)
        return block.after(h, decays, block.e.mul(d, u), block.get(self.rows_b, t)), decays

    def backward(self, k: Index) -> None:
        code, block = self.code, self.block
        begin = code.mul(k, CHUNK)
        count = block.count(begin)
        block.copy_matrix(block.B, self.rows_b, begin, count)
        block.copy_matrix(block.C, self.rows_c, begin, count)
        size = CHUNK * block.width * block.dtype.itemsize
        code.clear(self.sums_b, size)
        code.clear(self.sums_c, size)

        def channel(i: Index, c: Index) -> None:
            A = block.load(block.A.at(code, c))

            def again(t: Index, h: Sequence[Vector]) -> list[Vector]:
                block.put(h, self.states, t)
                after, decays = self.step(h, A, c, begin, t)
                block.put(decays, self.decays, t)
                return after

            h = loop_vectors(code, 0, count, again, block.get(*self.boundary(i, k)))
            block.put(h, self.states, count)
            self.turn(A, c, begin, count)

        block.over_channels(channel)
        self.write_sums(self.sums_b, self.gB, begin, count)
        self.write_sums(self.sums_c, self.gC, begin, count)

    def turn(self, A: Sequence[Vector], c: Index, begin: Index, count: Index) -> None:
        """for t from the last to the first:
        gh += gy C;   gC += gy h;   gB += d u gh
        g = sum of gh B;   inner = gh (h before) a
        gu = g d;   gdelta = g u + sum of inner A;   gA += d inner
        gh *= a
        """
        code, block, e = self.code, self.block, self.block.e
        width = len(A)
        gh0, gA = (x.at(code, block.item, c) for x in (self.gh0, self.gA))

        def step(n: Index, carried: Sequence[Vector]) -> list[Vector]:
            gh, ga = carried[:width], carried[width:]
            t = code.sub(code.sub(count, 1), n)
            now = code.add(begin, t)
            given = (block.delta, block.u, self.gy)
            d, u, g = (block.number(x, c, now) for x in given)
            rows_of_c = zip(block.get(self.rows_c, t), gh, strict=True)
            gh = [e.fma(g, row, before) for row, before in rows_of_c]
            x = e.mul(d, u)
            self.add(self.sums_c, t, g, block.get(self.states, code.add(t, 1)))
            self.add(self.sums_b, t, x, gh)
            through = block.total(products(e, gh, block.get(self.rows_b, t)))
            a, before = block.get(self.decays, t), block.get(self.states, t)
            inner = products(e, products(e, gh, before), a)
            within = block.total(products(e, inner, A))
            block.write_number(e.mul(through, d), self.gu, c, now)
            block.write_number(e.fma(through, u, within), self.gdelta, c, now)
            ga = [e.fma(each, d, total) for each, total in zip(inner, ga, strict=True)]
            return [*products(e, gh, a), *ga]

        cotangents = loop_vectors(code, 0, count, step, [*block.load(gh0), *block.load(gA)])
        block.store(cotangents[:width], gh0)
        block.store(cotangents[width:], gA)

    def add(self, sums: str, t: Index, factor: Vector, row: Sequence[Vector]) -> None:
        before = self.block.get(sums, t)
        pairs = zip(row, before, strict=True)
        self.block.put([self.block.e.fma(factor, x, total) for x, total in pairs], sums, t)

    def write_sums(self, sums: str, y: StridedArray, begin: Index, count: Index) -> None:
        code, block = self.code, self.block
        there = y.at(code, block.item, block.group, block.block)

        def one(t: Index, _: list[str]) -> None:
            block.store(block.get(sums, t), there.at(code, code.add(begin, t)))

        code.loop(0, count, 1, one)


def _boundaries(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    """The states of a block before each chunk."""
    channels, time, states, groups = map(
        known, (*types[0].shape[1:], types[2].shape[1], types[3].shape[1])
    )
    rows = channels_of_block(channels // groups) * -(-time // CHUNK)
    return rows * row_width(states) * types[0].dtype.itemsize


def _blocks(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    """Blocks of channels, of the whole batch."""
    channels, groups = known(types[0].shape[1]), known(types[3].shape[1])
    return types[0].shape[0] * (channels // channels_of_block(channels // groups))


STATE_SPACES = {
    "state_space_scan": Special(in_lanes(_emit_scan), units=_blocks),
    "state_space_pullback": Special(in_lanes(_Pullback), scratch=_boundaries, units=_blocks),
}
