"""Triangles and diagonals of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.define import function, linear
from wengert.core.dims import Dim, Shape, Size, let_yield, substitute, yielding_sizes
from wengert.core.lowering import Pick, Places
from wengert.core.op_parts.batching import with_leading_axes
from wengert.core.op_parts.samples import sample
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import ShapeError


def _band_type(name: str) -> Any:
    def rule(x: Any, k: int) -> ArrayType:
        if len(x.shape) < 2:
            raise ShapeError(
                f"{name}: given shape {tuple(x.shape)}; at least two axes are needed. Add one?"
            )
        return ArrayType(tuple(x.shape), x.dtype)

    return rule


def _diagonal(k: Any) -> int:
    """The number of a diagonal; beyond all matrices it does not matter how far."""
    return max(-(2**62), min(int(k), 2**62))


_BAND_SAMPLES = (
    sample((3, 4)),
    sample((2, 3, 3), k=1),
    sample((4, 2), k=-2),
    sample((2, 3), k=7),
    sample((0, 3)),
)


def _band(choose: Any, name: str) -> Any:
    def rule(x: Any, k: int) -> Any:
        _band_type(name)(x, k)  # NumPy would make a matrix of a vector
        return choose(x, k)

    return rule


def _band_element(keeps: Any) -> Any:
    def element(p: Places) -> Any:
        *_, row, column = p.own
        off_diagonal = p.whole(p.add(column, p.scale(row, -1)))
        kept = keeps(p.e, off_diagonal, p.number(p.params["k"], dtypes.int64))
        return p.e.select(kept, p.here(0), p.number(0, p.out.dtype))

    return element


@linear(
    numpy=_band(np.tril, "tril"),
    type=_band_type("tril"),
    canonical=lambda x, k: {"k": _diagonal(k)},
    transpose=lambda g, _x, k: op.tril(g, k),
    array_function=(np.tril,),
    samples=_BAND_SAMPLES,
    exact=True,
    lower=Pick(_band_element(lambda e, x, edge: e.le(x, edge)), in_place=True),
    batch=with_leading_axes,
)
def tril(x: Any, /, k: int = 0) -> None:
    """The lower triangle of each matrix, up to diagonal k, and zeros above it.

    >>> wg.tril(np.ones((2, 3), int))
    array([[1, 0, 0],
           [1, 1, 0]])
    """


@linear(
    numpy=_band(np.triu, "triu"),
    type=_band_type("triu"),
    canonical=lambda x, k: {"k": _diagonal(k)},
    transpose=lambda g, _x, k: op.triu(g, k),
    array_function=(np.triu,),
    samples=_BAND_SAMPLES,
    exact=True,
    lower=Pick(_band_element(lambda e, x, edge: e.ge(x, edge)), in_place=True),
    batch=with_leading_axes,
)
def triu(x: Any, /, k: int = 0) -> None:
    """The upper triangle of each matrix, from diagonal k on, and zeros below it.

    >>> wg.triu(np.ones((2, 3), int), k=1)
    array([[0, 1, 1],
           [0, 0, 1]])
    """


def _let_squares_yield(shape: Shape) -> None:
    """Have the open size of a matrix specialised that is square: it is no batch of rows."""
    rows, columns = shape[-2:]
    names = frozenset().union(*(x.names for x in (rows, columns) if isinstance(x, Dim)))
    if len(set(substitute((rows, columns), yielding_sizes(names)))) == 1:
        let_yield(
            names,
            ShapeError(
                f"diagonal: given shape {shape}; the length of the diagonal is that of the shorter "
                "axis, and both sizes must be numbers, or one Dim. Leave them out of dims."
            ),
        )


@function()
def diagonal(x: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    """The diagonal of each matrix, as the last axis; the matrices lie in the last two axes.

    >>> wg.diagonal(np.array([[1, 2], [3, 4]]))
    array([1, 4])
    """
    x = op.asarray(x)
    if x.ndim < 2:
        raise ShapeError(
            f"diagonal: given shape {tuple(x.shape)}; at least two axes are needed. Add one?"
        )
    x = op.moveaxis(x, (axis1, axis2), (-2, -1))
    *lead, rows, columns = x.shape
    length: Size
    if rows == columns and isinstance(rows, Dim):
        length = rows - abs(offset)
    else:
        _let_squares_yield(x.shape)
        below, right = max(-offset, 0), max(offset, 0)
        length = max(min(int(rows) - below, int(columns) - right), 0)
    # Row by row, the elements of a diagonal lie one row and one column apart.
    flat = op.reshape(x, (*lead, rows * columns))
    return op.slice_axes(
        flat,
        start=(*[0] * len(lead), (offset if offset >= 0 else -offset * columns)),
        size=(*lead, length),
        step=(*[1] * len(lead), columns + 1),
    )


@function(array_function=(np.diag,))
def diag(x: Any, k: int = 0) -> Any:
    """The diagonal k of a matrix, or the matrix that has a vector as its diagonal k.

    >>> wg.diag(np.array([1, 2])), wg.diag(np.array([[1, 2], [3, 4]]))
    (array([[1, 0],
           [0, 2]]), array([1, 4]))
    """
    x = op.asarray(x)
    if x.ndim == 2:
        return op.diagonal(x, k)
    if x.ndim != 1:
        raise ShapeError(
            f"diag: given shape {tuple(x.shape)}; a vector or a matrix is needed. "
            "Use wg.diagonal for several matrices."
        )
    size = x.shape[0] + abs(k)
    start = k if k >= 0 else -k * size
    flat = op.place(x, shape=(size * size,), start=(start,), step=(size + 1,))
    return op.reshape(flat, (size, size))
