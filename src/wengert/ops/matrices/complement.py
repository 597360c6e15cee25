"""The directions that the columns of a matrix leave out.

A basis of them can be turned in many ways. Here one is fixed, by reflections that bring the columns
onto the first axes, one after the other; the basis is where the reflections bring the other axes.
The derivative is that of the space: it moves, and the vectors in it do not turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.define import primitive
from wengert.core.lowering import SpecialKernel, cubes
from wengert.core.op_parts.batching import with_leading_axes
from wengert.core.op_parts.samples import sample
from wengert.core.signatures.matrices import (
    SIGNIFICANT,
    require_floats,
    require_matrices,
    without_spoilt,
)
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import ShapeError
from wengert.ops.matrices.factors import leading_signs, spoil, spread


def _complement_type(x: Any) -> ArrayType:
    require_matrices("orthogonal_complement", x)
    require_floats("orthogonal_complement", x)
    *batch, m, n = x.shape
    if n != m and not n <= m:
        raise ShapeError(
            f"orthogonal_complement: given shape {tuple(x.shape)}; no more columns than rows can "
            "leave directions out. Transpose it?"
        )
    return ArrayType((*batch, m, m - n), x.dtype)


def _reflected(axes: Any, vectors: Any) -> Any:
    """axes - 2 v vᵀ axes / vᵀ v for each vector."""
    squares = np.sum(vectors * vectors, axis=-2, keepdims=True)
    along = vectors.mT @ axes * (2 / np.where(squares == 0, 1, squares))
    return axes - vectors @ along


def _complement(x: Any) -> Any:
    _complement_type(x)
    *_, m, n = x.shape
    rest, spoilt = without_spoilt(x)
    largest = np.abs(rest).max(axis=(-2, -1), keepdims=True, initial=0)
    rest = rest / np.where(largest == 0, 1, largest)
    lost = np.finfo(x.dtype).tiny / np.finfo(x.dtype).eps  # beside 1, of which the largest are
    mirrors = []
    for k in range(n):
        mirror = np.where(np.arange(m)[:, None] < k, 0, rest[..., k : k + 1])
        squares = np.sum(mirror * mirror, axis=-2, keepdims=True)
        mirror = np.where(squares < lost, 0, mirror)
        length = np.sqrt(squares)
        here = mirror[..., k : k + 1, :]
        # Of a number next to 0 the sign is a rounding error, and must not decide.
        away = np.where(here >= -SIGNIFICANT * length, length, -length)
        bent = (np.arange(m)[:, None] == k) & (squares >= lost)
        mirror = np.where(bent, here + away, mirror).astype(x.dtype)
        rest = _reflected(rest, mirror)
        mirrors.append(mirror)
    basis = np.broadcast_to(np.eye(m, dtype=x.dtype)[:, n:], (*x.shape[:-2], m, m - n))
    for mirror in reversed(mirrors):
        basis = _reflected(basis, mirror)
    return spoil(basis * leading_signs(basis)[..., None, :] + 0, spoilt, 2)


def _across(x: Any, y: Any) -> Any:
    """(xᵀ x)⁻¹ y: of orthonormal columns, y."""
    return op.solve(x.mT @ x, y)


@primitive(
    numpy=_complement,
    type=_complement_type,
    # xᵀ out = 0 gives dout = -x (xᵀ x)⁻¹ dxᵀ out, and nothing inside of the space.
    vjp=lambda g, out, x: -(out @ _across(x, x.mT @ g).mT),
    jvp=lambda d, out, x: -(x @ _across(x, d[0].mT @ out)),
    # One direction is left out: there is nothing to turn, and differences are derivatives.
    samples=(
        sample(spread(3, 2)),
        sample(spread(2, 5, 4)),
        sample(spread(2, 2)),
        sample((1, 0)),
        sample((3, 0)),
        sample((0, 0)),
        sample((0, 3, 2)),
    ),
    space="hidden",
    lower=SpecialKernel("orthogonal_complement", cubes(4)),
    batch=with_leading_axes,
)
def orthogonal_complement(x: Any, /) -> None:
    """Orthonormal columns that complete those of x, which are independent, to a basis."""
