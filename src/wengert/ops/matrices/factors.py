"""Orthogonal factors of matrices: QR, eigenvectors of symmetric matrices, singular vectors.

Signs are fixed, so that a matrix has one result: R has no negative number on its diagonal, and of
each vector of `eigh` and `svd` the first element that is not small is positive. Where values
coincide their vectors have no derivative; they are then taken to keep their place in the space
they share. docs/numerics.md says what that means.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from wengert.core.define import function, primitive
from wengert.core.lowering import Failure, SpecialKernel, cubes
from wengert.core.op_parts.batching import with_leading_axes
from wengert.core.op_parts.samples import Exactly, sample
from wengert.core.signatures.matrices import (
    SIGNIFICANT,
    require_floats,
    require_matrices,
    require_square,
    without_spoilt,
)
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import ShapeError

ENDLESS = Failure(
    np.linalg.LinAlgError,
    "given a matrix whose values did not converge in compiled arithmetic; in NumPy's they do",
    "Scale it, or compute this part outside of the compiled function",
)


def spread(*shape: int) -> Exactly:
    """A sample of matrices of full rank, whose singular values are apart."""
    count = math.prod(shape)
    x = np.cos(np.arange(count) ** 1.5 + 1).reshape(shape)
    return Exactly(x + 1.5 * np.diag(np.arange(1.0, 1 + max(shape[-2:])))[: shape[-2], : shape[-1]])


def spoil(result: Any, spoilt: Any, axes: int) -> Any:
    """A result with NaN for the matrices that `without_spoilt` took out."""
    if spoilt is None:
        return result
    where = spoilt.reshape(spoilt.shape[:-2] + (1,) * axes)
    return np.where(where, result.dtype.type(np.nan), result)


def symmetric_part(x: Any) -> Any:
    return 0.5 * (x + x.mT)


def _halves(x: Any) -> Any:
    """The symmetric part, without a sum that overflows."""
    return 0.5 * x + 0.5 * x.mT


def leading_signs(x: Any) -> Any:
    """For each column 1, or -1 where its first element that is not small is negative."""
    size = np.abs(x)
    if not x.size:
        return np.ones_like(x[..., :1, :].sum(axis=-2))
    first = np.argmax(size >= SIGNIFICANT * size.max(axis=-2, keepdims=True), axis=-2)
    leading = np.take_along_axis(x, first[..., None, :], axis=-2)[..., 0, :]
    return np.where(leading < 0, -1, 1).astype(x.dtype)


def inverse_or_zero(x: Any, vanishes: Any) -> Any:
    """1 / x, and 0 where it vanishes."""
    return op.where(vanishes, 0, 1 / op.where(vanishes, 1, x))


def rounding(values: Any, size: int) -> Any:
    """How far apart values must be, to be apart at all: the rounding error of the largest."""
    limit = op.vector_norm(values, axis=-1, keepdims=True, ord=math.inf)
    return op.stop_gradient(limit) * (size * float(np.finfo(values.dtype).eps))


def inverse_gaps(values: Any, size: int) -> Any:
    """1 / (values[j] - values[i]) for each pair i, j, and 0 where the two coincide."""
    gaps = op.expand_dims(values, -2) - op.expand_dims(values, -1)
    return inverse_or_zero(gaps, op.abs(gaps) <= op.expand_dims(rounding(values, size), -1))


def require_tall(name: str, x: Any) -> None:
    """Refuse matrices known to have fewer rows than columns."""
    m, n = x.shape[-2:]
    if isinstance(m, int) and isinstance(n, int) and m < n:
        raise ShapeError(
            f"{name}_tall: given matrices of {m} rows and {n} columns; there must be at least as "
            f"many rows as columns. Call {name}."
        )


# QR.


def _qr_type(x: Any) -> tuple[ArrayType, ArrayType]:
    require_matrices("qr", x)
    require_floats("qr", x)
    require_tall("qr", x)
    *batch, _m, n = x.shape
    return ArrayType(tuple(x.shape), x.dtype), ArrayType((*batch, n, n), x.dtype)


def _qr(x: Any) -> tuple[Any, Any]:
    _qr_type(x)
    regular, spoilt = without_spoilt(x)
    q, r = np.linalg.qr(regular)
    sign = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1, 1).astype(x.dtype)
    q, r = q * sign[..., None, :] + 0, np.triu(r * sign[..., :, None]) + 0
    q = spoil(q, spoilt, 2)
    return q, np.triu(spoil(r, spoilt, 2))


def _qr_vjp(g: Any, out: Any, _x: Any) -> Any:
    (gq, gr), (q, r) = g, out
    middle = 0 if gr is None else r @ gr.mT
    middle = middle if gq is None else middle - gq.mT @ q
    below = op.tril(middle, k=-1)
    whole = q @ (op.tril(middle) + below.mT)
    whole = whole if gq is None else gq + whole
    return op.triangular_solve(r, whole.mT, lower=False).mT


def _qr_jvp(d: Any, out: Any, _x: Any) -> Any:
    # dx r⁻¹ = dq + q (dr r⁻¹), where qᵀ dq is skew and dr r⁻¹ an upper triangle.
    q, r = out
    moved = op.triangular_solve(r, d[0].mT, lower=False, trans=True).mT
    inside = q.mT @ moved
    below = op.tril(inside, k=-1)
    skew = below - below.mT
    return moved + q @ (skew - inside), op.triu((inside - skew) @ r)


@primitive(
    numpy=_qr,
    type=_qr_type,
    vjp=_qr_vjp,
    jvp=_qr_jvp,
    samples=(
        sample(spread(3, 3)),
        sample(spread(4, 2)),
        sample(spread(2, 3, 5, 3)),
        sample(spread(1, 1)),
        sample((0, 0)),
        sample((3, 0)),
        sample((0, 2, 2)),
    ),
    space="hidden",
    lower=SpecialKernel("qr_tall", cubes(4)),
    batch=with_leading_axes,
)
def qr_tall(x: Any, /) -> None:
    """The factors Q and R of matrices with at least as many rows as columns."""


class QrResult(NamedTuple):
    """What qr returns, with NumPy's names."""

    Q: Any
    R: Any


@function(array_function=(np.linalg.qr,), space="linalg")
def qr(x: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and the upper triangle R, with Q @ R = x; R alone for mode 'r'.

    For mode 'complete' Q is square: more columns complete it to a basis, and R has rows of zeros
    below. R has no negative number on its diagonal. Derivatives need independent columns, the first
    ones of a matrix that is wider than high; where there is an exact 0 on R's diagonal they raise
    LinAlgError. The columns that complete Q can be turned among themselves: their derivative is
    right for what depends on the space that they span.

    >>> wg.linalg.qr(np.array([[0.0, 2.0], [3.0, 1.0]])).R
    array([[3., 1.],
           [0., 2.]])
    >>> wg.linalg.qr(np.array([[0.0], [2.0], [0.0]]), mode="complete").Q
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 1.]])
    """
    x = op.asarray(x)
    require_matrices("qr", x)
    require_floats("qr", x)
    m, n = x.shape[-2:]
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(
            f"qr: mode={mode!r} was given; it is 'reduced', 'complete' or 'r'. Choose one of these."
        )
    if m == n or m >= n:  # sizes that are open can be equal; to compare them needs numbers
        q, r = op.qr_tall(x)
    else:
        q, square = op.qr_tall(x[..., :m])
        r = op.concat([square, q.mT @ x[..., m:]], axis=-1)
    if mode == "complete" and m != n and m >= n:
        q = op.concat([q, op.orthogonal_complement(q)], axis=-1)
        r = op.concat([r, op.zeros((*r.shape[:-2], m - n, n), dtype=r.dtype)], axis=-2)
    return r if mode == "r" else QrResult(q, r)


# Eigenvalues of symmetric matrices. `save` is whether vectors are computed, too.


def _eigh_type(x: Any, save: bool) -> tuple[ArrayType, ...]:
    require_square("eigh", x)
    require_floats("eigh", x)
    values = ArrayType(tuple(x.shape[:-1]), x.dtype)
    return (values, ArrayType(tuple(x.shape), x.dtype)) if save else (values,)


def not_converged(name: str, shape: Any) -> np.linalg.LinAlgError:
    return np.linalg.LinAlgError(
        f"{name}: given an array of shape {tuple(shape)} with a matrix whose values do not "
        "converge; LAPACK gave up. Scale it."
    )


def _eigh(x: Any, save: bool) -> tuple[Any, ...]:
    _eigh_type(x, save)
    regular, spoilt = without_spoilt(_halves(x))
    try:
        if not save:
            values = np.linalg.eigvalsh(regular)
            return (spoil(values, spoilt, 1),)
        values, vectors = np.linalg.eigh(regular)
    except np.linalg.LinAlgError:
        raise not_converged("eigh", x.shape) from None
    vectors = vectors * leading_signs(vectors)[..., None, :]
    return (
        spoil(values, spoilt, 1),
        spoil(vectors, spoilt, 2),
    )


def _eigh_vjp(g: Any, out: Any, _x: Any, save: bool) -> Any:
    (gw, gv), (w, v) = g, out
    scaled = None if gw is None else v * op.expand_dims(gw, -2)
    if gv is None:
        return symmetric_part(scaled @ v.mT)
    turned = v @ (inverse_gaps(w, w.shape[-1]) * (v.mT @ gv))
    return symmetric_part((turned if scaled is None else turned + scaled) @ v.mT)


def _eigh_jvp(d: Any, out: Any, x: Any, save: bool) -> Any:
    w, v = out if save else op.eigh_parts(x, save=True)
    turned = v.mT @ symmetric_part(d[0]) @ v
    dw = op.diagonal(turned)
    return (dw, v @ (inverse_gaps(w, w.shape[-1]) * turned)) if save else (dw,)


def without_vectors(params: dict[str, Any], read: Any) -> tuple[dict[str, Any], list[int]]:
    """Without vectors where only values are read."""
    if params["save"] and not any(read[1:]):
        return params | {"save": False}, [0]
    return params, list(range(len(read)))


@primitive(
    numpy=_eigh,
    type=_eigh_type,
    canonical=lambda _x, save: {"save": bool(save)},
    vjp=_eigh_vjp,
    jvp=_eigh_jvp,
    saving=lambda params: params | {"save": True},
    asked=lambda params: 2 if params["save"] else 1,
    narrow=without_vectors,
    samples=(
        sample(spread(3, 3), save=True),
        sample(spread(3, 3), save=False),
        sample(spread(2, 2, 4, 4), save=True),
        sample(spread(10, 10), save=True),
        sample(spread(1, 1), save=True),
        sample((0, 0), save=True),
        sample((0, 2, 2), save=True),
        sample((0, 0), save=False),
    ),
    space="hidden",
    lower=SpecialKernel("eigh_parts", cubes(9), ENDLESS),
    batch=with_leading_axes,
)
def eigh_parts(x: Any, /, save: bool) -> None:
    """Eigenvalues of the symmetric part of each matrix, and the vectors if `save`."""


class EighResult(NamedTuple):
    """What eigh returns, with NumPy's names."""

    eigenvalues: Any
    eigenvectors: Any


def _triangle_doubled(name: str, x: Any, uplo: str | None) -> Any:
    """The operand, or the symmetric matrix of which it holds one triangle."""
    x = op.asarray(x)
    require_square(name, x)
    require_floats(name, x)
    if uplo is None:
        return x
    if str(uplo).upper() not in ("L", "U"):
        raise ValueError(
            f"{name}: UPLO={uplo!r} was given; it is 'L' or 'U', the triangle that is read. Leave "
            "it out to have the symmetric part read."
        )
    lower = uplo.upper() == "L"
    triangle = op.tril(x) if lower else op.triu(x)
    return triangle + (op.tril(x, k=-1) if lower else op.triu(x, k=1)).mT


@function(array_function=(np.linalg.eigh,), space="linalg")
def eigh(x: Any, UPLO: str | None = None) -> EighResult:
    """Eigenvalues in ascending order, and vectors as columns, of symmetric matrices.

    Both triangles are read: what is taken apart is the symmetric part (x + x.mT) / 2, or the matrix
    that one triangle gives where UPLO is 'L' or 'U'. Of each vector the first element that is not
    small is positive. Where eigenvalues coincide, the derivative leaves their vectors where they
    are in the space they share. A matrix with an element that is not finite gives NaN.

    >>> w, v = wg.linalg.eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> w, np.round(v, 3)
    (array([1., 3.]), array([[ 0.707,  0.707],
           [-0.707,  0.707]]))
    """
    values, vectors = op.eigh_parts(_triangle_doubled("eigh", x, UPLO), save=True)
    return EighResult(values, vectors)


@function(array_function=(np.linalg.eigvalsh,), space="linalg")
def eigvalsh(x: Any, UPLO: str | None = None) -> Any:
    """The eigenvalues of symmetric matrices in ascending order; see `eigh`.

    >>> wg.linalg.eigvalsh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    array([1., 3.])
    """
    return op.eigh_parts(_triangle_doubled("eigvalsh", x, UPLO), save=False)[0]
