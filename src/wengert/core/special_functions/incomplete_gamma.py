"""The incomplete gamma functions, their derivatives by a, and the density they integrate.

    P(a, x) = ∫₀ˣ density(a, t) dt,   Q = 1 - P,   density(a, t) = tᵃ⁻¹ exp(-t) / Γ(a)

Four ways, each where it is accurate: a power series of positive terms for P where x is not above a;
one for Q where both are small; a continued fraction for Q where x is above a; and, for large a near
the transition, a normal distribution with a correction (Temme, 1979; the correction's coefficients
by the recurrence of Gil, Segura and Temme, Efficient and accurate algorithms for the computation
and inversion of the incomplete gamma function ratios, 2012).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from wengert.core.special_functions.error_functions import erfc_inverse
from wengert.core.special_functions.jets import Jets
from wengert.core.special_functions.pieces import (
    choose,
    log1p_over_square,
    log_gamma,
    log_gamma_above_one,
    log_less,
    stirling_rest,
)

# η / μ as a power series in η, where η²/2 = μ - log(1 + μ)
# fmt: off
_RATIO = (
    1.0, -0.3333333333333333, 0.08333333333333333, -0.014814814814814815,
    0.0011574074074074073, 0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05,
    -2.185448510679992e-06, -1.85406221071516e-06, 8.296711340953087e-07, -1.7665952736826078e-07,
    6.707853543401498e-09, 1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10,
    -2.5514193994946248e-11, -5.830772132550426e-11, 2.4361948020667415e-11,
    -5.0276692801141755e-12, 1.1004392031956135e-13, 3.371763262400985e-13, -1.392388722418162e-13,
    2.8534893807047445e-14, -5.139111834242572e-16, -1.9752288294349442e-15, 8.099521156704561e-16,
    -1.6522531216398162e-16,
)
# fmt: on
_LARGE = 20  # a from which the correction's series is used, where |x - a| ≤ _NEAR · a
_NEAR = 0.4
_SMALL = 25.0  # log x below which P(a, x) is xᵃ / Γ(a + 1), to 1e-11 and better
_LIMIT = 500  # steps of a series or fraction; a tenth of it is what they take


def _log_density(e: Any, a: Any, x: Any) -> Any:
    """log(xᵃ exp(-x) / Γ(a)) for a > 0 and x > 0."""
    small = e.sub(e.sub(e.mul(a, e.log(x)), x), log_gamma(e, a))
    large = e.mul(a, log_less(e, e.div(x, a), e.div(e.sub(x, a), a)))
    root = e.mul(e.const(0.5), e.log(e.mul(a, e.const(1 / (2 * math.pi)))))
    large = e.add(large, e.sub(root, stirling_rest(e, a)))
    return e.select(e.lt(a, e.const(10)), small, large)


def gamma_density(e: Any, a: Any, x: Any) -> Any:
    """xᵃ⁻¹ exp(-x) / Γ(a) for a > 0 and x ≥ 0."""
    zero, one = e.const(0), e.const(1)
    inside = e.and_(e.gt(x, zero), e.lt(x, e.const(math.inf)))
    y = e.select(inside, x, one)
    density = e.div(e.exp(_log_density(e, a, y)), y)
    at_zero = choose(e, e.lt(a, one), e.const(math.inf), e.gt(a, one), zero, one)
    density = choose(
        e, inside, density, e.eq(x, zero), at_zero, e.gt(x, zero), zero, e.const(math.nan)
    )
    return e.select(e.gt(a, zero), density, e.const(math.nan))


def _series(e: Any, a: Any, x: Any) -> Any:
    """Σ xⁿ / ((a + 1) … (a + n)), n = 0, 1, …"""
    one = e.const(1)

    def step(total: Any, term: Any, n: Any) -> Any:
        term = e.mul(term, e.div(x, n))
        return e.add(total, term), term, e.add(n, one)

    return e.iterate(_LIMIT, step, (one, one, e.add(a, one)))[0]


def _complement_of_small(e: Any, a: Any, x: Any) -> Any:
    """Q for a and x that are both small: 1 - P without the cancellation."""
    one = e.const(1)

    def step(total: Any, power: Any, n: Any) -> Any:
        power = e.neg(e.mul(power, e.div(x, n)))  # (-x)ⁿ / n!
        return e.add(total, e.div(power, e.add(a, n))), power, e.add(n, one)

    total = e.iterate(_LIMIT, step, (e.const(0), one, one))[0]
    exponent = e.sub(e.mul(a, e.log(x)), log_gamma_above_one(e, a))
    return e.sub(e.neg(e.expm1(exponent)), e.mul(e.exp(exponent), e.mul(a, total)))


def _fraction(e: Any, a: Any, x: Any) -> Any:
    """Q / (xᵃ exp(-x) / Γ(a)) as a continued fraction, by Lentz's method."""
    one, two = e.const(1), e.const(2)
    first = e.sub(e.add(x, one), a)

    def step(total: Any, b: Any, c: Any, d: Any, n: Any) -> Any:
        top = e.mul(n, e.sub(a, n))
        b = e.add(b, two)
        d = e.div(one, e.fma(top, d, b))
        c = e.add(b, e.div(top, c))
        return e.mul(total, e.mul(c, d)), b, c, d, e.add(n, one)

    start = e.div(one, first)
    return e.iterate(_LIMIT, step, (start, first, e.const(1e300), start, one))[0]


def _near_transition(e: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """P and Q for large a and x near it."""
    half, root = e.const(0.5), e.const(1 / math.sqrt(2 * math.pi))
    mu = e.div(e.sub(x, a), a)
    shape = log1p_over_square(e, mu)
    eta = e.mul(mu, e.sqrt(e.mul(e.const(-2), shape)))
    inverse = e.div(e.const(1), a)
    # β[n - 1] = ratio[n] + (n + 1) β[n + 1] / a
    beta = [e.const(0)] * 2
    for n in range(len(_RATIO) - 1, 0, -1):
        beta.insert(0, e.fma(e.mul(e.const(n + 1), beta[1]), inverse, e.const(_RATIO[n])))
    total = beta[-3]
    for each in beta[-4::-1]:
        total = e.fma(total, eta, each)
    scaled = e.div(a, e.add(a, beta[1]))
    gauss = e.exp(e.mul(a, e.mul(e.mul(mu, mu), shape)))
    rest = e.mul(e.mul(e.mul(root, e.sqrt(inverse)), gauss), e.mul(scaled, total))
    distance = e.mul(eta, e.sqrt(e.mul(half, a)))
    below = e.sub(e.mul(half, e.erfc(e.neg(distance))), rest)
    return below, e.add(e.mul(half, e.erfc(distance)), rest)


def _both(e: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """P and Q for finite a > 0 and x > 0."""
    one, cut = e.const(1), e.const(1.5)
    distance = e.abs(e.sub(x, a))
    near = e.and_(e.ge(a, e.const(_LARGE)), e.le(distance, e.mul(a, e.const(_NEAR))))
    above = e.gt(x, e.max(e.add(a, one), cut))
    small = e.and_(e.lt(a, one), e.not_(above))
    # A loop goes on for as long as one element of a vector needs it: the others get easy numbers.
    factor = e.exp(_log_density(e, a, x))
    rising = e.not_(e.or_(near, above))
    sum_a, sum_x = e.select(rising, a, one), e.select(rising, x, one)
    lower = e.mul(e.div(factor, a), _series(e, sum_a, sum_x))
    small_a, small_x = e.select(small, a, one), e.select(small, x, one)
    upper_of_small = _complement_of_small(e, small_a, small_x)
    falling = e.and_(above, e.not_(near))
    upper_a, upper_x = e.select(falling, a, one), e.select(falling, x, e.const(3))
    upper = e.mul(factor, _fraction(e, upper_a, upper_x))
    middle_a, middle_x = e.select(near, a, e.const(_LARGE)), e.select(near, x, e.const(_LARGE))
    middle = _near_transition(e, middle_a, middle_x)
    return (
        choose(e, near, middle[0], above, e.sub(one, upper), lower),
        choose(e, near, middle[1], above, upper, small, upper_of_small, e.sub(one, lower)),
    )


def _at_edges(e: Any, a: Any, x: Any, value: Any, low: Any, high: Any) -> Any:
    """`low` where P is 0, `high` where it is 1, NaN outside the domain, else `value`."""
    zero, infinite = e.const(0), e.const(math.inf)
    positive_a, positive_x = e.gt(a, zero), e.gt(x, zero)
    finite_a, finite_x = e.lt(a, infinite), e.lt(x, infinite)
    inside = e.and_(e.and_(positive_a, positive_x), e.and_(finite_a, finite_x))
    empty = e.or_(
        e.and_(e.eq(x, zero), positive_a),
        e.and_(e.eq(a, infinite), e.and_(e.ge(x, zero), finite_x)),
    )
    full = e.or_(
        e.and_(e.eq(x, infinite), e.and_(e.ge(a, zero), finite_a)),
        e.and_(e.eq(a, zero), positive_x),
    )
    return choose(e, inside, value, empty, low, full, high, e.const(math.nan))


def _guarded(e: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """a and x where both are positive and finite, else 1."""
    zero, infinite, one = e.const(0), e.const(math.inf), e.const(1)
    inside = e.and_(
        e.and_(e.gt(a, zero), e.gt(x, zero)), e.and_(e.lt(a, infinite), e.lt(x, infinite))
    )
    return e.select(inside, a, one), e.select(inside, x, one)


def gamma_lower(e: Any, a: Any, x: Any) -> Any:
    """P(a, x)."""
    lower = _both(e, *_guarded(e, a, x))[0]
    return _at_edges(e, a, x, lower, e.const(0), e.const(1))


def gamma_upper(e: Any, a: Any, x: Any) -> Any:
    """Q(a, x)."""
    upper = _both(e, *_guarded(e, a, x))[1]
    return _at_edges(e, a, x, upper, e.const(1), e.const(0))


def gamma_log_quantile(e: Any, a: Any, p: Any) -> Any:
    """log x where P(a, x) = p, for a > 0 and p from 0 to 1: by Newton's method on log P or log Q,
    which are concave in log x, from the quantile of a normal number's cube (Wilson and Hilferty).
    """
    zero, half, one, infinite = e.const(0), e.const(0.5), e.const(1), e.const(math.inf)
    inside = e.and_(e.and_(e.gt(a, zero), e.lt(a, infinite)), e.and_(e.gt(p, zero), e.lt(p, one)))
    a_, p_ = e.select(inside, a, one), e.select(inside, p, half)
    # P(a, x) < xᵃ / Γ(a + 1), and is next to that for small x.
    least = e.div(e.add(e.log(p_), log_gamma(e, e.add(a_, one))), a_)
    z = e.neg(e.mul(e.const(math.sqrt(2)), erfc_inverse(e, e.add(p_, p_))))
    ninth = e.div(e.const(1 / 9), a_)
    cube = e.max(e.add(e.sub(one, ninth), e.mul(z, e.sqrt(ninth))), e.const(0.05))
    middle = e.add(e.log(a_), e.mul(e.const(3), e.log(cube)))
    start = e.select(e.lt(a_, half), least, e.max(least, middle))
    left = e.le(p_, half)
    target = e.log(e.select(left, p_, e.sub(one, p_)))
    tiny = e.lt(least, e.const(-_SMALL))

    def step(y: Any) -> Any:
        x = e.exp(y)
        lower, upper = _both(e, a_, x)
        tail = e.select(left, lower, upper)
        weight = e.div(e.exp(_log_density(e, a_, x)), tail)
        away = e.div(e.sub(e.log(tail), target), weight)
        away = e.select(left, away, e.neg(away))
        away = e.max(e.min(away, e.const(2)), e.const(-2))
        # What is left is rounding, and would go to and fro.
        return (e.select(e.gt(e.abs(away), e.const(1e-14)), e.sub(y, away), y),)

    begin = e.select(tiny, zero, start)  # elements that need no step get an easy one
    a_, target = e.select(tiny, one, a_), e.select(tiny, e.log(half), target)
    left = e.or_(left, tiny)
    log_x = e.select(tiny, least, e.iterate(50, step, (begin,))[0])
    edges = choose(e, e.eq(p, zero), e.neg(infinite), e.eq(p, one), infinite, e.const(math.nan))
    valid = e.and_(e.gt(a, zero), e.lt(a, infinite))
    return e.select(inside, log_x, e.select(valid, edges, e.const(math.nan)))


def poisson_quantile(e: Any, rate: Any, u: Any) -> Any:
    """The smallest whole k with P(K ≤ k) ≥ u, where K is Poisson distributed: by bisection, as that
    probability is Q(k + 1, rate). There is none for u ≥ 1, for which this gives infinity.
    """
    zero, half, one = e.const(0), e.const(0.5), e.const(1)
    valid = e.and_(e.ge(rate, zero), e.lt(rate, e.const(1e15)))
    mean = e.select(e.and_(valid, e.gt(rate, zero)), rate, one)
    # Twelve deviations away nothing is left that a float between 0 and 1 could tell from it.
    last = e.ceil(e.add(e.add(mean, e.mul(e.const(12), e.sqrt(mean))), e.const(40)))

    def step(gap: Any, low: Any) -> Any:
        middle = e.add(low, e.floor(e.mul(half, gap)))
        reached = e.ge(_both(e, e.add(middle, one), mean)[1], u)
        high = e.add(low, gap)
        new_low = e.select(reached, low, e.add(middle, one))
        new_high = e.select(reached, middle, high)
        return e.max(e.sub(new_high, new_low), zero), e.min(new_low, high)

    k = e.iterate(64, step, (last, zero))[1]
    k = e.select(e.lt(u, one), k, e.const(math.inf))
    k = e.select(e.eq(u, u), k, e.const(math.nan))
    k = e.select(e.gt(rate, zero), k, zero)
    return e.select(valid, k, e.const(math.nan))


@cache
def slope(order: int) -> Callable[..., Any]:
    """The derivative of this order of P(a, x) by a."""

    def gamma_slope(e: Any, a: Any, x: Any) -> Any:
        jets = Jets(e, order)
        inside_a, inside_x = _guarded(e, a, x)
        derivative = jets.derivative(_both(jets, jets.variable(inside_a), (inside_x,))[0])
        return _at_edges(e, a, x, derivative, e.const(0), e.const(0))

    gamma_slope.__name__ = f"gamma_slope_{order}"
    return gamma_slope
