"""The square root of a matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.define import primitive
from wengert.core.lowering import Failure, SpecialKernel, cubes
from wengert.core.op_parts.batching import with_leading_axes
from wengert.core.op_parts.samples import Exactly, sample
from wengert.core.signatures.matrices import (
    ROOT_STEPS,
    SETTLING,
    require_floats,
    require_square,
    spoiling,
    without_spoilt,
)
from wengert.core.table import op
from wengert.core.types import ArrayType

_BY_VALUES = (
    "Of a symmetric one with eigenvalues from 0 on write w, v = wg.linalg.eigh(x) and (v * "
    "wg.sqrt(w)) @ v.mT"
)
NO_ROOT = Failure(
    np.linalg.LinAlgError,
    "given a matrix that is singular or has an eigenvalue below 0, in compiled arithmetic; NumPy's "
    "finds it barely has not",
    _BY_VALUES,
)


def _type(x: Any) -> ArrayType:
    require_square("sqrtm", x)
    require_floats("sqrtm", x)
    return ArrayType(tuple(x.shape), x.dtype)


def _root(a: Any) -> Any:
    """The iteration of Denman and Beavers, scaled (Higham, Functions of Matrices, 2008, chapter 6).
    Both halves converge to the root and its inverse; with a negative eigenvalue to nothing.
    """
    kind = a.dtype.type
    x, y, before = a, np.eye(len(a), dtype=a.dtype), kind(math.inf)
    for _ in range(ROOT_STEPS):
        inverses = np.linalg.inv(x), np.linalg.inv(y)
        scale = kind(1)
        if before > SETTLING:
            ratios = [
                np.abs(p).max() / np.abs(q).max() for p, q in zip(inverses, (x, y), strict=True)
            ]
            scale = np.sqrt(np.sqrt(ratios[0] * ratios[1]))
        last, x = x, kind(0.5) * (scale * x + inverses[1] / scale)
        y = kind(0.5) * (scale * y + inverses[0] / scale)
        change = np.abs(x - last).max() / np.abs(x).max()
        if not change > 4 * np.finfo(a.dtype).eps or before / 2 <= change < SETTLING:
            break
        before = change
    part = math.sqrt(np.finfo(a.dtype).eps) * len(a)
    if not np.abs(x @ x - a).max() <= part * np.abs(x).max() ** 2:
        raise np.linalg.LinAlgError
    return x


def _sqrtm(x: Any) -> Any:
    _type(x)
    if not x.size:
        return np.zeros_like(x)
    regular, spoilt = without_spoilt(x)
    try:
        with np.errstate(all="ignore"):
            roots = [_root(each) for each in regular.reshape(-1, *x.shape[-2:])]
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError(
            "sqrtm: given a matrix that is singular or has an eigenvalue below 0, in an array of "
            f"shape {x.shape}; only others have one real square root. {_BY_VALUES}."
        ) from None
    return spoiling(np.reshape(roots, x.shape), spoilt)


def _derivative(x: Any, dx: Any) -> Any:
    """The root of [[x, dx], [0, x]] has it above its diagonal."""
    n = x.shape[-1]
    # It is linear in dx, which is brought to the size of x: then neither loses digits.
    wide = [op.stop_gradient(op.vector_norm(z, axis=(-2, -1), keepdims=True)) for z in (x, dx)]
    scale = op.where(wide[1] > 0, wide[1] / wide[0], 1)
    zero = op.full(x.shape, 0, dtype=x.dtype)
    top, bottom = op.concat([x, dx / scale], axis=-1), op.concat([zero, x], axis=-1)
    return scale * op.sqrtm(op.concat([top, bottom], axis=-2))[..., :n, n:]


def _sample(*shape: int) -> Exactly:
    """Matrices with eigenvalues on the right of the plane, without any symmetry."""
    return Exactly(np.cos(np.arange(np.prod(shape))).reshape(shape) + 3 * np.eye(shape[-1]))


@primitive(
    numpy=_sqrtm,
    type=_type,
    vjp=lambda g, _out, x: _derivative(x.mT, g),
    jvp=lambda d, _out, x: _derivative(x, d[0]),
    samples=(
        sample(_sample(3, 3)),
        sample(_sample(2, 2, 2, 2)),
        sample(_sample(1, 1)),
        sample((0, 0)),
        sample((0, 2, 2)),
    ),
    space="linalg",
    lower=SpecialKernel("sqrtm", cubes(60), NO_ROOT),
    batch=with_leading_axes,
)
def sqrtm(x: Any, /) -> None:
    """The square root r of each matrix, r @ r = x, whose eigenvalues have no negative real part.

    It is real where x is regular and no eigenvalue of it lies on the negative axis; other matrices
    raise LinAlgError, and one with an element that is not finite gives NaN. Derivatives are roots
    of matrices of twice the size.

    >>> wg.linalg.sqrtm(np.array([[1.0, 2.0], [0.0, 9.0]]))
    array([[1. , 0.5],
           [0. , 3. ]])
    """
