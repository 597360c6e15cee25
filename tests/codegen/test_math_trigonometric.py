"""sin, cos, tan and their inverses: errors against mpmath, special points, equal bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.codegen.hard_points import BOUNDS
from tests.codegen.ulp import compiled, errors, errors_in_float32
from wengert.codegen.llvm.math import trigonometric
from wengert.codegen.llvm.math.argument_reduction import reduced

Array = np.ndarray[Any, Any]

NAMES = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2")
CIRCULAR = ("sin", "cos", "tan")
SHAPES = ((16, 4), (16, 8), (16, 16), (1, 16))  # lanes, hardware width


@cache
def function(name: str, dtype: str, lanes: int = 16, width: int = 16) -> Callable[..., Array]:
    operands = 2 if name == "atan2" else 1
    emit = getattr(trigonometric, name)
    return compiled(emit, *[dtype] * operands, lanes=lanes, width=width)


def points(name: str, dtype: str, count: int) -> tuple[Array, ...]:
    """Arguments of all sizes, with more of them where the functions are used."""
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2 ** (8 * np.dtype(dtype).itemsize), count, dtype=f"u{dtype[1]}")
    anything = bits.view(dtype)
    anything = np.where(np.isfinite(anything), anything, 1).astype(dtype)
    if name in ("asin", "acos"):
        near = 1 - 10 ** rng.uniform(-15, 0, count)
        small = 10 ** rng.uniform(-30, 0, count)
        return (np.concatenate([rng.uniform(-1, 1, count), near, -near, small]).astype(dtype),)
    usual = rng.uniform(-10, 10, count).astype(dtype)
    if name == "atan":
        sizes = 10 ** rng.uniform(-3, 3, count)
        return (np.concatenate([anything, usual, sizes.astype(dtype)]),)
    if name == "atan2":
        y = np.concatenate([rng.permutation(anything), usual, usual])
        return y, np.concatenate([anything, rng.permutation(usual), usual * 1.1]).astype(dtype)
    multiples = rng.integers(1, 10**6, count) * (np.pi / 2)
    large = rng.uniform(-(2.0**31), 2.0**31, count)
    return (np.concatenate([anything, usual, multiples, large]).astype(dtype),)


@pytest.mark.parametrize("name", NAMES)
def test_float64_errors(name: str) -> None:
    operands = points(name, "f8", 400)
    with mpmath.workprec(160):
        true = [getattr(mpmath, name)(*map(mpmath.mpf, p)) for p in zip(*operands, strict=True)]
        assert errors(function(name, "f8")(*operands), true).max() < BOUNDS[name][1]


@pytest.mark.parametrize("name", NAMES)
def test_float32_errors(name: str) -> None:
    operands = points(name, "f4", 200_000)
    true = getattr(np, name)(*(x.astype(np.float64) for x in operands))
    assert errors_in_float32(function(name, "f4")(*operands), true).max() < BOUNDS[name][0]


@pytest.mark.parametrize("name", CIRCULAR)
def test_next_to_every_multiple_of_a_right_angle(name: str) -> None:
    """Where the argument loses most of its digits: the whole range of the quick reduction."""
    exact = (np.arange(1, 180_000) * (np.pi / 2)).astype(np.float32)
    sides = [np.nextafter(exact, np.float32(end)) for end in (0, 1e9)]
    x = np.concatenate([exact, *sides])
    true = getattr(np, name)(x.astype(np.float64))
    assert errors_in_float32(function(name, "f4")(x), true).max() < BOUNDS[name][0]


@pytest.mark.parametrize("name", CIRCULAR)
def test_float64s_nearest_to_right_angles(name: str) -> None:
    """Continued fractions of π/2 give the float64s that lie nearest to its multiples."""
    x = np.array(nearest_to_right_angles())
    with mpmath.workprec(1400):
        true = [getattr(mpmath, name)(mpmath.mpf(v)) for v in x]
        assert errors(function(name, "f8")(x), true).max() < BOUNDS[name][1]


def nearest_to_right_angles() -> list[float]:
    """For every exponent the 53-bit numerators of convergents of (π/2) / 2ᵉ."""
    found = []
    with mpmath.workprec(1400):
        for exponent in range(0, 971, 3):
            rest = mpmath.pi / 2 / mpmath.mpf(2) ** exponent
            before, now = (1, 0), (int(rest), 1)
            while True:
                rest = 1 / (rest - int(rest))
                step = int(rest)
                before, now = now, (step * now[0] + before[0], step * now[1] + before[1])
                if now[0] >= 2**53:
                    break
            if before[0] > 0:
                found.append(float(before[0]) * 2.0**exponent)
    return found


def test_the_hardest_float64_is_among_them() -> None:
    """The one float64 within 2⁻⁶⁰ of a multiple of π/2."""
    with mpmath.workprec(1400):
        distances = [abs(mpmath.cos(mpmath.mpf(x))) for x in nearest_to_right_angles()]
        sines = [abs(mpmath.sin(mpmath.mpf(x))) for x in nearest_to_right_angles()]
        assert min(*distances, *sines) < 2.0**-58


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "atan2"])
def test_special_points(name: str, dtype: str) -> None:
    limits = np.finfo(dtype)
    tiny = [limits.tiny, limits.smallest_subnormal]
    exact = [0.0, -0.0, np.inf, -np.inf, np.nan, *tiny, *(-v for v in tiny)]
    if name.startswith("a"):
        exact += [1.0, -1.0, 1.5, -2.0]
    x = np.array(exact, dtype)
    with np.errstate(invalid="ignore"):
        expected = getattr(np, name)(x.astype(np.float64)).astype(dtype)
    np.testing.assert_array_equal(function(name, dtype)(x), expected)
    found = function(name, dtype)(x)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_atan2_in_every_direction(dtype: str) -> None:
    limits = np.finfo(dtype)
    sizes = [0.0, 1.0, 2.5, np.inf, limits.max, limits.tiny, limits.smallest_subnormal]
    line = np.array([*sizes, *(-v for v in sizes), np.nan], dtype)
    y, x = (side.ravel() for side in np.meshgrid(line, line))
    found = function("atan2", dtype)(y, x)
    expected = np.arctan2(y.astype(np.float64), x.astype(np.float64)).astype(dtype)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])
    np.testing.assert_array_max_ulp(found[known], expected[known], 1)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", NAMES)
def test_equal_bits_for_every_width(name: str, dtype: str) -> None:
    operands = points(name, dtype, 333)
    kind = f"u{dtype[1]}"
    found = [function(name, dtype, *shape)(*operands).view(kind) for shape in SHAPES]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_a_huge_lane_leaves_its_neighbours_alone() -> None:
    x = np.linspace(-3, 3, 64).astype(np.float32)
    alone = function("sin", "f4")(x)
    mixed = x.copy()
    mixed[::5] = 1e30
    found = function("sin", "f4")(mixed)
    kept = np.arange(64) % 5 != 0
    np.testing.assert_array_equal(found[kept], alone[kept])
    np.testing.assert_allclose(found[~kept], np.sin(np.float64(np.float32(1e30))), rtol=1e-6)


def test_one_function_for_all_huge_angles() -> None:
    """Two sines and a tangent in a module share the reduction: it would not link with two."""

    def emit(e: Any, x: Any) -> Any:
        both = e.add(trigonometric.sin(e, x), trigonometric.cos(e, x))
        return e.add(both, trigonometric.tan(e, x))

    x = np.array([1e22, 0.5])
    expected = np.sin(x) + np.cos(x) + np.tan(x)
    np.testing.assert_allclose(compiled(emit, "f8")(x), expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_reduced_angles_stay_in_the_range_of_the_polynomials(dtype: str) -> None:
    (x,) = points("sin", dtype, 2000)
    head = compiled(lambda e, x: reduced(e, x)[1], dtype)(x)
    assert np.abs(head).max() < 0.802
