"""Running sums, products and recurrences against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from table.calls import calls

from codegen.special_harness import run_variants, strided
from wengert.codegen.llvm.kernels.cumulative import CUMULATE
from wengert.core.dtypes import FLOATS, SUPPORTED
from wengert.core.table import op

NAMES = sorted(CUMULATE)
COUNTS = {"recurrence": 2, "recurrence_from": 3}  # of operands, where there are several
SHAPES = (
    ((37,), 0),
    ((1,), 0),
    ((0,), 0),
    ((6, 21), 1),
    ((6, 21), 0),
    ((5, 70), 0),
    ((3, 4, 5, 18), 1),
    ((2, 3, 4, 5), 2),
    ((3, 0, 4), 1),
    ((3, 2, 0), 1),
    ((9, 3, 1), 1),
    ((37, 70), 1),
    ((16, 1), 1),
    ((2, 17, 35), 2),
)


def begun(name: str, operands: list[Any], axis: int) -> list[Any]:
    """The operands, of which a third is taken at the beginning of the axis: the state."""
    if len(operands) < 3 or operands[2].ndim < operands[1].ndim:
        return operands
    *both, h0 = operands
    size = h0.shape[axis]
    first = h0.take(0, axis) if size else np.zeros(_without(h0.shape, axis), h0.dtype)
    return [*both, np.asarray(first)]


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def check(name: str, operands: list[Any], axis: int) -> None:
    params = {"axis": axis}
    operands = begun(name, operands, axis)
    (found,) = run_variants(CUMULATE[name], op[name], operands, params)
    wanted = op[name].numpy(*operands, **params)
    assert found.dtype == wanted.dtype
    if name in COUNTS and found.dtype.kind == "f":  # one rounding where NumPy has two
        tolerance = 64 * np.finfo(found.dtype).eps
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(found, wanted)


def drawn(name: str, shape: tuple[int, ...], dtype: Any, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    count = COUNTS.get(name, 1)
    if np.dtype(dtype).kind == "f":
        return [rng.uniform(-1.1, 1.1, shape).astype(dtype) for _ in range(count)]
    return [rng.integers(0, 200, shape).astype(dtype) for _ in range(count)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_samples(name: str, dtype: Any) -> None:
    for call in calls(op[name], dtype):
        operands, params = op[name].read(call.operands, call.params)
        check(name, list(operands), params["axis"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_shapes(name: str, shape: tuple[int, ...], axis: int) -> None:
    check(name, drawn(name, shape, np.float32), axis)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", sorted(SUPPORTED, key=str))
def test_dtypes(name: str, dtype: Any) -> None:
    check(name, drawn(name, (5, 18), dtype), 0)
    check(name, drawn(name, (5, 9), dtype), 1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_views(name: str, axis: int) -> None:
    operands = drawn(name, (3, 5, 19), np.float64)
    for views in zip(*(strided(x) for x in operands), strict=True):
        check(name, list(views), axis)
    for x in (np.broadcast_to(operands[0][:1], (4, 5, 19)), operands[0].transpose(2, 0, 1)):
        check(name, [x] * len(operands), axis)


def test_factors_and_terms_of_two_dtypes() -> None:
    a, b = np.array([2, 3, 4], np.int8), np.array([0.5, 1.5, 2.5])
    check("recurrence", [a, b], 0)


@pytest.mark.parametrize("name", NAMES)
def test_signs_of_zeros_and_what_is_not_finite(name: str) -> None:
    x = np.array([[-0.0, -0.0, 1.0], [np.inf, 0.0, 1.0], [np.nan, 1.0, -np.inf]])
    count = COUNTS.get(name, 1)
    for axis in (0, 1):
        operands = begun(name, [x] * count, axis)
        (found,) = run_variants(CUMULATE[name], op[name], operands, {"axis": axis})
        wanted = op[name].numpy(*operands, axis=axis)
        np.testing.assert_array_equal(found, wanted)
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(wanted)[numbers])


def test_recurrence_rounds_once() -> None:
    small = np.float64(2.0**-30)
    a, b = np.array([0.0, 1 + small]), np.array([1 + small, -1 - 2 * small])
    (found,) = run_variants(CUMULATE["recurrence"], op.recurrence, [a, b], {"axis": 0})
    assert found[1] == small * small  # rounded twice it is 0
