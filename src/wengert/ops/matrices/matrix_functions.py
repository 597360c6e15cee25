"""Functions of whole matrices: pseudo-inverses, least squares, rank and the exponential."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from wengert.core.bind import located
from wengert.core.define import composite, function, primitive
from wengert.core.lowering import SpecialKernel, cubes
from wengert.core.op_parts.batching import with_leading_axes
from wengert.core.op_parts.broadcast import broadcast_shapes, unbroadcast
from wengert.core.op_parts.samples import Exactly, sample
from wengert.core.signatures.matrices import (
    require_floats,
    require_matrices,
    require_square,
    spoiling,
    without_spoilt,
)
from wengert.core.special_functions.pade import COEFFICIENTS, LARGEST_NORM
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import ShapeError
from wengert.ops.matrices.factors import spread


def _tolerance(name: str, x: Any, rtol: Any) -> float:
    """Singular values below this part of the largest count as 0."""
    require_matrices(name, x)
    require_floats(name, x)
    if rtol is None:
        return max(int(x.shape[-2]), int(x.shape[-1])) * float(np.finfo(x.dtype).eps)
    if isinstance(rtol, bool) or not isinstance(rtol, int | float | np.number) or not rtol >= 0:
        raise ValueError(
            f"{name}: rtol={rtol!r} was given; it is a number, 0 or more: singular values below "
            "that part of the largest count as 0. Pass a number."
        )
    return float(rtol)


def _tolerances(name: str, x: Any, rtol: Any) -> Any:
    """The same as an array of the dtype of x: one number, or one for each matrix."""
    if rtol is None or isinstance(rtol, str | bool | int | float | np.number):
        return op.full((), _tolerance(name, x, rtol), dtype=x.dtype)
    require_matrices(name, x)
    require_floats(name, x)
    rtol = op.asarray(rtol)
    batch = tuple(x.shape[:-2])
    known = isinstance(rtol, np.ndarray)
    if rtol.dtype.kind not in "iuf" or (known and not np.all(rtol >= 0)):
        raise located(
            ValueError(
                f"{name}: rtol of dtype {rtol.dtype} was given, with something in it that is no "
                "number from 0 on; singular values below that part of the largest count as 0. "
                "Pass such numbers."
            ),
            [x, rtol],
        )
    if broadcast_shapes(name, [batch, tuple(rtol.shape)]) != batch:
        raise located(
            ShapeError(
                f"{name}: x has shape {tuple(x.shape)} and rtol has shape {tuple(rtol.shape)}; "
                f"rtol needs a number for each matrix, a shape that broadcasts to {batch}. Reshape "
                "it, or broadcast x."
            ),
            [x, rtol],
        )
    return op.astype(rtol, x.dtype)


def _cutoff(s: Any, rtol: Any) -> Any:
    return rtol * op.vector_norm(s, axis=-1, keepdims=True, ord=math.inf)


def _inverses(s: Any, rtol: Any) -> Any:
    """1 / s, and 0 for what counts as 0."""
    kept = s > op.stop_gradient(_cutoff(s, rtol))
    return op.where(kept, 1 / op.where(kept, s, 1), 0)


# Pseudo-inverses. Their derivatives are those of matrices whose rank stays as it is (Golub and
# Pereyra, 1973); they need no singular vectors, so that values may coincide.


def _pinv_vjp(g: Any, out: Any, x: Any, rtol: Any) -> Any:
    left = g.mT @ out
    left = (left - x @ (out @ left)) @ out.mT
    right = out @ g.mT
    right = out.mT @ (right - (right @ out) @ x)
    return left + right - out.mT @ g @ out.mT, op.zeros_like(rtol)


def _pinv_jvp(d: Any, out: Any, x: Any, _rtol: Any) -> Any:
    if d[0] is None:
        return op.zeros_like(out)
    moved = d[0].mT
    left = out.mT @ moved
    left = out @ (left - (left @ x) @ out)
    right = moved @ out.mT
    right = (right - out @ (x @ right)) @ out
    return left + right - out @ d[0] @ out


_SMALL = Exactly(1e-9)


@composite(
    vjp=_pinv_vjp,
    jvp=_pinv_jvp,
    samples=(
        sample(spread(3, 3), _SMALL),
        sample(spread(4, 2), _SMALL),
        sample(spread(2, 2, 3), Exactly([1e-3, 1e-9])),
        sample(spread(2, 3, 2, 2), Exactly([[1e-9], [1e-3]])),
        sample(spread(1, 1), _SMALL),
        sample((0, 3), _SMALL),
        sample((0, 2, 2), _SMALL),
    ),
    space="hidden",
)
def pseudo_inverse(x: Any, rtol: Any, /) -> Any:
    """The pseudo-inverse of each matrix, from singular values above `rtol` times the largest."""
    u, s, vh = op.svd(x, full_matrices=False)
    limit = op.expand_dims(rtol, -1) if len(rtol.shape) else rtol
    return (vh.mT * op.expand_dims(_inverses(s, limit), -2)) @ u.mT


def _one_tolerance(name: str, rcond: Any, rtol: Any) -> Any:
    if rcond is not None and rtol is not None:
        raise ValueError(
            f"{name}: rcond={rcond!r} and rtol={rtol!r} were given; they are two names for one "
            "number. Pass one of them."
        )
    return rcond if rtol is None else rtol


@function(array_function=(np.linalg.pinv,), space="linalg")
def pinv(x: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The pseudo-inverse of each matrix: its inverse where it has one.

    Singular values up to `rtol` times the largest count as 0, by default max(m, n) times the
    dtype's epsilon; an array of several has one for each matrix. The derivative is that of matrices
    of the same rank, and 0 for `rtol`. `rcond` is NumPy's name of `rtol`, and `hermitian` changes
    nothing.

    >>> wg.linalg.pinv(np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]))
    array([[0.5, 0. , 0. ],
           [0. , 0. , 0. ]])
    """
    x = op.asarray(x)
    return op.pseudo_inverse(x, _tolerances("pinv", x, _one_tolerance("pinv", rcond, rtol)))


@function(array_function=(np.linalg.matrix_rank,), space="linalg")
def matrix_rank(x: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """How many singular values of each matrix are above `tol`, or above `rtol` times the largest.

    Without them the limit is max(m, n) times the dtype's epsilon times the largest. `hermitian`
    changes nothing.

    >>> wg.linalg.matrix_rank(np.array([[1.0, 2.0], [2.0, 4.0]]))
    array(1)
    """
    x = op.asarray(x)
    part = op.stop_gradient(_tolerances("matrix_rank", x, rtol))
    if tol is not None and rtol is not None:
        raise ValueError(
            f"matrix_rank: tol={tol!r} and rtol={rtol!r} were given; the limit is one or the "
            "other. Pass one of them."
        )
    s = op.stop_gradient(op.svdvals(x))
    if tol is None:
        limit = _cutoff(s, op.expand_dims(part, -1) if len(part.shape) else part)
    else:
        limit = op.expand_dims(op.asarray(tol), -1)
    return op.sum(s > limit, axis=-1)


# Least squares.


def _columns(x: Any, vector: bool) -> Any:
    return op.expand_dims(x, -1) if vector else x


def _as_given(x: Any, vector: bool) -> Any:
    return op.squeeze(x, axis=-1) if vector else x


def _system_params(a: Any, b: Any, rtol: Any) -> dict[str, Any]:
    part = _tolerance("lstsq", a, rtol)
    require_floats("lstsq", a, b)
    vector = len(b.shape) == 1
    rows = b.shape[-1 if vector else -2] if b.shape else None
    if rows != a.shape[-2]:
        raise ShapeError(
            f"lstsq: a has shape {tuple(a.shape)} and b has shape {tuple(b.shape)}; b needs "
            f"{a.shape[-2]} rows, as a vector or in its second-to-last axis. Add an axis to b, or "
            "transpose it?"
        )
    broadcast_shapes("lstsq", [tuple(a.shape[:-2]), tuple(b.shape[:-2])])
    return {"rtol": part}


def _least_squares_vjp(g: Any, out: Any, a: Any, b: Any, rtol: float) -> Any:
    vector = len(b.shape) == 1
    p, x, g = (
        op.pseudo_inverse(a, op.full((), rtol, dtype=a.dtype)),
        _columns(out, vector),
        _columns(g, vector),
    )
    gb = p.mT @ g
    rest = _columns(b, vector) - a @ x
    ga = rest @ (p @ gb).mT + (p.mT @ x) @ (g - a.mT @ gb).mT - gb @ x.mT
    return unbroadcast(ga, a), unbroadcast(_as_given(gb, vector), b)


def _least_squares_jvp(d: Any, out: Any, a: Any, b: Any, rtol: float) -> Any:
    (da, db), vector = d, len(b.shape) == 1
    p, x = op.pseudo_inverse(a, op.full((), rtol, dtype=a.dtype)), _columns(out, vector)
    moved = None if db is None else p @ _columns(db, vector)
    if da is not None:
        rest = _columns(b, vector) - a @ x
        inside = da.mT @ (p.mT @ x)
        by_a = p @ (p.mT @ (da.mT @ rest) - da @ x) + inside - p @ (a @ inside)
        moved = by_a if moved is None else moved + by_a
    return _as_given(moved, vector)


@composite(
    canonical=_system_params,
    vjp=_least_squares_vjp,
    jvp=_least_squares_jvp,
    samples=(
        sample(spread(3, 3), (3, 2)),
        sample(spread(4, 2), (4,)),
        sample(spread(2, 3), (2, 2)),
        sample(spread(2, 1, 4, 3), (3, 4, 2), rtol=1e-3),
        sample(spread(2, 4, 3), (4,)),
    ),
    space="hidden",
)
def least_squares(a: Any, b: Any, /, rtol: float | None = None) -> Any:
    """The shortest x for which a @ x is nearest to b."""
    vector = len(b.shape) == 1
    u, s, vh = op.svd(a, full_matrices=False)
    inside = op.expand_dims(_inverses(s, rtol or 0.0), -1) * (u.mT @ _columns(b, vector))
    return _as_given(vh.mT @ inside, vector)


class LstsqResult(NamedTuple):
    """What lstsq returns, in NumPy's order."""

    x: Any
    residuals: Any
    rank: Any
    singular_values: Any


@function(array_function=(np.linalg.lstsq,), space="linalg")
def lstsq(a: Any, b: Any, rcond: Any = None) -> LstsqResult:
    """The x for which a @ x is nearest to b, the shortest of several; b is one vector, or columns.

    With it come the squared distances of the columns, or of the one vector (of all of them; NumPy
    has none where the rank is not full), the rank of a and its singular values. Those up to `rcond`
    times the largest count as 0, by default max(m, n) times the dtype's epsilon. The derivative is
    that of matrices of the same rank.

    >>> a = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> np.round(wg.linalg.lstsq(a, np.array([1.0, 3.0, 5.0])).x, 6)
    array([1., 2.])
    """
    a, b = op.asarray(a), op.asarray(b)
    x = op.least_squares(a, b, rtol=rcond)
    vector = len(b.shape) == 1
    rest = _columns(b, vector) - a @ _columns(x, vector)
    return LstsqResult(x, op.sum(rest * rest, axis=-2), matrix_rank(a, rtol=rcond), op.svdvals(a))


# The exponential.


def _expm_type(x: Any) -> ArrayType:
    require_square("expm", x)
    require_floats("expm", x)
    return ArrayType(tuple(x.shape), x.dtype)


def _expm(x: Any) -> Any:
    """Scaling and squaring with the rational function of degree 13 (Higham, 2005)."""
    _expm_type(x)
    if not x.size:
        return np.zeros_like(x)
    x, spoilt = without_spoilt(x)
    norm = np.abs(x).sum(axis=-2, keepdims=True).max(axis=-1, keepdims=True)
    halvings = np.maximum(np.frexp(norm / LARGEST_NORM)[1], 0)
    a = np.ldexp(x, -halvings)
    one = np.eye(x.shape[-1], dtype=x.dtype)
    powers = [one, a @ a]
    powers += [powers[1] @ powers[1]]
    powers += [powers[1] @ powers[2]]

    def polynomial(numbers: tuple[float, ...]) -> Any:
        """Of even powers up to 12."""
        high = sum(c * p for c, p in zip(numbers[4:], powers[1:], strict=True))
        low = sum(c * p for c, p in zip(numbers[:4], powers, strict=True))
        return (powers[3] @ high + low).astype(x.dtype)

    odd, even = a @ polynomial(COEFFICIENTS[1::2]), polynomial(COEFFICIENTS[::2])
    out = np.linalg.solve(even - odd, even + odd)
    for k in range(int(halvings.max())):
        again = (k < halvings)[..., 0, 0]
        out[again] = out[again] @ out[again]
    return spoiling(out, spoilt)


def _derivative_of_expm(x: Any, dx: Any) -> Any:
    """exp of [[x, dx], [0, x]] has it above its diagonal."""
    n = x.shape[-1]
    # It is linear in dx; a large one would only be halved more often, and lose digits.
    size = op.stop_gradient(op.vector_norm(dx, axis=(-2, -1), keepdims=True, ord=math.inf))
    scale = op.where(size > 1, size, 1)
    dx = dx / scale
    zero = op.full(x.shape, 0, dtype=x.dtype)
    top, bottom = op.concat([x, dx], axis=-1), op.concat([zero, x], axis=-1)
    return scale * op.expm(op.concat([top, bottom], axis=-2))[..., :n, n:]


@primitive(
    numpy=_expm,
    type=_expm_type,
    vjp=lambda g, _out, x: _derivative_of_expm(x.mT, g),
    jvp=lambda d, _out, x: _derivative_of_expm(x, d[0]),
    samples=(
        sample((3, 3)),
        sample(spread(2, 2, 2, 2)),
        sample((1, 1)),
        sample((0, 0)),
        sample((0, 2, 2)),
    ),
    space="linalg",
    lower=SpecialKernel("expm", cubes(20)),
    batch=with_leading_axes,
)
def expm(x: Any, /) -> None:
    """The exponential of each matrix: the sum of its powers x**k / k!.

    By scaling and squaring; a matrix with an element that is not finite gives NaN. Derivatives are
    exponentials of matrices of twice the size, and hold for any matrix.

    >>> wg.linalg.expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
