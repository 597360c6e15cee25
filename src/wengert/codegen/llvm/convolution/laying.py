"""Laying out: an image among its zeros, and blocks of windows read from there.

Offsets of windows and offsets inside a window add up, so two tables say where every number is.
"""

from __future__ import annotations

from wengert.codegen.llvm.convolution.geometry import Geometry, Laid, read_word
from wengert.codegen.llvm.gemm.tile import registers
from wengert.codegen.llvm.text.vectors import Code, Index, Module
from wengert.core.dtypes import DType

LAY_PARAMS = "ptr %to, ptr %from, i64 %channels, i64 %apart, ptr %geometry"
COPY_PARAMS = (
    "ptr %to, i64 %to_row, ptr %from, ptr %rows, i64 %row_count, ptr %runs, i64 %run_count"
)
RUN_WORDS = 3  # of a run: where it begins, where it goes to in a row, how many


def define_lay(module: Module, name: str, dtype: DType) -> None:
    """A function with LAY_PARAMS: the channels of an image to where zeros are already.

    for each channel, and each row of it that windows reach: copy the part that they reach
    """
    code = Code(module, registers(module, dtype).lanes)
    laying = _Laying(code, dtype)

    def channel(c: Index, _: list[str]) -> None:
        to = code.address("%to", code.mul(c, laying.laid.volume), dtype)
        source = code.address("%from", code.mul(c, laying.geometry["x_channel"]), dtype)
        laying.channel(to, source)

    code.loop(0, "%channels", 1, channel)
    code.function(name, LAY_PARAMS)


class _Laying:
    """The code that lays out one channel, row by row."""

    def __init__(self, code: Code, dtype: DType) -> None:
        self.code, self.dtype = code, dtype
        self.geometry = geometry = Geometry(code)
        self.laid = laid = Laid(geometry, "%apart")
        self.bounds = [_reached(code, geometry, laid, axis) for axis in range(3)]
        # Whether the elements of a row lie side by side, there and here.
        self.plain = "true"
        for value in (geometry["spread2"], "%apart", geometry["x_step2"]):
            self.plain = code.let(f"and i1 {self.plain}, {code.compare('eq', value, 1)}")

    def channel(self, to: str, source: str) -> None:
        """All rows of a channel that windows reach."""
        code, geometry, dtype = self.code, self.geometry, self.dtype

        def slice_(i: Index, _: list[str]) -> None:
            def each_row(j: Index, _: list[str]) -> None:
                at = self.laid.offset((self.place(0, i), self.place(1, j), 0))
                given = code.add(code.mul(i, geometry["x_step0"]), code.mul(j, geometry["x_step1"]))
                self.row(code.address(to, at, dtype), code.address(source, given, dtype))

            code.loop(*self.bounds[1], 1, each_row)

        code.loop(*self.bounds[0], 1, slice_)

    def place(self, axis: int, i: Index) -> Index:
        """Where element i of an axis goes."""
        spread = self.code.mul(i, self.geometry[f"spread{axis}"])
        return self.code.add(spread, self.geometry[f"before{axis}"])

    def row(self, to: str, source: str) -> None:
        """In vectors, if it is plain."""

        def vectors() -> list[str]:
            self.row_in_vectors(to, source)
            return []

        def one_by_one() -> list[str]:
            with self.code.with_lanes(1):
                self.row_one_by_one(to, source)
            return []

        self.code.either(self.plain, (), vectors, one_by_one)

    def row_in_vectors(self, to: str, source: str) -> None:
        code, dtype, (first, last) = self.code, self.dtype, self.bounds[2]
        begin = code.address(to, self.geometry["before2"], dtype)

        def vector(i: Index, _: list[str]) -> None:
            mask = code.first_lanes(code.sub(last, i))
            x = code.load(code.address(source, i, dtype), dtype, mask)
            code.store(x, code.address(begin, i, dtype), mask)

        code.loop(first, last, code.lanes, vector)

    def row_one_by_one(self, to: str, source: str) -> None:
        code, dtype, (first, last) = self.code, self.dtype, self.bounds[2]

        def element(i: Index, _: list[str]) -> None:
            at = self.laid.offset((0, 0, self.place(2, i)))
            given = code.mul(i, self.geometry["x_step2"])
            x = code.load(code.address(source, given, dtype), dtype)
            code.store(x, code.address(to, at, dtype))

        code.loop(first, last, 1, element)


def _reached(code: Code, geometry: Geometry, laid: Laid, axis: int) -> tuple[Index, Index]:
    """The elements of x that windows reach along an axis: from the first to behind the last."""
    spread, before = geometry[f"spread{axis}"], geometry[f"before{axis}"]
    left_out = code.max(code.sub(0, before), 0)
    first = code.div(code.add(left_out, code.sub(spread, 1)), spread)
    inside = code.max(code.add(code.sub(code.sub(laid.sizes[axis], 1), before), spread), 0)
    return first, code.min(geometry[f"size{axis}"], code.div(inside, spread))


def define_copy(module: Module, name: str, dtype: DType) -> None:
    """A function with COPY_PARAMS: to[r, j] = from[rows[r] + the offset of column j].

    Columns come in runs that lie side by side. Whole vectors are copied: what is written behind a
    run, the next one writes over. So there is room behind every row, and numbers behind the last
    that are read.

        for each run: for each vector of it: for each row r: copy the vector
    """
    code = Code(module, registers(module, dtype).lanes)

    def run(n: Index, _: list[str]) -> None:
        first = code.mul(n, RUN_WORDS)
        begin, to, count = (read_word(code, "%runs", code.add(first, i)) for i in range(RUN_WORDS))
        source, target = code.address("%from", begin, dtype), code.address("%to", to, dtype)

        def vector(i: Index, _: list[str]) -> None:
            here, there = code.address(source, i, dtype), code.address(target, i, dtype)

            def row(r: Index, carried: list[str]) -> list[str]:
                at = code.address(here, read_word(code, "%rows", r), dtype)
                code.store(code.load(at, dtype), carried[0])
                return [code.address(carried[0], "%to_row", dtype)]

            code.loop(0, "%row_count", 1, row, [("ptr", there)])

        code.loop(0, count, code.lanes, vector)

    code.loop(0, "%run_count", 1, run)
    code.function(name, COPY_PARAMS)
