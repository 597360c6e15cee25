"""Convolution with the positions of a window along the lanes: for each image the product of w,
(out, channels · window), with a matrix of windows, (channels · window, positions), of which a block
at a time is copied together.
"""

from __future__ import annotations

from wengert.codegen.llvm.convolution.geometry import (
    Geometry,
    Laid,
    Room,
    fill_offsets,
    one_distance,
    put,
)
from wengert.codegen.llvm.convolution.laying import RUN_WORDS
from wengert.codegen.llvm.gemm.product import tiles_name
from wengert.codegen.llvm.gemm.strips import Strips
from wengert.codegen.llvm.gemm.tile import registers
from wengert.codegen.llvm.text.vectors import Code, Index, Module
from wengert.codegen.numerics import INNER
from wengert.core.dims import Size
from wengert.core.dtypes import DType, int64

KERNEL_PARAMS = "ptr %x, ptr %w, ptr %y, ptr %geometry, ptr %scratch, i64 %from, i64 %to"
LONGEST = 16  # lanes of a vector, at most
_BYTES_OF_COLUMNS = 1536  # of one row of a block of windows
_BYTES_OF_ROWS = 128  # of one column of a block of w


def columns(dtype: DType) -> int:
    """How many positions a block of windows has at most."""
    return _BYTES_OF_COLUMNS // dtype.itemsize


def scratch_elements(weights: Size, inner: Size, image: Size, dtype: DType) -> tuple[Size, Size]:
    """How many elements and how many words a chunk needs: copies of w and of an image, a block of
    windows, tables.
    """
    row = columns(dtype) + 3 * LONGEST
    return weights + image + INNER * row + 8 * LONGEST, inner + RUN_WORDS * columns(dtype) + 64


def define_by_space(module: Module, name: str, dtype: DType) -> None:
    """The function `name` with KERNEL_PARAMS.

    w' = w without gaps; image = zeros
    for each image and group of this chunk:
        lay the image among its zeros
        for each block of positions:
            for each block of K: windows = that block of the matrix; y = or += w' windows
    """
    _BySpace(module, name, dtype).define()


class _BySpace:
    def __init__(self, module: Module, name: str, dtype: DType) -> None:
        shape = registers(module, dtype)
        self.code = code = Code(module, shape.lanes)
        self.name, self.family, self.dtype = name, name.rpartition("_")[0], dtype
        self.strips = Strips(code, tiles_name(dtype), dtype)
        self.rows = _BYTES_OF_ROWS // dtype.itemsize // shape.rows * shape.rows
        self.geometry = geometry = Geometry(code)
        self.laid = Laid(geometry, geometry["stride2"])
        self.inner = geometry.product([geometry["channels"], *geometry.axes("window")])
        self.room = Room(code)

    def define(self) -> None:
        code, geometry, laid = self.code, self.geometry, self.laid
        some = code.compare("slt", "%from", "%to")

        def chunk() -> None:
            image_size = code.mul(geometry["channels"], laid.volume)
            self.image = self.room.take(code.add(image_size, 2 * LONGEST), self.dtype)
            code.clear(self.image, code.mul(image_size, self.dtype.itemsize))
            self.offsets = self._window_offsets()
            self.runs = self.room.take(RUN_WORDS * columns(self.dtype), int64)
            self.windows = self.room.take(INNER * (columns(self.dtype) + 3 * LONGEST), self.dtype)
            self.weights = self._weights()
            code.loop("%from", "%to", 1, self._image)

        code.when(some, chunk)
        code.function(self.name, KERNEL_PARAMS)

    def _window_offsets(self) -> str:
        """A table: where each element of a window is, counted from where it begins."""
        geometry, table = self.geometry, self.room.take(self.inner, int64)
        windows, dilations = geometry.axes("window"), geometry.axes("dilation")
        sizes = [geometry["channels"], *windows]
        fill_offsets(self.laid, table, sizes, [self.laid.volume, *dilations])
        return table

    def _weights(self) -> tuple[str, str, str]:
        """w with channels and window without gaps: a pointer, the strides of groups and outputs."""
        code, geometry = self.code, self.geometry
        packed = code.compare("eq", geometry["w_packed"], 1)
        target = self.room.rest
        per_group = code.mul(geometry["outs"], self.inner)
        window = self._window_in_w()
        sizes = [*(geometry[n] for n in ("groups", "outs", "channels")), *window]
        steps = [geometry[n] for n in ("w_group", "w_out", "w_channel")] + geometry.axes("w_step")

        def copy() -> list[str]:
            with code.with_lanes(1):

                def level(axis: int, before: Index, source: str) -> None:
                    if axis == len(sizes):
                        x = code.load(source, self.dtype)
                        code.store(x, code.address(target, before, self.dtype))
                        return

                    def inside(i: Index, _: list[str]) -> None:
                        at = code.address(source, code.mul(i, steps[axis]), self.dtype)
                        level(axis + 1, code.add(code.mul(before, sizes[axis]), i), at)

                    code.loop(0, sizes[axis], 1, inside)

                level(0, 0, "%w")
            return [target, str(per_group), str(self.inner)]

        here = ["%w", geometry["w_group"], geometry["w_out"]]
        a, b, c = code.either(packed, ("ptr", "i64", "i64"), lambda: here, copy)
        return a, b, c

    def _window_in_w(self) -> list[Index]:
        """The sizes of a window's axes in w; one axis where all elements lie at one distance."""
        code, geometry = self.code, self.geometry
        held = one_distance(code, geometry)
        first, second, last = geometry.axes("window")
        whole = geometry.product([first, second, last])
        pairs: list[tuple[Index, Index]] = [(1, first), (1, second), (whole, last)]
        return [code.let(f"select i1 {held}, i64 {one}, i64 {each}") for one, each in pairs]

    def _image(self, unit: Index, _: list[str]) -> None:
        """One image, and one group of its channels.

        lay the channels out among zeros
        for each block of runs, which are rows of positions, and each part of a long one:
            write down where these runs are; compute all sums at their positions
        """
        code, geometry, dtype = self.code, self.geometry, self.dtype
        n, g = code.div(unit, geometry["groups"]), code.mod(unit, geometry["groups"])
        place = code.add(code.mul(n, geometry["x_batch"]), code.mul(g, geometry["x_group"]))
        code.do(
            f"call void @{self.family}_lay(ptr {self.image}, "
            f"ptr {code.address('%x', place, dtype)}, i64 {geometry['channels']}, "
            f"i64 {geometry['stride2']}, ptr %geometry)"
        )
        counts = geometry.axes("count")
        positions = geometry.product(counts)
        size = code.mul(geometry["outs"], positions)
        y = code.address("%y", code.mul(unit, size), dtype)
        w = code.address(self.weights[0], code.mul(g, self.weights[1]), dtype)
        most = columns(dtype)
        run_count, long = code.mul(counts[0], counts[1]), code.min(counts[2], most)
        runs_of_block = code.max(code.div(most, code.max(long, 1)), 1)
        widest = code.mul(long, code.min(runs_of_block, run_count))
        row = self._row(widest)

        def runs(first: Index, _: list[str]) -> None:
            count = code.min(code.sub(run_count, first), runs_of_block)

            def part(begin: Index, _: list[str]) -> None:
                length = code.min(code.sub(counts[2], begin), long)
                self._write_runs(first, count, begin, length)
                at = code.add(code.mul(first, counts[2]), begin)
                c = code.address(y, at, dtype)
                self._block(w, (c, positions), (count, code.mul(count, length)), row)

            code.loop(0, counts[2], code.max(long, 1), part)

        code.loop(0, run_count, runs_of_block, runs)

    def _row(self, widest: Index) -> Index:
        """From row to row of a block of windows: an odd number of lines of 16, so that rows do not
        fall into the same places of a cache; one is room to write into.
        """
        code = self.code
        lines = code.div(code.add(widest, 2 * LONGEST - 1), LONGEST)
        return code.mul(code.let(f"or i64 {lines}, 1"), LONGEST)

    def _write_runs(self, first: Index, count: Index, begin: Index, length: Index) -> None:
        """The table of runs of a block: rows of positions, or a part of one."""
        code, geometry = self.code, self.geometry
        strides = geometry.axes("stride")

        def run(r: Index, _: list[str]) -> None:
            number, rows = code.add(first, r), geometry["count1"]
            at = [code.div(number, rows), code.mod(number, rows)]
            place = [code.mul(i, s) for i, s in zip(at, strides, strict=False)]
            offset = code.add(self.laid.offset((*place, 0)), begin)
            entry = code.mul(r, RUN_WORDS)
            for i, value in enumerate((offset, code.mul(r, length), length)):
                put(code, value, self.runs, code.add(entry, i))

        code.loop(0, count, 1, run)

    def _block(self, w: str, y: tuple[str, Index], sizes: tuple[Index, Index], row: Index) -> None:
        """All sums at one block of positions; so many runs, and columns, are given."""
        code, geometry = self.code, self.geometry
        run_count, width = sizes

        def inner_block(p: Index, _: list[str]) -> None:
            inner = code.min(code.sub(self.inner, p), INNER)
            first = code.compare("eq", p, 0)
            code.do(
                f"call void @{self.family}_copy(ptr {self.windows}, i64 {row}, ptr {self.image}, "
                f"ptr {code.address(self.offsets, p, int64)}, i64 {inner}, ptr {self.runs}, "
                f"i64 {run_count})"
            )
            b = (self.windows, row, code.lanes)

            def rows(i: Index, _: list[str]) -> None:
                m = code.min(code.sub(geometry["outs"], i), self.rows)
                at = code.add(code.mul(i, self.weights[2]), p)
                a = (code.address(w, at, self.dtype), self.weights[2], 1)
                c = code.address(y[0], code.mul(i, y[1]), self.dtype)
                self.strips.write(a, b, (c, y[1]), (m, width, inner), first)

            code.loop(0, geometry["outs"], self.rows, rows)

        # Where there is no product at all, one block of none makes every sum 0.
        code.loop(0, code.max(self.inner, 1), INNER, inner_block)
