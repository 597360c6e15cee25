"""Masked arrays and matrices are refused as operands, with Tensors or without."""

import numpy as np
import pytest

import wengert as wg

MASKED = np.ma.array([1.0, 2.0, 30.0], mask=[0, 0, 1])


@pytest.mark.parametrize(
    "function", [wg.sum, wg.mean, wg.max, wg.var, wg.softmax, wg.cumsum, wg.logsumexp, wg.exp]
)
@pytest.mark.parametrize("transformed", [False, True])
def test_what_a_mask_hides_is_not_used(function, transformed):
    def use(y):
        return wg.sum(function(MASKED) * y)

    with pytest.raises(wg.errors.DTypeError, match="a masked array as an operand"):
        (wg.grad(use) if transformed else use)(2.0)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_matrices():
    with pytest.raises(wg.errors.DTypeError, match=r"np\.matrix as an operand"):
        wg.multiply(np.matrix([[1.0, 2.0]]), 2.0)


def test_other_subclasses_are_arrays(tmp_path):
    x = np.memmap(tmp_path / "x", np.float64, "w+", shape=3)
    x[:] = 1, 2, 3
    assert wg.sum(x) == 6
