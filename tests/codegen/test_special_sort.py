"""argsort and searchsorted against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from table.calls import calls

from codegen.special_harness import run_special, run_variants, strided
from wengert.codegen.llvm.kernels.search_sorted import SEARCH
from wengert.codegen.llvm.kernels.sorting import SORT
from wengert.core.dtypes import FLOATS, SUPPORTED
from wengert.core.table import op

DTYPES = sorted(SUPPORTED, key=str)


def check_sort(x: Any, axis: int, descending: bool = False) -> None:
    params = {"axis": axis, "descending": descending, "stable": True}
    (found,) = run_variants(SORT["argsort"], op.argsort, [x], params)
    np.testing.assert_array_equal(found, op.argsort.numpy(x, **params))


def check_search(x: Any, keys: Any, side: str) -> None:
    (found,) = run_variants(SEARCH["searchsorted"], op.searchsorted, [x, keys], {"side": side})
    np.testing.assert_array_equal(found, np.searchsorted(x, keys, side))


def awkward(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    """Numbers with many equals, and all that is odd about a dtype."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        few = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.5, -1.5, 1e-40, -1e-40])
    elif dtype.kind == "b":
        few = np.array([False, True])
    else:
        limits = np.iinfo(dtype)
        few = np.array([limits.min, limits.max, 0, 1, limits.max - 1, limits.max // 2], dtype)
    return few.astype(dtype)[rng.integers(0, len(few), shape)]


@pytest.mark.parametrize("dtype", FLOATS)
def test_samples(dtype: Any) -> None:
    for call in calls(op.argsort, dtype):
        operands, params = op.argsort.read(call.operands, call.params)
        check_sort(np.asarray(operands[0]), params["axis"], params["descending"])
    for call in calls(op.searchsorted, dtype):
        operands, params = op.searchsorted.read(call.operands, call.params)
        check_search(*(np.asarray(x) for x in operands), params["side"])


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 31, 32, 33, 48, 64, 65, 95, 127, 500])
@pytest.mark.parametrize("descending", [False, True])
def test_counts(count: int, descending: bool) -> None:
    rng = np.random.default_rng(count)
    check_sort(rng.normal(size=count).astype(np.float32), 0, descending)
    check_sort(rng.integers(0, 10, (2, count)), 1, descending)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_dtypes(dtype: Any, descending: bool) -> None:
    check_sort(awkward((3, 11), dtype), 1, descending)
    check_sort(awkward((2, 75), dtype), 1, descending)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_views(axis: int) -> None:
    x = np.random.default_rng(0).integers(0, 9, (3, 7, 21)).astype(np.float64)
    broadcast = np.broadcast_to(x[:1], (4, 7, 21))
    for view in (*strided(x), broadcast, x.transpose(2, 0, 1)):
        check_sort(view, axis)
        check_sort(view, axis, descending=True)


def test_many() -> None:
    rng = np.random.default_rng(3)
    for x in (rng.integers(0, 1000, 20_001), np.arange(9000.0), np.arange(9000)[::-1]):
        params = {"axis": 0, "descending": False, "stable": True}
        (found,) = run_special(SORT["argsort"], op.argsort, [x], params)
        np.testing.assert_array_equal(found, np.argsort(x, kind="stable"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("side", ["left", "right"])
def test_search_in_every_dtype(dtype: Any, side: str) -> None:
    x, keys = np.sort(awkward((29,), dtype)), awkward((4, 7), dtype, seed=1)
    check_search(x, keys, side)
    check_search(x[:1], keys, side)
    check_search(x[:0], keys, side)
    check_search(x, keys[0, 0, ...], side)
    check_search(x, keys[:0], side)


@pytest.mark.parametrize("side", ["left", "right"])
def test_search_in_views_and_without_order(side: str) -> None:
    rng = np.random.default_rng(1)
    x, keys = np.sort(rng.integers(0, 20, 40)), rng.integers(-1, 22, (3, 5))
    for view in strided(x):
        check_search(view, keys, side)
    for view in (*strided(keys), np.broadcast_to(keys[:1], (4, 5))):
        check_search(x, view, side)
    check_search(rng.permutation(x), keys, side)  # meaningless, but inside, and as NumPy answers
