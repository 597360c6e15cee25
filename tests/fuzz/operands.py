"""Operands for the next step: an existing variable, a new argument or a literal, brought into the
shape, dtype and range an op takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .builder import FLOATS, INTEGERS, LARGEST, Builder, Refused, tuple_text

Shape = tuple[int | str, ...]  # a str is the name of an open size
LAYOUTS = ("plain", "plain", "transposed", "strided", "reversed", "broadcast", "shifted")


def new_input(b: Builder, shape: Shape, dtype: str, low: float = -2.0, high: float = 2.0) -> str:
    """An argument of this type, in any memory layout."""
    axes = [(i, size) for i, size in enumerate(shape) if isinstance(size, str)]
    return b.add_input(_drawing(b, shape, dtype, low, high), axes)


def _drawing(b: Builder, shape: Shape, dtype: str, low: float, high: float) -> str:
    """An expression for an array; its layout is one a user's slicing could have made."""
    layout = b.choose(LAYOUTS) if shape else "plain"
    sizes = [str(size) for size in shape]
    after = ""
    if layout == "transposed":
        sizes, after = sizes[::-1], ".T"
    elif layout == "strided":
        sizes[-1], after = f"2 * {sizes[-1]}", "[..., ::2]"
    elif layout == "reversed":
        after = "[::-1]"
    elif layout == "shifted":  # not aligned to a vector
        sizes[0], after = f"1 + {sizes[0]}", "[1:]"
    elif layout == "broadcast" and any(size != 0 for size in shape):
        wide = tuple_text(sizes)
        sizes[b.integer(0, len(sizes) - 1)] = "1"
        return f"np.broadcast_to({_numbers(b, sizes, dtype, low, high)}, {wide})"
    return _numbers(b, sizes, dtype, low, high) + after


def _numbers(b: Builder, sizes: Sequence[str], dtype: str, low: float, high: float) -> str:
    rng, shape = f"np.random.default_rng({b.integer(0, 99)})", tuple_text(sizes)
    if dtype == "bool":
        return f"{rng}.integers(0, 2, {shape}).astype(bool)"
    if dtype in INTEGERS:
        start, stop = math.ceil(low), max(math.floor(high), math.ceil(low)) + 1
        start = max(start, 0) if dtype.startswith("u") else start
        return f"{rng}.integers({start}, {max(stop, start + 1)}, {shape}, np.{dtype})"
    drawn = f"{rng}.uniform({low}, {high}, {shape})"
    if low <= 0 <= high and b.chance(15):  # ties and zeros
        drawn = f"np.round({drawn})"
    return f"{drawn}.astype(np.{dtype})"


def draw_open_shape(b: Builder, low: int = 0, high: int = 3) -> Shape:
    """A shape, in a program with Dims often with an open axis."""
    shape: list[int | str] = list(b.draw_shape(low, high))
    names = list(b.sizes[0])
    if names and shape and b.chance(60):
        shape[b.integer(0, len(shape) - 1)] = b.choose(names)
        widest = max(max(each.values()) for each in b.sizes)
        while math.prod(widest if isinstance(s, str) else s for s in shape) > LARGEST:
            shape = [s if isinstance(s, str) else min(s, 2) for s in shape]
            if len(shape) > 2:
                shape = shape[1:]
    return tuple(shape)


def pick(b: Builder, allowed: Callable[[str], bool], make: Callable[[], str]) -> str:
    """A variable that is allowed, mostly one of the last; else, or now and then, a new one."""
    found = [name for name in reversed(b.variables) if allowed(name)]
    outer = b.parent
    if outer is not None and not found:
        found = [name for name in reversed(outer.variables) if allowed(name)]
    elif outer is not None and b.chance(15):  # a value of the surrounding function
        found += [name for name in outer.variables if allowed(name)]
    if not found or (len(b.inputs) < 5 and b.chance(4 if outer is not None else 8)):
        return make()
    reach = 2 if b.chance(65) else 9  # long chains more often than wide fans
    return found[min(b.integer(0, reach), len(found) - 1)]


def draw_float(
    b: Builder, low: float = -2.0, high: float = 2.0, rank: tuple[int, int] = (0, 4), **more: Any
) -> str:
    """A float array with elements in this range and a rank in that one."""
    closed, filled = more.get("closed", False), more.get("filled", False)

    def allowed(name: str) -> bool:
        fits = b.kind(name) == "f" and rank[0] <= b.rank(name) <= rank[1]
        return fits and (not closed or b.closed(name)) and (not filled or b.value(name).size > 0)

    def make() -> str:
        highest = max(min(rank[1], 3), rank[0])
        shape: Shape = (
            b.draw_shape(rank[0], highest) if closed else draw_open_shape(b, rank[0], highest)
        )
        if filled:
            shape = tuple(size or 3 for size in shape)
        return new_input(b, shape, b.choose(FLOATS), low, high)

    return fit(b, pick(b, allowed, make), low, high)


def draw_open(b: Builder) -> str:
    """A float array with an open axis; only programs with Dims have one."""
    named = [name for name in b.variables if b.kind(name) == "f" and b.open_axes(name)]
    if not named and not b.sizes[0]:
        raise Refused
    if named:
        return named[-1 - min(b.integer(0, 3), len(named) - 1)]
    return new_input(b, (b.choose(list(b.sizes[0])), *b.draw_shape(0, 1)), b.choose(FLOATS))


def fit(b: Builder, name: str, low: float, high: float) -> str:
    """The same array with its elements moved into a range, if they are not there already."""
    if not b.repeated and b.within(name, low, high):
        return name
    if math.isinf(low) and math.isinf(high):
        return name
    middle, half = (low + high) / 2, (high - low) / 2
    ways = [
        f"wg.sin({name}) * {half:.6g} + {middle:.6g}",
        f"wg.tanh({name}) * {half:.6g} + {middle:.6g}",
        f"wg.sigmoid({name}) * {high - low:.6g} + {low:.6g}",
        f"wg.clip({name}, {low:.6g}, {high:.6g})",
        f"np.clip({name}, {low:.6g}, {high:.6g})",
    ]
    return b.emit(b.choose(ways))


def draw_integer_array(
    b: Builder, low: int, high: int, dtypes: Sequence[str] = INTEGERS, shape: Shape | None = None
) -> str:
    """An integer array with elements from low up to but not including high."""

    def allowed(name: str) -> bool:
        same = shape is None or (b.shape(name) == shape and b.closed(name))
        return b.dtype(name) in dtypes and same

    def make() -> str:
        wanted = draw_open_shape(b) if shape is None else shape
        return new_input(b, wanted, b.choose([d for d in INTEGERS if d in dtypes]), low, high - 1)

    return fit_integers(b, pick(b, allowed, make), low, high)


def fit_integers(b: Builder, name: str, low: int, high: int) -> str:
    if not b.repeated and b.within(name, low, high - 1):
        return name
    if high - low > np.iinfo(b.dtype(name)).max or high <= low:
        raise Refused
    if b.dtype(name).startswith("u") and low < 0:
        return b.emit(f"wg.remainder({name}, {high})")
    return b.emit(f"wg.remainder({name}, {high - low}) + {low}")


def draw_bool(b: Builder) -> str:
    def make() -> str:
        if b.chance(50):
            compare = b.choose(["wg.greater({}, 0.1)", "{} < 0.5", "np.less_equal({}, 0.3)"])
            return b.emit(compare.format(draw_float(b)))
        return new_input(b, draw_open_shape(b), "bool")

    return pick(b, lambda name: b.dtype(name) == "bool", make)


def draw_any(b: Builder, rank: tuple[int, int] = (0, 4), closed: bool = False) -> str:
    """An array of any dtype, mostly float."""
    if b.chance(75):
        return draw_float(b, -np.inf, np.inf, rank, closed=closed)

    def make() -> str:
        shape: Shape = (
            b.draw_shape(*rank) if closed else draw_open_shape(b, rank[0], min(rank[1], 3))
        )
        return new_input(b, shape, b.choose((*INTEGERS, "bool")), 0, 5)

    def allowed(name: str) -> bool:
        return rank[0] <= b.rank(name) <= rank[1] and (not closed or b.closed(name))

    return pick(b, allowed, make)


def resized(b: Builder, shape: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> str:
    """A float array of exactly this shape: from a variable whose elements are repeated, or new."""

    def same(name: str) -> bool:
        return b.kind(name) == "f" and b.shape(name) == shape and b.closed(name)

    same_shape = [name for name in b.variables if same(name)]
    if same_shape and b.chance(60):
        return fit(b, b.choose(same_shape), low, high)
    if math.prod(shape) == 0 or b.chance(40):
        return new_input(b, shape, b.choose(FLOATS), low, high)
    source = draw_float(b, low, high, closed=True, filled=True)
    count, size = math.prod(shape), b.value(source).size
    if count == size:
        return b.emit(f"wg.reshape({source}, {shape})")
    index = f"np.arange({count}) % {size}"
    return b.emit(f"wg.reshape(wg.take(wg.reshape({source}, (-1,)), {index}, axis=0), {shape})")


def partner(b: Builder, name: str, low: float, high: float, rank: int = 4) -> str:
    """A float array that broadcasts against another one."""

    def allowed(other: str) -> bool:
        if b.kind(other) != "f" or b.rank(other) > rank:
            return False
        for x, y in zip(b.values(name), b.values(other), strict=True):
            if not broadcasts(x.shape, y.shape):
                return False
        return set(b.open_axes(other)) <= set(b.open_axes(name)) or b.closed(name)

    return fit(b, pick(b, allowed, lambda: _new_partner(b, name, low, high)), low, high)


def _new_partner(b: Builder, name: str, low: float, high: float) -> str:
    shape = [1 if b.chance(30) else size for size in b.shape(name)]
    for axis in b.open_axes(name):
        shape[axis] = 1
    shape = shape[b.integer(0, len(shape)) :]
    if len(shape) < 4 and b.chance(10):
        shape = [2, *shape]
    return new_input(b, tuple(shape), b.choose(FLOATS), low, high)


def broadcasts(x: tuple[int, ...], y: tuple[int, ...]) -> bool:
    try:
        return math.prod(np.broadcast_shapes(x, y)) <= LARGEST
    except ValueError:
        return False


def draw_axis(b: Builder, name: str) -> int:
    """One axis of a variable, counted from either end."""
    rank = b.rank(name)
    if rank == 0:
        raise Refused
    return b.integer(0, rank - 1) - (rank if b.chance(40) else 0)


def draw_axes(b: Builder, name: str) -> int | tuple[int, ...] | None:
    """The axis argument of a reduction."""
    rank = b.rank(name)
    if rank == 0 or b.chance(25):
        return None
    if b.chance(60):
        return draw_axis(b, name)
    return tuple(sorted({b.integer(0, rank - 1) for _ in range(b.integer(1, 2))}))
