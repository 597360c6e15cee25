"""Arrays in memory: layouts are invisible, operands are never written, results are new."""

import itertools

import numpy as np
from oracle import check_commutes, check_layout, check_untouched

import wengert as wg
from table.calls import calls
from table.ops import has_samples, of_ops


@of_ops(has_samples)
def test_layout(op):
    for call in calls(op):
        check_layout(call)


@of_ops(has_samples)
def test_operands_are_untouched(op):
    for call in calls(op):
        check_untouched(call)


@of_ops(lambda op: op.commutative)
def test_commutes(op):
    for call in calls(op):
        check_commutes(call)


def test_what_a_derivative_returns_is_its_own():
    """Gradients share no memory with each other, with operands or with the cotangent."""
    x, y, g = np.arange(3.0), np.ones(3), np.full(3, 0.5)
    _, pullback = wg.vjp(lambda x, y: wg.reshape(x, (3,)) + y, x, y)
    first = pullback(g)
    second = wg.grad(lambda x, y: wg.sum(x + y), argnums=(0, 1))(x, y)
    third = wg.jvp(lambda x: wg.reshape(x, (3,)), (x,), (g,))
    for gx, gy in (first, second, third):
        for one, other in itertools.combinations((gx, gy, x, y, g), 2):
            assert not np.shares_memory(one, other)
        assert gx.flags.writeable
        assert gy.flags.writeable
