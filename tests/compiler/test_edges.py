"""Elementwise ops where floats end: eager and compiled agree, to the sign of a zero."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from table.ops import elementwise, emit, emitted, has_samples, of_ops

import wengert as wg
from compiler.running import run_alone
from wengert.core.emit import NumpyEmit
from wengert.core.op import Op

Array = np.ndarray[Any, Any]
REFUSING = ("integers_between", "position_with_room", "required")  # most pairs of edges
ROUNDING = {np.float64: 1e-12, np.float32: 1e-5}


def edges(dtype: Any, operands: int) -> Array:
    limits = np.finfo(dtype)
    ends = [limits.max, limits.tiny, limits.smallest_subnormal]
    sizes = [0.0, np.inf, 1.0, 2.5] if operands > 2 else [0.0, np.inf, 1.0, 0.5, 2.5, 3.0, *ends]
    return np.array([*sizes, *(-x for x in sizes), np.nan], dtype)


def every_pair(op: Op, dtype: Any) -> list[Array | None]:
    """Operands that meet every edge with every other."""
    drawn = op.samples[0].draw(np.random.default_rng(0), dtype)
    kinds = {"f": edges(dtype, len(drawn)), "b": np.array([True, False]), "i": np.arange(-1, 4)}
    lines = [[None] if x is None else kinds[x.dtype.kind] for x in drawn]
    columns = zip(*itertools.product(*lines), strict=True)
    return [
        None if x is None else np.array(column, x.dtype)
        for x, column in zip(drawn, columns, strict=True)
    ]


class Choosing(NumpyEmit):
    """Sees whether an op takes the larger or the smaller of two numbers."""

    chose = False

    def min(self, x: Any, y: Any) -> Any:
        self.chose = True
        return np.minimum(x, y)

    def max(self, x: Any, y: Any) -> Any:
        self.chose = True
        return np.maximum(x, y)


def between_zeros(op: Op, operands: list[Array | None], dtype: Any) -> Any:
    """Where an op chooses between zeros of both signs, of which NumPy takes either."""
    e, given = Choosing(dtype), [x for x in operands if x is not None]
    if emitted(op):
        emit(op, e, *operands)
    # a bound that is not given counts as 0: relu chooses between x and a constant
    zeros = [np.where(x == 0, np.where(np.signbit(x), 1, 2), 0) for x in given]
    return e.chose & (np.bitwise_or.reduce([*zeros, np.full_like(zeros[0], 2)]) == 3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@of_ops(lambda op: elementwise(op) and has_samples(op) and op.name not in REFUSING)
def test_eager_and_compiled_agree(op, dtype):
    operands = every_pair(op, dtype)
    given = [x for x in operands if x is not None]

    def call(*arrays: Any) -> Any:
        rest = iter(arrays)
        return op(*[None if x is None else next(rest) for x in operands])

    with np.errstate(all="ignore"):
        expected, found = np.asarray(call(*given)), np.asarray(run_alone(call, *given))
        free = between_zeros(op, operands, dtype)
    assert found.dtype == expected.dtype
    if found.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    np.testing.assert_allclose(found, expected, rtol=ROUNDING[dtype], atol=0)
    turned = np.signbit(found) != np.signbit(expected)
    wrong = np.flatnonzero(turned & ~np.isnan(expected) & ~free)
    assert not wrong.size, [(x[wrong[0]], found[wrong[0]]) for x in given]


@pytest.mark.parametrize("size", [1, 16, 37])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_sign_of_zero(dtype, size):
    """sign(-0.0) is 0.0, as in NumPy; of two zeros compiled code takes 0.0 for the larger."""
    zero, minus = np.full(size, 0.0, dtype), np.full(size, -0.0, dtype)
    for x in (zero, minus):
        assert not np.signbit(wg.sign(x)).any()
        assert not np.signbit(wg.compile(wg.sign)(x)).any()
    for x, y in ((zero, minus), (minus, zero)):
        assert not np.signbit(wg.compile(wg.maximum)(x, y)).any()
        assert np.signbit(wg.compile(wg.minimum)(x, y)).all()
    assert np.isnan(wg.compile(wg.sign)(np.full(size, np.nan, dtype))).all()
