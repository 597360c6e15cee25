"""Convolution with the outputs along the lanes, where a row of a window is longer than a row of its
positions, as in the gradient of a window: the product of a matrix of windows, (batch · positions,
channels · window), with w, of which a block at a time is copied together.
"""

from __future__ import annotations

from wengert.codegen.llvm.convolution.by_space import KERNEL_PARAMS, LONGEST
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

_ROWS = 256  # windows of a block
_ROW = INNER + LONGEST  # from window to window of a block
_IMAGES = 1 << 17  # elements of images that are laid out at a time, unless one takes more
_BYTES_OF_ROWS = 128  # of one column of the windows that a tile's strips go over together


def scratch_elements(
    outs: Size,
    positions: Size,
    image: Size,  # of as many channels as are laid out together
) -> tuple[Size, Size]:
    """How many elements and how many words a chunk needs: images, a block of windows and of w, the
    sums, tables.
    """
    wide = outs + LONGEST
    elements = image + _IMAGES + _ROWS * _ROW + wide * (_ROW + 1) + (positions + _ROWS) * wide
    return elements + 8 * LONGEST, positions + _ROWS + RUN_WORDS * INNER + 64


def define_by_window(module: Module, name: str, dtype: DType) -> None:
    """The function `name` with KERNEL_PARAMS.

    for each part of the outputs, and some images of one group in this chunk at a time:
        for some channels at a time, as many as have whole blocks of K:
            lay the images among their zeros
            for each block of K:
                w' = that block of w, outputs along the lanes
                for each block of windows: windows = that block; sums = or += windows w'
        y = the sums, transposed
    """
    _ByWindow(module, name, dtype).define()


class _ByWindow:
    def __init__(self, module: Module, name: str, dtype: DType) -> None:
        shape = registers(module, dtype)
        self.code = code = Code(module, shape.lanes)
        self.name, self.family, self.tiles = name, name.rpartition("_")[0], tiles_name(dtype)
        self.dtype = dtype
        self.strips = Strips(code, self.tiles, dtype)
        self.rows_of_tiles = _BYTES_OF_ROWS // dtype.itemsize // shape.rows * shape.rows
        self.geometry = geometry = Geometry(code)
        self.laid = Laid(geometry, geometry["dilation2"])
        self.window = geometry.product(geometry.axes("window"))
        self.positions = geometry.product(geometry.axes("count"))
        # Channels laid out together have a whole number of blocks: INNER / gcd(window, INNER).
        lowest = code.let(f"and i64 {self.window}, {code.sub(0, self.window)}")
        whole = code.div(INNER, code.max(code.min(lowest, INNER), 1))
        self.together = code.max(code.min(geometry["channels"], whole), 1)
        self.wide = code.mul(code.div(code.add(geometry["outs"], LONGEST - 1), LONGEST), LONGEST)

    def define(self) -> None:
        code = self.code
        some = code.compare("slt", "%from", "%to")
        code.when(some, self._chunk)
        code.function(self.name, KERNEL_PARAMS)

    def _chunk(self) -> None:
        """Units are images, of one group after the other, for one part of the outputs after the
        other.
        """
        code, geometry, room = self.code, self.geometry, Room(self.code)
        self.volume = code.mul(self.together, self.laid.volume)  # of one image
        fitting = code.div(_IMAGES, code.max(self.volume, 1))
        wanted = code.div(_ROWS, code.max(self.positions, 1))
        several = code.max(code.min(fitting, wanted), 1)
        size = code.mul(several, self.volume)
        self.images = room.take(code.add(size, 2 * LONGEST), self.dtype)
        code.clear(self.images, code.mul(size, self.dtype.itemsize))
        rows = code.mul(several, self.positions)
        self.offsets = self._window_offsets(room.take(rows, int64), several)
        self.runs = room.take(RUN_WORDS * INNER, int64)
        self.windows = room.take(_ROWS * _ROW, self.dtype)
        self.sums = room.take(code.mul(rows, self.wide), self.dtype)
        self.weights = room.rest
        images = code.mul(geometry["groups"], geometry["batch"])
        # A worker that does all of it does it in one part, and copies windows once.
        units = code.mul(images, geometry["parts"])
        alone = code.compare("eq", code.sub("%to", "%from"), units)
        self.parts = code.let(f"select i1 {alone}, i64 1, i64 {geometry['parts']}")

        def part(number: Index, _: list[str]) -> None:
            self.first_out, end = (self._part(code.add(number, i)) for i in range(2))
            self.outs = code.sub(end, self.first_out)
            before = code.mul(number, images)
            first = code.max(code.sub("%from", before), 0)
            self._groups(first, code.min(code.sub("%to", before), images), several)

        code.loop(code.div("%from", code.max(images, 1)), self.parts, 1, part)

    def _part(self, number: Index) -> Index:
        """The output that this part of all outputs begins with: of whole vectors."""
        code = self.code
        vectors = code.div(self.wide, LONGEST)
        place = code.div(code.mul(vectors, number), self.parts)
        return code.min(code.mul(place, LONGEST), self.geometry["outs"])

    def _groups(self, begin: Index, end: Index, several: Index) -> None:
        """Images from `begin` to `end`, counted through all groups, several at a time."""
        code, geometry = self.code, self.geometry
        batch = geometry["batch"]

        def group(g: Index, _: list[str]) -> None:
            before = code.mul(g, batch)
            first = code.max(code.sub(begin, before), 0)
            last = code.min(code.sub(end, before), batch)

            def images(n: Index, _: list[str]) -> None:
                self._images(g, n, code.min(code.sub(last, n), several))

            code.loop(first, last, several, images)

        code.loop(code.div(begin, batch), geometry["groups"], 1, group)

    def _window_offsets(self, table: str, several: Index) -> str:
        """A table: where the window of each image and position begins."""
        geometry = self.geometry
        counts, strides = geometry.axes("count"), geometry.axes("stride")
        sizes: list[Index] = [several, *counts]
        fill_offsets(self.laid, table, sizes, [self.volume, *strides])
        return table

    def _images(self, g: Index, n: Index, count: Index) -> None:
        code, geometry = self.code, self.geometry
        channels = geometry["channels"]

        def part(c: Index, _: list[str]) -> None:
            held = code.min(code.sub(channels, c), self.together)
            self._lay(g, n, count, c, held)
            inner = code.mul(held, self.window)

            def block(p: Index, _: list[str]) -> None:
                size = code.min(code.sub(inner, p), INNER)
                begun = code.add(c, p)
                self._block(g, c, (p, size), code.mul(count, self.positions), begun)

            # Where there is no product at all, one block of none makes every sum 0.
            code.loop(0, code.max(inner, 1), INNER, block)

        code.loop(0, code.max(channels, 1), self.together, part)
        self._write_sums(g, n, count)

    def _lay(self, g: Index, n: Index, count: Index, c: Index, held: Index) -> None:
        code, geometry, dtype = self.code, self.geometry, self.dtype

        def image(i: Index, _: list[str]) -> None:
            place: Index = 0
            for at, name in ((code.add(n, i), "x_batch"), (g, "x_group"), (c, "x_channel")):
                place = code.add(place, code.mul(at, geometry[name]))
            target = code.address(self.images, code.mul(i, self.volume), dtype)
            code.do(
                f"call void @{self.family}_lay(ptr {target}, "
                f"ptr {code.address('%x', place, dtype)}, i64 {held}, "
                f"i64 {geometry['dilation2']}, ptr %geometry)"
            )

        code.loop(0, count, 1, image)

    def _block(
        self, g: Index, c: Index, inner: tuple[Index, Index], rows: Index, begun: Index
    ) -> None:
        """The part of all sums that one block of K has; `begun` is 0 for the first."""
        code, dtype = self.code, self.dtype
        first = code.compare("eq", begun, 0)
        (p, size) = inner
        run_count = self._write_runs(p, size)
        # Pieces of w write whole squares: behind the last one is room, and an odd number of rows.
        step = code.mul(code.add(size, code.lanes + 1), code.lanes)
        self._pack_weights(g, c, p, size, step)
        b = (self.weights, code.lanes, step)

        def windows(r: Index, _: list[str]) -> None:
            held = code.min(code.sub(rows, r), _ROWS)
            code.do(
                f"call void @{self.family}_copy(ptr {self.windows}, i64 {_ROW}, "
                f"ptr {self.images}, ptr {code.address(self.offsets, r, int64)}, i64 {held}, "
                f"ptr {self.runs}, i64 {run_count})"
            )

            def tiles(i: Index, _: list[str]) -> None:
                m = code.min(code.sub(held, i), self.rows_of_tiles)
                a = (code.address(self.windows, code.mul(i, _ROW), dtype), _ROW, 1)
                at = code.mul(code.add(r, i), self.wide)
                target = (code.address(self.sums, at, dtype), self.wide)
                self.strips.write(a, b, target, (m, self.outs, size), first)

            code.loop(0, held, self.rows_of_tiles, tiles)

        code.loop(0, rows, _ROWS, windows)

    def _write_runs(self, p: Index, size: Index) -> str:
        """The table of runs of elements p to p + size of K: rows of a window, or parts of some;
        how many there are.
        """
        code, geometry = self.code, self.geometry
        windows, dilations = geometry.axes("window"), geometry.axes("dilation")
        end = code.add(p, size)

        def going(_: Index, carried: list[str]) -> str:
            return code.compare("slt", carried[0], end)

        def run(number: Index, carried: list[str]) -> list[str]:
            (k,) = carried
            rest, last = code.div(k, windows[2]), code.mod(k, windows[2])
            rest, middle = code.div(rest, windows[1]), code.mod(rest, windows[1])
            channel, outer = code.div(rest, windows[0]), code.mod(rest, windows[0])
            place = [code.mul(i, d) for i, d in zip((outer, middle), dilations, strict=False)]
            # What is read at distances of the dilation lies side by side.
            offset = code.add(code.mul(channel, self.laid.volume), self.laid.offset((*place, 0)))
            count = code.min(code.sub(windows[2], last), code.sub(end, k))
            entry = code.mul(number, RUN_WORDS)
            for i, value in enumerate((code.add(offset, last), code.sub(k, p), count)):
                put(code, value, self.runs, code.add(entry, i))
            return [str(code.add(k, count))]

        number, _ = code.repeat(going, run, [("i64", str(p))])
        return str(number)

    def _pack_weights(self, g: Index, c: Index, p: Index, size: Index, step: Index) -> None:
        """w' = elements p to p + size behind channel c of every output, in pieces that lie at one
        distance.
        """
        code, geometry, dtype = self.code, self.geometry, self.dtype
        windows, steps = geometry.axes("window"), geometry.axes("w_step")
        long = self._long_piece()
        end = code.add(p, size)

        def going(_: Index, carried: list[str]) -> str:
            return code.compare("slt", carried[0], end)

        def piece(_: Index, carried: list[str]) -> list[str]:
            (k,) = carried
            channel, inside = code.div(k, self.window), code.mod(k, self.window)
            rest, last = code.div(inside, windows[2]), code.mod(inside, windows[2])
            outer, middle = code.div(rest, windows[1]), code.mod(rest, windows[1])
            place = code.mul(g, geometry["w_group"])
            place = code.add(place, code.mul(self.first_out, geometry["w_out"]))
            place = code.add(place, code.mul(code.add(c, channel), geometry["w_channel"]))
            for i, stride in zip((outer, middle, last), steps, strict=True):
                place = code.add(place, code.mul(i, stride))
            count = code.min(code.sub(long, code.mod(inside, long)), code.sub(end, k))
            to = code.address(self.weights, code.mul(code.sub(k, p), code.lanes), dtype)
            code.do(
                f"call void @{self.tiles}_pack(ptr {to}, i64 {code.lanes}, i64 {step}, "
                f"ptr {code.address('%w', place, dtype)}, i64 {steps[2]}, "
                f"i64 {geometry['w_out']}, i64 {count}, i64 {self.outs})"
            )
            return [str(code.add(k, count))]

        code.repeat(going, piece, [("i64", str(p))])

    def _long_piece(self) -> Index:
        """How many elements of a window lie at one distance in w: all, or those of a row."""
        code, geometry = self.code, self.geometry
        held = one_distance(code, geometry)
        return code.let(f"select i1 {held}, i64 {self.window}, i64 {geometry['window2']}")

    def _write_sums(self, g: Index, n: Index, count: Index) -> None:
        """y[n, g, o, t] = sums[n, t, o]."""
        code, geometry, dtype = self.code, self.geometry, self.dtype
        outs, positions = geometry["outs"], self.positions
        with code.with_lanes(1):

            def image(i: Index, _: list[str]) -> None:
                unit = code.add(code.mul(code.add(n, i), geometry["groups"]), g)
                row = code.add(code.mul(unit, outs), self.first_out)
                y = code.address("%y", code.mul(row, positions), dtype)
                rows = code.mul(code.mul(i, positions), self.wide)
                sums = code.address(self.sums, rows, dtype)

                def output(o: Index, _: list[str]) -> None:
                    row = code.address(y, code.mul(o, positions), dtype)
                    column = code.address(sums, o, dtype)

                    def position(t: Index, _: list[str]) -> None:
                        x = code.load(code.address(column, code.mul(t, self.wide), dtype), dtype)
                        code.store(x, code.address(row, t, dtype))

                    code.loop(0, positions, 1, position)

                code.loop(0, self.outs, 1, output)

            code.loop(0, count, 1, image)
