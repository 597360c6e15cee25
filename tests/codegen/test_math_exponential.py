"""Exponentials, logarithms, powers and hyperbolic functions as compiled: errors, edges, bits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.codegen.exhaustive import REFERENCES
from tests.codegen.hard_points import BOUNDS
from tests.codegen.ulp import compiled, errors, errors_in_float32

inf, nan = math.inf, math.nan
SINGLE, DOUBLE = np.dtype("f4"), np.dtype("f8")

NAMES = ("exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "cbrt", "sinh", "cosh", "tanh")
NAMES += ("asinh", "acosh", "atanh", "sigmoid")


def _real(value: Any) -> Any:
    return mpmath.nan if isinstance(value, mpmath.mpc) else value


TRUE: dict[str, Callable[[Any], Any]] = {
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
}


def true_values(name: str, points: Any) -> list[Any]:
    """The function by mpmath, to 120 bits, NaN where it is not real."""
    function = TRUE.get(name) or getattr(mpmath, name)
    with mpmath.workprec(120):
        return [_real(function(mpmath.mpf(x))) for x in points.tolist()]


def one_operand(name: str, dtype: Any, **how: int) -> Callable[..., Any]:
    return compiled(lambda e, x: getattr(e, name)(x), dtype, **how)


def spread(dtype: Any, count: int) -> Any:
    """Points that matter: of every size, around 0 and 1, and inside the range of exp's results."""
    rng, limits = np.random.default_rng(5), np.finfo(dtype)
    sign = rng.choice([-1.0, 1.0], count)
    widest = 0.7 * (limits.maxexp + limits.nmant)
    parts = [
        sign * np.exp2(rng.uniform(limits.minexp - limits.nmant, limits.maxexp, count)),
        sign * np.exp2(rng.uniform(-12, 4, count)),
        rng.uniform(-2, 2, count),
        rng.uniform(-widest, widest, count),
        1 + sign * np.exp2(rng.uniform(-limits.nmant - 1, -1, count)),
    ]
    return np.concatenate(parts).astype(dtype)


def inside(name: str, x: Any) -> Any:
    """Points where the function has a value; for mpmath, those where it is not astronomical."""
    if name in ("exp", "exp2", "expm1", "sinh", "cosh", "tanh", "sigmoid"):
        return x[np.abs(x) < 3000]
    if name in ("log", "log2", "log10"):
        return np.abs(x[x != 0])
    if name == "log1p":
        return x[x > -1]
    if name == "acosh":
        return 1 + np.abs(x)
    return x[np.abs(x) < 1] if name == "atanh" else x


@pytest.mark.parametrize("name", NAMES)
def test_error_in_float32(name):
    x = spread(SINGLE, 4000)
    with np.errstate(all="ignore"):
        true = REFERENCES[name](x.astype(np.float64))
    error = errors_in_float32(one_operand(name, SINGLE)(x), true)
    at = error.argmax()
    assert error[at] <= BOUNDS[name][0], (x[at], error[at])


@pytest.mark.parametrize("name", NAMES)
def test_error_in_float64(name):
    x = inside(name, spread(DOUBLE, 500))
    error = errors(one_operand(name, DOUBLE)(x), true_values(name, x))
    at = error.argmax()
    assert error[at] <= BOUNDS[name][1], (x[at], error[at])


# x, and what must come out, to the sign of 0.
EXACT = {
    "exp": [(0.0, 1), (-0.0, 1), (inf, inf), (-inf, 0), (1e5, inf), (-1e5, 0)],
    "exp2": [
        (0.0, 1),
        (10.0, 1024),
        (-3.0, 0.125),
        (-149.0, 2.0**-149),
        (inf, inf),
        (-inf, 0),
        (1e5, inf),
    ],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1), (1e5, inf), (-1e5, -1)],
    "log": [(1.0, 0.0), (0.0, -inf), (-0.0, -inf), (inf, inf), (-1.0, nan), (-inf, nan)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -inf), (inf, inf), (-1.5, nan), (-inf, nan)],
    "log2": [(1.0, 0.0), (8.0, 3), (2.0**-140, -140), (0.0, -inf), (inf, inf), (-1.0, nan)],
    "log10": [(1.0, 0.0), (10.0, 1), (1e3, 3), (1e10, 10), (0.0, -inf), (inf, inf), (-1.0, nan)],
    "cbrt": [(0.0, 0.0), (-0.0, -0.0), (27.0, 3), (-8.0, -2), (inf, inf), (-inf, -inf)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (1e5, inf), (-1e5, -inf)],
    "cosh": [(0.0, 1), (-0.0, 1), (inf, inf), (-inf, inf), (-1e5, inf)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (inf, 1), (-inf, -1), (1e5, 1), (-30.0, -1)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "acosh": [(1.0, 0.0), (inf, inf), (0.5, nan), (-inf, nan), (-2.0, nan)],
    "atanh": [(0.0, 0.0), (-0.0, -0.0), (1.0, inf), (-1.0, -inf), (1.5, nan), (-inf, nan)],
    "sigmoid": [(0.0, 0.5), (-0.0, 0.5), (inf, 1), (-inf, 0), (1e5, 1), (-1e5, 0)],
}
KEEPS_TINY = ("expm1", "log1p", "sinh", "tanh", "asinh", "atanh")


def assert_same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_exact_values(name, dtype):
    cases = [*EXACT[name], (nan, nan)]
    x, expected = (np.array(column, dtype) for column in zip(*cases, strict=True))
    assert_same(one_operand(name, dtype)(x), expected)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
@pytest.mark.parametrize("name", KEEPS_TINY)
def test_tiny_numbers_pass_unchanged(name, dtype):
    limits = np.finfo(dtype)
    x = np.array([limits.smallest_subnormal, limits.tiny * 0.75, limits.tiny], dtype)
    x = np.concatenate([x, -x])
    assert_same(one_operand(name, dtype)(x), x)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_same_bits_for_any_width(name, dtype):
    x = spread(dtype, 60)
    expected = one_operand(name, dtype)(x)
    for how in ({"width": 4}, {"width": 8}, {"lanes": 1}):
        assert_same(one_operand(name, dtype, **how)(x), expected)


def test_subnormal_results():
    x = np.linspace(-745, -708, 300)
    assert errors(one_operand("exp", DOUBLE)(x), true_values("exp", x)).max() <= BOUNDS["exp"][1]
    x = np.linspace(-103.9, -87, 300).astype(SINGLE)
    found = one_operand("sigmoid", SINGLE)(x)
    assert ((found > 0) & (found < 2e-38)).all()


def power(x: float, y: float) -> Any:
    """x to the power y by mpmath, where both are finite and x is not 0."""
    if x < 0 and y != math.floor(y):
        return mpmath.nan
    with mpmath.workprec(160):
        exponent = mpmath.mpf(y) * mpmath.log(abs(mpmath.mpf(x)), 2)
        found = mpmath.power(2, max(min(exponent, 3000), -3000))
        return -found if x < 0 and y % 2 == 1 else found


def bases_and_exponents(dtype: Any, count: int) -> tuple[Any, Any]:
    """Powers over the whole range of results, of bases of every size and close to 1."""
    rng, limits = np.random.default_rng(6), np.finfo(dtype)
    reach = rng.uniform(-1.2, 1.2, count) * limits.maxexp
    wide = np.exp2(rng.uniform(limits.minexp - limits.nmant, limits.maxexp, count))
    near = 1 + rng.choice([-1, 1], count) * np.exp2(rng.uniform(-20, -1, count))
    small = rng.uniform(-9, 9, count)
    x = np.concatenate([wide, near, np.abs(small), small]).astype(dtype)
    logs = np.log2(np.abs(x[: 2 * count].astype(np.float64)))
    whole = rng.integers(-20, 20, count)
    y = np.concatenate([np.tile(reach, 2) / logs, rng.uniform(-9, 9, count), whole])
    return x, y.astype(dtype)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
def test_error_of_pow(dtype):
    x, y = bases_and_exponents(dtype, 500)
    found = compiled(lambda e, a, b: e.pow(a, b), dtype, dtype)(x, y)
    error = errors(found, [power(*pair) for pair in zip(x.tolist(), y.tolist(), strict=True)])
    at = error.argmax()
    assert error[at] <= BOUNDS["power"][dtype == DOUBLE], (x[at], y[at], error[at])


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
def test_pow_of_0_1_and_2_is_exact(dtype):
    x = np.concatenate([spread(dtype, 200), np.array([0, -0.0, inf, -inf, nan], dtype)])
    run = compiled(lambda e, a, b: e.pow(a, b), dtype, dtype)
    with np.errstate(all="ignore"):
        for exponent, expected in ((0, np.ones_like(x)), (1, x), (2, x * x)):
            assert_same(run(x, exponent), expected)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
def test_pow_at_the_edges_is_that_of_c(dtype):
    edges = [0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 1e10, -1e10, 1.5, inf, -inf, nan]
    pairs = [*itertools.product(edges, edges)]
    x, y = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    found = compiled(lambda e, a, b: e.pow(a, b), dtype, dtype)(x, y)
    expected = np.array([c_pow(a, b) for a, b in pairs]).astype(dtype)
    np.testing.assert_allclose(found, expected, rtol=np.finfo(dtype).eps)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


def c_pow(x: float, y: float) -> float:
    """C's pow: Python's, without its exceptions."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -inf if x < 0 and y % 2 == 1 else inf
    except ValueError:
        if x == 0:
            return math.copysign(inf, x) if y % 2 == 1 else inf
        return nan


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
def test_pow_has_the_same_bits_for_any_width(dtype):
    x, y = bases_and_exponents(dtype, 60)
    expected = compiled(lambda e, a, b: e.pow(a, b), dtype, dtype)(x, y)
    for how in ({"width": 4}, {"lanes": 1}):
        assert_same(compiled(lambda e, a, b: e.pow(a, b), dtype, dtype, **how)(x, y), expected)


@pytest.mark.parametrize("how", [{}, {"width": 4}, {"lanes": 1}], ids=str)
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_pow_of_integers_wraps_around(dtype, how):
    rng, limits = np.random.default_rng(8), np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, 100, dtype, endpoint=True)
    y = np.concatenate([rng.integers(0, 9, 50), rng.integers(0, limits.max, 50, dtype)])
    y = y.astype(dtype)
    found = compiled(lambda e, a, b: e.pow(a, b), dtype, dtype, **how)(x, y)
    np.testing.assert_array_equal(found, x**y)


def test_the_measure_sees_an_error():
    """Of the harness itself: one ulp is one, half a subnormal is a half, NaN is not near."""
    one = np.array([1.0, 1.0], SINGLE)
    np.testing.assert_allclose(errors(one, [1 + 2.0**-23, 1.0]), [1, 0])
    np.testing.assert_allclose(errors_in_float32(one, np.array([1 + 2.0**-23, nan])), [1, inf])
    assert errors(np.array([0.0], SINGLE), [mpmath.mpf(2) ** -150])[0] == 0.5
    assert errors(np.array([inf]), [mpmath.mpf(2) ** 1024])[0] == 0
    assert errors(np.array([inf]), [mpmath.mpf(2) ** 1023])[0] > 1e15
    assert errors(np.array([nan, 1.0]), [1.0, nan]).min() == inf
