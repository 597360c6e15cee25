"""The modified Bessel function I of real order, scaled by exp(-|x|), and its derivatives by the
order.

Three ways, each where it is accurate: a power series of positive terms where the order is small and
x is not large; a series in 1/x where x is large; and one in 1/order, which is uniform in x, where
the order is large (Olver's; NIST Digital Library of Mathematical Functions, 10.41).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from wengert.core.special_functions.jets import Jets
from wengert.core.special_functions.pieces import choose, log_gamma, polynomial

_LARGE_ORDER = 30  # from which the series in 1/order is exact to the last digits
_FAR = 500  # x from which the series in 1/x is, for smaller orders
_LIMIT = 1000  # steps of a series; the power series takes some 400 where x is _FAR
_TERMS = 12  # of the series in 1/order


@cache
def _polynomials() -> list[list[float]]:
    """U[k] without its factor pᵏ, by powers of p²: U[0] = 1 and

    U[k + 1](p) = p² (1 - p²) / 2 · U[k]'(p) + 1/8 ∫₀ᵖ (1 - 5 t²) U[k](t) dt
    """
    powers, whole = {0: 1}, 1  # numerators of the coefficients, and their common denominator
    polynomials = []
    for k in range(_TERMS):
        polynomials.append([powers.get(k + 2 * i, 0) / whole for i in range(k + 1)])
        after: dict[int, int] = {}
        unit = 8 * math.lcm(*(n + j for n in powers for j in (1, 3)))  # divided by each of them
        for n, c in powers.items():
            half, eighth = c * unit // 2, c * unit // 8
            after[n + 1] = after.get(n + 1, 0) + half * n + eighth // (n + 1)
            after[n + 3] = after.get(n + 3, 0) - half * n - 5 * eighth // (n + 3)
        powers, whole = after, whole * unit
    return polynomials


def _near(e: Any, order: Any, x: Any) -> Any:
    """(x/2)ᵛ exp(-x) / Γ(v + 1) · Σ (x²/4)ᵏ / (k! (v + 1) … (v + k))."""
    one, half = e.const(1), e.mul(x, e.const(0.5))
    square = e.mul(half, half)

    def step(total: Any, term: Any, k: Any) -> Any:
        term = e.mul(term, e.div(square, e.mul(k, e.add(order, k))))
        return e.add(total, term), term, e.add(k, one)

    total = e.iterate(_LIMIT, step, (one, one, one))[0]
    exponent = e.sub(e.mul(order, e.log(half)), log_gamma(e, e.add(order, one)))
    return e.mul(e.exp(e.sub(exponent, x)), total)


def _far(e: Any, order: Any, x: Any) -> Any:
    """1/√(2πx) · Σ (-1)ᵏ (4v² - 1) (4v² - 9) … (4v² - (2k - 1)²) / (k! (8x)ᵏ)."""
    one, eighth = e.const(1), e.div(e.const(1 / 8), x)
    square = e.mul(e.mul(order, order), e.const(4))

    def step(total: Any, term: Any, k: Any) -> Any:
        odd = e.sub(e.add(k, k), one)
        factor = e.div(e.mul(e.sub(e.mul(odd, odd), square), eighth), k)
        term = e.mul(term, factor)
        return e.add(total, term), term, e.add(k, one)

    total = e.iterate(_LIMIT, step, (one, one, one))[0]
    return e.div(total, e.sqrt(e.mul(x, e.const(2 * math.pi))))


def _large(e: Any, order: Any, x: Any) -> Any:
    """exp(v (η - z)) √(p / 2πv) · Σ U[k](p) / vᵏ, with z = x / v and p = 1 / √(1 + z²)."""
    one = e.const(1)
    z, inverse = e.div(x, order), e.div(order, x)
    # 1 / p = √(1 + z²), without an overflow
    root = e.mul(x, e.div(e.sqrt(e.fma(inverse, inverse, one)), order))
    root = e.select(e.lt(z, one), e.sqrt(e.fma(z, z, one)), root)
    p = e.div(one, root)
    # η - z = √(1 + z²) - z - asinh(1/z)
    above = e.div(e.mul(inverse, inverse), e.add(one, e.sqrt(e.fma(inverse, inverse, one))))
    small = e.sub(e.log(z), e.log1p(root))
    angle = e.select(e.lt(z, one), small, e.neg(e.log1p(e.add(inverse, above))))
    exponent = e.mul(order, e.add(e.div(one, e.add(root, z)), angle))
    ratio, square = e.div(p, order), e.mul(p, p)
    total = e.const(0)
    for each in reversed(_polynomials()):
        total = e.add(e.mul(total, ratio), polynomial(e, square, each))
    scale = e.sqrt(e.mul(ratio, e.const(1 / (2 * math.pi))))
    return e.mul(e.mul(e.exp(exponent), scale), total)


def _inside(e: Any, order: Any, x: Any) -> Any:
    """For orders from 0 on and finite x above 0."""
    one = e.const(1)
    large = e.ge(order, e.const(_LARGE_ORDER))
    far = e.and_(e.not_(large), e.ge(x, e.const(_FAR)))
    near = e.not_(e.or_(large, far))
    # A loop goes on for as long as one element of a vector needs it: the others get easy numbers.
    small_order = e.select(large, one, order)
    value = _near(e, e.select(near, order, one), e.select(near, x, one))
    value = e.select(far, _far(e, small_order, e.select(far, x, e.const(_FAR))), value)
    given = e.select(large, order, e.const(_LARGE_ORDER)), e.select(large, x, one)
    return e.select(large, _large(e, *given), value)


def _guarded(e: Any, order: Any, x: Any) -> tuple[Any, Any, Any]:
    """An order and an x that are inside, and whether they are those that were given."""
    finite = e.const(math.inf)
    inside = e.and_(e.and_(e.gt(x, e.const(0)), e.lt(x, finite)), e.ge(order, e.const(0)))
    inside = e.and_(inside, e.lt(order, finite))
    one = e.const(1)
    return e.select(inside, order, one), e.select(inside, x, one), inside


def scaled_bessel(e: Any, order: Any, x: Any) -> Any:
    """exp(-|x|) I(order, x). Negative orders, and x below 0, only where the order is whole."""
    zero, one, nan = e.const(0), e.const(1), e.const(math.nan)
    whole = e.eq(order, e.floor(order))
    half = e.mul(order, e.const(0.5))
    odd = e.and_(whole, e.ne(half, e.floor(half)))
    size, positive = e.abs(x), e.select(whole, e.abs(order), order)
    inside_order, inside_x, inside = _guarded(e, positive, size)
    value = _inside(e, inside_order, inside_x)
    at_zero = choose(e, e.eq(positive, zero), one, e.gt(positive, zero), zero, nan)
    # Towards infinity I is exp(x) / √(2πx) for each finite order.
    ends = e.or_(e.eq(size, e.const(math.inf)), e.eq(positive, e.const(math.inf)))
    outside = choose(e, e.eq(size, zero), at_zero, ends, zero, nan)
    value = e.select(inside, value, outside)
    negative = e.lt(x, zero)
    value = e.select(e.and_(negative, odd), e.neg(value), value)
    known = e.and_(e.or_(whole, e.and_(e.ge(x, zero), e.ge(order, zero))), e.eq(x, x))
    return e.select(known, value, nan)


@cache
def slope(times: int) -> Callable[..., Any]:
    """The derivative by the order, of order `times`, where neither the order nor x is below 0."""

    def bessel_slope(e: Any, order: Any, x: Any) -> Any:
        zero, nan = e.const(0), e.const(math.nan)
        jets = Jets(e, times)
        inside_order, inside_x, inside = _guarded(e, order, x)
        derivative = jets.derivative(_inside(jets, jets.variable(inside_order), (inside_x,)))
        falls = e.and_(e.eq(x, zero), e.eq(order, zero))
        stays = e.and_(e.ge(x, zero), e.ge(order, zero))
        return choose(e, inside, derivative, falls, e.const(-math.inf), stays, zero, nan)

    bessel_slope.__name__ = f"bessel_slope_{times}"
    return bessel_slope
