"""erf, erfc and the gamma family: errors against mpmath, special points, equal bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.codegen.hard_points import BOUNDS
from tests.codegen.ulp import compiled, errors
from wengert.codegen.llvm.math import error_function as math_special
from wengert.codegen.llvm.math import gamma as math_gamma
from wengert.codegen.llvm.math import polygamma as math_polygamma
from wengert.core.special_functions import numpy_special

Array = np.ndarray[Any, Any]

EMIT = {
    "erf": math_special.erf,
    "erfc": math_special.erfc,
    "lgamma": math_gamma.lgamma,
    "digamma": math_gamma.digamma,
    "polygamma": math_polygamma.polygamma,
}
TRUE = {
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))),
    "digamma": mpmath.digamma,
}
SHAPES = ((16, 4), (16, 8), (16, 16), (1, 16))  # lanes, hardware width
ONE = ("erf", "erfc", "lgamma", "digamma")


@cache
def function(name: str, dtype: str, lanes: int = 16, width: int = 16) -> Callable[..., Array]:
    dtypes = ["i8", dtype] if name == "polygamma" else [dtype]
    return compiled(EMIT[name], *dtypes, lanes=lanes, width=width)


def points(name: str, dtype: str, count: int = 300) -> Array:
    rng = np.random.default_rng(11)
    small = 10 ** rng.uniform(-20, 0, count)
    if name in ("erf", "erfc"):
        last = 27.2 if dtype == "f8" else 10.0  # erfc is subnormal at the end
        parts = [rng.uniform(-4, 4, count), rng.uniform(0.4, 1.1, count), small, -small]
        parts.append(rng.uniform(0, last, count))
    else:
        parts = [rng.uniform(0, 4, count), rng.uniform(0, 30, count), small]
        parts += [center + rng.uniform(-0.01, 0.01, count) for center in (1, 1.4616, 2)]
        parts.append(10 ** rng.uniform(0, 30, count))
    return np.concatenate(parts).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ONE)
def test_errors(name: str, dtype: str) -> None:
    x = points(name, dtype)
    with mpmath.workprec(200):
        true = [TRUE[name](mpmath.mpf(float(v))) for v in x]
        assert errors(function(name, dtype)(x), true).max() < BOUNDS[name][dtype == "f8"]


def test_erf_of_float32_where_it_is_least_accurate() -> None:
    """Every fifth float32 around the seam of its two polynomials, against float64."""
    seam = int(np.float32(0.9375).view(np.int32))
    x = np.arange(seam - 2**20, seam + 2**20, 5, dtype=np.int32).view(np.float32)
    true = numpy_special.erf(x.astype(np.float64))
    assert (np.abs(function("erf", "f4")(x) - true) * 2.0**24).max() < 1.0


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_negative_arguments(name: str) -> None:
    """A few ulps of the largest of the terms, which all are near the size of x log x, or of π/f."""
    rng = np.random.default_rng(12)
    x = -np.concatenate([rng.uniform(0, 5, 300), rng.uniform(0, 1e4, 300)])
    x = np.concatenate([x, -(10 ** rng.uniform(-20, 0, 300))])
    with mpmath.workprec(200):
        true = np.array([float(TRUE[name](mpmath.mpf(float(v)))) for v in x])
    terms = np.abs(true) + 2 * np.abs(numpy_special.lgamma(1 - x)) + 5
    error = np.abs(function(name, "f8")(x) - true)
    assert (error / terms).max() < 1e-15


def true_polygamma(n: int, x: Any) -> Any:
    """By its sum and Euler and Maclaurin's formula: mpmath's zeta is not exact for large x."""
    s, y = n + 1, x + 60 + n
    total = mpmath.fsum(1 / (x + k) ** s for k in range(60 + n))
    total += y ** (1 - s) / (s - 1) + y**-s / 2
    for k in range(1, 25):
        total += (
            mpmath.bernoulli(2 * k)
            / mpmath.factorial(2 * k)
            * mpmath.rf(s, 2 * k - 1)
            * (y ** (1 - s - 2 * k))
        )
    return (-1) ** (n + 1) * mpmath.factorial(n) * total


@pytest.mark.parametrize("n", [1, 2, 3, 8, 30, 120])
def test_polygamma_errors(n: int) -> None:
    rng = np.random.default_rng(n)
    x = np.concatenate([10 ** rng.uniform(-2, 3, 40), rng.uniform(0.1, n + 15, 40)])
    found = function("polygamma", "f8")(np.full(x.shape, n), x)
    with mpmath.workprec(400):
        true = [true_polygamma(n, mpmath.mpf(float(v))) for v in x]
        assert errors(found, true).max() < 10 + 2 * n


def test_polygamma_of_high_orders() -> None:
    """Beyond the orders that are multiplied out, and without a loop of their length."""
    n = np.array([1023, 1024, 3000, 2**62, 2**62])
    x = np.array([1024 / np.e, 1024 / np.e, 1110.0, 1.0, 1e300])
    found = function("polygamma", "f8")(n, x)
    with mpmath.workprec(400):
        pairs = zip(n[:3].tolist(), x[:3].tolist(), strict=True)
        true = [true_polygamma(a, mpmath.mpf(b)) for a, b in pairs]
        assert (errors(found[:3], true) < 10 + 2 * n[:3]).all()
    assert found[3:].tolist() == [-np.inf, 0.0]


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_polygamma_of_negative_arguments(n: int) -> None:
    rng = np.random.default_rng(n)
    x = -np.concatenate([rng.uniform(0, 5, 100), rng.uniform(0, 200, 100)])
    found = function("polygamma", "f8")(np.full(x.shape, n), x)
    with mpmath.workprec(200):
        true = np.array([float(mpmath.polygamma(n, mpmath.mpf(float(v)))) for v in x])
    # Its terms may cancel; none is larger than n! times the zeta function at the nearest pole.
    terms = np.abs(true) + float(mpmath.factorial(n)) * 2.0 ** (n + 1)
    assert (np.abs(found - true) / terms).max() < 2e-15


def test_polygamma_halfway_between_negative_integers() -> None:
    """There the derivative of an even order has terms that cancel: nothing may be left of them."""
    x = np.array([-0.5, -1.5, -2.5, -76.5, -1e6 - 0.5])
    for n in (2, 4, 10):
        found = function("polygamma", "f8")(np.full(x.shape, n), x)
        mirrored = function("polygamma", "f8")(np.full(x.shape, n), 1 - x)
        np.testing.assert_array_equal(found, mirrored)


SPECIAL = [0.0, -0.0, 1.0, 2.0, -1.0, -2.0, 30.0, 1e30, -1e30, 1e-40, -1e-40]
SPECIAL += [np.inf, -np.inf, np.nan]


def assert_equal(found: Array, expected: Array) -> None:
    """Equal but for an ulp or two, with equal infinities, NaNs and signs."""
    epsilon = float(np.finfo(found.dtype).eps)
    np.testing.assert_allclose(found, expected, rtol=4 * epsilon, atol=0)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ONE)
def test_special_points_as_eager(name: str, dtype: str) -> None:
    limits = np.finfo(dtype)
    ends = [-1.5, limits.max, limits.tiny, limits.smallest_subnormal, -limits.max, -limits.tiny]
    with np.errstate(over="ignore"):
        x = np.array([*SPECIAL, *ends], dtype)
    with np.errstate(over="ignore"):
        expected = getattr(numpy_special, name)(x)
    assert_equal(function(name, dtype)(x), expected)


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 3])
def test_special_points_of_polygamma_as_eager(n: int) -> None:
    x = np.array(SPECIAL)
    assert_equal(function("polygamma", "f8")(np.full(x.shape, n), x), numpy_special.polygamma(n, x))


def test_orders_may_differ_from_lane_to_lane() -> None:
    rng = np.random.default_rng(13)
    n, x = rng.integers(-2, 12, 500), rng.uniform(0.1, 30, 500).astype(np.float32)
    found = function("polygamma", "f4")(n, x)
    np.testing.assert_array_max_ulp(found[n >= 0], numpy_special.polygamma(n, x)[n >= 0], 1)
    assert np.isnan(found[n < 0]).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", EMIT)
def test_equal_bits_for_every_width(name: str, dtype: str) -> None:
    rng = np.random.default_rng(14)
    x = np.concatenate([points(name, dtype), rng.uniform(-40, 40, 500)]).astype(dtype)
    operands = [rng.integers(-2, 40, x.size), x] if name == "polygamma" else [x]
    kind = f"u{dtype[1]}"
    found = [function(name, dtype, *shape)(*operands).view(kind) for shape in SHAPES]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
