"""stop_gradient, checkpoint, custom_vjp and check_grads: users' own say in a derivative."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from differences import BY_DIFFERENCES, gradients, require_all_close, require_close

import wengert as wg
from wengert.errors import NotDifferentiable

rng = np.random.default_rng(12)


# stop_gradient


def test_stop_gradient_is_the_same_value_without_a_derivative():
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(wg.stop_gradient(x), x)
    np.testing.assert_array_equal(wg.grad(lambda x: wg.sum(x * wg.stop_gradient(x)))(x), x)
    _, tangent = wg.jvp(lambda x: wg.stop_gradient(x) * 3 + x, (x,), (np.ones(2),))
    np.testing.assert_array_equal(tangent, [1.0, 1.0])


def test_stop_gradient_holds_at_every_order():
    second = wg.grad(wg.grad(lambda x: wg.stop_gradient(x) * x**2))
    assert float(second(3.0)) == 6.0


def test_stop_gradient_of_the_inner_level_only():
    """The outer derivative is cut as well: detached is detached."""

    def outer(x: Any) -> Any:
        return wg.grad(lambda y: wg.stop_gradient(y) * y)(x)

    assert float(wg.grad(outer)(3.0)) == 0.0


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, np.copy, lambda x: x.copy()])
def test_a_copy_does_not_detach(duplicate: Any):
    """Only stop_gradient does."""
    assert float(wg.grad(lambda x: duplicate(x) * 2)(3.0)) == 2.0
    graph = wg.trace(lambda x: duplicate(x) * 2, np.array(1.0))
    assert float(graph.run(x=np.array(3.0))[0]) == 6.0


# checkpoint


def block(w: Any, x: Any) -> Any:
    return wg.tanh(x @ w) * wg.sin(x)


def test_checkpoint_changes_no_value_and_no_derivative():
    w, x = rng.standard_normal((3, 3)), rng.standard_normal((2, 3))

    def loss(block: Any) -> Any:
        return lambda w, x: wg.sum(block(w, block(w, x)) ** 2)

    plain, kept = loss(block), loss(wg.checkpoint(block))
    np.testing.assert_array_equal(kept(w, x), plain(w, x))
    for transform in (
        lambda f: wg.grad(f, argnums=(0, 1))(w, x),
        lambda f: wg.jvp(f, (w, x), (np.ones_like(w), np.ones_like(x))),
        lambda f: [wg.hessian(f)(w, x)],
        lambda f: [wg.grad(lambda w: wg.sum(wg.grad(f)(w, x) ** 2))(w)],
    ):
        require_all_close(transform(kept), transform(plain), 1e-13)


def test_checkpoint_takes_and_returns_trees():
    @wg.checkpoint
    def function(model: Any, x: Any) -> Any:
        return {"y": model["scale"] * wg.sin(x), "name": model["name"]}

    def loss(scale: Any, x: Any) -> Any:
        result = function({"scale": scale, "name": "text"}, x)
        assert result["name"] == "text"
        return wg.sum(result["y"])

    gradient = wg.grad(loss)(np.array(2.0), np.array([0.1, 0.2]))
    require_close(gradient, np.sum(np.sin([0.1, 0.2])), 1e-14)


def test_checkpoint_of_a_closure_differentiates_what_it_closes_over():
    def loss(w: Any) -> Any:
        return wg.checkpoint(lambda x: wg.sin(w * x))(2.0)

    require_close(wg.grad(loss)(0.3), 2 * np.cos(0.6), 1e-14)


def test_checkpoint_outside_a_transformation_is_the_function():
    np.testing.assert_array_equal(wg.checkpoint(wg.sin)(np.ones(2)), np.sin(np.ones(2)))


def test_checkpoint_inside_a_trace():
    x = rng.standard_normal(3)
    graph = wg.trace(wg.grad(lambda x: wg.sum(wg.checkpoint(wg.sin)(x))), np.ones(3))
    graph.check()
    require_close(graph.run(x=x)[0], np.cos(x), 1e-14)


# custom_vjp


def reversed_square() -> Any:
    """x², whose gradient says 5 x: visibly not the derivative."""

    @wg.custom_vjp
    def square(x: Any) -> Any:
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, g: (5 * x * g,))
    return square


def test_custom_vjp_is_used_backwards():
    square = reversed_square()
    assert float(square(3.0)) == 9.0
    assert float(wg.grad(square)(3.0)) == 15.0
    assert float(wg.grad(lambda x: wg.sin(square(x)))(0.5)) == pytest.approx(2.5 * np.cos(0.25))


def test_custom_vjp_is_differentiated_again():
    """The second derivative is that of the rule, which is a program too."""
    square = reversed_square()
    assert float(wg.grad(wg.grad(square))(3.0)) == 5.0
    require_close(wg.hessian(lambda x: wg.sum(square(x)))(np.array([1.0, 2.0])), 5 * np.eye(2), 0)
    require_close(wg.grad(wg.grad(lambda x: square(x) ** 2))(0.7), 30 * 0.7**2, 1e-14)


def test_custom_vjp_under_jvp_is_not_differentiable():
    with pytest.raises(NotDifferentiable, match="square"):
        wg.jvp(reversed_square(), (3.0,), (1.0,))


def test_custom_vjp_under_jvp_without_a_tangent_is_a_value():
    square = reversed_square()
    value, tangent = wg.jvp(lambda x: x * square(np.array(2.0)), (3.0,), (1.0,))
    assert (float(value), float(tangent)) == (12.0, 4.0)


def test_custom_vjp_of_trees_and_several_arguments():
    @wg.custom_vjp
    def affine(model: Any, x: Any) -> Any:
        return {"y": model["w"] * x + model["b"]}

    def forward(model: Any, x: Any) -> Any:
        return affine(model, x), (model["w"], x)

    def backward(kept: Any, g: Any) -> Any:
        w, x = kept
        return {"w": g["y"] * x, "b": 100 * g["y"]}, g["y"] * w

    affine.defvjp(forward, backward)
    model, x = {"w": np.array([2.0, 3.0]), "b": np.ones(2)}, np.array([5.0, 7.0])
    gradient, gx = wg.grad(lambda m, x: wg.sum(affine(m, x)["y"]), argnums=(0, 1))(model, x)
    np.testing.assert_array_equal(gradient["w"], x)
    np.testing.assert_array_equal(gradient["b"], [100.0, 100.0])
    np.testing.assert_array_equal(gx, model["w"])


def test_custom_vjp_gives_no_cotangent_to_integers():
    @wg.custom_vjp
    def pick(x: Any, i: Any) -> Any:
        return wg.take(x, i, axis=0)

    pick.defvjp(lambda x, i: (pick(x, i), (x, i)), lambda kept, g: (7.0 * kept[0], None))
    gradient = wg.grad(lambda x: wg.sum(pick(x, np.array([0, 1]))))(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(gradient, [7.0, 14.0])


def test_custom_vjp_inside_a_trace():
    graph = wg.trace(wg.grad(reversed_square()), np.array(1.0))
    assert float(graph.run(x=np.array(3.0))[0]) == 15.0


def test_custom_vjp_with_a_wrong_number_of_cotangents_is_an_error():
    @wg.custom_vjp
    def product(x: Any, y: Any) -> Any:
        return x * y

    product.defvjp(lambda x, y: (x * y, (x, y)), lambda kept, g: (g * kept[1],))
    with pytest.raises((ValueError, TypeError), match="product"):
        wg.grad(product)(2.0, 3.0)


def test_custom_vjp_with_a_cotangent_of_the_wrong_shape_is_an_error():
    @wg.custom_vjp
    def total(x: Any) -> Any:
        return wg.sum(x)

    total.defvjp(lambda x: (wg.sum(x), None), lambda _, g: (g,))
    with pytest.raises(ValueError, match="total"):
        wg.grad(total)(np.ones(3))


# check_grads


def test_check_grads_passes_right_derivatives():
    x, w = rng.standard_normal((2, 3)), rng.standard_normal((3, 2))
    wg.check_grads(lambda x, w: wg.softmax(wg.tanh(x @ w)), (x, w))
    wg.check_grads(lambda m: {"y": wg.sin(m["x"])}, ({"x": x, "flag": "static"},), order=3)
    wg.check_grads(reversed_once, (x,), modes=("rev",), order=1)


@wg.custom_vjp
def reversed_once(x: Any) -> Any:
    return wg.sin(x)


reversed_once.defvjp(lambda x: (wg.sin(x), x), lambda x, g: (wg.cos(x) * g,))


def test_check_grads_finds_a_wrong_reverse_rule():
    with pytest.raises(AssertionError):
        wg.check_grads(reversed_square(), (np.array([1.0, 2.0]),), order=1, modes=("rev",))


def sine_op(name: str, **rules: Any) -> Any:
    def body(x: Any, /) -> None:
        """The sine, with the rules given."""

    body.__name__ = name
    return wg.op.elementwise(numpy=np.sin, **rules)(body)


def test_check_grads_finds_a_wrong_partial():
    faulty = sine_op("sine_off", partials=lambda _out, x: (1.001 * wg.cos(x),))
    assert wg.grad(np.sin)(0.0) == 1.0  # it is computed with np.sin, and not what np.sin means
    for mode in ("fwd", "rev"):
        with pytest.raises(AssertionError):
            wg.check_grads(faulty, (rng.standard_normal(3),), order=1, modes=(mode,))


def test_check_grads_finds_a_fault_of_second_order():
    """The first derivative is right in value, but detached."""
    faulty = sine_op("sine_cut", partials=lambda _out, x: (wg.stop_gradient(wg.cos(x)),))
    wg.check_grads(faulty, (rng.standard_normal(3),), order=1)
    with pytest.raises(AssertionError):
        wg.check_grads(faulty, (rng.standard_normal(3),), order=2)


def test_check_grads_finds_a_path_that_is_cut():
    with pytest.raises(AssertionError):
        wg.check_grads(lambda x: x * wg.stop_gradient(x), (np.array([1.0, 2.0]),), order=1)


def test_a_users_op_is_differentiated_in_both_directions():
    sine = sine_op("sine_right", partials=lambda _out, x: (wg.cos(x),))
    x = rng.standard_normal(4)
    wg.check_grads(sine, (x,), order=3)
    [expected] = gradients(lambda x: np.sum(np.sin(x) ** 2), x)
    require_close(wg.grad(lambda x: wg.sum(sine(x) ** 2))(x), expected, BY_DIFFERENCES)
