"""The orders of folds, as docs/numerics.md states them: written out in NumPy, compared bit by bit.
Sizes lie around the ends of vectors, blocks, groups, tiles and shares of workers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.codegen.numerics import BLOCK, GROUP, LANES

Array = np.ndarray[Any, Any]
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
WAYS: tuple[dict[str, str], ...] = (
    {},
    {"WENGERT_LANES": "4"},
    {"WENGERT_NUM_THREADS": "3", "WENGERT_GRAIN": "1"},
)


def real(dtype: Any, *shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def in_order(rows: Array) -> Array:
    """The sum of rows, one after the other."""
    total = np.zeros_like(rows[0])
    for row in rows:
        total = total + row
    return total


def by_rows(x: Array) -> Array:
    """The order `rows`, over the first axis."""
    blocks = np.stack([in_order(x[i : i + BLOCK]) for i in range(0, len(x), BLOCK)])
    groups = [in_order(blocks[i : i + GROUP]) for i in range(0, len(blocks), GROUP)]
    return in_order(np.stack(groups))


def by_lanes(x: Array) -> Array:
    """The order `lanes`, over the last axis: lanes are the columns of the order `rows`, and are
    joined at the end of each block.
    """
    short = -x.shape[-1] % LANES
    padded = np.concatenate([x, np.zeros((*x.shape[:-1], short), x.dtype)], -1)
    vectors = np.moveaxis(padded.reshape(*x.shape[:-1], -1, LANES), -2, 0)
    blocks = []
    for begin in range(0, len(vectors), BLOCK):
        lanes = in_order(vectors[begin : begin + BLOCK])
        while lanes.shape[-1] > 1:
            half = lanes.shape[-1] // 2
            lanes = lanes[..., :half] + lanes[..., half:]
        blocks.append(lanes[..., 0])
    joined = np.stack(blocks)
    groups = [in_order(joined[i : i + GROUP]) for i in range(0, len(joined), GROUP)]
    return in_order(np.stack(groups))


def require_bits(function: Any, x: Array, expected: Array, monkeypatch: Any) -> None:
    """In every way to build it, with sizes known and open."""
    for settings in WAYS:
        with monkeypatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            dims = {axis: wg.Dim(f"n{axis}") for axis in range(x.ndim)}
            for options in ({}, {"dims": {"x": dims}}):
                found = wg.compile(function, **options)(x)
                assert found.tobytes() == expected.tobytes(), (settings, options)


@DTYPES
@pytest.mark.parametrize(
    "shape", [(40, 33), (17, 1040), (65, 2100), (130, 20), (4099, 50), (4700, 48)]
)
def test_sums_over_the_first_axis(shape, dtype, monkeypatch):
    x = real(dtype, *shape)
    require_bits(lambda x: np.sum(x, axis=0), x, by_rows(x), monkeypatch)


@DTYPES
@pytest.mark.parametrize("shape", [(3, 70, 40), (2, 20, 1100)])
def test_sums_over_an_axis_in_the_middle(shape, dtype, monkeypatch):
    x = real(dtype, *shape)
    expected = np.stack([by_rows(each) for each in x])
    require_bits(lambda x: np.sum(x, axis=1), x, expected, monkeypatch)


@DTYPES
@pytest.mark.parametrize(
    "shape",
    [*((n,) for n in (100, 1024, 1000, 3000, 9217, 70001, 150_001, 540_000)), (3, 5000), (5, 2048)],
)
def test_sums_over_the_last_axis(shape, dtype, monkeypatch):
    x = real(dtype, *shape)
    require_bits(lambda x: np.sum(x, axis=-1), x, by_lanes(x), monkeypatch)


@pytest.mark.parametrize("shape", [(150, 1057), (600, 1056)])
def test_several_folds_of_one_pass(shape, monkeypatch):
    """A sum, a largest element and an array that is stored, over each axis of a matrix."""
    x = real(np.float32, *shape)

    def function(axis):
        return lambda x: (np.sum(x * x, axis=axis), np.max(x, axis=axis), x + 1)

    for axis, order in ((0, by_rows), (1, by_lanes)):
        expected = order(x * x), np.max(x, axis), x + np.float32(1)
        for settings in WAYS:
            with monkeypatch.context() as patch:
                for name, value in settings.items():
                    patch.setenv(name, value)
                for found, each in zip(wg.compile(function(axis))(x), expected, strict=True):
                    assert found.tobytes() == each.tobytes()


@pytest.mark.parametrize("size", [600, 4610])
def test_a_sum_that_scalars_follow(size, monkeypatch):
    """Blocks go side by side, however much is computed of the sum in the same kernel."""
    x = real(np.float32, size)

    def function(x):
        total = np.sum(x.astype(np.float64) ** 2)
        norm = np.sqrt(total)
        scale = np.where(norm > 2.0, 2.0 / norm, 1.0)
        return total, np.isfinite(norm) & (norm > 1.0), scale, scale * norm + 3.0 / (1.0 + norm)

    assert len(wg.compile(function).executable(x).program.kernels) == 1
    expected = by_lanes(x.astype(np.float64) ** 2)
    require_bits(lambda x: function(x)[0], x, expected, monkeypatch)
    for settings in WAYS:
        with monkeypatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            total, large, scale, other = wg.compile(function)(x)
            norm = np.sqrt(total)
            assert total == expected
            assert large
            assert scale == 2.0 / norm
            assert other == scale * norm + 3.0 / (1.0 + norm)


def test_many_rows_are_divided_between_workers():
    """Blocks of them, and not columns, of which each worker would read a little of every row."""
    x = real(np.float32, 600, 64)
    (kernel,) = wg.compile(lambda x: wg.mean(x, axis=0)).executable(x).program.kernels
    assert (kernel.kind, kernel.split) == ("columns", 0)
    assert kernel.partial is not None
    (few,) = wg.compile(lambda x: wg.mean(x, axis=0)).executable(x[:500]).program.kernels
    assert (few.split, few.partial) == (1, None)


def test_squares_of_single_floats_are_added_by_one_instruction(monkeypatch):
    """In float64 they are exact: an fma rounds as a product and a sum do. Others are not."""
    x = real(np.float32, 5000) * np.float32(1e-30)

    def squares(x):
        return np.sum(x.astype(np.float64) * x.astype(np.float64))

    assert "llvm.fma" in wg.compile(squares).explain(x, ir=True)
    require_bits(squares, x, by_lanes(x.astype(np.float64) ** 2), monkeypatch)
    others = wg.compile(lambda x: np.sum(x * x))
    for dtype in (np.float32, np.float64):
        assert "llvm.fma" not in others.explain(x.astype(dtype), ir=True)


@pytest.mark.parametrize("size", [BLOCK * LANES * GROUP, 9 * BLOCK * LANES * GROUP])
def test_a_long_row_is_divided_between_workers(size):
    """Also one that is a single group of blocks."""
    square = wg.compile(lambda x: wg.sum(x.astype(np.float64) ** 2))
    (kernel,) = square.executable(real(np.float32, size)).program.kernels
    assert (kernel.kind, kernel.split) == ("rows", 0)
    assert kernel.partial is not None


# Extremes.


def awkward(dtype: Any, shape: tuple[int, ...]) -> dict[str, Array]:
    """Arrays whose largest and smallest elements are easily got wrong."""
    rng = np.random.default_rng(7)
    plain = rng.standard_normal(shape).astype(dtype)
    sparse = rng.random(shape) < 0.003
    return {
        "plain": plain,
        "some NaN": np.where(sparse, np.nan, plain).astype(dtype),
        "NaN of both signs": np.where(sparse, np.copysign(np.nan, plain), plain).astype(dtype),
        "zeros of both signs": np.where(plain > 1, 0.0, -0.0).astype(dtype),
        "few zeros above": np.where(sparse, 0.0, -0.0).astype(dtype),
        "negative zeros": np.full(shape, -0.0, dtype),
        "negative and zeros": np.where(sparse, -0.0, -np.abs(plain)).astype(dtype),
        "infinite": np.full(shape, -np.inf, dtype),
        "ties": np.round(plain).astype(dtype),
        "rising": np.arange(plain.size).reshape(shape).astype(dtype),
    }


def extreme(x: Array, axis: int, largest: bool) -> Array:
    """NaN where there is one; 0.0 is larger than -0.0."""
    value = np.max(x, axis) if largest else np.min(x, axis)
    negative = np.signbit(x)
    sign = np.all(negative, axis) if largest else np.any(negative & (x == 0), axis)
    zero = np.where(sign, -0.0, 0.0).astype(x.dtype)
    return np.where(value == 0, zero, value)


def same(found: Array, expected: Array) -> bool:
    """Bit by bit, but for the bits of NaN."""
    unknown = np.isnan(expected)
    return bool(
        np.array_equal(np.isnan(found), unknown)
        and found[~unknown].tobytes() == expected[~unknown].tobytes()
    )


@DTYPES
@pytest.mark.parametrize("shape", [(90, 70), (40, 1100), (3, 4000)])
def test_the_largest_and_smallest(shape, dtype):
    for axis in (0, 1):
        largest = wg.compile(lambda x, axis=axis: np.max(x, axis=axis))
        smallest = wg.compile(lambda x, axis=axis: np.min(x, axis=axis))
        for name, x in awkward(dtype, shape).items():
            assert same(largest(x), extreme(x, axis, True)), (name, axis)
            assert same(smallest(x), extreme(x, axis, False)), (name, axis)


@DTYPES
@pytest.mark.parametrize("shape", [(90, 70), (4, 1030), (2, 4096), (1, 70001)])
def test_where_they_stand(shape, dtype):
    for axis in (0, 1, None):
        largest = wg.compile(lambda x, axis=axis: np.argmax(x, axis=axis))
        smallest = wg.compile(lambda x, axis=axis: np.argmin(x, axis=axis))
        for name, x in awkward(dtype, shape).items():
            assert np.array_equal(largest(x), np.argmax(x, axis=axis)), (name, axis)
            assert np.array_equal(smallest(x), np.argmin(x, axis=axis)), (name, axis)
