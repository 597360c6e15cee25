"""What several special functions are made of, accurate where the obvious formula is not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wengert.core.special_functions.numpy_special import BERNOULLI, LGAMMA

_SHIFT = 10  # from here on the asymptotic series of log Γ is exact to the last digits
_HALF_LOG_TURN = math.log(2 * math.pi) / 2


def polynomial(e: Any, x: Any, coefficients: Sequence[float]) -> Any:
    """By Horner's rule; the lowest power comes first."""
    total = e.const(coefficients[-1])
    for each in coefficients[-2::-1]:
        total = e.fma(total, x, e.const(each))
    return total


def choose(e: Any, *cases: Any) -> Any:
    """choose(e, c1, x1, c2, x2, …, rest): what stands behind the first condition that holds."""
    chosen = cases[-1]
    for i in range(len(cases) - 3, -1, -2):
        chosen = e.select(cases[i], cases[i + 1], chosen)
    return chosen


def log1p_over_square(e: Any, u: Any) -> Any:
    """(log(1 + u) - u) / u² for u in [-1/2, 1]; -1/2 at 0."""
    # log(1 + u) = 2 (s + s³/3 + s⁵/5 + …) with s = u / (2 + u)
    below = e.div(e.const(1), e.add(u, e.const(2)))
    s = e.mul(u, below)
    series = polynomial(e, e.mul(s, s), [1 / (2 * k + 3) for k in range(18)])
    return e.mul(below, e.sub(e.mul(e.mul(e.const(2), e.mul(s, below)), series), e.const(1)))


def log_less(e: Any, ratio: Any, u: Any) -> Any:
    """log(ratio) - u, accurate near 0, given both the ratio and u = ratio - 1."""
    near = e.and_(e.gt(u, e.const(-0.5)), e.lt(u, e.const(1)))
    inside = e.select(near, u, e.const(0))
    return e.select(near, e.mul(e.mul(u, u), log1p_over_square(e, inside)), e.sub(e.log(ratio), u))


def stirling_rest(e: Any, z: Any) -> Any:
    """log Γ(z) - (z - 1/2) log z + z - log(2π)/2 for z ≥ 10."""
    inverse = e.div(e.const(1), z)
    coefficients = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI[:8], 1)]
    return e.mul(inverse, polynomial(e, e.mul(inverse, inverse), coefficients))


def lifted(e: Any, z: Any) -> tuple[Any, Any]:
    """w ≥ 10 and f with Γ(z) = Γ(w) / f: z itself and 1, or z + 10 and z (z + 1) … (z + 9)."""
    small = e.lt(z, e.const(_SHIFT))
    factors = z
    for step in range(1, _SHIFT):
        factors = e.mul(factors, e.add(z, e.const(step)))
    one = e.const(1)
    return e.select(small, e.add(z, e.const(_SHIFT)), z), e.select(small, factors, one)


def log_gamma(e: Any, z: Any) -> Any:
    """log Γ(z) for z > 0, by Stirling's series alone: its derivatives are those of the series."""
    w, factors = lifted(e, z)
    large = e.mul(e.sub(w, e.const(0.5)), e.sub(e.log(w), e.const(1)))
    large = e.add(large, e.add(stirling_rest(e, w), e.const(_HALF_LOG_TURN - 0.5)))
    return e.sub(large, e.log(factors))


def log_gamma_above_one(e: Any, u: Any) -> Any:
    """log Γ(1 + u) for u in [0, 1], relative to itself."""
    one = e.const(1)
    centered = e.sub(e.add(u, u), one)
    return e.mul(e.mul(u, e.sub(u, one)), polynomial(e, centered, LGAMMA))


def log_gamma_gap(e: Any, a: Any, b: Any) -> Any:
    """log Γ(a + b) - log Γ(a) for a > 0 and small b ≥ 0, relative to itself."""
    half, one = e.const(0.5), e.const(1)
    small = e.lt(a, e.const(_SHIFT))
    w = e.select(small, e.add(a, e.const(_SHIFT)), a)
    steps = e.const(0)
    for step in range(_SHIFT):
        steps = e.add(steps, e.log1p(e.div(b, e.add(a, e.const(step)))))
    # The rest of Stirling's series has next to no curvature: its slope in the middle is enough.
    middle = e.div(one, e.add(w, e.mul(half, b)))
    square = e.mul(middle, middle)
    coefficients = [-bernoulli / (2 * k) for k, bernoulli in enumerate(BERNOULLI[:8], 1)]
    slope = e.mul(square, polynomial(e, square, coefficients))
    growth = e.mul(e.sub(w, half), e.log1p(e.div(b, w)))
    gap = e.fma(b, e.add(e.sub(e.log(e.add(w, b)), one), slope), growth)
    return e.sub(gap, e.select(small, steps, e.const(0)))
