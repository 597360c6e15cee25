"""How far a compiled result may be off: nothing where nothing is rounded, enough where it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

from .closeness import scatter


def allowed(function: Callable[..., Any], *arguments: Any) -> Any:
    expected = np.asarray(function(*arguments))
    return scatter(wg.trace(function, *arguments), list(arguments), [expected])[0]


X = np.random.default_rng(0).uniform(0.5, 2.0, (300, 3)).astype(np.float32)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2.5 + x,
        lambda x: wg.max(x, axis=0) - x,
        lambda x: wg.clip(x, 0.7, 1.1)[::-1].T,
        lambda x: wg.sort(x, axis=0),
        lambda x: wg.scan(lambda c, row: (c + row, c), x[0], x)[1],
        lambda x: wg.full(x.shape, 0.1, dtype=np.float32) * x,
    ],
)
def test_what_is_exact_must_agree(function: Any) -> None:
    assert not allowed(function, X).any()


@pytest.mark.parametrize(
    "function", [wg.exp, wg.sum, lambda x: x.T @ x, lambda x: wg.floor(wg.exp2(wg.round(x)))]
)
def test_what_is_rounded_may_be_off(function: Any) -> None:
    width = allowed(function, X)
    assert width.any()
    value = np.asarray(function(X))
    assert np.all(width[width < 1] <= 1e-4 * np.max(np.abs(value)))


def test_what_meets_an_operand_by_chance_is_rounded_all_the_same() -> None:
    x = np.full((4, 4), 0.5, np.float32) - 3 * np.eye(4, dtype=np.float32)
    assert np.linalg.inv(x)[0, 0] == -0.5  # and 0.5 is an element of x
    assert np.all(allowed(wg.linalg.inv, x) > 0)


def test_numpy_may_be_the_one_that_is_off() -> None:
    """It adds rows one after the other, here 3,000 that are alike."""
    x = np.full((3000, 2), 0.1, np.float32)
    off = np.abs(np.sum(x, axis=0) - np.sum(x.astype(np.float64), axis=0))
    assert np.all(off > 1e-6 * 300)
    assert np.all(allowed(lambda x: wg.sum(x, axis=0), x) > off)
