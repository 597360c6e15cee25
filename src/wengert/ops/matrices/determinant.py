"""Determinants, with derivatives that hold for singular matrices."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from wengert.core.define import function, primitive
from wengert.core.lowering import SpecialKernel, cubes
from wengert.core.op_parts.batching import with_leading_axes
from wengert.core.op_parts.samples import Exactly, sample
from wengert.core.signatures.matrices import require_equal_matrices, require_floats, require_square
from wengert.core.table import op
from wengert.core.types import ArrayType

_SQUARES = (
    sample((3, 3)),
    sample((2, 4, 2, 2)),
    sample((1, 1)),
    sample((0, 0)),
    sample((0, 2, 2)),
)
_REGULAR = (
    sample(Exactly([[2.0, 1.0, 0.5], [-1.0, 3.0, 1.0], [0.3, 0.7, -1.5]])),
    sample(Exactly(np.cos(np.arange(32.0)).reshape(2, 4, 2, 2) + 2 * np.eye(2))),
    sample(Exactly([[-0.5]])),
    sample((0, 0)),
    sample((0, 2, 2)),
)
_SINGULAR = Exactly([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])


def _determinant_type(name: str) -> Any:
    def rule(x: Any) -> ArrayType:
        require_square(name, x)
        require_floats(name, x)
        return ArrayType(tuple(x.shape[:-2]), x.dtype)

    return rule


def _of_each(name: str, evaluate: Any) -> Any:
    """NumPy's function of a matrix, after the operand was checked; NaN where an element is, which
    LAPACK may lose.
    """

    def numpy(x: Any) -> Any:
        _determinant_type(name)(x)
        values = evaluate(x)
        if not math.isnan(np.vdot(x, x)):
            return values
        return np.where(np.isnan(x).any(axis=(-2, -1)), x.dtype.type(np.nan), values)

    return numpy


def _over_matrix(g: Any) -> Any:
    """A number per matrix, with two axes of size 1 to broadcast against its elements."""
    return op.reshape(g, (*g.shape, 1, 1))


@primitive(
    numpy=_of_each("det", np.linalg.det),
    type=_determinant_type("det"),
    vjp=lambda g, _out, x: op.pull(_over_matrix(g), op.cofactors(x)),
    jvp=lambda d, _out, x: op.sum(op.pull(d[0], op.cofactors(x)), axis=(-2, -1)),
    samples=(*_SQUARES, sample(_SINGULAR)),
    at=[
        (
            ([[1.0, 2.0], [2.0, 4.0]],),
            0.0,
            ([[4.0, -2.0], [-2.0, 1.0]],),
            "the gradient of a singular matrix is its matrix of cofactors",
        ),
    ],
    array_function=(np.linalg.det,),
    space="linalg",
    lower=SpecialKernel("det", cubes(2, 3)),
    batch=with_leading_axes,
)
def det(x: Any, /) -> None:
    """The determinant of each matrix.

    Gradient and Hessian hold for singular matrices too; third derivatives need an invertible
    matrix.

    >>> wg.linalg.det(np.array([[2.0, 1.0], [0.0, 3.0]]))
    array(6.)
    """


def _products_without_one(s: Any) -> Any:
    """For each element the product of the others along the last axis, without a division."""
    ones = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], axis=-1), axis=-1)
    return before * after[..., ::-1]


def _products_without_two(s: Any) -> Any:
    """For each pair of elements the product of the others, (…, n, n); zero on the diagonal."""
    n = s.shape[-1]
    same = np.eye(n, dtype=bool)
    return np.where(same, 0, _products_without_one(np.where(same, 1, s[..., None, :])))


class _Factored:
    """Matrices as u @ diag(s) @ vh between scales of rows and columns; u and vh have determinant 1.

    Scaling by powers of two is exact, and without it the singular values of rows of very different
    size would be lost in each other's rounding errors.
    """

    def __init__(self, x: Any) -> None:
        finite = np.isfinite(x).all(axis=(-2, -1), keepdims=True)
        self.spoilt = np.where(finite, 0, np.nan).astype(x.dtype)
        x = np.where(finite, x, 0)
        self.rows = np.frexp(np.max(np.abs(x), axis=-1, keepdims=True))[1]
        x = np.ldexp(x, -self.rows)
        self.columns = np.frexp(np.max(np.abs(x), axis=-2, keepdims=True))[1]
        u, s, vh = np.linalg.svd(np.ldexp(x, -self.columns))
        # Large and small in turn, so that running products do not overflow on the way.
        places = np.arange(s.shape[-1])
        order = np.argsort(np.minimum(places, places[::-1]), kind="stable")
        self.u, self.s, self.vh = u[..., :, order], s[..., order], vh[..., order, :]
        for rotation, first in ((self.u, np.s_[..., :, 0]), (self.vh, np.s_[..., 0, :])):
            sign = np.where(np.linalg.det(rotation) < 0, -1, 1).astype(x.dtype)
            rotation[first] *= sign[..., None]
            self.s[..., 0] *= sign

    def inside(self, dx: Any) -> Any:
        """A tangent of x as one of diag(s)."""
        return self.u.mT @ np.ldexp(dx, -self.rows - self.columns) @ self.vh.mT

    def outside(self, cofactors: Any) -> Any:
        """Cofactors of diag(s), or a tangent of them, as those of x."""
        total = self.rows.sum(axis=-2, keepdims=True) + self.columns.sum(axis=-1, keepdims=True)
        turned = self.u @ cofactors @ self.vh
        return np.ldexp(turned, total - self.rows - self.columns) + self.spoilt


def _diagonal_matrices(d: Any) -> Any:
    return d[..., None] * np.eye(d.shape[-1], dtype=d.dtype)


def _matrices_type(x: Any, *tangent: Any) -> ArrayType:
    for dx in tangent:
        require_equal_matrices("cofactors_tangent", x, dx)
    return ArrayType(tuple(x.shape), _determinant_type("cofactors")(x).dtype)


def _cofactors(x: Any) -> Any:
    _matrices_type(x)
    if x.size == 0:
        return np.zeros_like(x)
    factored = _Factored(x)
    return factored.outside(_diagonal_matrices(_products_without_one(factored.s)))


@primitive(
    numpy=_cofactors,
    type=_matrices_type,
    vjp=lambda g, _out, x: op.cofactors_tangent(x, g),
    jvp=lambda d, _out, x: op.cofactors_tangent(x, d[0]),
    samples=_SQUARES,
    space="hidden",
    lower=SpecialKernel("cofactors", cubes(2)),
    batch=with_leading_axes,
)
def cofactors(x: Any, /) -> None:
    """The matrix of cofactors, det's gradient: det(x) times inv(x).mT where there is an inverse.

    A Hessian is symmetric, so the same op pushes tangents forward and cotangents back.
    """


def _cofactors_tangent(x: Any, dx: Any) -> Any:
    _matrices_type(x)
    if x.size == 0:
        return np.zeros_like(x)
    # The cofactors of diag(s) have in direction f the derivative Σ_k p_ik f_kk on the diagonal and
    # -p_ij f_ji off it, where p_ij is the product of s without s_i and s_j.
    factored = _Factored(x)
    p, f = _products_without_two(factored.s), factored.inside(dx)
    along = p @ np.diagonal(f, axis1=-2, axis2=-1)[..., None]
    return factored.outside(_diagonal_matrices(along[..., 0]) - p * f.mT)


def _third(x: Any, dx: Any, ex: Any) -> Any:
    """The derivative of cofactors_tangent(x, dx) along ex: det's third, symmetric in dx and ex."""
    i = op.inv(x)
    a, b = i @ dx, i @ ex
    trace_a, trace_b = (op.sum(op.diagonal(m), axis=-1) for m in (a, b))
    ab, ba = a @ b, b @ a
    trace_ab = op.sum(op.diagonal(ab), axis=-1)
    inner = (
        _over_matrix(trace_a * trace_b - trace_ab) * i
        - (_over_matrix(trace_b) * a + _over_matrix(trace_a) * b - ab - ba) @ i
    )
    return (_over_matrix(op.det(x)) * inner).mT


def _cofactors_tangent_jvp(d: Any, _out: Any, x: Any, dx: Any) -> Any:
    terms = [] if d[0] is None else [_third(x, dx, d[0])]
    terms += [] if d[1] is None else [op.cofactors_tangent(x, d[1])]
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


@primitive(
    numpy=_cofactors_tangent,
    type=_matrices_type,
    vjp=lambda g, _out, x, dx: (
        lambda: _third(x, dx, g),
        lambda: op.cofactors_tangent(x, g),
    ),
    jvp=_cofactors_tangent_jvp,
    samples=(
        sample((3, 3), (3, 3)),
        sample((2, 2, 2), (2, 2, 2)),
        sample((1, 1), (1, 1)),
        sample((0, 0), (0, 0)),
    ),
    space="hidden",
    lower=SpecialKernel("cofactors_tangent", cubes(4)),
    batch=with_leading_axes,
)
def cofactors_tangent(x: Any, dx: Any, /) -> None:
    """The derivative of the cofactors of x along dx: det's Hessian at x, applied to dx."""


@primitive(
    numpy=_of_each("slogdet", lambda x: np.linalg.slogdet(x)[0]),
    type=_determinant_type("slogdet"),
    flat=True,
    samples=_REGULAR,
    space="hidden",
    lower=SpecialKernel("det_sign", cubes(2, 3)),
    batch=with_leading_axes,
)
def det_sign(x: Any, /) -> None:
    """The sign of each determinant: 1, -1, or 0 for a singular matrix."""


@primitive(
    numpy=_of_each("slogdet", lambda x: np.linalg.slogdet(x)[1]),
    type=_determinant_type("slogdet"),
    vjp=lambda g, _out, x: _over_matrix(g) * op.inv(x).mT,
    jvp=lambda d, _out, x: op.sum(op.inv(x).mT * d[0], axis=(-2, -1)),
    samples=_REGULAR,
    space="hidden",
    lower=SpecialKernel("log_abs_det", cubes(2, 3)),
    batch=with_leading_axes,
)
def log_abs_det(x: Any, /) -> None:
    """The logarithm of each determinant's absolute value; -inf for a singular matrix."""


class SignAndLog(NamedTuple):
    """What slogdet returns, with NumPy's names."""

    sign: Any
    logabsdet: Any


@function(array_function=(np.linalg.slogdet,), space="linalg")
def slogdet(x: Any) -> SignAndLog:
    """Sign and logarithm of each determinant, which itself might overflow or underflow.

    The derivative of the logarithm needs an invertible matrix; a singular one raises LinAlgError
    there.

    >>> sign, logabsdet = wg.linalg.slogdet(-1e-200 * np.eye(3))
    >>> float(sign), round(float(logabsdet), 3)
    (-1.0, -1381.551)
    """
    x = op.asarray(x)
    return SignAndLog(op.det_sign(x), op.log_abs_det(x))
