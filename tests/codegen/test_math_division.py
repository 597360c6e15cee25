"""floor_div and remainder of every dtype against NumPy, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.codegen.ulp import compiled
from wengert.codegen.llvm.math import division
from wengert.core.dtypes import FLOATS, INTEGERS

Array = np.ndarray[Any, Any]
NUMPY = {"floor_div": np.floor_divide, "remainder": np.remainder}
SHAPES = ((16, 4), (16, 8), (16, 16), (1, 16))  # lanes, hardware width
COUNT = 20_000


@cache
def function(name: str, dtype: str, lanes: int, width: int) -> Callable[..., Array]:
    return compiled(getattr(division, name), dtype, dtype, lanes=lanes, width=width)


def pairs(special: list[Any], dtype: Any) -> tuple[Array, Array]:
    line = np.array(special, dtype)
    x, y = np.meshgrid(line, line)
    return x.ravel(), y.ravel()


def float_operands(dtype: Any) -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    limits = np.finfo(dtype)
    sizes = [0.0, 1.0, 0.1, 3.0, 7.0, np.inf, limits.max, limits.tiny, limits.smallest_subnormal]
    x, y = pairs([*sizes, *(-v for v in sizes), np.nan], dtype)
    anything = np.frombuffer(rng.bytes(2 * COUNT * dtype.itemsize), dtype)
    uniform = rng.uniform(-100, 100, (2, COUNT))
    near = rng.integers(1, 2**20, (2, COUNT)) * 0.1  # quotients next to whole numbers
    wide = 10.0 ** rng.uniform(-30, 30, (2, COUNT))
    whole = np.rint(rng.uniform(-1000, 1000, COUNT)), np.rint(rng.uniform(-10, 10, COUNT))
    columns = [(x, y), anything.reshape(2, -1), uniform, near, wide, whole]
    tops, bottoms = zip(*columns, strict=True)
    with np.errstate(invalid="ignore"):
        return np.concatenate(tops).astype(dtype), np.concatenate(bottoms).astype(dtype)


def integer_operands(dtype: Any) -> tuple[Array, Array]:
    rng = np.random.default_rng(4)
    limits = np.iinfo(dtype)
    special = [0, 1, 2, 3, 7, limits.max, limits.max - 1, limits.min, limits.min + 1]
    if dtype.kind == "i":
        special += [-1, -2, -3, -7]
    x, y = pairs(special, dtype)
    anything = np.frombuffer(rng.bytes(3 * COUNT * dtype.itemsize), dtype).reshape(3, -1)
    small = rng.integers(-5 if dtype.kind == "i" else 0, 6, COUNT).astype(dtype)
    return np.concatenate([x, anything[0], anything[2]]), np.concatenate([y, anything[1], small])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats_as_numpy(dtype: Any, name: str, shape: tuple[int, int]) -> None:
    x, y = float_operands(dtype)
    with np.errstate(all="ignore"):
        expected = NUMPY[name](x, y)
    found = function(name, dtype.str, *shape)(x, y)
    np.testing.assert_array_equal(found, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_as_numpy(dtype: Any, name: str, shape: tuple[int, int]) -> None:
    x, y = integer_operands(dtype)
    with np.errstate(all="ignore"):
        expected = NUMPY[name](x, y)
    np.testing.assert_array_equal(function(name, dtype.str, *shape)(x, y), expected)


def test_a_remainder_is_exact_whatever_the_ratio() -> None:
    rng = np.random.default_rng(5)
    x, y = 2.0 ** rng.uniform(0, 1000, 300), 2.0 ** rng.uniform(-1000, 0, 300)
    found = function("remainder", "<f8", 16, 16)(x, y)
    exact = [Fraction(a) % Fraction(b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert [Fraction(v) for v in found.tolist()] == exact
    assert np.max(np.log2(x) - np.log2(y)) > 1000
