"""Lengths of vectors and sizes of matrices, that neither overflow nor underflow on the way."""

from __future__ import annotations

import math
from math import inf
from typing import Any

import numpy as np

from wengert.core.define import composite, function
from wengert.core.op_parts.batching import along
from wengert.core.op_parts.broadcast import canonical_axes, canonical_axis
from wengert.core.op_parts.samples import sample
from wengert.core.signatures.matrices import require_floats, require_matrices
from wengert.core.table import op
from wengert.errors import ShapeError


def _vector_norm_params(x: Any, axis: Any, keepdims: bool, ord: Any) -> dict[str, Any]:
    require_floats("vector_norm", x)
    if isinstance(ord, bool) or not isinstance(ord, int | float | np.number) or ord != ord:
        raise ValueError(
            f"vector_norm: ord={ord!r} was given; it must be a number or inf. Use norm for 'fro'."
        )
    axes = canonical_axes("vector_norm", axis, x.ndim)
    return {"axis": axes, "keepdims": bool(keepdims), "ord": float(ord)}


def _slope(x: Any, out: Any, axes: tuple[int, ...], ord: float) -> Any:
    """The derivative of the norm by each element; 0 throughout where the norm is 0."""
    norm = op.reshape(out, tuple(1 if a in axes else n for a, n in enumerate(x.shape)))
    if ord == 0:
        return op.full(x.shape, 0, dtype=x.dtype)
    if ord == 1:
        return op.sign(x)
    if abs(ord) == inf:
        best = op.equal(op.abs(x), norm)
        count = op.astype(op.sum(best, axis=axes, keepdims=True), x.dtype)
        unknown = op.where(op.not_equal(norm, norm), math.nan, 0)  # then none is the largest
        return op.where(best, op.sign(x) / count, op.astype(unknown, x.dtype))
    vanishes = op.equal(norm, 0)
    part = x / op.where(vanishes, 1, norm)  # at most 1
    if ord != 2:  # where x is 0, its sign wins over an infinite power
        part = op.pull(op.sign(x), op.pow(op.abs(part), ord - 1))
    return op.where(vanishes, 0, part)


def _vector_norm_vjp(g: Any, out: Any, x: Any, axis: Any, keepdims: bool, ord: float) -> Any:
    g = op.reshape(g, tuple(1 if a in axis else n for a, n in enumerate(x.shape)))
    return op.pull(g, _slope(x, out, axis, ord))


def _vector_norm_jvp(d: Any, out: Any, x: Any, axis: Any, keepdims: bool, ord: float) -> Any:
    return op.sum(op.pull(d[0], _slope(x, out, axis, ord)), axis=axis, keepdims=keepdims)


def _scale_of_squares(largest: Any) -> Any:
    """1 where the squares of such elements can be summed as they are, else the largest itself."""
    limits = np.finfo(largest.dtype)
    low, high = float(np.sqrt(limits.tiny / limits.eps)), float(np.sqrt(limits.max * limits.eps))
    too_small = op.where(op.greater(largest, 0), largest, 1)
    too_large = op.where(op.less(largest, inf), largest, 1)
    return op.where(
        op.less(largest, low), too_small, op.where(op.greater(largest, high), too_large, 1)
    )


@composite(
    canonical=_vector_norm_params,
    vjp=_vector_norm_vjp,
    jvp=_vector_norm_jvp,
    samples=(
        sample((4,)),
        sample((2, 3, 4), axis=(0, -1)),
        sample((2, 3, 4), axis=1, keepdims=True),
        sample((3, 4), ord=1, axis=0),
        sample((3, 4), ord=inf, axis=-1),
        sample((3, 4), ord=-inf),
        sample((3, 4), ord=3, axis=1),
        sample((3, 4), ord=1.5),
        sample((3, 4), ord=0, axis=0),
        sample((2, 3), ord=-2, axis=1),
        sample(()),
        sample((0,)),
        sample((2, 0), axis=1),
        sample((0, 3), axis=1),
    ),
    at=[
        (
            ([0.0, 0.0],),
            0.0,
            ([0.0, 0.0],),
            "the norm has no slope at the zero vector: 0 by convention",
        ),
    ],
    array_function=(np.linalg.vector_norm,),
    space="linalg",
    batch=along("axis"),
)
def vector_norm(
    x: Any, /, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: float = 2
) -> Any:
    """The ord-norm of the elements along the axes: (Σ|x|^ord)^(1/ord), 2 by default.

    ord 1 sums absolute values, inf and -inf take the largest and smallest one, 0 counts elements
    that are not 0. Exact up to the largest float: no square overflows on the way. Derivatives are 0
    at the zero vector, and ties of inf share evenly.

    >>> wg.linalg.vector_norm(np.array([3e200, 4e200]))
    array(5.e+200)
    """
    if ord == 0:
        return op.astype(op.count_nonzero(x, axis=axis, keepdims=keepdims), x.dtype)
    size = op.abs(x)
    if ord == 1:
        return op.sum(size, axis=axis, keepdims=keepdims)
    if 0 in x.shape and ord > 0:
        return op.sum(x, axis=axis, keepdims=keepdims)  # no elements: zeros
    extremum = op.max if ord > 0 else op.min
    if abs(ord) == inf:
        return extremum(size, axis=axis, keepdims=keepdims)
    leading = op.stop_gradient(extremum(size, axis=axis, keepdims=True))
    if ord == 2:
        scale = _scale_of_squares(leading)
        part = x / scale
        root = op.sqrt(op.sum(part * part, axis=axis, keepdims=True))
    else:
        known = op.where(op.less(leading, inf), leading, 1)
        scale = op.where(op.greater(known, 0), known, 1)
        powers = op.pow(size / scale, ord)
        root = op.pow(op.sum(powers, axis=axis, keepdims=True), 1 / ord)
    out = root * scale
    return out if keepdims else op.squeeze(out, axis=axis)


@function(array_function=(np.linalg.matrix_norm,), space="linalg")
def matrix_norm(x: Any, keepdims: bool = False, ord: Any = "fro") -> Any:
    """A norm of each matrix: 'fro' (all elements as one vector), 'nuc', or 1, -1, inf, -inf, 2, -2.

    1 and inf are the largest sum of absolute values of a column and of a row, -1 and -inf the
    smallest. 2 and -2 are the largest and the smallest singular value, 'nuc' is the sum of all;
    those that vanish have derivative 0, and ties of the largest share evenly.

    >>> wg.linalg.matrix_norm(np.array([[1.0, -2.0], [3.0, 4.0]]), ord=1)
    array(6.)
    """
    x = op.asarray(x)
    require_matrices("matrix_norm", x)
    require_floats("matrix_norm", x)
    if ord in ("fro", None):
        return op.vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord != "nuc" and (isinstance(ord, str) or abs(ord) not in (1, 2, inf)):
        raise ValueError(
            f"matrix_norm: ord={ord!r} was given; 'fro', 'nuc', 1, -1, 2, -2, inf and -inf are "
            "known. Choose one of these."
        )
    if ord in ("nuc", 2, -2):
        fold = op.sum if ord == "nuc" else op.max if ord == 2 else op.min
        norms = fold(op.svdvals(x), axis=-1)
        return op.expand_dims(norms, (-2, -1)) if keepdims else norms
    sums = op.sum(op.abs(x), axis=-2 if abs(ord) == 1 else -1, keepdims=True)
    return (op.max if ord > 0 else op.min)(sums, axis=(-2, -1), keepdims=keepdims)


@function(array_function=(np.linalg.norm,), space="linalg")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """NumPy's norm: of all elements, of vectors along one axis, or of matrices in a pair of axes.

    With `ord` and without an axis, a 1-d array is a vector and a 2-d array a matrix.

    >>> wg.linalg.norm(np.array([[3.0, 0.0], [0.0, 4.0]]))
    array(5.)
    """
    x = op.asarray(x)
    if axis is None and ord is not None:
        if len(x.shape) not in (1, 2):
            raise ShapeError(
                f"norm: ord={ord!r} was given for an array of {len(x.shape)} axes; a vector or a "
                "matrix is needed. Name its axis, or a pair of axes."
            )
        axis = tuple(range(len(x.shape)))
    axes = tuple(axis) if isinstance(axis, tuple | list) else None if axis is None else (axis,)
    if axes is None or len(axes) == 1 or (len(axes) == 2 and ord in (None, "fro")):
        return op.vector_norm(x, axis=axes, keepdims=keepdims, ord=_vector_ord(ord))
    if len(axes) != 2:
        raise ShapeError(
            f"norm: axis={axis} was given; one axis holds vectors, two hold matrices. Use "
            "vector_norm for more."
        )
    rows, columns = (canonical_axis("norm", a, len(x.shape)) for a in axes)
    out = matrix_norm(op.moveaxis(x, (rows, columns), (-2, -1)), keepdims=keepdims, ord=ord)
    return op.moveaxis(out, (-2, -1), (rows, columns)) if keepdims else out


def _vector_ord(ord: Any) -> Any:
    return 2 if ord is None or ord == "fro" else ord
