"""Singular values and vectors. Signs and equal values are treated as those of `factors`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.core.define import function, primitive
from wengert.core.lowering import SpecialKernel, cubes
from wengert.core.op_parts.batching import with_leading_axes
from wengert.core.op_parts.samples import sample
from wengert.core.signatures.matrices import require_floats, require_matrices, without_spoilt
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.ops.matrices.factors import (
    ENDLESS,
    inverse_gaps,
    inverse_or_zero,
    leading_signs,
    not_converged,
    require_tall,
    rounding,
    spoil,
    spread,
    symmetric_part,
    without_vectors,
)


def _svd_type(x: Any, save: bool, signs_of_v: bool) -> tuple[ArrayType, ...]:
    require_matrices("svd", x)
    require_floats("svd", x)
    require_tall("svd", x)
    *batch, _m, n = x.shape
    values = ArrayType((*batch, n), x.dtype)
    square = ArrayType((*batch, n, n), x.dtype)
    return (values, ArrayType(tuple(x.shape), x.dtype), square) if save else (values,)


def _svd(x: Any, save: bool, signs_of_v: bool) -> tuple[Any, ...]:
    _svd_type(x, save, signs_of_v)
    regular, spoilt = without_spoilt(x)
    try:
        if not save:
            values = np.linalg.svd(regular, compute_uv=False)
            return (spoil(values, spoilt, 1),)
        u, values, vh = np.linalg.svd(regular, full_matrices=False)
    except np.linalg.LinAlgError:
        raise not_converged("svd", x.shape) from None
    v = vh.mT
    sign = leading_signs(v if signs_of_v else u)[..., None, :]
    return (
        spoil(values, spoilt, 1),
        spoil(u * sign, spoilt, 2),
        spoil(v * sign, spoilt, 2),
    )


def _svd_gaps(s: Any, u: Any) -> tuple[Any, Any, Any, Any]:
    """Which values vanish, and the inverses of values, of their differences, and of their sums."""
    size = u.shape[-2]
    zero = s <= rounding(s, size)
    sums = op.expand_dims(s, -2) + op.expand_dims(s, -1)
    both = op.logical_and(op.expand_dims(zero, -2), op.expand_dims(zero, -1))
    return zero, inverse_or_zero(s, zero), inverse_gaps(s, size), inverse_or_zero(sums, both)


def _svd_vjp(g: Any, out: Any, _x: Any, save: bool, signs_of_v: bool) -> Any:
    (gs, gu, gv), (s, u, v) = g, out
    zero, inverse, gaps, sums = _svd_gaps(s, u)
    terms = [] if gs is None else [u * op.expand_dims(op.where(zero, 0, gs), -2)]
    if gu is not None or gv is not None:
        left = None if gu is None else u.mT @ gu
        right = None if gv is None else v.mT @ gv
        both, apart = _sum_and_difference(left, right)
        summed = sums * apart
        terms.append(u @ (symmetric_part(gaps * both) + 0.5 * (summed - summed.mT)))
        if left is not None:
            terms.append((gu - u @ left) * op.expand_dims(inverse, -2))
    total = terms[0]
    for each in terms[1:]:
        total = total + each
    return total @ v.mT


def _sum_and_difference(x: Any, y: Any) -> tuple[Any, Any]:
    """x + y and x - y, where None is 0."""
    if x is None:
        return y, -y
    return (x, x) if y is None else (x + y, x - y)


def _svd_jvp(d: Any, out: Any, x: Any, save: bool, signs_of_v: bool) -> Any:
    s, u, v = out if save else op.svd_tall(x, save=True, signs_of_v=signs_of_v)
    zero, inverse, gaps, sums = _svd_gaps(s, u)
    moved = d[0] @ v
    inside = u.mT @ moved
    ds = op.where(zero, 0, op.diagonal(inside))
    if not save:
        return (ds,)
    gapped, summed = gaps * symmetric_part(inside), sums * (0.5 * (inside - inside.mT))
    outside = (moved - u @ inside) * op.expand_dims(inverse, -2)
    return ds, u @ (gapped + summed) + outside, v @ (gapped - summed)


@primitive(
    numpy=_svd,
    type=_svd_type,
    canonical=lambda _x, save, signs_of_v: {"save": bool(save), "signs_of_v": bool(signs_of_v)},
    vjp=_svd_vjp,
    jvp=_svd_jvp,
    saving=lambda params: params | {"save": True},
    asked=lambda params: 3 if params["save"] else 1,
    narrow=without_vectors,
    samples=(
        sample(spread(3, 3), save=True, signs_of_v=False),
        sample(spread(3, 3), save=False, signs_of_v=False),
        sample(spread(4, 2), save=True, signs_of_v=True),
        sample(spread(2, 2, 4, 3), save=True, signs_of_v=False),
        sample(spread(10, 10), save=True, signs_of_v=False),
        sample(spread(1, 1), save=True, signs_of_v=False),
        sample((0, 0), save=True, signs_of_v=False),
        sample((3, 0), save=True, signs_of_v=True),
        sample((0, 2, 2), save=True, signs_of_v=False),
        sample((0, 0), save=False, signs_of_v=False),
    ),
    space="hidden",
    lower=SpecialKernel("svd_tall", cubes(20), ENDLESS),
    batch=with_leading_axes,
)
def svd_tall(x: Any, /, save: bool, signs_of_v: bool) -> None:
    """Singular values of matrices with at least as many rows as columns, and U and V if `save`.

    Signs are those of V where `signs_of_v`, else of U.
    """


class SvdResult(NamedTuple):
    """What svd returns, with NumPy's names."""

    U: Any
    S: Any
    Vh: Any


@function(array_function=(np.linalg.svd,), space="linalg")
def svd(
    x: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """U, the singular values S in descending order, and Vh, with (U * S) @ Vh = x; S alone without
    `compute_uv`.

    With `full_matrices` U and Vh are square: columns of U or rows of Vh beyond min(m, n) complete
    them to a basis. Without, they have min(m, n) columns and rows. Of each column of U, and of each
    row that completes Vh, the first element that is not small is positive. Where singular values
    coincide or vanish, the derivative leaves their vectors where they are in the space they share,
    as it does those that complete a basis; and a value that vanishes has derivative 0. A matrix
    with an element that is not finite gives NaN. `hermitian` changes nothing.

    >>> u, s, vh = wg.linalg.svd(np.array([[0.0, 3.0], [2.0, 0.0]]))
    >>> s, vh
    (array([3., 2.]), array([[0., 1.],
           [1., 0.]]))
    """
    x = op.asarray(x)
    require_matrices("svd", x)
    require_floats("svd", x)
    m, n = x.shape[-2:]
    if not compute_uv:
        return svdvals(x)
    if m == n or m >= n:
        s, u, v = op.svd_tall(x, save=True, signs_of_v=False)
        u = _completed(u) if full_matrices and m != n else u
        return SvdResult(u, s, v.mT)
    s, v, u = op.svd_tall(x.mT, save=True, signs_of_v=True)
    return SvdResult(u, s, (_completed(v) if full_matrices else v).mT)


def _completed(columns: Any) -> Any:
    return op.concat([columns, op.orthogonal_complement(columns)], axis=-1)


@function(array_function=(np.linalg.svdvals,), space="linalg")
def svdvals(x: Any) -> Any:
    """The singular values of each matrix in descending order; see `svd`.

    >>> wg.linalg.svdvals(np.array([[0.0, 3.0], [2.0, 0.0]]))
    array([3., 2.])
    """
    x = op.asarray(x)
    require_matrices("svdvals", x)
    require_floats("svdvals", x)
    m, n = x.shape[-2:]
    tall = x if m == n or m >= n else x.mT
    return op.svd_tall(tall, save=False, signs_of_v=False)[0]
