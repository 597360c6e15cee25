"""Sums of what a condition of their row or column rules out: left out, and without a trace."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

import numpy as np
import pytest

import wengert as wg
from compiler.running import bits, run_alone

SHAPES = ((5, 3), (6, 37), (4, 1100), (3, 70000))


def program(axis: int, dtype: Any) -> Any:
    """Sums that are idle in some places, beside one that is not."""

    def f(x: Any, y: Any) -> Any:
        plain = wg.sum(x, axis=axis, keepdims=True)
        rare = plain > 0
        one = wg.sum(wg.where(rare, wg.exp(x * y), 0), axis=axis)
        two = wg.sum(wg.where(rare, y - plain, 0), axis=axis, keepdims=True)
        return plain, one, x * two, wg.sum(wg.where(two != 0, y, 0), axis=axis)

    return f


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_bits(shape, axis, dtype):
    rng = np.random.default_rng(2)
    x, y = (rng.uniform(-3, 3, shape).astype(dtype) for _ in range(2))
    for rows in (x, np.abs(x), -np.abs(x)):  # some idle, none, all
        f = program(axis, dtype)
        found, expected = run_alone(f, rows, y), f(rows, y)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype == theirs.dtype
            scale = np.max(np.abs(theirs), initial=1)
            tolerance = (1e-5 if dtype == "f4" else 1e-12) * scale
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)
        for name, value in (("WENGERT_FUSE", "0"), ("WENGERT_LANES", "4")):
            with mock.patch.dict(os.environ, {name: value}):
                assert bits(wg.compile(f)(rows, y)) == bits(found)
        with mock.patch.dict(os.environ, {"WENGERT_NUM_THREADS": "3", "WENGERT_GRAIN": "1"}):
            assert bits(wg.compile(f)(rows, y)) == bits(found)


def test_a_long_row_that_workers_divide():
    x = np.random.default_rng(2).uniform(0, 1, 300_000)

    def f(x: Any, least: Any) -> Any:
        return wg.sum(wg.where(wg.sum(x) > least, x * x, 0))

    with mock.patch.dict(os.environ, {"WENGERT_NUM_THREADS": "3", "WENGERT_GRAIN": "1"}):
        compiled = wg.compile(f)
        assert compiled(x, np.array(1e6)) == 0
        np.testing.assert_allclose(compiled(x, np.array(1.0)), np.sum(x * x), rtol=1e-13)
    np.testing.assert_array_equal(
        wg.compile(f)(x, np.array(1.0)).tobytes(), compiled(x, np.array(1.0)).tobytes()
    )


@pytest.mark.parametrize("norm", [wg.layer_norm, wg.rms_norm, wg.batch_norm])
def test_norms_of_ordinary_numbers_pay_for_no_other(norm):
    """The loop over scaled squares ends where it begins."""
    x = np.ones((64, 256), np.float32)
    text = wg.compile(norm).executable(x).text
    length = 64 if norm is wg.batch_norm else 256
    assert f"i64 {length}, i64 0" in text


def test_a_condition_that_differs_along_the_sum_is_not_taken_for_one():
    x = np.random.default_rng(2).uniform(-1, 1, (4, 100))
    for axis in (0, 1):
        f = lambda x, axis=axis: wg.sum(wg.where(x > 0, x, 0), axis=axis)  # noqa: E731
        np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=1e-13)
