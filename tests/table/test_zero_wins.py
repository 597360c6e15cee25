"""Zero cotangents win: what a mask cuts off stays zero, even where it is not finite."""

import numpy as np
import pytest
from oracle import check_masked

import wengert as wg
from table.calls import Call, awkward, calls
from table.ops import differentiable, elementwise, of_ops
from wengert.core.table import op as table

GOOD = 6  # points the mask lets through


def masked_call(op):
    """Operands of which all but the first few elements are awkward, and a mask that hides those."""
    operands = [
        np.concatenate([np.resize(good, GOOD), bad])
        for good, bad in zip(calls(op)[0].operands, awkward(op).operands, strict=True)
    ]
    return Call(op, tuple(operands), {}), np.arange(operands[0].size) < GOOD


@of_ops(lambda op: elementwise(op) and differentiable(op))
def test_a_mask_cuts_off(op):
    call, mask = masked_call(op)
    check_masked(call, mask, table.where)


FUNCTIONS = {
    "log": lambda x: wg.log(x),
    "sqrt": lambda x: wg.sqrt(x),
    "divide": lambda x: 1 / x,
    "power": lambda x: x**-0.5,
    "power of itself": lambda x: x**x,
    "lgamma": lambda x: wg.lgamma(x),
    "entropy": lambda x: x * wg.log(x),
    "norm": lambda x: wg.sqrt(x * x * x),
    "deep": lambda x: wg.exp(wg.log(x) * wg.sqrt(x)) / x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient_of_where(name):
    f = FUNCTIONS[name]
    x = np.array([0.0, -1.0, 0.7, -np.inf, 1.3])
    first = wg.grad(lambda x: wg.sum(wg.where(x > 0, f(x), 0.0)))
    weights = np.linspace(0.3, 0.9, 5)
    second = wg.grad(lambda x: wg.sum(first(x) * weights))
    with np.errstate(all="ignore"):
        gradients = first(x), second(x)
    for found in gradients:
        assert np.array_equal(found[[0, 1, 3]], np.zeros(3)), found
        assert np.isfinite(found).all()
        assert found[[2, 4]].all(), "the points the mask lets through have a derivative"
