"""The derivatives of digamma, in float64.

ψ⁽ⁿ⁾(x) is (-1)ⁿ⁺¹ times the sum n! Σ 1 / (x + k)ⁿ⁺¹ over k = 0, 1, … In units of (-1)ⁿ⁺¹, S(x) is
that sum for x > 0. For x < 0 with the distance f to its nearest integer the terms are those of
S(1 + f), the one of f itself, and, from the other side, those of S(1 - f) that S(1 - x) has not.
"""

from __future__ import annotations

from math import factorial, nan, pi

from wengert.codegen.llvm.math.double import in_double
from wengert.codegen.llvm.math.exponential import exp
from wengert.codegen.llvm.math.gamma import BERNOULLI, digamma, from_integer, where_any
from wengert.codegen.llvm.math.logarithm import log
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.core.dtypes import float64, int64

_START = 10  # Euler and Maclaurin's formula takes over at x = n + this
_TERMS = 48  # at most so many one by one: where x < n + 10, each is less than 1/e of the one before
_STIRLING = 1024  # factorials from here on by Stirling's formula, as exact there as a product


@in_double
def polygamma(e: Arithmetic, n: Vector, x: Vector) -> Vector:
    """The n-th derivative of ψ; n is an int64, NaN where it is negative.

    At 0 and the negative integers it is +inf for odd n, -inf for even n > 0. Error for x > 0 below
    10 + 2n ulp (1 in float32 for n < 1000); for x < 0 that of the terms that make it up.
    """
    zero = e.const(0)
    even = e.eq(e.and_(n, e.const(1, int64)), e.const(0, int64))
    order = e.max(n, e.const(1, int64))
    positive = e.gt(x, zero)
    total = _sum(e, order, e.select(positive, x, e.sub(e.const(1), x)))
    derivative = e.select(even, e.neg(total), total)

    def reflected() -> tuple[str, ...]:
        f = from_integer(e, x)
        left = e.sub(_sum(e, order, e.sub(e.const(1), f)), total)
        # The term at f itself, whose sign is that of f to the power n + 1.
        size = e.abs(f)
        pole = e.mul(_factorial_over_power(e, order, size), e.div(e.cast(order, float64), size))
        pole = e.select(even, e.copysign(pole, f), pole)
        right = e.add(_sum(e, order, e.add(e.const(1), f)), pole)
        below = e.sub(left, e.select(even, right, e.neg(right)))
        # Halfway between integers and n even, all but S(1 - x) cancels: exactly, then.
        halfway = e.and_(even, e.eq(size, e.const(0.5)))
        below = e.select(halfway, e.neg(total), below)
        return e.select(positive, derivative, below).parts

    derivative = where_any(e, e.le(x, zero), reflected, derivative)
    first = e.eq(n, e.const(0, int64))
    derivative = where_any(
        e, first, lambda: e.select(first, digamma(e, x), derivative).parts, derivative
    )
    return e.select(e.lt(n, e.const(0, int64)), e.const(nan), derivative)


def _sum(e: Arithmetic, n: Vector, x: Vector) -> Vector:
    """n! Σ 1 / (x + k)ⁿ⁺¹ by a function that is in the module once, though called three times."""
    code = e.code
    name = f"polygamma_sum_{code.lanes}"
    mark = f"; {name}"  # a comment in the module's text says that it is there
    if mark not in code.module.declared:
        code.module.declared[mark] = mark
        _write_sum(code, name)
    places = [code.room(dtype, code.lanes) for dtype in (int64, float64, float64)]
    code.store(n, places[0])
    code.store(x, places[1])
    code.do(f"call void @{name}({', '.join(f'ptr {place}' for place in places)})")
    return code.load(places[2], float64)


def _write_sum(caller: Code, name: str) -> None:
    code = Code(caller.module, caller.lanes)
    e = Arithmetic(code, float64)
    n, x = code.load("%n", int64), code.load("%x", float64)
    order = e.cast(n, float64)
    start = e.add(order, e.const(_START))
    terms, y = _first_terms(e, n, x, start)
    # In units of (n - 1)! / xⁿ, which is infinite or 0 no sooner than the result.
    unit = _factorial_over_power(e, n, x)
    near = e.mul(e.mul(unit, e.div(order, x)), terms)
    share = _whole_power(e, _ratio(e, x, y), n)
    rest = e.mul(unit, e.mul(share, _remaining_terms(e, order, y)))
    needed = e.and_(e.ge(y, start), e.gt(share, e.const(0)))
    total = e.add(e.select(e.lt(x, start), near, e.const(0)), e.select(needed, rest, e.const(0)))
    total = e.select(e.ne(x, x), x, total)
    code.store(total, "%sum")
    code.function(name, "ptr %n, ptr %x, ptr %sum")


def _ratio(e: Arithmetic, x: Vector, y: Vector) -> Vector:
    """x / y; 1 where they are equal, though both may be infinite."""
    return e.select(e.eq(x, y), e.const(1), e.div(x, y))


def _first_terms(e: Arithmetic, n: Vector, x: Vector, start: Vector) -> tuple[Vector, Vector]:
    """Σ (x / (x + k))ⁿ⁺¹ up to x + k = start or `_TERMS` terms, and the x + k after the last."""
    code = e.code
    one = e.const(1)
    steps = e.cast(e.min(e.ceil(e.sub(start, x)), e.const(_TERMS)), int64)
    count = code.lane(code.join(steps, e.max), 0)
    pieces = code.pieces

    def body(_: Index, carried: list[str]) -> tuple[str, ...]:
        total, y = (Vector(tuple(carried[k : k + pieces]), float64) for k in (0, pieces))
        ratio = _ratio(e, x, y)
        near = e.lt(y, start)
        term = e.mul(_whole_power(e, ratio, n), ratio)
        total = e.select(near, e.add(total, term), total)
        return (*total.parts, *e.select(near, e.add(y, one), y).parts)

    kind = code.type(float64)
    carry = [(kind, part) for part in (*e.const(0).parts, *x.parts)]
    parts = code.loop(0, count, 1, body, carry)
    return Vector(tuple(parts[:pieces]), float64), Vector(tuple(parts[pieces:]), float64)


def _whole_power(e: Arithmetic, x: Vector, n: Vector) -> Vector:
    """xⁿ for n ≥ 1 by repeated squaring."""
    code, pieces = e.code, e.code.pieces
    highest = code.lane(code.join(n, e.max), 0)
    zeros = code.call("llvm.ctlz.i64", "i64", ("i64", highest), ("i1", "false"))
    bit, none = e.const(1, int64), e.const(0, int64)

    def body(_: Index, carried: list[str]) -> tuple[str, ...]:
        power, square = (Vector(tuple(carried[k : k + pieces]), float64) for k in (0, pieces))
        left = Vector(tuple(carried[2 * pieces :]), int64)
        odd = e.ne(e.and_(left, bit), none)
        power = e.select(odd, e.mul(power, square), power)
        return (*power.parts, *e.mul(square, square).parts, *e.lshr(left, 1).parts)

    carry = [(code.type(float64), part) for part in (*e.const(1).parts, *x.parts)]
    carry += [(code.type(int64), part) for part in n.parts]
    parts = code.loop(0, code.sub(64, zeros), 1, body, carry)
    return Vector(tuple(parts[:pieces]), float64)


def _remaining_terms(e: Arithmetic, n: Vector, y: Vector) -> Vector:
    """Σ n yⁿ / (y + k)ⁿ⁺¹ over k = 0, 1, … by Euler and Maclaurin's formula."""
    inverse = e.div(e.const(1), y)
    square = e.mul(inverse, inverse)
    total = e.fma(e.mul(n, inverse), e.const(0.5), e.const(1))
    power = e.const(1)  # n (n + 1) … (n + 2k - 1) / y²ᵏ
    for k, bernoulli in enumerate(BERNOULLI, 1):
        pair = e.mul(e.add(n, e.const(2 * k - 2)), e.add(n, e.const(2 * k - 1)))
        power = e.mul(power, e.mul(pair, square))
        total = e.fma(power, e.const(bernoulli / factorial(2 * k)), total)
    return total


def _factorial_over_power(e: Arithmetic, n: Vector, x: Vector) -> Vector:
    """(n - 1)! / xⁿ for x ≥ 0, factor by factor because both parts may overflow."""
    code = e.code
    many = e.ge(n, e.const(_STIRLING, int64))
    limit = code.lane(code.join(e.select(many, e.const(1, int64), n), e.max), 0)
    order = e.cast(n, float64)

    def body(i: Index, carried: list[str]) -> tuple[str, ...]:
        so_far = Vector(tuple(carried), float64)
        factor = e.cast(code.splat(str(i), int64), float64)
        return e.select(e.lt(factor, order), e.mul(so_far, e.div(factor, x)), so_far).parts

    carry = [(code.type(float64), part) for part in e.div(e.const(1), x).parts]
    quotient = Vector(tuple(code.loop(1, limit, 1, body, carry)), float64)

    def by_stirling() -> tuple[str, ...]:
        # √(2π / n) (n / e)ⁿ exp(1/12n - 1/360n³) / xⁿ
        inverse = e.div(e.const(1), order)
        series = e.fma(e.mul(inverse, inverse), e.const(-1 / 360), e.const(1 / 12))
        power = e.mul(order, e.sub(log(e, e.div(order, x)), e.const(1)))
        root = e.sqrt(e.mul(e.const(2 * pi), inverse))
        large = e.mul(root, exp(e, e.fma(series, inverse, power)))
        return e.select(many, large, quotient).parts

    return where_any(e, many, by_stirling, quotient)
