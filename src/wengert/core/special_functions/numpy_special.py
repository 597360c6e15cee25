"""The error function, the gamma function and their kin on NumPy arrays; NumPy has none of them.

Each is computed in float64, to about 1e-15 of its value (of its largest term near a zero on the
negative axis), and returned in the dtype of its argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, pi
from typing import Any, TypeAlias

import numpy as np

from wengert.core.dtypes import floating

Array: TypeAlias = Any  # a float64 array

# Polynomials in a variable t of [-1, 1], lowest power first: Chebyshev interpolation in 50 digits,
# cut where the terms fall below 1e-18.

# fmt: off
# erf(x) / x for x² in [0, 1]; t = 2x² - 1
_ERF = (
    0.9654687386698673, -0.1405360890227171, 0.019852496688983708, -0.0022854855611440673,
    0.00021751715604160108, -1.75371694414921e-05, 1.223382738352401e-06, -7.511569160678138e-08,
    4.11580059766496e-09, -2.0352493920247854e-10, 9.167606746069445e-12, -3.7910930392717217e-13,
    1.454817075960679e-14, -5.166061616805981e-16,
)

# (1 + 2x) exp(x²) erfc(x) for x ≥ 0; t = (x - 3.75) / (x + 3.75)
ERFC = (
    1.2375126308378275, -0.14024059858554702, 0.0035854154854644293, 0.08227673849015102,
    -0.10880393014174886, 0.09230432116019834, -0.05869339858963677, 0.0283622774215156,
    -0.009746579558029276, 0.0017556258324217529, 0.0002937136655913448, -0.00029015397928986765,
    5.164909889268241e-05, 2.2383912036550678e-05, -1.1444146237700524e-05, -9.72849582211122e-07,
    1.751637648849062e-06, -5.826281078800777e-08, -2.5866850716155884e-07, 2.4289762925488707e-08,
    3.8675334242222354e-08, -4.389284159986328e-09, -5.1739902140113095e-09, 5.457157304704688e-10,
    4.2514714447963895e-10, -3.75315827795962e-11,
)

# log Γ(x) / ((x - 1) (x - 2)) for x in [1, 2]; t = 2x - 3
LGAMMA = (
    0.4831289505409809, -0.07297994795715304, 0.01572785026864124, -0.003913560937626182,
    0.0010498186644489656, -0.0002945507015196472, 8.510090382507709e-05, -2.5094328668947195e-05,
    7.511391134979752e-06, -2.2742474102383936e-06, 6.948461695085761e-07, -2.1386323384115519e-07,
    6.622899723826762e-08, -2.0621027431854287e-08, 6.448537660005262e-09, -2.016947955623982e-09,
    6.34708063084356e-10, -2.0874620693971093e-10, 6.659994986020335e-11, -1.5395748006420787e-11,
    4.705387815328221e-12, -3.803618166622364e-12, 1.2510413599689193e-12,
)

# ψ(x) / (x - root) for x in [1, 2]; t = 2x - 3
_DIGAMMA = (
    0.9510558760318328, -0.21181371064073024, 0.06013562106019672, -0.01855061538173984,
    0.005936795278307386, -0.001935066664735652, 0.0006368880302815988, -0.00021074841288961643,
    6.995018926346291e-05, -2.3258232466707952e-05, 7.74122874957519e-06, -2.578134894751126e-06,
    8.589268397166999e-07, -2.8620904099739414e-07, 9.538368854097868e-08, -3.181266980138485e-08,
    1.0605741809549775e-08, -3.5032218996509724e-09, 1.165378200731563e-09, -4.197772636734229e-10,
    1.4147240470372602e-10, -2.7468150389464952e-11, 8.566371926522047e-12, -1.0015117602062808e-11,
    3.436642565860094e-12,
)
# fmt: on

# Where ψ(1 + u) is zero, as the sum of two floats: the distance to it must stay exact.
_ROOT, _ROOT_REST = 0.46163214496836236, -1.5522348162858677e-17

# B2, B4, … B20: the Bernoulli numbers of the asymptotic series.
BERNOULLI = (
    *(1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66),
    *(-691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330),
)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)) of floats."""
    small = np.exp(-np.abs(x))  # in (0, 1]: never overflows
    return np.where(x >= 0, x.dtype.type(1), small) / (1 + small)


def _in_double(function: Callable[[Array], Array]) -> Callable[[Any], Array]:
    def converted(x: Any) -> Array:
        x = np.asarray(x)
        with np.errstate(all="ignore"):
            result = function(x.astype(np.float64, casting="same_kind"))
        return np.asarray(result, floating(x.dtype))

    return converted


def _polynomial(coefficients: Sequence[float], t: Array) -> Array:
    total = np.full_like(t, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total *= t
        total += coefficient
    return total


def _split(condition: Array, x: Array, yes: Any, no: Any) -> Array:
    """Apply `yes` to the elements where the condition holds and `no` to the others."""
    out = np.empty_like(x)
    out[condition] = yes(x[condition])
    out[~condition] = no(x[~condition])
    return out


def _erf(x: Array) -> Array:
    return _split(
        np.abs(x) < 1,
        x,
        lambda x: x * _polynomial(_ERF, 2 * x * x - 1),
        lambda x: np.copysign(1 - _erfc_of_positive(np.abs(x)), x),
    )


def _erfc_of_positive(x: Array) -> Array:
    x = np.minimum(x, 30.0)  # erfc(30) is 0 in float64, and 30² does not overflow
    # exp(-x²) would multiply the rounding error of x² by x²: the head's square is exact.
    head = x.astype(np.float32).astype(np.float64)
    gauss = np.exp(-head * head) * np.exp((head - x) * (head + x))
    return gauss * _polynomial(ERFC, (x - 3.75) / (x + 3.75)) / (1 + 2 * x)


@_in_double
def erf(x: Array) -> Array:
    """2/√π times the integral of exp(-t²) from 0 to x."""
    return _erf(x)


@_in_double
def erfc(x: Array) -> Array:
    """1 - erf(x), accurate where erf(x) is near 1."""
    return _split(x < 0.5, x, lambda x: 1 - _erf(x), _erfc_of_positive)


@_in_double
def lgamma(x: Array) -> Array:
    """log |Γ(x)|; +inf at 0 and at the negative integers."""
    return _split(x < 0, x, _lgamma_of_negative, _lgamma_of_positive)


def _lgamma_of_negative(x: Array) -> Array:
    # Γ(x) Γ(-x) = -π / (x sin πx)
    sine = np.abs(np.sin(pi * (x - np.round(x))))
    reflected = log(pi) - np.log(sine) - np.log(-x) - _lgamma_of_positive(-x)
    return np.where((sine == 0) | np.isinf(x), np.inf, reflected)


def _lgamma_of_positive(x: Array) -> Array:
    return _split(x >= 10, x, _lgamma_of_large, _lgamma_of_small)


def _lgamma_of_large(x: Array) -> Array:
    """Stirling's series."""
    coefficients = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI[:8], 1)]
    series = _polynomial(coefficients, 1 / (x * x)) / x
    return (x - 0.5) * (np.log(x) - 1) + (0.4189385332046727 + series)  # log(2π)/2 - 1/2


def _lgamma_of_small(x: Array) -> Array:
    # Γ(x) = Γ(1 + u) times the factors passed on the way down, or 1/x where x < 1
    u, factors = _reduce(x, 1.0)
    rest = np.where(x < 1, -np.log(x), np.log(np.prod(factors, axis=0)))
    return u * (u - 1) * _polynomial(LGAMMA, 2 * u - 1) + rest


def _reduce(x: Array, fill: float) -> tuple[Array, Array]:
    """u in [0, 1), a whole number away from x in [0, 10), and x - 1, … 1 + u padded with `fill`."""
    whole = np.maximum(np.floor(x), 1)
    steps = np.arange(1.0, 9.0).reshape(-1, *[1] * x.ndim)
    factors = np.where(steps < whole, x - steps, fill)  # (8, *x.shape); exact differences
    return np.where(x < 1, x, x - whole), factors


@_in_double
def digamma(x: Array) -> Array:
    """ψ(x), the derivative of log Γ; -inf at 0 and NaN at the negative integers."""
    return _split(x < 0, x, _digamma_of_negative, _digamma_of_positive)


def _digamma_of_negative(x: Array) -> Array:
    # ψ(1 - x) - ψ(x) = π cot πx
    reflected = _digamma_of_positive(1 - x) - pi * _cot(x)
    return np.where(x == np.round(x), np.nan, reflected)


def _cot(x: Array) -> Array:
    """cot πx, with the whole part of x taken off exactly."""
    return 1 / np.tan(pi * (x - np.round(x)))


def _digamma_of_positive(x: Array) -> Array:
    return _split(x >= 10, x, _digamma_of_large, _digamma_of_small)


def _digamma_of_large(x: Array) -> Array:
    coefficients = [b / (2 * k) for k, b in enumerate(BERNOULLI, 1)]
    inverse_square = 1 / (x * x)
    return np.log(x) - 0.5 / x - inverse_square * _polynomial(coefficients, inverse_square)


def _digamma_of_small(x: Array) -> Array:
    u, factors = _reduce(x, np.inf)
    rest = np.where(x < 1, -1 / x, np.sum(1 / factors, axis=0))
    return (u - _ROOT - _ROOT_REST) * _polynomial(_DIGAMMA, 2 * u - 1) + rest


def polygamma(n: Any, x: Any) -> Array:
    """The n-th derivative of ψ at x, for integers n ≥ 0; NaN for negative n."""
    dtype = floating(np.asarray(x).dtype)
    n, x = np.broadcast_arrays(n, np.asarray(x).astype(np.float64, casting="same_kind"))
    out = np.full(x.shape, np.nan)
    with np.errstate(all="ignore"):
        for order in map(int, np.unique(n[n >= 0])):
            mask = n == order
            out[mask] = _polygamma(order, x[mask]) if order else digamma(x[mask])
    return np.asarray(out, dtype)


def _polygamma(n: int, x: Array) -> Array:
    """One order n ≥ 1, on a vector."""
    return _split(
        x > 0,
        x,
        lambda x: _polygamma_of_positive(n, x),
        lambda x: (-1) ** n * _polygamma_of_positive(n, 1 - x) - _cot_derivative(n, x),
    )


def _polygamma_of_positive(n: int, x: Array) -> Array:
    """(-1)ⁿ⁺¹ n! Σ 1 / (x + k)ⁿ⁺¹: the first terms one by one, the rest by Euler and Maclaurin."""
    total = np.zeros_like(x)
    for _ in range(n + 10):
        near = x < n + 10
        total += np.where(near, _factorial_over_power(n, x), 0)
        x = np.where(near, x + 1, x)
    coefficients = []
    rising = 1.0  # n (n + 1) … (n + 2k - 1) / (2k)!
    for k, bernoulli in enumerate(BERNOULLI, 1):
        rising *= (n + 2 * k - 2) * (n + 2 * k - 1) / ((2 * k - 1) * (2 * k))
        coefficients.append(bernoulli * rising)
    inverse_square = 1 / (x * x)
    rest = 1 + n / (2 * x) + inverse_square * _polynomial(coefficients, inverse_square)
    return -((-1) ** n) * (total + _factorial_over_power(n - 1, x) * rest)


def _factorial_over_power(n: int, x: Array) -> Array:
    """n! / xⁿ⁺¹, factor by factor because n! alone may overflow."""
    total = 1 / x
    for factor in range(1, n + 1):
        total *= factor / x
    return total


def _cot_derivative(n: int, x: Array) -> Array:
    """The n-th derivative of π cot πx: a polynomial in c = cot πx, because c' = -π (1 + c²)."""
    coefficients = np.array([0.0, 1.0])
    for _ in range(n):
        slope = np.polynomial.polynomial.polyder(coefficients)
        coefficients = -np.polynomial.polynomial.polymul(slope, [1.0, 0.0, 1.0])
    return pi ** (n + 1) * _polynomial(coefficients.tolist(), _cot(x))
