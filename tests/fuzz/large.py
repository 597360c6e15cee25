"""Steps over arrays of which several workers have a share: long folds, large products.

Nothing but their own step reads the large arrays, and its result is small: a program stays quick.
"""

from __future__ import annotations

import math

from wengert.core.op import Op

from .builder import FLOATS, LARGEST, Builder
from .operands import Shape, draw_float, new_input

# Folds of more than 65,536 elements are joined in a tree; rows, columns and both are long.
SHAPES: tuple[Shape, ...] = (
    (70_001,),
    (2, 66_003),
    (66_003, 2),
    (131, 517),
    (1031, 67),
    (5, 41, 400),
)
PRODUCTS: tuple[tuple[Shape, Shape], ...] = (
    ((70, 300), (300, 131)),
    ((131, 517), (517, 3)),
    ((1, 700), (700, 331)),
    ((331, 7), (7, 133)),
    ((5, 33, 17), (17, 40)),
    ((7, 20, 31), (7, 31, 9)),
)
WIDE = 700  # elements in a row of an array with as many rows as an open size says


def large(b: Builder, _op: Op | None = None) -> str:
    """One step over a large argument and a number that depends on the rest of the program."""
    number = f"wg.mean({draw_float(b, filled=True, closed=True)})"
    return b.emit(b.choose((_fold, _fold, _product, _spread))(b, number))


def _fold(b: Builder, number: str) -> str:
    shape: Shape = b.choose(SHAPES)
    if b.sizes[0] and b.chance(70):
        rows = b.choose(list(b.sizes[0]))
        shape = b.choose(((rows, WIDE), (WIDE, rows)))
    x = _alone(b, shape)
    axis = b.choose(_axes(shape))
    inner = axis if axis is not None else len(shape) - 1
    texts = [
        f"wg.mean(wg.sin({x} * {number}), axis={axis})",
        f"wg.max({x} * {number}, axis={axis})",
        f"wg.argmin({x} - {number}, axis={axis})",
        f"wg.logsumexp({x} * {number}, axis={axis})",
        f"wg.var({x} + {number}, axis={axis})",
        f"wg.mean(wg.softmax({x} * {number}, axis={inner}) * {x}, axis={axis})",
        f"wg.mean(wg.layer_norm({x} * {number}, axis={inner}) ** 2, axis={axis})",
        f"wg.mean({x} * wg.mean({x}, axis={inner}, keepdims=True), axis={axis}) + {number}",
        f"wg.count_nonzero({x} > {number}, axis={axis})",
    ]
    return b.choose(texts)


def _spread(b: Builder, number: str) -> str:
    """Elements that come from anywhere or go anywhere."""
    shape: Shape = b.choose(SHAPES)
    x, index = _alone(b, shape), _alone(b, shape, b.choose(("int64", "int32", "uint8")), 0, 4)
    flat, places = f"wg.reshape({x}, (-1,))", f"wg.reshape({index}, (-1,))"
    into = f"np.zeros(5, np.{b.dtype(x)})"
    texts = [
        f"wg.scatter_add({into}, {places}, {flat}) * 1e-3 + {number}",
        f"wg.mean(wg.take(wg.tanh({flat}), {places}) * {number})",
        f"wg.tanh({flat})[::997] * {number}",
        f"wg.sort({flat}, axis=0)[::997] * {number}",
        f"wg.sum(wg.astype({index}, np.int64) * 3) * 1e-5 + {number}",
    ]
    return b.choose(texts)


def _axes(shape: Shape) -> list[int | None]:
    """What may be folded so that little is left; None is everything."""
    sizes = [size if isinstance(size, int) else 1 for size in shape]
    few = [i for i, size in enumerate(sizes) if math.prod(sizes) // size <= LARGEST]
    return [None, *few]


def _product(b: Builder, number: str) -> str:
    """Matrices of many tiles, and stacks of them; either may be transposed in memory."""
    first, second = b.choose(PRODUCTS)
    dtype = b.choose(FLOATS)
    x, y = (_alone(b, shape, dtype) for shape in (first, second))
    product = f"({x} * {number}) @ {y}" if b.chance(50) else f"wg.tanh({x} @ {y} * {number})"
    return f"wg.mean({product}, axis={b.choose((-1, -2, (-2, -1)))})"


def _alone(
    b: Builder, shape: Shape, dtype: str | None = None, low: float = -2.0, high: float = 2.0
) -> str:
    """An argument that no other step finds."""
    name = new_input(b, shape, dtype or b.choose(FLOATS), low, high)
    builder: Builder | None = b
    while builder is not None:
        builder.variables.remove(name)
        builder = builder.parent
    return name
