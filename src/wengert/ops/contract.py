"""Sums of products: matmul and what is built on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.define import bilinear, function
from wengert.core.dims import product
from wengert.core.dtypes import promote
from wengert.core.lowering import Contraction
from wengert.core.op_parts.batching import BatchedCall, raised
from wengert.core.op_parts.broadcast import broadcast_shapes, canonical_axis, unbroadcast
from wengert.core.op_parts.samples import Integers, sample
from wengert.core.table import UFUNCS, op
from wengert.core.types import ArrayType
from wengert.errors import ShapeError
from wengert.interpret.mistakes.mixed_rows import note_summed_rows


def _matmul_type(x: Any, y: Any) -> ArrayType:
    if not x.shape or not y.shape:
        raise ShapeError(
            f"matmul: left has shape {x.shape} and right has shape {y.shape}; both need at least "
            "one axis. Use multiply for numbers."
        )
    inner = y.shape[-2] if len(y.shape) > 1 else y.shape[0]
    if x.shape[-1] != inner:
        where = "second-to-last of right" if len(y.shape) > 1 else "only axis of right"
        raise ShapeError(
            f"matmul: left has shape {x.shape} and right has shape {y.shape}; the last axis of "
            f"left ({x.shape[-1]}) must equal the {where} ({inner}). Transpose one of them?"
        )
    batch = broadcast_shapes("matmul", [x.shape[:-2], y.shape[:-2]])
    return ArrayType(
        (*batch, *x.shape[-2:-1], *(y.shape[-1:] if len(y.shape) > 1 else ())), promote(x, y)
    )


def _product_of_arrays(x: Any, y: Any) -> Any:
    """np.matmul; for two matrices np.dot, which is quicker to start and with transposed ones."""
    plain = type(x) is np.ndarray and type(y) is np.ndarray and x.ndim == y.ndim == 2
    return np.dot(x, y) if plain and x.dtype.kind == "f" else np.matmul(x, y)


def _product(x: Any, y: Any) -> Any:
    if type(x) is np.ndarray and type(y) is np.ndarray:
        return _product_of_arrays(x, y)
    return x @ y


def _left(g: Any, x: Any, y: Any) -> Any:
    """Cotangent of the left operand; `x` is read for its shape only."""
    if len(y.shape) == 1:  # (…, m, k) @ (k,) -> (…, m)
        return unbroadcast(op.multiply(_with_axis(g, -1), y), x)
    if len(x.shape) == 1:  # (k,) @ (…, k, n) -> (…, n)
        return unbroadcast(_without_last(y @ _with_axis(g, -1)), x)
    return unbroadcast(_product(g, y.mT), x)


def _right(g: Any, x: Any, y: Any) -> Any:
    """Cotangent of the right operand; `y` is read for its shape only."""
    if len(x.shape) == 1:
        if len(y.shape) == 1:
            return unbroadcast(op.multiply(g, x), y)
        return unbroadcast(op.multiply(_with_axis(x, -1), _with_axis(g, -2)), y)
    if len(y.shape) <= 2 < len(x.shape):  # one matrix meets all rows: one product of all of them
        rows = product(tuple(x.shape[:-1]))
        x, g = op.reshape(x, (rows, x.shape[-1])), op.reshape(g, (rows, *y.shape[1:]))
    if len(y.shape) == 1:
        return unbroadcast(_without_last(x.mT @ _with_axis(g, -1)), y)
    return unbroadcast(_product(x.mT, g), y)


def _with_axis(x: Any, axis: int) -> Any:
    """The array with a new axis of size 1 there, counted from the end."""
    shape = list(x.shape)
    shape.insert(len(shape) + 1 + axis, 1)
    return op.reshape(x, tuple(shape))


def _without_last(x: Any) -> Any:
    return op.reshape(x, x.shape[:-1])


def _product_of_each(call: BatchedCall) -> Any:
    """Where one operand is a matrix for all examples, the rows of all of them are one matrix."""
    x, y = call.operands
    if not call.batched[1] and call.rank(1) <= 2:
        if len(x.shape) <= 2:
            return call.again([x, y])
        rows = call.again([op.reshape(x, (product(tuple(x.shape[:-1])), x.shape[-1])), y])
        return op.reshape(rows, (*x.shape[:-1], *rows.shape[1:]))
    column = call.rank(1) == 1 or (call.rank(1) == 2 and y.shape[-1] == 1)
    if not call.batched[0] and call.rank(0) <= 2 and column:
        rows = op.reshape(y, (call.size, call.shape(1)[0]))
        products = call.again([rows, x if call.rank(0) == 1 else op.matrix_transpose(x)])
        return products if call.rank(1) == 1 else op.reshape(products, (*products.shape, 1))
    vectors = [call.rank(i) == 1 for i in (0, 1)]
    x = _with_axis(x, -2) if vectors[0] else x
    y = _with_axis(y, -1) if vectors[1] else y
    rank = max(call.rank(0) + vectors[0], call.rank(1) + vectors[1])
    products = call.again(
        [raised(z, rank) if b else z for z, b in zip((x, y), call.batched, strict=True)]
    )
    rest = products.shape[-2:]
    kept = [size for size, vector in zip(rest, vectors, strict=True) if not vector]
    return op.reshape(products, (*products.shape[:-2], *kept)) if any(vectors) else products


@bilinear(
    numpy=_product_of_arrays,
    aliases=(np.matmul,),
    infix="__matmul__",
    type=_matmul_type,
    transposes=(lambda g, _x, y: _left(g, _x, y), lambda g, x, _y: _right(g, x, _y)),
    samples=(
        sample((3, 4), (4, 2)),
        sample((2, 1, 3, 4), (5, 4, 2)),
        sample((4,), (4,)),
        sample((4,), (2, 4, 3)),
        sample((2, 3, 4), (4,)),
        sample((3, 0), (0, 2)),
    ),
    array_function=(np.linalg.matmul,),
    lower=Contraction(),
    batch=_product_of_each,
)
def matmul(x: Any, y: Any, /) -> None:
    """Matrix product over the last two axes, broadcast over the others; 1-d operands are vectors.

    >>> wg.matmul(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """


def _vecdot_canonical(x: Any, y: Any, axis: Any) -> dict[str, Any]:
    ranks = sorted([x.ndim, y.ndim])
    counted_from_end = isinstance(axis, int) and axis < 0
    if ranks[0] == 0 or (ranks[0] != ranks[1] and not (counted_from_end and axis >= -ranks[0])):
        raise ShapeError(
            f"vecdot: operands have shapes {x.shape} and {y.shape} and axis {axis} was given; both "
            "need that axis, counted from the last where they differ in rank. Choose an axis both "
            "have."
        )
    return {"axis": canonical_axis("vecdot", axis, ranks[1])}


def _vecdot_type(x: Any, y: Any, axis: int) -> ArrayType:
    from_end = axis - max(len(x.shape), len(y.shape))
    if x.shape[from_end] != y.shape[from_end]:
        raise ShapeError(
            f"vecdot: operands have shapes {x.shape} and {y.shape}; along axis {from_end} their "
            "sizes must be equal. Choose another axis?"
        )
    shape = list(broadcast_shapes("vecdot", [x.shape, y.shape]))
    del shape[axis]
    return ArrayType(tuple(shape), promote(x, y))


def _vecdot_of_each(call: BatchedCall) -> Any:
    rank = max(call.rank(0), call.rank(1))
    return call.again([call.raised(i, rank) for i in (0, 1)], axis=call.params["axis"] + 1)


@bilinear(
    # NumPy's stubs ask for arrays of a dtype they know.
    numpy=lambda x, y, axis: np.vecdot(  # type: ignore[call-overload]
        x, y, axis=axis - max(x.ndim, y.ndim)
    ),
    type=_vecdot_type,
    canonical=_vecdot_canonical,
    settled=lambda x, y, axis: _vecdot_canonical(x, y, axis - max(x.ndim, y.ndim)),
    transposes=(
        lambda g, _x, y, axis: unbroadcast(
            op.multiply(_with_axis(g, axis - max(_x.ndim, y.ndim)), y), _x
        ),
        lambda g, x, _y, axis: unbroadcast(
            op.multiply(_with_axis(g, axis - max(x.ndim, _y.ndim)), x), _y
        ),
    ),
    samples=(
        sample((4,), (4,)),
        sample((2, 3), (2, 3), axis=0),
        sample((2, 1, 4), (3, 4)),
        sample((4,), (2, 3, 4)),
        sample((3, 1), (2, 3, 4), axis=-2),
        sample((2, 0), (2, 0)),
        sample(Integers((2, 3)), Integers((2, 3))),
    ),
    array_function=(np.linalg.vecdot,),
    batch=_vecdot_of_each,
)
def vecdot(x: Any, y: Any, /, axis: int = -1) -> None:
    """Sum of products along one axis, broadcast over the others.

    >>> wg.vecdot(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """


UFUNCS[np.vecdot] = vecdot


@function(array_function=(np.dot,))
def dot(x: Any, y: Any) -> Any:
    """NumPy's dot: a sum over the last axis of x and the second-to-last of y; numbers multiply.

    >>> wg.dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array(11.)
    """
    x, y = op.asarray(x), op.asarray(y)
    if not x.shape or not y.shape:
        return op.multiply(x, y)
    if len(y.shape) <= 2:
        return op.matmul(x, y)
    return _tensordot("dot", x, y, [len(x.shape) - 1], [len(y.shape) - 2])


@function(array_function=(np.inner,))
def inner(x: Any, y: Any) -> Any:
    """Sum of products over the last axis of both, for every pair of the other positions.

    >>> wg.inner(np.array([1.0, 2.0]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    array([11., 17.])
    """
    x, y = op.asarray(x), op.asarray(y)
    if not x.shape or not y.shape:
        return op.multiply(x, y)
    return _tensordot("inner", x, y, [len(x.shape) - 1], [len(y.shape) - 1])


@function(array_function=(np.outer, np.linalg.outer))
def outer(x: Any, y: Any) -> Any:
    """Every product of an element of x with one of y, both read as vectors: (size of x, size of y).

    >>> wg.outer(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([[3., 4.],
           [6., 8.]])
    """
    x, y = op.asarray(x), op.asarray(y)
    return op.multiply(op.reshape(x, (product(x.shape), 1)), op.reshape(y, (product(y.shape),)))


@function(array_function=(np.kron,))
def kron(x: Any, y: Any) -> Any:
    """Kronecker product: each element of x times the whole of y, in blocks.

    >>> wg.kron(np.array([1.0, 10.0]), np.array([1.0, 2.0]))
    array([ 1.,  2., 10., 20.])
    """
    x, y = op.asarray(x), op.asarray(y)
    rank = max(len(x.shape), len(y.shape))
    left = (1,) * (rank - len(x.shape)) + tuple(x.shape)
    right = (1,) * (rank - len(y.shape)) + tuple(y.shape)
    blocks = op.multiply(
        op.reshape(x, tuple(size for n in left for size in (n, 1))),
        op.reshape(y, tuple(size for n in right for size in (1, n))),
    )
    return op.reshape(blocks, tuple(m * n for m, n in zip(left, right, strict=True)))


@function(array_function=(np.tensordot, np.linalg.tensordot))
def tensordot(x: Any, y: Any, axes: int | tuple[Any, Any] = 2) -> Any:
    """Sum of products over several axes: the last `axes` of x and first of y, or two lists.

    >>> wg.tensordot(np.ones((2, 3, 4)), np.ones((4, 3)), axes=((1, 2), (1, 0)))
    array([12., 12.])
    """
    x, y = op.asarray(x), op.asarray(y)
    if isinstance(axes, int | np.integer):
        count = int(axes)
        if not 0 <= count <= min(len(x.shape), len(y.shape)):
            raise ShapeError(
                f"tensordot: axes={count} was given for shapes {tuple(x.shape)} and "
                f"{tuple(y.shape)}; both must have that many axes. Give fewer, or name them in two "
                "lists."
            )
        left, right = range(len(x.shape) - count, len(x.shape)), range(count)
        return _tensordot("tensordot", x, y, left, right)
    pair = [each if isinstance(each, tuple | list) else (each,) for each in axes]
    if len(pair) != 2:
        raise ShapeError(
            f"tensordot: axes={axes} was given; it must be a number or a pair of lists. Pass two."
        )
    return _tensordot(
        "tensordot",
        x,
        y,
        [canonical_axis("tensordot", axis, len(x.shape)) for axis in pair[0]],
        [canonical_axis("tensordot", axis, len(y.shape)) for axis in pair[1]],
    )


def _tensordot(name: str, x: Any, y: Any, left: Sequence[int], right: Sequence[int]) -> Any:
    """Contract these axes of x with those of y by one matrix product."""
    sizes = [tuple(x.shape[a] for a in left), tuple(y.shape[a] for a in right)]
    if sizes[0] != sizes[1] or len({*left}) != len(left) or len({*right}) != len(right):
        note_summed_rows(name, [x, y])
        raise ShapeError(
            f"{name}: given shapes {tuple(x.shape)} and {tuple(y.shape)} and axes {tuple(left)} "
            f"and {tuple(right)}; contracted axes must be paired, distinct and of equal size. "
            "Choose others, or transpose?"
        )
    free_x = [a for a in range(len(x.shape)) if a not in left]
    free_y = [a for a in range(len(y.shape)) if a not in right]
    rows, columns = [x.shape[a] for a in free_x], [y.shape[a] for a in free_y]
    inner_size = product(sizes[0])
    out = op.matmul(
        op.reshape(op.permute_dims(x, (*free_x, *left)), (product(tuple(rows)), inner_size)),
        op.reshape(op.permute_dims(y, (*right, *free_y)), (inner_size, product(tuple(columns)))),
    )
    return op.reshape(out, (*rows, *columns))
