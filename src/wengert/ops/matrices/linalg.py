"""Solutions of linear systems and factorisations, batched over all axes but the last two."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.define import function, primitive
from wengert.core.dtypes import promote
from wengert.core.lowering import Failure, SpecialKernel, cubes
from wengert.core.op_parts.batching import BatchedCall, raised, with_leading_axes
from wengert.core.op_parts.broadcast import broadcast_shapes, canonical_axis, unbroadcast
from wengert.core.op_parts.samples import Exactly, sample
from wengert.core.signatures.matrices import (
    require_floats,
    require_matrices,
    require_square,
    spoiling,
    without_spoilt,
)
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import DTypeError, ShapeError

SINGULAR = Failure(
    np.linalg.LinAlgError,
    "given a matrix that is singular, or not positive definite, in compiled arithmetic; NumPy's "
    "finds it barely is not",
    "Add a small multiple of the identity",
)


def _regular(*shape: int) -> Exactly:
    """A sample of well-conditioned matrices without any symmetry."""
    return Exactly(np.cos(np.arange(np.prod(shape))).reshape(shape) + 2 * np.eye(shape[-1]))


def _positive(*shape: int) -> Exactly:
    """A sample of positive definite matrices."""
    half = _regular(*shape).value
    return Exactly(half @ half.mT)


def _square_type(name: str) -> Any:
    def rule(x: Any, **_params: Any) -> ArrayType:
        require_square(name, x)
        require_floats(name, x)
        return ArrayType(tuple(x.shape), x.dtype)

    return rule


# Linear systems. A right-hand side with one axis is a vector, any other holds columns in its last
# two.


def _columns(x: Any, vector: bool) -> Any:
    return op.reshape(x, (*x.shape, 1)) if vector else x


def _as_given(x: Any, vector: bool) -> Any:
    return op.reshape(x, x.shape[:-1]) if vector else x


def _system_type(name: str, a: Any, b: Any) -> ArrayType:
    require_square(name, a)
    require_floats(name, a, b)
    vector = len(b.shape) == 1
    rows = b.shape[-1 if vector else -2] if b.shape else None
    if rows != a.shape[-1]:
        raise ShapeError(
            f"{name}: a has shape {tuple(a.shape)} and b has shape {tuple(b.shape)}; b needs "
            f"{a.shape[-1]} rows, as a vector or in its second-to-last axis. Add an axis to b, or "
            "transpose it?"
        )
    batch = broadcast_shapes(name, [tuple(a.shape[:-2]), tuple(b.shape[:-2])])
    tail = (a.shape[-1],) if vector else tuple(b.shape[-2:])
    return ArrayType((*batch, *tail), promote(a, b))


def _singular(name: str, what: str, shape: Any) -> np.linalg.LinAlgError:
    return np.linalg.LinAlgError(
        f"{name}: given {what} in an array of shape {tuple(shape)}; every matrix must be "
        "invertible. Check its rows for dependence, or add a small multiple of the identity."
    )


def _solve(a: Any, b: Any) -> Any:
    _system_type("solve", a, b)
    regular, spoilt = without_spoilt(a)
    try:
        out = np.linalg.solve(regular, b)
    except np.linalg.LinAlgError:
        raise _singular("solve", "a singular matrix", a.shape) from None
    return spoiling(out, spoilt[..., 0] if spoilt is not None and b.ndim == 1 else spoilt)


def _solve_flops(operands: Any, results: Any, _params: dict[str, Any]) -> int:
    n = operands[0][-1]
    flops: int = 2 * math.prod(operands[0]) * n // 3 + 2 * n * math.prod(results[0])
    return flops


def _triangular_flops(operands: Any, results: Any, _params: dict[str, Any]) -> int:
    flops: int = operands[0][-1] * math.prod(results[0])
    return flops


def _solve_vjp(g: Any, out: Any, a: Any, _b: Any) -> Any:
    vector = len(_b.shape) == 1
    gb = op.solve(a.mT, _columns(g, vector))
    ga = -(gb @ _columns(out, vector).mT)
    return unbroadcast(ga, a), unbroadcast(_as_given(gb, vector), _b)


def _solve_jvp(d: Any, out: Any, a: Any, b: Any) -> Any:
    (da, db), vector = d, len(b.shape) == 1
    moved = [] if db is None else [_columns(db, vector)]
    moved += [] if da is None else [-(da @ _columns(out, vector))]
    total = moved[0] if len(moved) == 1 else moved[0] + moved[1]
    return _as_given(op.solve(a, total), vector)


def _solve_each(call: BatchedCall) -> Any:
    """A vector becomes a column: in front of a vector there can be no other axes."""
    vector = call.rank(1) == 1
    b = call.operands[1]
    b = _columns(b, vector)
    rank = max(call.rank(0), call.rank(1) + vector)
    a = call.raised(0, rank)
    solution = call.again([a, raised(b, rank) if call.batched[1] else b])
    return _as_given(solution, vector)


@primitive(
    numpy=_solve,
    type=lambda a, b: _system_type("solve", a, b),
    vjp=_solve_vjp,
    jvp=_solve_jvp,
    samples=(
        sample(_regular(3, 3), (3, 2)),
        sample(_regular(3, 3), (3,)),
        sample(_regular(2, 1, 3, 3), (4, 3, 2)),
        sample(_regular(2, 3, 3), (3,)),
        sample(_regular(3, 3), (2, 3, 1)),
        sample(_regular(1, 1), (1,)),
        sample((0, 0), (0, 2)),
    ),
    array_function=(np.linalg.solve,),
    space="linalg",
    lower=SpecialKernel("solve", _solve_flops, SINGULAR, one_dtype=True),
    batch=_solve_each,
)
def solve(a: Any, b: Any, /) -> None:
    """The x with a @ x = b; b is one vector, or holds columns.

    A singular a raises LinAlgError; one with an element that is not finite gives NaN.

    >>> wg.linalg.solve(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0]))
    array([1., 2.])
    """


_BLOCK = 16  # below this size rows are eliminated one by one, above it in halves by matrix products


def _substitute(a: Any, x: Any) -> None:
    """Turn the right-hand side x of a lower triangular system into its solution, in place."""
    size = a.shape[-1]
    if size <= _BLOCK:
        for i in range(size):
            x[..., i, :] /= a[..., i, i, None]
            x[..., i + 1 :, :] -= a[..., i + 1 :, i, None] * x[..., i, None, :]
        return
    half = size // 2
    _substitute(a[..., :half, :half], x[..., :half, :])
    x[..., half:, :] -= a[..., half:, :half] @ x[..., :half, :]
    _substitute(a[..., half:, half:], x[..., half:, :])


def _triangular_solve(a: Any, b: Any, lower: bool, trans: bool) -> Any:
    t = _system_type("triangular_solve", a, b)
    if not np.diagonal(a, axis1=-2, axis2=-1).all():
        raise _singular("triangular_solve", "a triangle with 0 on its diagonal", a.shape)
    vector = b.ndim == 1
    shape: Any = (*t.shape, 1) if vector else t.shape
    x = np.array(np.broadcast_to(b[:, None] if vector else b, shape), t.dtype, order="C")
    if trans:
        a, lower = a.mT, not lower
    if lower:
        _substitute(a, x)
    else:  # an upper triangle read from its end is a lower one
        _substitute(a[..., ::-1, ::-1], x[..., ::-1, :])
    return x[..., 0] if vector else x


def _triangle(x: Any, lower: bool) -> Any:
    return op.tril(x) if lower else op.triu(x)


def _triangular_vjp(g: Any, out: Any, a: Any, _b: Any, lower: bool, trans: bool) -> Any:
    vector = len(_b.shape) == 1
    gb = op.triangular_solve(a, _columns(g, vector), lower=lower, trans=not trans)
    x = _columns(out, vector)
    ga = _triangle(-(x @ gb.mT if trans else gb @ x.mT), lower)
    return unbroadcast(ga, a), unbroadcast(_as_given(gb, vector), _b)


def _triangular_jvp(d: Any, out: Any, a: Any, b: Any, lower: bool, trans: bool) -> Any:
    (da, db), vector = d, len(b.shape) == 1
    moved = [] if db is None else [_columns(db, vector)]
    if da is not None:
        da = _triangle(da, lower)
        moved.append(-((da.mT if trans else da) @ _columns(out, vector)))
    total = moved[0] if len(moved) == 1 else moved[0] + moved[1]
    return _as_given(op.triangular_solve(a, total, lower=lower, trans=trans), vector)


@primitive(
    numpy=_triangular_solve,
    type=lambda a, b, lower, trans: _system_type("triangular_solve", a, b),
    canonical=lambda a, b, lower, trans: {"lower": bool(lower), "trans": bool(trans)},
    vjp=_triangular_vjp,
    jvp=_triangular_jvp,
    samples=(
        sample(_regular(3, 3), (3, 2), lower=True),
        sample(_regular(3, 3), (3,), lower=False),
        sample(_regular(2, 1, 3, 3), (4, 3, 2), lower=False, trans=True),
        sample(_regular(2, 3, 3), (3,), lower=True, trans=True),
        sample((0, 0), (0, 2), lower=True),
    ),
    space="linalg",
    lower=SpecialKernel("triangular_solve", _triangular_flops, SINGULAR, one_dtype=True),
    batch=_solve_each,
)
def triangular_solve(a: Any, b: Any, /, lower: bool, trans: bool = False) -> None:
    """The x with a @ x = b, or a.mT @ x = b where `trans`, reading one triangle of a only.

    `lower` says which triangle; the other one has no influence and no gradient.

    >>> a = np.array([[2.0, 9.0], [1.0, 1.0]])
    >>> wg.linalg.triangular_solve(a, np.array([2.0, 3.0]), lower=True)
    array([1., 2.])
    """


def _inv(x: Any) -> Any:
    _square_type("inv")(x)
    regular, spoilt = without_spoilt(x)
    try:
        out = np.linalg.inv(regular)
    except np.linalg.LinAlgError:
        raise _singular("inv", "a singular matrix", x.shape) from None
    return spoiling(out, spoilt)


@primitive(
    numpy=_inv,
    type=_square_type("inv"),
    vjp=lambda g, out, _x: -(out.mT @ g @ out.mT),
    jvp=lambda d, out, _x: -(out @ d[0] @ out),
    samples=(
        sample(_regular(3, 3)),
        sample(_regular(2, 4, 3, 3)),
        sample(_regular(1, 1)),
        sample((0, 0)),
        sample((0, 2, 2)),
    ),
    array_function=(np.linalg.inv,),
    space="linalg",
    lower=SpecialKernel("inv", cubes(2), SINGULAR),
    batch=with_leading_axes,
)
def inv(x: Any, /) -> None:
    """The inverse of each matrix; NaN where an element is not finite.

    A singular matrix raises LinAlgError.

    >>> wg.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """


def _symmetric(x: Any) -> Any:
    return 0.5 * (x + x.mT)


def _cholesky(x: Any, upper: bool) -> Any:
    _square_type("cholesky")(x)
    regular, spoilt = without_spoilt(_symmetric(x))
    try:
        out = np.linalg.cholesky(regular)
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError(
            "cholesky: given a matrix that is not positive definite in an array of shape "
            f"{x.shape}; every eigenvalue must be above 0. Check its symmetry, or add a small "
            "multiple of the identity."
        ) from None
    out = out if spoilt is None else np.tril(spoiling(out, spoilt))
    return out.mT if upper else out


def _half_lower(x: Any) -> Any:
    """The lower triangle with half of the diagonal: with its transpose it gives x back."""
    return 0.5 * (op.tril(x) + op.tril(x, k=-1))


def _cholesky_vjp(g: Any, out: Any, _x: Any, upper: bool) -> Any:
    # With x = l lᵀ: gx is the symmetric part of l⁻ᵀ Φ(lᵀ gl) l⁻¹, where Φ is _half_lower.
    l, gl = (out.mT, g.mT) if upper else (out, g)
    middle = op.triangular_solve(l, _half_lower(l.mT @ gl), lower=True, trans=True)
    return _symmetric(op.triangular_solve(l, middle.mT, lower=True, trans=True))


def _cholesky_jvp(d: Any, out: Any, _x: Any, upper: bool) -> Any:
    # dl = l Φ(l⁻¹ dx l⁻ᵀ)
    l = out.mT if upper else out
    half = op.triangular_solve(l, _symmetric(d[0]), lower=True)
    dl = l @ _half_lower(op.triangular_solve(l, half.mT, lower=True))
    return dl.mT if upper else dl


@primitive(
    numpy=_cholesky,
    type=_square_type("cholesky"),
    canonical=lambda x, upper: {"upper": bool(upper)},
    vjp=_cholesky_vjp,
    jvp=_cholesky_jvp,
    samples=(
        sample(_positive(3, 3)),
        sample(_positive(3, 3), upper=True),
        sample(_positive(2, 4, 3, 3)),
        sample(Exactly([[4.0, 1.0], [2.0, 3.0]])),
        sample(_positive(1, 1)),
        sample((0, 0)),
    ),
    array_function=(np.linalg.cholesky,),
    space="linalg",
    lower=SpecialKernel("cholesky", cubes(1, 3), SINGULAR),
    batch=with_leading_axes,
)
def cholesky(x: Any, /, upper: bool = False) -> None:
    """The lower triangular l with l @ l.mT = x, positive definite; its transpose if `upper`.

    Both triangles of x are read: what is factored is its symmetric part (x + x.mT) / 2, so the
    gradient is symmetric. A matrix that is not positive definite raises LinAlgError, and one with
    an element that is not finite gives NaN.

    >>> wg.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 2.0]]))
    array([[2., 0.],
           [1., 1.]])
    """


@function(array_function=(np.linalg.matrix_power,), space="linalg")
def matrix_power(x: Any, n: int) -> Any:
    """The product of n copies of each matrix; of its inverse for a negative n, the identity for 0.

    >>> wg.linalg.matrix_power(np.array([[1.0, 1.0], [0.0, 1.0]]), 3)
    array([[1., 3.],
           [0., 1.]])
    """
    x = op.asarray(x)
    require_square("matrix_power", x)
    if not isinstance(n, int | np.integer):
        raise DTypeError(f"matrix_power: n={n!r} was given; an integer is needed. Round it first.")
    if n == 0:
        return op.broadcast_to(np.eye(int(x.shape[-1]), dtype=x.dtype), x.shape)
    if n < 0:
        x, n = op.inv(x), -n
    result = None
    while n:  # squares, one per binary digit of n
        if n & 1:
            result = x if result is None else result @ x
        n >>= 1
        x = x @ x if n else x
    return result


@function(array_function=(np.linalg.trace,), space="linalg")
def trace(x: Any, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of each matrix's diagonal; of another one where `offset` is not 0.

    >>> wg.linalg.trace(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array(5.)
    """
    x = op.asarray(x)
    require_matrices("trace", x)
    total = op.sum(op.diagonal(x, offset=offset), axis=-1)
    return total if dtype is None else op.astype(total, dtype)


@function(array_function=(np.linalg.cross,), space="linalg")
def cross(x: Any, y: Any, axis: int = -1) -> Any:
    """The cross product of vectors of three elements along the axis.

    >>> wg.linalg.cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    array([0., 0., 1.])
    """
    x, y = op.asarray(x), op.asarray(y)
    for z in (x, y):
        if z.shape[canonical_axis("cross", axis, len(z.shape))] != 3:
            raise ShapeError(
                f"cross: operands have shapes {tuple(x.shape)} and {tuple(y.shape)}; axis {axis} "
                "must have size 3. Choose another axis."
            )
    x, y = op.moveaxis(x, axis, -1), op.moveaxis(y, axis, -1)
    (x0, x1, x2), (y0, y1, y2) = ([z[..., i] for i in range(3)] for z in (x, y))
    parts = (x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0)
    return op.moveaxis(op.stack(parts, axis=-1), -1, axis)
