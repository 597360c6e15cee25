"""Geometry: the numbers of one convolution as a table of words, which shared functions are given.

Space always has three axes here; those that are missing come first and have one element.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index
from wengert.core.dtypes import DType, int64

SPACE = 3
_SIZES = ("batch", "groups", "channels", "outs", "parts")
_AXES = ("size", "window", "count", "stride", "dilation", "spread", "before", "x_step", "w_step")
_STEPS = ("x_batch", "x_group", "x_channel", "w_group", "w_out", "w_channel", "w_packed")
WORDS = (*_SIZES, *(f"{name}{axis}" for name in _AXES for axis in range(SPACE)), *_STEPS)


def write_geometry(
    code: Code,
    arrays: tuple[StridedArray, StridedArray, StridedArray],
    steps: Sequence[Sequence[int]],  # stride, dilation, spread and padding before, along each axis
    parts: int,  # of the outputs, which workers divide between them beside images
) -> str:
    """A pointer to the table of one convolution of x and w to y."""
    x, w, y = arrays
    missing = SPACE - (len(x.shape) - 3)

    def along(values: Sequence[Index], rest: Index) -> list[Index]:
        return [rest] * missing + list(values)

    stride, dilation, spread, before = steps
    axes = (
        along(x.shape[3:], 1),
        along(w.shape[3:], 1),
        along(y.shape[3:], 1),
        along(stride, 1),
        along(dilation, 1),
        along(spread, 1),
        along(before, 0),
        along(x.strides[3:], 0),
        along(w.strides[3:], 0),
    )
    values: list[Index] = [*x.shape[:3], w.shape[1], parts, *(n for each in axes for n in each)]
    values += [*x.strides[:3], *w.strides[:3], int(_is_packed(w))]
    place = code.let_first(f"alloca [{len(WORDS)} x i64], align 8")
    for number, value in enumerate(values):
        at = code.let(f"getelementptr i64, ptr {place}, i64 {number}")
        code.do(f"store i64 {value}, ptr {at}, align 8")
    return place


def _is_packed(w: StridedArray) -> bool:
    """Whether channels and window of each output are known to lie without gaps."""
    step: Index = 1
    for size, stride in zip(reversed(w.shape[2:]), reversed(w.strides[2:]), strict=True):
        if not isinstance(size, int) or not isinstance(stride, int):
            return False
        if size != 1 and stride != step:
            return False
        step *= size
    return True


class Geometry:
    """The words of a table in a function that has `ptr %geometry`, and what follows from them."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self._read: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._read:
            number = WORDS.index(name)
            at = self.code.let_first(f"getelementptr i64, ptr %geometry, i64 {number}")
            self._read[name] = self.code.let_first(f"load i64, ptr {at}, align 8")
        return self._read[name]

    def axes(self, name: str) -> list[str]:
        return [self[f"{name}{axis}"] for axis in range(SPACE)]

    def product(self, values: Sequence[Index]) -> Index:
        total: Index = 1
        for value in values:
            total = self.code.mul(total, value)
        return total


def one_distance(code: Code, geometry: Geometry) -> str:
    """Whether all elements of a window lie at one distance in w, that of its last axis."""
    windows, steps = geometry.axes("window"), geometry.axes("w_step")
    row = code.mul(windows[2], steps[2])
    plane = code.mul(windows[1], row)
    held = "true"
    for size, step, wanted in ((windows[1], steps[1], row), (windows[0], steps[0], plane)):
        single = code.compare("eq", size, 1)
        alike = code.compare("eq", step, wanted)
        held = code.let(f"and i1 {held}, {code.let(f'or i1 {single}, {alike}')}")
    return held


class Laid:
    """Where an image lies among its zeros: as much as windows reach, row by row. Of the last axis,
    every `apart`-th element stands side by side with the next, so that what is read at such
    distances is read without gaps.
    """

    def __init__(self, geometry: Geometry, apart: Index) -> None:
        code, self.apart = geometry.code, apart
        self.sizes = []
        for axis in range(SPACE):
            count, window = (code.sub(geometry[f"{n}{axis}"], 1) for n in ("count", "window"))
            reach = code.add(
                code.mul(count, geometry[f"stride{axis}"]),
                code.mul(window, geometry[f"dilation{axis}"]),
            )
            self.sizes.append(code.add(reach, 1))
        self.part = code.div(code.add(self.sizes[2], code.sub(apart, 1)), apart)
        row = code.mul(apart, self.part)
        plane = code.mul(row, self.sizes[1])
        self.steps = (plane, row)
        self.volume = code.mul(plane, self.sizes[0])
        self.code = code

    def offset(self, position: Sequence[Index]) -> Index:
        """Where the element at this position of an image is."""
        code = self.code
        rows = code.add(code.mul(position[0], self.steps[0]), code.mul(position[1], self.steps[1]))
        part = code.mul(code.mod(position[2], self.apart), self.part)
        return code.add(rows, code.add(part, code.div(position[2], self.apart)))


class Room:
    """Scratch memory that a function takes its arrays from, one after the other."""

    def __init__(self, code: Code) -> None:
        self.code, self.rest = code, "%scratch"

    def take(self, count: Index, dtype: DType) -> str:
        code, taken = self.code, self.rest
        size = code.mul(code.div(code.add(code.mul(count, dtype.itemsize), 63), 64), 64)
        self.rest = code.let(f"getelementptr i8, ptr {taken}, i64 {size}")
        return taken


def put(code: Code, value: Index, table: str, number: Index) -> None:
    """Write a number into a table of words."""
    at = code.address(table, number, int64)
    code.do(f"store i64 {value}, ptr {at}, align 8")


def read_word(code: Code, table: str, number: Index) -> str:
    """A number of a table of words."""
    return code.let(f"load i64, ptr {code.address(table, number, int64)}, align 8")


def fill_offsets(laid: Laid, table: str, sizes: Sequence[Index], steps: Sequence[Index]) -> None:
    """Fill a table in which the number of a position, among all below these sizes, leads to where
    it is: so many steps along each axis. The first axis is that of whole images or channels, the
    others are those of one.
    """
    code = laid.code

    def level(axis: int, before: Index, position: list[Index]) -> None:
        if axis == len(sizes):
            first, *place = position
            at = [code.mul(i, step) for i, step in zip(place, steps[1:], strict=True)]
            offset = code.add(code.mul(first, steps[0]), laid.offset(at))
            put(code, offset, table, before)
            return

        def inside(i: Index, _: list[str]) -> None:
            level(axis + 1, code.add(code.mul(before, sizes[axis]), i), [*position, i])

        code.loop(0, sizes[axis], 1, inside)

    level(0, 0, [])
