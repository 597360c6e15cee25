"""scatter against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from table.calls import calls

from codegen.special_harness import VARIANTS, Failed, run_special, run_variants, strided
from wengert.codegen.llvm.kernels.scatter import SCATTER
from wengert.core.dtypes import FLOATS, INTEGERS, SUPPORTED
from wengert.core.table import op

SPECIAL = SCATTER["scatter"]


def check(operands: list[Any], shape: tuple[int, ...], axis: int) -> None:
    params = {"shape": shape, "axis": axis}
    (found,) = run_variants(SPECIAL, op.scatter, operands, params)
    wanted = op.scatter.numpy(*operands, **params)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)  # the same order of additions: the same bits


def drawn(shape: tuple[int, ...], indices: list[tuple[int, ...]], axis: int) -> list[Any]:
    """Updates, and indices of these shapes, with many that meet."""
    rng = np.random.default_rng(7)
    inner = shape[axis : axis + len(indices)]
    block = np.broadcast_shapes(*indices)
    updates = rng.normal(size=(*shape[:axis], *block, *shape[axis + len(indices) :]))
    return [
        updates.astype(np.float32),
        *(rng.integers(-n, n, each) for n, each in zip(inner, indices, strict=True)),
    ]


@pytest.mark.parametrize("dtype", FLOATS)
def test_samples(dtype: Any) -> None:
    for call in calls(op.scatter, dtype):
        operands, params = op.scatter.read([call.operands], call.params)
        check([np.asarray(x) for x in operands], **params)


@pytest.mark.parametrize(
    ("shape", "indices", "axis"),
    [
        ((7,), [(100,)], 0),
        ((7, 19), [(23,)], 0),
        ((7, 16), [(5, 5)], 0),
        ((4, 35), [(40,)], 1),
        ((2, 5, 33), [(3, 4)], 1),
        ((2, 3, 4, 5, 6), [(3, 1), (4,)], 2),
        ((3, 4, 5), [(6, 1), (), (1, 2)], 0),
        ((3, 0), [(4,)], 0),
        ((0, 3), [(0,)], 0),
        ((5, 2, 3), [()], 1),
    ],
)
def test_shapes(shape: tuple[int, ...], indices: list[tuple[int, ...]], axis: int) -> None:
    check(drawn(shape, indices, axis), shape, axis)


@pytest.mark.parametrize("dtype", sorted(SUPPORTED, key=str))
def test_dtypes(dtype: Any) -> None:
    updates, index = drawn((4, 18), [(9,)], 0)
    check([(updates * 100).astype(np.int64).astype(dtype), index], (4, 18), 0)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_dtypes_of_indices(dtype: Any) -> None:
    updates, index = drawn((4, 3), [(9,)], 0)
    check([updates, abs(index).clip(0, 3).astype(dtype)], (4, 3), 0)


def test_views() -> None:
    updates, index = drawn((3, 6, 17), [(5,)], 1)
    for view in (*strided(updates), np.broadcast_to(updates[:1], updates.shape)):
        check([view, index], (3, 6, 17), 1)
    for view in (*strided(index), np.broadcast_to(index[:1], index.shape)):
        check([updates, view], (3, 6, 17), 1)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize(
    ("index", "position"),
    [
        ([0, 4, 1], 1),
        ([0, 1, -5], 2),
        ([2**62, 0, 0], 0),
        ([-(2**63), 0, 0], 0),
        (np.array([0, 2**63], np.uint64), 1),
    ],
)
def test_an_index_outside_is_noted_and_nothing_written(
    index: Any, position: int, variant: dict[str, Any]
) -> None:
    operands = [np.ones((len(index), 3)), np.asarray(index)]
    with pytest.raises(Failed) as caught:
        run_special(SPECIAL, op.scatter, operands, {"shape": (4, 3), "axis": 0}, **variant)
    assert caught.value.position == position


def test_positions_are_counted_over_the_common_shape_of_the_indices() -> None:
    operands = [np.ones((2, 3)), np.array([[0], [1]]), np.array([0, 9, 1])]
    with pytest.raises(Failed) as caught:
        run_special(SPECIAL, op.scatter, operands, {"shape": (2, 2), "axis": 0})
    assert caught.value.position == 1


def test_an_axis_without_places() -> None:
    operands = [np.ones((2, 3)), np.array([0, -1])]
    with pytest.raises(Failed):
        run_special(SPECIAL, op.scatter, operands, {"shape": (0, 3), "axis": 0}, dynamic=True)
