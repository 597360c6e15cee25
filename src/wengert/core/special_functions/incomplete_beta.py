"""The incomplete beta function, its derivatives by a and b, and the density it integrates.

    I(a, b, x) = ∫₀ˣ density(a, b, t) dt,   density(a, b, t) = tᵃ⁻¹ (1 - t)ᵇ⁻¹ / B(a, b)

By the continued fraction that converges fast left of the mean, and by I(a, b, x) = 1 - I(b, a,
1 - x) right of it. Where b is tiny, that difference would cancel, and a series takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from wengert.core.special_functions.jets import Jets
from wengert.core.special_functions.pieces import (
    choose,
    log_gamma,
    log_gamma_above_one,
    log_gamma_gap,
    log_less,
    stirling_rest,
)

_TINY = 1e-3  # b up to which 1 - I(b, a, 1 - x) would cancel too much
# Steps of the fraction. It takes some √max(a, b): with a and b of 1e8, thousands.
_LIMIT = 20000
_HALF_LOG_TURN = math.log(2 * math.pi) / 2


def _log_inverse_beta(e: Any, a: Any, b: Any) -> Any:
    """-log B(a, b) where one of them is below 10, without the cancellation of large log Γ."""
    small, large, half = e.min(a, b), e.max(a, b), e.const(0.5)
    total = e.add(small, large)
    direct = e.sub(log_gamma(e, total), log_gamma(e, large))
    rest = e.sub(stirling_rest(e, total), stirling_rest(e, large))
    growth = e.mul(e.sub(large, half), e.log1p(e.div(small, large)))
    stable = e.add(e.add(growth, e.mul(small, e.sub(e.log(total), e.const(1)))), rest)
    gap = e.select(e.lt(large, e.const(10)), direct, stable)
    return e.sub(gap, log_gamma(e, small))


def _log_density(e: Any, a: Any, b: Any, x: Any, y: Any, log_x: Any, log_y: Any) -> Any:
    """log(xᵃ yᵇ / B(a, b)) with y = 1 - x."""
    small = e.add(e.add(e.mul(a, log_x), e.mul(b, log_y)), _log_inverse_beta(e, a, b))
    total = e.add(a, b)
    away = e.sub(e.mul(x, b), e.mul(a, y))  # x (a + b) - a
    left = log_less(e, e.mul(x, e.div(total, a)), e.div(away, a))
    right = log_less(e, e.mul(y, e.div(total, b)), e.neg(e.div(away, b)))
    large = e.add(e.mul(a, left), e.mul(b, right))
    ratio = e.mul(e.div(a, total), e.mul(b, e.const(1 / (2 * math.pi))))
    rest = e.sub(stirling_rest(e, total), e.add(stirling_rest(e, a), stirling_rest(e, b)))
    large = e.add(large, e.add(e.mul(e.const(0.5), e.log(ratio)), rest))
    return e.select(e.lt(e.min(a, b), e.const(10)), small, large)


def beta_density(e: Any, a: Any, b: Any, x: Any) -> Any:
    """xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b) for a > 0, b > 0 and x from 0 to 1."""
    zero, one, infinite = e.const(0), e.const(1), e.const(math.inf)
    inside = e.and_(e.gt(x, zero), e.lt(x, one))
    z = e.select(inside, x, e.const(0.5))
    y = e.sub(one, z)
    logarithm = _log_density(e, a, b, z, y, e.log(z), e.log1p(e.neg(z)))
    density = e.div(e.div(e.exp(logarithm), z), y)
    at_zero = choose(e, e.lt(a, one), infinite, e.gt(a, one), zero, b)
    at_one = choose(e, e.lt(b, one), infinite, e.gt(b, one), zero, a)
    density = choose(
        e, inside, density, e.eq(x, zero), at_zero, e.eq(x, one), at_one, e.const(math.nan)
    )
    return e.select(e.and_(e.gt(a, zero), e.gt(b, zero)), density, e.const(math.nan))


def _fraction(e: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    """(xᵃ yᵇ / B(a, b)) / I(a, b, x) as a continued fraction, by Lentz's method; NaN where it has
    not settled. It is the even part of DLMF 8.17.22: terms that are differences keep their digits.
    """
    zero, one, two = e.const(0), e.const(1), e.const(2)
    total, start = e.add(a, b), e.add(e.sub(e.mul(a, y), e.mul(b, x)), one)

    def step(fraction: Any, c: Any, d: Any, m: Any, _last: Any) -> Any:
        before = e.sub(m, one)  # whole numbers join first: a may be much smaller
        odd = e.add(a, e.add(m, before))  # a + 2m - 1
        left = e.mul(m, e.mul(x, e.div(e.sub(b, m), odd)))
        top = e.mul(left, e.mul(e.add(a, before), e.div(x, odd)))
        top = e.mul(top, e.add(total, before))
        middle = e.fma(m, e.sub(two, x), start)
        below = e.mul(e.div(e.add(a, m), e.add(odd, two)), middle)
        below = e.add(e.add(m, left), below)
        d = e.div(one, e.fma(top, d, below))
        c = e.add(below, e.div(top, c))
        return e.mul(fraction, e.mul(c, d)), c, d, e.add(m, one), fraction

    first = e.mul(e.div(a, e.add(a, one)), start)
    fraction, _, _, _, last = e.iterate(_LIMIT, step, (first, first, zero, one, zero))
    settled = e.le(e.abs(e.sub(fraction, last)), e.mul(e.const(1e-11), e.abs(fraction)))
    return e.select(settled, fraction, e.const(math.nan))


def _small_complement(e: Any, a: Any, b: Any, y: Any, log_y: Any) -> Any:
    """1 - I(b, a, y) for tiny b and y left of the mean, from the series of I(b, a, y)."""
    one = e.const(1)

    def step(total: Any, term: Any, n: Any) -> Any:
        term = e.mul(term, e.mul(e.div(e.sub(n, a), n), y))  # (1 - a) … (n - a) yⁿ / n!
        return e.add(total, e.div(term, e.add(b, n))), term, e.add(n, one)

    series = e.iterate(_LIMIT, step, (e.const(0), one, one))[0]
    gap = e.sub(log_gamma_gap(e, a, b), log_gamma_above_one(e, b))
    exponent = e.add(e.mul(b, log_y), gap)
    return e.sub(e.neg(e.expm1(exponent)), e.mul(e.exp(exponent), e.mul(b, series)))


def _of_inside(e: Any, a: Any, b: Any, x: Any) -> Any:
    """I(a, b, x) for finite a > 0 and b > 0 and x between 0 and 1."""
    one, two = e.const(1), e.const(2)
    y, log_x, log_y = e.sub(one, x), e.log(x), e.log1p(e.neg(x))
    right = e.gt(e.mul(x, e.add(e.add(a, b), two)), e.add(a, one))
    p, q = e.select(right, b, a), e.select(right, a, b)
    u, v = e.select(right, y, x), e.select(right, x, y)
    log_u, log_v = e.select(right, log_y, log_x), e.select(right, log_x, log_y)
    factor = e.exp(_log_density(e, p, q, u, v, log_u, log_v))
    # Where nothing is left of the factor, the fraction need not be found.
    needed = e.gt(factor, e.const(0))
    half = e.const(0.5)
    fraction = _fraction(
        e,
        e.select(needed, p, one),
        e.select(needed, q, one),
        e.select(needed, u, half),
        e.select(needed, v, half),
    )
    tail = e.select(needed, e.div(factor, fraction), e.const(0))
    tiny = e.and_(right, e.le(b, e.const(_TINY)))
    small = _small_complement(
        e,
        e.select(tiny, a, one),
        e.select(tiny, b, e.const(_TINY)),
        e.select(tiny, y, half),
        e.select(tiny, log_y, e.const(-math.log(2))),
    )
    return choose(e, tiny, small, right, e.sub(one, tail), tail)


def _inside(e: Any, a: Any, b: Any, x: Any) -> Any:
    zero, one, infinite = e.const(0), e.const(1), e.const(math.inf)
    positive = e.and_(e.and_(e.gt(a, zero), e.gt(b, zero)), e.gt(x, zero))
    return e.and_(positive, e.and_(e.and_(e.lt(a, infinite), e.lt(b, infinite)), e.lt(x, one)))


def _at_edges(e: Any, a: Any, b: Any, x: Any, value: Any, high: Any) -> Any:
    """0 and `high` where all weight lies right or left of x, NaN where neither is known."""
    zero, one, infinite = e.const(0), e.const(1), e.const(math.inf)
    valid = e.and_(e.and_(e.ge(a, zero), e.ge(b, zero)), e.and_(e.ge(x, zero), e.le(x, one)))
    unknown = e.or_(
        e.and_(e.eq(a, zero), e.eq(b, zero)), e.and_(e.eq(a, infinite), e.eq(b, infinite))
    )
    unknown = e.or_(e.not_(valid), unknown)
    all_left = e.or_(e.eq(a, zero), e.eq(b, infinite))
    edges = choose(e, e.eq(x, zero), zero, e.eq(x, one), high, all_left, high, zero)
    return choose(e, unknown, e.const(math.nan), _inside(e, a, b, x), value, edges)


def _guarded(e: Any, a: Any, b: Any, x: Any) -> tuple[Any, Any, Any]:
    """The operands where they are inside, else some that are."""
    inside, one = _inside(e, a, b, x), e.const(1)
    return e.select(inside, a, one), e.select(inside, b, one), e.select(inside, x, e.const(0.5))


def beta_regularized(e: Any, a: Any, b: Any, x: Any) -> Any:
    """I(a, b, x)."""
    return _at_edges(e, a, b, x, _of_inside(e, *_guarded(e, a, b, x)), e.const(1))


@cache
def slope(by_a: int, by_b: int) -> Callable[..., Any]:
    """The derivative of I(a, b, x) of these orders by a and by b."""

    def beta_slope(e: Any, a: Any, b: Any, x: Any) -> Any:
        inside = _guarded(e, a, b, x)
        inner = Jets(e, by_b)
        outer = Jets(inner, by_a)
        series = _of_inside(
            outer, outer.variable((inside[0],)), (inner.variable(inside[1]),), ((inside[2],),)
        )
        derivative = inner.derivative(outer.derivative(series))
        return _at_edges(e, a, b, x, derivative, e.const(0))

    beta_slope.__name__ = f"beta_slope_{by_a}_{by_b}"
    return beta_slope
