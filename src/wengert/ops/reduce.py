"""Folds over axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.bind import located
from wengert.core.define import linear, primitive
from wengert.core.dims import Shape, product
from wengert.core.lowering import Fold, SpecialKernel
from wengert.core.op_parts.batching import BatchedCall, along, with_rows
from wengert.core.op_parts.broadcast import canonical_axes, canonical_axis
from wengert.core.op_parts.samples import Booleans, Exactly, Integers, sample
from wengert.core.table import UFUNC_METHODS, op
from wengert.core.types import ArrayType
from wengert.errors import ShapeError, TraceError


def _reduced(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _restored(y: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """A reduced array with its axes back, of size 1, to broadcast against what was reduced."""
    return op.reshape(y, _reduced(x.shape, axes, True))


def _over(name: str) -> dict[str, Any]:
    """How the parameters of a reduction are read, as users and as graphs name them."""

    def axes_of(x: Any, axes: Any, keepdims: bool) -> dict[str, Any]:
        return {"axes": canonical_axes(name, axes, x.ndim), "keepdims": bool(keepdims)}

    return {
        "canonical": lambda x, axis, keepdims: axes_of(x, axis, keepdims),
        "settled": axes_of,
    }


def _giving(dtype: Callable[[Any], Any]) -> Any:
    """The type rule of a reduction whose result has this function of the operand's dtype."""
    return lambda x, axes, keepdims: ArrayType(_reduced(x.shape, axes, keepdims), dtype(x.dtype))


def _smallest_of(dtype: Any) -> Any:
    """What every number of a dtype is at least."""
    if dtypes.is_float(dtype):
        return -np.inf
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def _largest_of(dtype: Any) -> Any:
    """What every number of a dtype is at most."""
    if dtypes.is_float(dtype):
        return np.inf
    return True if dtype.kind == "b" else np.iinfo(dtype).max


def _nonempty(name: str) -> Any:
    def rule(x: Any, axes: tuple[int, ...], keepdims: bool) -> ArrayType:
        if 0 in [x.shape[axis] for axis in axes]:
            raise ShapeError(
                f"{name}: given shape {x.shape} and axes {axes}; an empty axis has no {name}. "
                "Check for emptiness first."
            )
        return ArrayType(_reduced(x.shape, axes, keepdims), x.dtype)

    return rule


_SAMPLES = (
    sample((3, 4)),
    sample((2, 3, 4), axis=(0, -1)),
    sample((2, 3, 4), axis=1, keepdims=True),
    sample(()),
    sample((3, 1, 2), axis=-2),
    sample((0, 3), axis=-1),
    sample((2, 3), axis=()),
)


@linear(
    numpy=lambda x, axes, keepdims: np.add.reduce(
        x, axis=axes, keepdims=keepdims, dtype=dtypes.accumulated(x.dtype)
    ),
    type=_giving(dtypes.accumulated),
    **_over("sum"),
    transpose=lambda g, _x, axes, keepdims: op.broadcast_to(_restored(g, _x, axes), _x.shape),
    samples=(*_SAMPLES, sample((0, 3), axis=0), sample(Integers((2, 3), dtype="int8"))),
    method=True,
    keywords=("dtype",),
    lower=Fold(lambda _: 0, lambda e, x, y: e.add(x, y), adds=True),
    batch=along("axes"),
)
def sum(x: Any, /, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> None:
    """Sum of the elements along the axes; all of them by default.

    >>> wg.sum(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([4., 6.])
    """


def _products_of_others(x: Any, axes: tuple[int, ...]) -> Any:
    """For each element the product of all others along the axes: the gradient of prod.

    Written with running products from both sides, never as out / x, so it is right at zeros and so
    are its own derivatives.
    """
    rest = tuple(axis for axis in range(len(x.shape)) if axis not in axes)
    moved = op.permute_dims(x, rest + axes)
    count = product(tuple(x.shape[axis] for axis in axes))
    rows = op.reshape(moved, (*moved.shape[: len(rest)], count))  # (*rest, count)
    last = len(rest)
    before = op.shift(op.cumprod(rows, axis=last), axis=last, fill=1)
    after = op.shift(op.cumprod(op.flip(rows, axis=last), axis=last), axis=last, fill=1)
    others = op.multiply(before, op.flip(after, axis=last))
    back = tuple(int(i) for i in np.argsort(rest + axes))
    return op.permute_dims(op.reshape(others, moved.shape), back)


def _prod_vjp(g: Any, _out: Any, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    return op.pull(_restored(g, x, axes), _products_of_others(x, axes))


def _prod_jvp(d: Any, _out: Any, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    return op.sum(op.pull(d[0], _products_of_others(x, axes)), axis=axes, keepdims=keepdims)


@primitive(
    numpy=lambda x, axes, keepdims: np.multiply.reduce(
        x, axis=axes, keepdims=keepdims, dtype=dtypes.accumulated(x.dtype)
    ),
    type=_giving(dtypes.accumulated),
    **_over("prod"),
    vjp=_prod_vjp,
    jvp=_prod_jvp,
    samples=(
        *_SAMPLES,
        sample((0, 3), axis=0),
        sample(Exactly([2.0, 0.0, -3.0])),
        sample(Exactly([[0.0, 5.0, 0.0], [1.5, 0.0, 2.0]]), axis=1),
    ),
    at=[
        (([2.0, 0.0, 3.0],), 0.0, ([0.0, 6.0, 0.0],), "with one zero, only its place has a slope"),
        (([0.0, 0.0, 3.0],), 0.0, ([0.0, 0.0, 0.0],), "with several zeros, no place has"),
    ],
    method=True,
    keywords=("dtype",),
    lower=Fold(lambda _: 1, lambda e, x, y: e.mul(x, y)),
    batch=along("axes"),
)
def prod(x: Any, /, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> None:
    """Product of the elements along the axes. Its derivatives are right at zeros too.

    >>> wg.prod(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=1)
    array([ 2., 12.])
    """


def _unknown(out: Any) -> Any:
    """NaN where the result is, else 0: none of the elements is the one that was chosen."""
    return op.where(op.not_equal(out, out), np.nan, 0)


def _extremum_vjp(g: Any, out: Any, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    best = op.equal(x, _restored(out, x, axes))
    count = op.astype(op.sum(best, axis=axes, keepdims=True), x.dtype)
    others = _restored(op.where(op.equal(g, 0), 0, _unknown(out)), x, axes)
    return op.where(best, _restored(g, x, axes) / count, op.astype(others, x.dtype))


def _extremum_jvp(d: Any, out: Any, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    best = op.equal(x, _restored(out, x, axes))
    count = op.astype(op.sum(best, axis=axes, keepdims=keepdims), x.dtype)
    others = op.where(op.equal(d[0], 0), 0, _restored(_unknown(out), x, axes))
    moved = op.where(best, d[0], op.astype(others, x.dtype))
    return op.sum(moved, axis=axes, keepdims=keepdims) / op.maximum(count, 1)


@primitive(
    numpy=lambda x, axes, keepdims: np.maximum.reduce(x, axis=axes, keepdims=keepdims),
    type=_nonempty("max"),
    nonempty=True,
    **_over("max"),
    vjp=_extremum_vjp,
    jvp=_extremum_jvp,
    samples=_SAMPLES,
    at=[(([1.0, 3.0, 3.0],), 3.0, ([0.0, 0.5, 0.5],), "tied maxima share the gradient evenly")],
    method=True,
    lower=Fold(_smallest_of, lambda e, x, y: e.max(x, y), keeps="largest"),
    batch=along("axes"),
)
def max(x: Any, /, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> None:
    """Largest element along the axes; NaN where there is one.

    >>> wg.max(np.array([[1.0, 5.0], [3.0, 4.0]]), axis=0)
    array([3., 5.])
    """


@primitive(
    numpy=lambda x, axes, keepdims: np.minimum.reduce(x, axis=axes, keepdims=keepdims),
    type=_nonempty("min"),
    nonempty=True,
    **_over("min"),
    vjp=_extremum_vjp,
    jvp=_extremum_jvp,
    samples=_SAMPLES,
    at=[(([3.0, 1.0, 1.0],), 1.0, ([0.0, 0.5, 0.5],), "tied minima share the gradient evenly")],
    method=True,
    lower=Fold(_largest_of, lambda e, x, y: e.min(x, y), keeps="smallest"),
    batch=along("axes"),
)
def min(x: Any, /, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> None:
    """Smallest element along the axes; NaN where there is one.

    >>> wg.min(np.array([[1.0, 5.0], [3.0, 4.0]]), axis=0)
    array([1., 4.])
    """


_TRUTHS = (
    sample(Booleans((3, 4))),
    sample(Booleans((2, 3, 4)), axis=(0, -1), keepdims=True),
    sample(Integers((3, 4), 0, 2), axis=1),
    sample((2, 3), axis=0),
    sample(Booleans(())),
    sample(Booleans((0, 3)), axis=0),
)


@primitive(
    numpy=lambda x, axes, keepdims: np.logical_or.reduce(x, axis=axes, keepdims=keepdims),
    type=_giving(lambda _: dtypes.bool_),
    **_over("any"),
    flat=True,
    samples=_TRUTHS,
    method=True,
    exact=True,
    lower=Fold(lambda _: False, lambda e, x, y: e.or_(x, y), truth=True),
    batch=along("axes"),
)
def any(x: Any, /, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> None:
    """Whether any element along the axes is not zero; False where there is none.

    >>> wg.any(np.array([[0, 1], [0, 0]]), axis=1)
    array([ True, False])
    """


@primitive(
    numpy=lambda x, axes, keepdims: np.logical_and.reduce(x, axis=axes, keepdims=keepdims),
    type=_giving(lambda _: dtypes.bool_),
    **_over("all"),
    flat=True,
    samples=_TRUTHS,
    method=True,
    exact=True,
    lower=Fold(lambda _: True, lambda e, x, y: e.and_(x, y), truth=True),
    batch=along("axes"),
)
def all(x: Any, /, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> None:
    """Whether every element along the axes is not zero; True where there is none.

    >>> wg.all(np.array([[1, 1], [0, 1]]), axis=1)
    array([ True, False])
    """


@primitive(
    numpy=lambda x, axes, keepdims: np.asarray(
        np.count_nonzero(x, axis=axes, keepdims=keepdims), np.int64
    ),
    type=_giving(lambda _: dtypes.int64),
    **_over("count_nonzero"),
    flat=True,
    samples=_TRUTHS,
    array_function=(np.count_nonzero,),
    exact=True,
    lower=Fold(lambda _: 0, lambda e, x, y: e.add(x, y), truth=True, again="sum"),
    batch=along("axes"),
)
def count_nonzero(
    x: Any, /, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> None:
    """How many elements along the axes are not zero.

    >>> wg.count_nonzero(np.array([[1.0, 0.0], [0.0, 0.0]]), axis=1)
    array([1, 0])
    """


def _along_one(name: str) -> Any:
    return lambda x, axis, keepdims: {
        "axis": None if axis is None else canonical_axis(name, axis, x.ndim),
        "keepdims": bool(keepdims),
    }


def _position_type(name: str) -> Any:
    def rule(x: Any, axis: int | None, keepdims: bool) -> ArrayType:
        axes = tuple(range(len(x.shape))) if axis is None else (axis,)
        _nonempty(name)(x, axes, keepdims)
        return ArrayType(_reduced(x.shape, axes, keepdims), dtypes.int64)

    return rule


def _position_of_each(call: BatchedCall) -> Any:
    if call.params["axis"] is not None:
        return along("axis")(call)
    positions = call.again([with_rows(call.operands[0])], axis=1, keepdims=False)
    if not call.params["keepdims"]:
        return positions
    return op.reshape(positions, (call.size, *[1] * call.rank(0)))


_POSITIONS = (
    sample((3, 4)),
    sample((2, 3, 4), axis=-1),
    sample((2, 3, 4), axis=1, keepdims=True),
    sample((2, 3), keepdims=True),
    sample(()),
    sample((0, 3), axis=1),
    sample(Exactly([1.0, 3.0, 3.0, 1.0])),
    sample(Integers((3, 4)), axis=0),
)


@primitive(
    numpy=lambda x, axis, keepdims: np.argmax(x, axis=axis, keepdims=keepdims),
    type=_position_type("argmax"),
    nonempty=True,
    canonical=_along_one("argmax"),
    flat=True,
    samples=_POSITIONS,
    method=True,
    exact=True,
    lower=SpecialKernel("argmax"),
    batch=_position_of_each,
)
def argmax(x: Any, /, axis: int | None = None, keepdims: bool = False) -> None:
    """Where the largest element along the axis stands, the first of equals and of NaNs.

    Without an axis the position is counted over all elements, row by row.

    >>> wg.argmax(np.array([[1.0, 5.0], [4.0, 3.0]]), axis=1)
    array([1, 0])
    """


@primitive(
    numpy=lambda x, axis, keepdims: np.argmin(x, axis=axis, keepdims=keepdims),
    type=_position_type("argmin"),
    nonempty=True,
    canonical=_along_one("argmin"),
    flat=True,
    samples=_POSITIONS,
    method=True,
    exact=True,
    lower=SpecialKernel("argmin"),
    batch=_position_of_each,
)
def argmin(x: Any, /, axis: int | None = None, keepdims: bool = False) -> None:
    """Where the smallest element along the axis stands, the first of equals and of NaNs.

    Without an axis the position is counted over all elements, row by row.

    >>> wg.argmin(np.array([[1.0, 5.0], [4.0, 3.0]]), axis=1)
    array([0, 1])
    """


def _as_ufunc_reduce(ufunc: np.ufunc, reduction: Callable[..., Any]) -> Callable[..., Any]:
    """The reduction, called as `np.add.reduce` is: over axis 0 unless told otherwise."""

    def reduce(
        x: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        **unrecorded: Any,
    ) -> Any:
        given = [n for n, value in unrecorded.items() if not (n == "where" and value is True)]
        if given:
            error = TraceError(
                f"np.{ufunc.__name__}.reduce: {' and '.join(given)} was given; only axis, dtype "
                "and keepdims are recorded. Use wg.where before reducing."
            )
            raise located(error, [x])
        x = x if dtype is None else op.astype(x, dtype)
        axis = None if not x.shape and axis in (0, -1) else axis  # NumPy lets a number have an axis
        reduced = reduction(x, axis=axis, keepdims=keepdims)
        return reduced if dtype is None else op.astype(reduced, dtype)

    return reduce


for _ufunc, _reduction in (
    (np.add, sum),
    (np.multiply, prod),
    (np.maximum, max),
    (np.minimum, min),
    (np.logical_or, any),
    (np.logical_and, all),
):
    UFUNC_METHODS[_ufunc, "reduce"] = _as_ufunc_reduce(_ufunc, _reduction)
