"""argmax and argmin against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from table.calls import calls

from codegen.special_harness import run_special, run_variants, strided
from wengert.codegen.llvm.kernels.extremes import POSITION
from wengert.core.dtypes import FLOATS, SUPPORTED
from wengert.core.table import op

NAMES = sorted(POSITION)
SHAPES = (
    ((37,), 0),
    ((1,), 0),
    ((6, 21), 1),
    ((6, 100), 1),
    ((6, 21), 0),
    ((3, 4, 5, 18), 1),
    ((3, 4, 5, 3), 3),
    ((9, 3, 1), 1),
    ((0, 3), 1),
)


def check(name: str, x: Any, axis: int | None, keepdims: bool = False) -> None:
    params = {"axis": axis, "keepdims": keepdims}
    (found,) = run_variants(POSITION[name], op[name], [x], params)
    np.testing.assert_array_equal(found, op[name].numpy(x, **params))
    assert found.shape == op[name].type(x, **params).shape


def drawn(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 9, shape).astype(dtype)  # with many equals


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_samples(name: str, dtype: Any) -> None:
    for call in calls(op[name], dtype):
        operands, params = op[name].read(call.operands, call.params)
        check(name, *operands, **params)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_shapes(name: str, shape: tuple[int, ...], axis: int) -> None:
    check(name, drawn(shape), axis)
    check(name, drawn(shape), axis, keepdims=True)
    if 0 not in shape:
        check(name, drawn(shape), None)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [((40, 70), 1), ((5, 300), 0), ((3, 4, 5, 18), 1)])
def test_workers_divide_the_other_axes(shape: tuple[int, ...], axis: int, dynamic: bool) -> None:
    x, params = drawn(shape), {"axis": axis, "keepdims": False}
    (found,) = run_special(POSITION["argmax"], op.argmax, [x], params, dynamic=dynamic, chunks=3)
    np.testing.assert_array_equal(found, np.argmax(x, axis))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", sorted(SUPPORTED, key=str))
def test_dtypes(name: str, dtype: Any) -> None:
    x = drawn((5, 70), dtype)
    x = x - np.asarray(4, dtype) if x.dtype.kind in "if" else x
    for axis in (0, 1, None):
        check(name, x, axis)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [0, 1, 2, None])
def test_views(name: str, axis: int | None) -> None:
    x = drawn((3, 5, 19), np.float64)
    broadcast = np.broadcast_to(x[:1], (4, 5, 19))
    for view in (*strided(x), broadcast, x.transpose(2, 0, 1)):
        check(name, view, axis)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [3, 18, 100])
def test_the_first_nan_wins(name: str, count: int) -> None:
    rng = np.random.default_rng(count)
    x = rng.normal(size=(20, count)).astype(np.float32)
    x[rng.random(x.shape) < 0.05] = np.nan
    x[rng.random(x.shape) < 0.05] = np.inf
    x[rng.random(x.shape) < 0.05] = -np.inf
    x[3] = np.nan
    x[4] = -np.inf
    for axis in (0, 1, None):
        check(name, x, axis)


@pytest.mark.parametrize("name", NAMES)
def test_zeros_of_both_signs_are_equal(name: str) -> None:
    check(name, np.array([0.0, -0.0, 0.0] * 7), 0)
    check(name, np.array([-0.0, 0.0, -0.0] * 7), 0)


@pytest.mark.parametrize("name", NAMES)
def test_no_elements_at_run_time(name: str) -> None:
    """A size that turns out to be 0: nothing is read, and positions are 0."""
    kernel, wanted = POSITION[name], op[name]
    params = {"axis": 1, "keepdims": False}

    class Untyped:
        """The op, without the rule that refuses what has no elements."""

        @staticmethod
        def type(x: Any, axis: int, keepdims: bool) -> Any:
            return wanted.type(np.empty((3, 1)), axis, keepdims)

    empty: Any = Untyped
    (found,) = run_special(kernel, empty, [np.empty((3, 0))], params, dynamic=True)
    assert found.tolist() == [0, 0, 0]
