"""SciPy's names: the ufuncs of scipy.special that a Tensor answers, and what scipy.linalg calls
differently. SciPy is not imported; its ufuncs are known by their names.

Functions of SciPy that are no ufuncs (`logsumexp`, `softmax`, `solve_triangular` …) ask for arrays
and cannot be answered. Their error names ours.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.bind import located
from wengert.core.define import function
from wengert.core.dtypes import is_weak
from wengert.core.promotion import inexact
from wengert.core.table import SCIPY_UFUNCS, op
from wengert.errors import ShapeError
from wengert.functions.statistics import as_float


def _floats(name: str, *operands: Any) -> list[Any]:
    """Operands as arrays of their common float dtype."""
    given = [x if is_weak(x) else op.asarray(x) for x in operands]
    dtype = inexact(name, given)[1]
    return [op.astype(op.asarray(x), dtype) for x in given]


def _log_expit(x: Any) -> Any:
    return op.log_sigmoid(as_float(op.asarray(x)))


def _logit(x: Any) -> Any:
    x = as_float(op.asarray(x))
    return op.log(x) - op.log1p(-x)


def _exp10(x: Any) -> Any:
    return op.power(10.0, as_float(op.asarray(x)))


def _is_odd(whole: Any) -> Any:
    return op.not_equal(whole, 2 * op.floor(whole * 0.5))


def _sign_of_gamma(x: Any) -> Any:
    x = as_float(op.asarray(x))
    whole = op.floor(x)
    sign = op.where(op.less(x, 0), op.where(_is_odd(whole), -1.0, 1.0), op.copysign(1.0, x))
    pole = op.logical_and(op.less(x, 0), op.equal(x, whole))
    return op.astype(op.where(op.logical_or(pole, op.isnan(x)), math.nan, sign), x.dtype)


def _gamma(x: Any) -> Any:
    return _sign_of_gamma(x) * op.exp(op.lgamma(x))


def _inverse_gamma(x: Any) -> Any:
    """1 / Γ(x). Left of 1/2 it is Γ(1 - x) sin(πx) / π, whose slope is right at the zeros, too."""
    x = as_float(op.asarray(x))
    left = op.less(x, 0.5)
    nearest = op.round(x)
    sine = op.sin(math.pi * (x - nearest)) * op.where(_is_odd(nearest), -1 / math.pi, 1 / math.pi)
    mirrored = op.pull(sine, op.exp(op.lgamma(op.where(left, 1 - x, 1))))
    inverse = op.where(left, mirrored, op.exp(-op.lgamma(op.where(left, 1, x))))
    return op.where(op.equal(x, -math.inf), 0, inverse)


def _i0(x: Any) -> Any:
    return op.i0e(x) * op.exp(op.abs(x))


def _i1(x: Any) -> Any:
    return op.i1e(x) * op.exp(op.abs(x))


def _bessel(v: Any, x: Any) -> Any:
    """Of orders that are integers, or floats of which it is known that they are whole."""
    if isinstance(v, float | np.ndarray) and np.asarray(v).dtype.kind == "f":
        whole = np.asarray(v).astype(np.int64)
        if np.array_equal(whole, v):
            return op.jn(whole, x)
    return op.jn(v, x)


def _betaln(a: Any, b: Any) -> Any:
    a, b = _floats("betaln", a, b)
    return op.lgamma(a) + op.lgamma(b) - op.lgamma(a + b)


def _xlog1py(x: Any, y: Any) -> Any:
    x, y = _floats("xlog1py", x, y)
    return op.where(op.isnan(y), y, op.pull(x, op.log1p(y)))


def _entr(x: Any) -> Any:
    x = as_float(op.asarray(x))
    return op.where(op.less(x, 0), -math.inf, 0 - op.xlogy(x, x))


def _rel_entr(x: Any, y: Any) -> Any:
    """x log(x / y) where both are positive, 0 where x is 0, and infinite elsewhere."""
    x, y = _floats("rel_entr", x, y)
    both = op.logical_and(op.greater(x, 0), op.greater(y, 0))
    nothing = op.logical_and(op.equal(x, 0), op.greater_equal(y, 0))
    safe_x, safe_y = op.where(both, x, 1), op.where(both, y, 1)
    entropy = op.where(both, safe_x * op.log(safe_x / safe_y), op.where(nothing, 0.0, math.inf))
    return op.where(op.logical_or(op.isnan(x), op.isnan(y)), math.nan, entropy)


def _kl_div(x: Any, y: Any) -> Any:
    x, y = _floats("kl_div", x, y)
    outside = op.logical_or(op.less(x, 0), op.less(y, 0))
    outside = op.logical_or(outside, op.logical_and(op.greater(x, 0), op.equal(y, 0)))
    unknown = op.logical_or(op.isnan(x), op.isnan(y))
    away = op.logical_and(outside, op.logical_not(unknown))
    return op.where(away, math.inf, _rel_entr(x, y) - x + y)


# Their names for ops of ours that are called in the same way.
_SAME = (
    *("betainc", "cbrt", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp2", "expm1"),
    *("gammainc", "gammaincc", "i0e", "i1e", "log1p", "log_ndtr", "ndtr", "ndtri", "xlogy"),
    *("iv", "ive", "j0", "j1", "y0", "y1", "yn"),
)
SCIPY_UFUNCS.update({name: getattr(op, name) for name in _SAME})
SCIPY_UFUNCS.update({"expit": op.sigmoid, "gammaln": op.lgamma, "psi": op.digamma})
SCIPY_UFUNCS.update(
    beta=lambda a, b: op.exp(_betaln(a, b)),
    betaln=_betaln,
    entr=_entr,
    exp10=_exp10,
    gamma=_gamma,
    gammaincinv=op.gammaincinv,
    gammasgn=_sign_of_gamma,
    i0=_i0,
    i1=_i1,
    jv=_bessel,
    kl_div=_kl_div,
    log_expit=_log_expit,
    logit=_logit,
    rel_entr=_rel_entr,
    rgamma=_inverse_gamma,
    xlog1py=_xlog1py,
)


@function()
def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the gamma function of d × d matrices at each a, as SciPy calls it:
    log(π) · d(d - 1) / 4 + Σ log Γ(a - j / 2), j from 0 to d - 1. NaN unless a > (d - 1) / 2.

    >>> bool(wg.multigammaln(2.5, 1) == wg.lgamma(2.5))
    True
    """
    if not isinstance(d, int | np.integer) or isinstance(d, bool) or d < 1:
        raise ValueError(
            f"multigammaln: d={d!r} was given; it is the size of the matrices, an integer from 1 "
            "on. Pass one."
        )
    a = as_float(op.asarray(a))
    d = int(d)
    parts = op.lgamma(op.expand_dims(a, -1) - np.arange(d).astype(a.dtype) / 2)
    total = op.sum(parts, axis=-1) + math.log(math.pi) * d * (d - 1) / 4
    return op.where(op.greater(a, (d - 1) / 2), total, math.nan)


@function(space="linalg")
def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False
) -> Any:
    """The x with a @ x = b, reading one triangle of a: `triangular_solve` as SciPy calls it.

    `trans` is 0 or "N", or 1 or "T" for a.mT @ x = b. With `unit_diagonal` the diagonal of a is not
    read and taken to be 1.

    >>> wg.linalg.solve_triangular(np.array([[2.0, 1.0], [9.0, 1.0]]), np.array([4.0, 2.0]))
    array([1., 2.])
    """
    if trans not in (0, 1, "N", "T"):
        raise ValueError(
            f"solve_triangular: trans={trans!r} was given; it must be 0 or 'N', or 1 or 'T'. "
            "Choose one."
        )
    a, b = op.asarray(a), op.asarray(b)
    if unit_diagonal:
        a = op.where(np.eye(int(a.shape[-1]), dtype=bool), 1, a)
    return op.triangular_solve(a, b, lower=lower, trans=trans in (1, "T"))


@function(space="linalg")
def cho_solve(c_and_lower: Any, b: Any) -> Any:
    """The x with a @ x = b, from a pair: the Cholesky factor of a, and whether it is a lower one.

    >>> a = np.array([[4.0, 2.0], [2.0, 3.0]])
    >>> wg.linalg.cho_solve((wg.linalg.cholesky(a), True), a @ np.array([1.0, 2.0]))
    array([1., 2.])
    """
    try:
        c, lower = c_and_lower
    except (TypeError, ValueError):
        raise located(
            ShapeError(
                "cho_solve: given a first argument that is no pair; it is (factor, lower). Write "
                "(wg.linalg.cholesky(a), True)."
            ),
            [b],
        ) from None
    c, lower = op.asarray(c), bool(lower)
    first = op.triangular_solve(c, op.asarray(b), lower=lower, trans=not lower)
    return op.triangular_solve(c, first, lower=lower, trans=lower)
