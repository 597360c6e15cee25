"""Diagonal state-space models with complex numbers, forwards and backwards: states in the lanes,
times in a loop. Workers divide channels, of the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.codegen.llvm.kernels.axes import loop_vectors
from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.kernels.state_rows import CHUNK, StateRows, in_lanes, known, row_width
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.core.dims import Size
from wengert.core.types import ArrayType

Row = Sequence[Vector]


class _Channel(StateRows):
    """One channel of one item of the batch."""

    def __init__(self, call: KernelCall) -> None:
        super().__init__(call, known(call.operands[1].shape[1]))

    def over_channels(self, call: KernelCall, body: Callable[[Index], None]) -> None:
        code = self.code

        def one(r: Index, _: list[str]) -> None:
            self.item = code.div(r, self.channels)
            body(code.mod(r, self.channels))

        code.loop(*call.units, 1, one)

    def after(self, h: Row, a: Row, b: Row, u: Vector) -> list[Vector]:
        """(a + ib) h + u, rounded as in the loop that defines the op: real parts, then imaginary
        ones.
        """
        e, (real, imag) = self.e, _parts(h, 2)
        rows = list(zip(real, imag, a, b, strict=True))
        reals = [e.add(e.sub(e.mul(c, x), e.mul(s, y)), u) for x, y, c, s in rows]
        return [*reals, *(e.add(e.mul(c, y), e.mul(s, x)) for x, y, c, s in rows)]


def _parts(row: Row, parts: int) -> list[Row]:
    size = len(row) // parts
    return [row[n * size : (n + 1) * size] for n in range(parts)]


def _emit_scan(call: KernelCall) -> None:
    """for each channel: for each t: h = (a + ib) h + u; y = sum of Re((c + id) h)"""
    code, (_, a, b, c, d, real0, imag0), rows = call.code, call.operands, _Channel(call)
    (y, real1, imag1), e = call.outputs, rows.e

    def channel(n: Index) -> None:
        decay, turn, across, along = (rows.load(x.at(code, n)) for x in (a, b, c, d))

        def step(t: Index, state: list[Vector]) -> list[Vector]:
            state = rows.after(state, decay, turn, rows.number(rows.u, n, t))
            parts = zip(*_parts(state, 2), across, along, strict=True)
            products = [e.sub(e.mul(p, x), e.mul(q, z)) for x, z, p, q in parts]
            rows.write_number(rows.total(products), y, n, t)
            return state

        begin = [each for x in (real0, imag0) for each in rows.load(x.at(code, rows.item, n))]
        states = _parts(loop_vectors(code, 0, rows.time, step, begin), 2)
        for row, out in zip(states, (real1, imag1), strict=True):
            rows.store(row, out.at(code, rows.item, n))

    rows.over_channels(call, channel)


class _Pullback:
    """The way back: states before each chunk first, then the chunks from the last to the first."""

    def __init__(self, call: KernelCall) -> None:
        self.code, self.rows = call.code, _Channel(call)
        _, *self.numbers, self.real0, self.imag0, self.gy, self.gr, self.gi = call.operands
        self.gu, *self.sums, self.gr0, self.gi0 = call.outputs
        self.reals, self.imags = (self.rows.memory(CHUNK + 1) for _ in range(2))
        self.rows.over_channels(call, self.channel)

    def channel(self, n: Index) -> None:
        code, rows, item = self.code, self.rows, self.rows.item
        a, b, c, d = (rows.load(x.at(code, n)) for x in self.numbers)
        first = (self.real0, self.imag0)
        self.keep(0, [each for x in first for each in rows.load(x.at(code, item, n))])
        code.loop(0, rows.chunks - 1, 1, lambda k, _: self.forward(n, k, a, b))
        zeros = [rows.e.const(0.0)] * (4 * len(a))
        begin = [each for x in (self.gr, self.gi) for each in rows.load(x.at(code, item, n))]

        def chunk(m: Index, carried: Sequence[Vector]) -> list[Vector]:
            k = code.sub(rows.chunks - 1, m)
            count = rows.count(code.mul(k, CHUNK))
            self.again(n, k, count, a, b)
            return self.turn(n, k, count, (a, b, c, d), carried)

        cotangents = loop_vectors(code, 0, rows.chunks, chunk, [*begin, *zeros])
        outputs = (self.gr0, self.gi0, *self.sums)
        for row, out in zip(_parts(cotangents, 6), outputs, strict=True):
            rows.store(row, out.at(code, item, n))

    def keep(self, k: Index, state: Row) -> None:
        """The state before chunk k."""
        place, (real, imag) = self.code.mul(k, 2), _parts(state, 2)
        self.rows.put(real, self.rows.scratch, place)
        self.rows.put(imag, self.rows.scratch, self.code.add(place, 1))

    def kept(self, k: Index) -> list[Vector]:
        place = self.code.mul(k, 2)
        rows, scratch = self.rows, self.rows.scratch
        return [*rows.get(scratch, place), *rows.get(scratch, self.code.add(place, 1))]

    def forward(self, n: Index, k: Index, a: Row, b: Row) -> None:
        code, rows, begin = self.code, self.rows, self.code.mul(k, CHUNK)

        def step(t: Index, state: list[Vector]) -> list[Vector]:
            u = rows.number(rows.u, n, code.add(begin, t))
            return rows.after(state, a, b, u)

        self.keep(code.add(k, 1), loop_vectors(code, 0, CHUNK, step, self.kept(k)))

    def again(self, n: Index, k: Index, count: Index, a: Row, b: Row) -> None:
        """All states of a chunk: before each time, and after the last."""
        code, rows, begin = self.code, self.rows, self.code.mul(k, CHUNK)

        def put(t: Index, state: Row) -> None:
            real, imag = _parts(state, 2)
            rows.put(real, self.reals, t)
            rows.put(imag, self.imags, t)

        def step(t: Index, state: list[Vector]) -> list[Vector]:
            u = rows.number(rows.u, n, code.add(begin, t))
            state = rows.after(state, a, b, u)
            put(code.add(t, 1), state)
            return state

        first = self.kept(k)
        put(0, first)
        loop_vectors(code, 0, count, step, first)

    def turn(
        self, n: Index, k: Index, count: Index, numbers: Sequence[Row], carried: Sequence[Vector]
    ) -> list[Vector]:
        """for t from the last to the first, with (x, y) before and (x', y') after it:
        gr += g c;   gi -= g d;   gc += g x';   gd -= g y'
        gu = sum of gr;   ga += gr x + gi y;   gb += gi x - gr y
        gr, gi = a gr + b gi, a gi - b gr
        """
        code, rows, e, begin = self.code, self.rows, self.rows.e, self.code.mul(k, CHUNK)

        def step(m: Index, given: Sequence[Vector]) -> list[Vector]:
            t = code.sub(code.sub(count, 1), m)
            now = code.add(begin, t)
            g = rows.number(self.gy, n, now)
            after = code.add(t, 1)
            memory = [rows.get(x, i) for i in (t, after) for x in (self.reals, self.imags)]
            by_vector: list[list[Vector]] = []
            totals = []
            minus = e.neg(g)
            for gr, gi, ga, gb, gc, gd, a, b, c, d, x, y, x1, y1 in zip(
                *_parts(given, 6), *numbers, *memory, strict=True
            ):
                gr, gi = e.fma(g, c, gr), e.fma(minus, d, gi)
                gc, gd = e.fma(g, x1, gc), e.fma(minus, y1, gd)
                totals.append(gr)
                ga = e.fma(gi, y, e.fma(gr, x, ga))
                gb = e.fma(e.neg(gr), y, e.fma(gi, x, gb))
                gr, gi = e.fma(a, gr, e.mul(b, gi)), e.fma(a, gi, e.neg(e.mul(b, gr)))
                by_vector.append([gr, gi, ga, gb, gc, gd])
            rows.write_number(rows.total(totals), self.gu, n, now)
            return [row[i] for i in range(6) for row in by_vector]

        return loop_vectors(code, 0, count, step, carried)


def _boundaries(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    """The two parts of the state of one channel before each chunk."""
    time, pairs = known(types[0].shape[2]), known(types[1].shape[1])
    return 2 * -(-time // CHUNK) * row_width(pairs) * types[0].dtype.itemsize


def _channels(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    return types[0].shape[0] * known(types[0].shape[1])


DIAGONAL_SCANS = {
    "diagonal_scan": Special(in_lanes(_emit_scan), units=_channels),
    "diagonal_pullback": Special(in_lanes(_Pullback), scratch=_boundaries, units=_channels),
}
