"""check_grads: what it moves, and what it leaves as it is."""

import numpy as np
import pytest

import wengert as wg


def test_numbers_in_layers_and_trees_are_settings():
    x = np.ones((2, 3)) * [1, 2, 4]
    wg.check_grads(lambda f: wg.sum(wg.sin(f(x))), [wg.nn.LayerNorm(3, dtype=np.float64)])
    wg.check_grads(lambda m, y: wg.sum(m["w"]) * m["rate"] * y, [{"w": x, "rate": 2.0}, 3.0])


def _root():
    """A square root whose both rules search."""

    @wg.custom_vjp
    def root(a):
        return wg.while_loop(lambda x: wg.abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)

    def backward(r, g):
        def smaller(v):
            return v - 0.2 * (2 * r * v - g)

        return (wg.while_loop(lambda v: wg.abs(2 * r * v - g) > 1e-12, smaller, g),)

    root.defvjp(lambda a: (root(a),) * 2, backward)
    return root


def test_a_rule_that_has_no_derivative_is_checked_to_the_first_order():
    x = np.array(2.0)
    with pytest.raises(wg.errors.NotDifferentiable, match=r"modes=\['rev'\].*with order=1"):
        wg.check_grads(_root(), [x])
    with pytest.raises(wg.errors.NotDifferentiable) as caught:
        wg.check_grads(_root(), [x], modes=["rev"])
    (note,) = caught.value.__notes__
    assert "of order 2" in note
    assert "order=1, modes=['rev'])" in note
    wg.check_grads(_root(), [x], modes=["rev"], order=1)


def test_a_function_that_has_no_derivative_at_all_is_not_told_of_orders():
    def f(x):
        return wg.while_loop(lambda x: x < 9.0, lambda x: 2 * x, x)

    with pytest.raises(wg.errors.NotDifferentiable) as caught:
        wg.check_grads(f, [np.array(2.0)])
    assert not getattr(caught.value, "__notes__", ())
