"""The incomplete gamma and beta functions, with derivatives by all of their operands.

By x the derivative is a density. By the others it is the algorithm itself, run on power series:
`gammainc_slope` and `betainc_slope`, to any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from wengert.core import promotion
from wengert.core.define import elementwise, function
from wengert.core.emit import on_arrays
from wengert.core.op_parts.samples import Real, sample, uniform
from wengert.core.special_functions import incomplete_beta, incomplete_gamma
from wengert.core.table import op


def _algorithm(algorithm: Any) -> dict[str, Any]:
    """An op that NumPy and native code compute in the same way."""

    def emit_two(e: Any, a: Any, x: Any) -> Any:
        return e.in_double(algorithm, a, x)

    def emit_three(e: Any, a: Any, b: Any, x: Any) -> Any:
        return e.in_double(algorithm, a, b, x)

    emit = emit_three if algorithm.__code__.co_argcount == 4 else emit_two
    return {"numpy": on_arrays(emit), "emit": emit, "dtypes": promotion.inexact}


_GAMMA_SAMPLES = uniform((0.5, 4), (0.3, 4))


@elementwise(
    **_algorithm(incomplete_gamma.gamma_lower),
    partials=lambda _out, a, x: (
        lambda: op.gammainc_slope(a, x, order=1),
        lambda: op.gamma_density(a, x),
    ),
    samples=_GAMMA_SAMPLES,
    at=[((2.0, 0.0), 0.0, (0.0, 0.0), "nothing lies below 0")],
)
def gammainc(a: Any, x: Any, /) -> None:
    """The share of ∫ tᵃ⁻¹ exp(-t) dt that lies between 0 and x, for a >= 0 and x >= 0.

    >>> wg.gammainc(np.array([0.5, 1.0, 1e6]), np.array([1.0, 1.0, 1e6]))
    array([0.84270079, 0.63212056, 0.50013298])
    """


@elementwise(
    **_algorithm(incomplete_gamma.gamma_upper),
    partials=lambda _out, a, x: (
        lambda: -op.gammainc_slope(a, x, order=1),
        lambda: -op.gamma_density(a, x),
    ),
    samples=_GAMMA_SAMPLES,
    at=[((2.0, 0.0), 1.0, (0.0, 0.0), "all lies above 0")],
)
def gammaincc(a: Any, x: Any, /) -> None:
    """1 - gammainc(a, x), accurate where that is near 0.

    >>> wg.gammaincc(np.array([1.0, 1.0]), np.array([1.0, 50.0]))
    array([3.67879441e-01, 1.92874985e-22])
    """


def _gamma_density_slope(_out: Any, a: Any, x: Any) -> Any:
    # Where a > 1 the difference of two densities, which is right at x = 0 too.
    above = op.greater(a, 1)
    fall = op.where(op.equal(a, 1), 0, (a - 1) / x)
    left = op.where(above, op.gamma_density(op.where(above, a - 1, 1), x), op.pull(_out, fall))
    return left - _out


@elementwise(
    **_algorithm(incomplete_gamma.gamma_density),
    partials=lambda out, a, x: (
        lambda: op.pull(out, op.log(x) - op.digamma(a)),
        lambda: _gamma_density_slope(out, a, x),
    ),
    samples=_GAMMA_SAMPLES,
    space="hidden",
)
def gamma_density(a: Any, x: Any, /) -> None:
    """xᵃ⁻¹ exp(-x) / Γ(a) of each pair of elements: the derivative of gammainc by x."""


def _binomial_sum(densities: list[Any], slopes: list[Any]) -> Any:
    """The next derivative of a density, from those before it and those of its logarithm."""
    count = len(densities)
    terms = [
        op.pull(densities[count - 1 - k], slopes[k]) * math.comb(count - 1, k) for k in range(count)
    ]
    return reduce(op.add, terms)


def _gamma_density_by_a(a: Any, x: Any, order: int) -> Any:
    slopes = [op.log(x) - op.digamma(a), *(-op.polygamma(k, a) for k in range(1, order))]
    derivatives = [op.gamma_density(a, x)]
    for _ in range(order):
        derivatives.append(_binomial_sum(derivatives, slopes))
    return derivatives[-1]


_HIGHEST_ORDER = 16  # of a derivative by a or b: code grows with its square


def _whole(name: str, value: Any, least: int) -> int:
    number = int(value)
    if number != value or not least <= number <= _HIGHEST_ORDER:
        raise ValueError(
            f"{name}: order {value!r} was given; it is an integer from {least} to "
            f"{_HIGHEST_ORDER}. Choose one."
        )
    return number


def _emit_gammainc_slope(e: Any, a: Any, x: Any, *, order: int = 1) -> Any:
    return e.in_double(incomplete_gamma.slope(order), a, x)


@elementwise(
    numpy=on_arrays(_emit_gammainc_slope),
    emit=_emit_gammainc_slope,
    dtypes=promotion.inexact,
    canonical=lambda _a, _x, order: {"order": _whole("gammainc_slope", order, 1)},
    partials=lambda _out, a, x, *, order: (
        lambda: op.gammainc_slope(a, x, order=order + 1),
        lambda: _gamma_density_by_a(a, x, order),
    ),
    samples=tuple(
        sample(Real(shape, 0.5, 4), Real(shape, 0.3, 4), order=1) for shape in ((3, 4), (), (0, 3))
    ),
    tolerance=1e-8,
    space="hidden",
)
def gammainc_slope(a: Any, x: Any, /, order: int = 1) -> None:
    """The derivative of gammainc by a, of the first or a higher order."""


_LOG_SMALL = -25.0  # below which the quantile follows from the first term of the series


def _quantile_weight(out: Any, a: Any, p: Any) -> Any:
    """x times the density at the quantile x, which is a · p where x is small."""
    small = op.less(out, _LOG_SMALL)
    x = op.exp(op.where(small, 0, out))
    return op.where(small, a * p, x * op.gamma_density(a, x))


def _quantile_by_a(out: Any, a: Any, p: Any) -> Any:
    """By implicit differentiation of P(a, x) = p."""
    small = op.less(out, _LOG_SMALL)
    x = op.exp(op.where(small, 0, out))
    first_term = (op.digamma(a + 1) - out) / a
    return op.where(small, first_term, -op.gammainc_slope(a, x) / _quantile_weight(out, a, p))


@elementwise(
    **_algorithm(incomplete_gamma.gamma_log_quantile),
    partials=lambda out, a, p: (
        lambda: _quantile_by_a(out, a, p),
        lambda: 1 / _quantile_weight(out, a, p),
    ),
    samples=uniform((0.5, 4), (0.1, 0.9)),
    tolerance=1e-9,
    space="hidden",
)
def log_gammaincinv(a: Any, p: Any, /) -> None:
    """The logarithm of the x with gammainc(a, x) = p, which is finite where x itself underflows."""


@function()
def gammaincinv(a: Any, p: Any) -> Any:
    """The x with gammainc(a, x) = p: quantiles of the gamma distribution.

    >>> wg.gammaincinv(1.0, 1 - np.exp(-np.array([0.5, 3.0])))
    array([0.5, 3. ])
    """
    return op.exp(op.log_gammaincinv(a, p))


@elementwise(
    **_algorithm(incomplete_gamma.poisson_quantile),
    flat=True,
    samples=uniform((0.5, 30), (0.05, 0.95)),
    space="hidden",
)
def poisson_quantile(rate: Any, u: Any, /) -> None:
    """The smallest whole k below which, or at which, a Poisson number lies with probability u."""


_BETA_SAMPLES = uniform((0.5, 4), (0.5, 4), (0.1, 0.7))


@elementwise(
    **_algorithm(incomplete_beta.beta_regularized),
    partials=lambda _out, a, b, x: (
        lambda: op.betainc_slope(a, b, x, by_a=1, by_b=0),
        lambda: op.betainc_slope(a, b, x, by_a=0, by_b=1),
        lambda: op.beta_density(a, b, x),
    ),
    samples=_BETA_SAMPLES,
    at=[((2.0, 3.0, 0.0), 0.0, (0.0, 0.0, 0.0), "nothing lies below 0")],
)
def betainc(a: Any, b: Any, x: Any, /) -> None:
    """The share of ∫ tᵃ⁻¹ (1 - t)ᵇ⁻¹ dt from 0 to 1 that lies below x, for a >= 0 and b >= 0.

    NaN for x outside of [0, 1], and where a and b are so large (above about 1e9) that its continued
    fraction does not settle.

    >>> wg.betainc(np.array([0.5, 2.0]), 3.0, 0.25)
    array([0.79296875, 0.26171875])
    """


def _beta_density_slope(out: Any, a: Any, b: Any, x: Any) -> Any:
    """Of each end the density with one power less, which is right at the end itself too."""

    def part(a: Any, b: Any, lowered: Any, distance: Any) -> Any:
        above = op.greater(a, 1)
        fall = op.where(op.equal(a, 1), 0, (a - 1) / distance)
        less = (a + b - 1) * lowered(op.where(above, a - 1, 1))
        return op.where(above, less, op.pull(out, fall))

    left = part(a, b, lambda less: op.beta_density(less, b, x), x)
    return left - part(b, a, lambda less: op.beta_density(a, less, x), 1 - x)


def _beta_log_slope(a: Any, b: Any, logarithm: Any, by_a: int, by_b: int) -> Any:
    """A derivative of log x - ψ(a) + ψ(a + b)."""
    both = op.polygamma(by_a + by_b, a + b)
    if by_b:
        return both
    return both - op.polygamma(by_a, a) + (0 if by_a else logarithm)


def _first_log_slope(out: Any, a: Any, b: Any, x: Any, log: Callable[[Any], Any]) -> Any:
    """The derivative of log of the density by a, whose terms cancel: in float64."""
    wide = [op.astype(each, np.float64) for each in (a, b, x)]
    return op.astype(_beta_log_slope(wide[0], wide[1], log(wide[2]), 0, 0), out.dtype)


@elementwise(
    **_algorithm(incomplete_beta.beta_density),
    partials=lambda out, a, b, x: (
        lambda: op.pull(out, _first_log_slope(out, a, b, x, op.log)),
        lambda: op.pull(out, _first_log_slope(out, b, a, x, lambda x: op.log1p(-x))),
        lambda: _beta_density_slope(out, a, b, x),
    ),
    samples=_BETA_SAMPLES,
    space="hidden",
)
def beta_density(a: Any, b: Any, x: Any, /) -> None:
    """xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b): the derivative of betainc by x."""


def _beta_density_by(a: Any, b: Any, x: Any, by_a: int, by_b: int) -> Any:
    """A derivative of the density by a and b: those of its logarithm are known."""
    if by_a == by_b == 0:
        return op.beta_density(a, b, x)
    if by_a == 0:
        return _beta_density_by(b, a, 1 - x, by_b, by_a)
    terms = [
        op.pull(
            _beta_density_by(a, b, x, by_a - 1 - i, by_b - j),
            _beta_log_slope(a, b, op.log(x), i, j),
        )
        * (math.comb(by_a - 1, i) * math.comb(by_b, j))
        for i in range(by_a)
        for j in range(by_b + 1)
    ]
    return reduce(op.add, terms)


def _canonical_orders(_a: Any, _b: Any, _x: Any, by_a: Any, by_b: Any) -> dict[str, int]:
    orders = {name: _whole("betainc_slope", n, 0) for name, n in (("by_a", by_a), ("by_b", by_b))}
    if not any(orders.values()):
        raise ValueError("betainc_slope: order 0 was given twice; that is betainc. Call that.")
    return orders


def _emit_betainc_slope(e: Any, a: Any, b: Any, x: Any, *, by_a: int = 1, by_b: int = 0) -> Any:
    return e.in_double(incomplete_beta.slope(by_a, by_b), a, b, x)


@elementwise(
    numpy=on_arrays(_emit_betainc_slope),
    emit=_emit_betainc_slope,
    dtypes=promotion.inexact,
    canonical=_canonical_orders,
    partials=lambda _out, a, b, x, *, by_a, by_b: (
        lambda: op.betainc_slope(a, b, x, by_a=by_a + 1, by_b=by_b),
        lambda: op.betainc_slope(a, b, x, by_a=by_a, by_b=by_b + 1),
        lambda: _beta_density_by(a, b, x, by_a, by_b),
    ),
    samples=tuple(
        sample(Real(s, 0.5, 4), Real(s, 0.5, 4), Real(s, 0.1, 0.7), by_a=m, by_b=n)
        for s, m, n in (((3, 4), 1, 0), ((), 0, 1), ((0, 3), 1, 0))
    ),
    tolerance=1e-8,
    space="hidden",
)
def betainc_slope(a: Any, b: Any, x: Any, /, by_a: int = 1, by_b: int = 0) -> None:
    """The derivative of betainc by a and b, of these orders."""
