"""Derivatives by trees of arrays: containers, static leaves, data and tied arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optree
import pytest
from differences import (
    BY_JAX,
    require_all_close,
    require_close,
)
from programs import network, network_with

import wengert as wg

rng = np.random.default_rng(11)
X, W, B = rng.standard_normal((4, 3)), rng.standard_normal((3, 2)), rng.standard_normal(2)


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass
class Layer:
    w: Any
    b: Any
    name: str = "layer"


MODELS = {
    "dict": lambda w, b: {"w": w, "b": b},
    "list": lambda w, b: [w, b],
    "tuple": lambda w, b: (w, b),
    "namedtuple": Pair,
    "dataclass": Layer,
    "nested": lambda w, b: {"layers": [Layer(w, b)], "rest": (None, Pair("text", 3))},
}


@pytest.mark.parametrize("kind", MODELS)
def test_trees_of_every_kind(kind: str):
    model = MODELS[kind](W, B)

    def loss(model: Any) -> Any:
        w, b = wg.tree.leaves(model)
        return network(w, b, X)

    value, gradient = wg.value_and_grad(loss)(model)
    assert type(gradient) is type(model)
    assert wg.tree.paths(gradient) == wg.tree.paths(model)
    expected = jax.grad(lambda w, b: network_with(jnp, w, b, X), argnums=(0, 1))(W, B)
    require_all_close(wg.tree.leaves(gradient), expected, BY_JAX)
    require_close(value, network(W, B, X), 1e-14)


def test_static_leaves_are_passed_to_the_function_as_they_are():
    seen = {}

    def loss(model: Any) -> Any:
        seen.update(model)
        return model["power"] * wg.sum(model["act"](model["w"]))

    model = {"w": np.ones(2), "power": 3, "name": "net", "none": None, "act": wg.sin, "on": True}
    gradient = wg.grad(loss)(model)
    assert (seen["power"], seen["name"], seen["none"], seen["on"]) == (3, "net", None, True)
    assert type(seen["power"]) is int
    assert seen["act"] is wg.sin
    require_close(gradient["w"], 3 * np.cos(np.ones(2)), 1e-14)
    assert (gradient["name"], gradient["none"], gradient["power"]) == ("net", None, 0)


def _by_tape(loss: Any, model: Any) -> Any:
    with wg.GradientTape() as tape:
        watched = {**model, "w": tape.watch(model["w"])}
        value = loss(watched)
    return tape.gradient(value, watched)


def _by_step(loss: Any, model: Any) -> Any:
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.0))
    step()
    return step.gradients


GRADIENTS = {
    "grad": lambda loss, model: wg.grad(loss)(model),
    "value_and_grad": lambda loss, model: wg.value_and_grad(loss)(model)[1],
    "several": lambda loss, model: wg.grad(loss, argnums=(0,))(model)[0],
    "vjp": lambda loss, model: wg.vjp(loss, model)[1](1.0)[0],
    "jacobian": lambda loss, model: wg.jacobian(loss)(model),
    "jacfwd": lambda loss, model: wg.jacfwd(loss)(model),
    "compiled": lambda loss, model: wg.compile(wg.grad(loss))(model),
    "GradientTape": _by_tape,
    "TrainStep": _by_step,
}


@pytest.mark.filterwarnings("ignore::wengert.errors.UntrainedWarning")
@pytest.mark.parametrize("way", GRADIENTS)
def test_numbers_of_a_tree_are_0_in_its_gradient(way: str):
    """They are constants: to add up what is in a gradient, or to step along it, must not count
    their values.
    """
    model = {"w": np.ones(2), "rate": 0.5, "power": 3, "on": True, "name": "net"}
    gradient = GRADIENTS[way](lambda m: wg.sum(m["w"] * m["rate"]) * m["power"], model)
    np.testing.assert_array_equal(gradient["w"], [1.5, 1.5])
    assert list(gradient) == list(model)
    numbers = [gradient[name] for name in ("rate", "power", "on")]
    assert [float(x) for x in numbers] == [0, 0, 0]
    if way != "compiled":  # which returns arrays
        assert [type(x) for x in numbers] == [float, int, bool]
    moved = wg.tree.map(lambda x, g: x - g, model, gradient) if way != "compiled" else model
    assert moved["rate"] == 0.5


def test_integer_and_bool_arrays_of_a_tree_are_data():
    def loss(model: Any) -> Any:
        chosen = wg.take(model["w"], model["order"], axis=0)
        return wg.sum(wg.where(model["mask"], chosen**2, 0.0))

    model = {
        "w": np.array([1.0, 2.0, 3.0]),
        "order": np.array([2, 0, 2]),
        "mask": np.array([True, True, False]),
    }
    gradient = wg.grad(loss)(model)
    np.testing.assert_array_equal(gradient["w"], [2.0, 0.0, 6.0])
    assert set(gradient) == {"w", "order", "mask"}
    for key in ("order", "mask"):
        assert not np.any(gradient[key]), "data has no gradient"


# Tied arrays. The oracle has one argument per variable, and JAX keeps arguments apart.


def tied_loss(np: Any, model: Any) -> Any:
    a, (b, c) = model["a"], model["rest"]
    return np.sum(np.sin(a) * b**2) + np.sum(a * b) * np.sum(np.exp(0.3 * b) * c)


X1, X2 = rng.standard_normal(3), rng.standard_normal(3)
V1, V2 = rng.standard_normal(3), rng.standard_normal(3)


def tied(x: Any, y: Any) -> Any:
    """A tree in which x stands twice."""
    return {"a": x, "rest": (x, y)}


def by_jax(x: Any, y: Any) -> Any:
    return tied_loss(jnp, tied(x, y))


def ours(model: Any) -> Any:
    return tied_loss(wg, model)


GRADIENT = [np.asarray(g) for g in jax.grad(by_jax, (0, 1))(X1, X2)]
SLOPE = float(jax.jvp(by_jax, (X1, X2), (V1, V2))[1])
PRODUCT = [np.asarray(g) for g in jax.jvp(jax.grad(by_jax, (0, 1)), (X1, X2), (V1, V2))[1]]
HESSIAN = [[np.asarray(h) for h in row] for row in jax.hessian(by_jax, (0, 1))(X1, X2)]


def in_place(found: Any, expected: Any) -> None:
    """A tree of results by variable: both places of x hold all of x's."""
    require_all_close([found["a"], *found["rest"]], [expected[0], *expected], BY_JAX)


WAYS = {
    "eager": lambda f: f,
    "compiled": wg.compile,
    "in a region": wg.checkpoint,
    "in a branch": lambda f: lambda *args: wg.cond(np.bool_(True), f, f, *args),
    "in a compiled branch": lambda f: wg.compile(
        lambda *args: wg.cond(wg.sum(args[0]["a"]) < 1e9, f, f, *args)
    ),
    "in a loop": lambda f: (
        lambda *args: wg.tree.map(
            lambda y: y[0], wg.scan(lambda _, i: (None, f(*args)), None, length=1)[1]
        )
    ),
    "under a tape": lambda f: lambda *args: wg.vjp(f, *args)[0],
    "under a tangent": lambda f: lambda *args: wg.jvp(f, args, args)[0],
}


@pytest.mark.parametrize("way", WAYS)
def test_every_derivative_ties_alike(way: str):
    run, model, v = WAYS[way], tied(X1, X2), tied(V1, V2)
    in_place(run(wg.grad(ours))(model), GRADIENT)
    value, gradient = run(wg.value_and_grad(ours))(model)
    in_place(gradient, GRADIENT)
    require_close(value, by_jax(X1, X2), BY_JAX)
    in_place(run(lambda m: wg.vjp(ours, m)[1](1.0)[0])(model), GRADIENT)
    in_place(run(wg.jacobian(ours))(model), GRADIENT)
    in_place(run(wg.jacfwd(ours))(model), GRADIENT)
    require_close(run(lambda m, v: wg.jvp(ours, (m,), (v,))[1])(model, v), SLOPE, BY_JAX)
    in_place(run(lambda m, v: wg.hvp(ours, m, v))(model, v), PRODUCT)
    in_place(run(lambda m, v: wg.jvp(wg.grad(ours), (m,), (v,))[1])(model, v), PRODUCT)
    found = run(wg.hessian(ours))(model)
    for row, expected in zip([found["a"], *found["rest"]], [0, 0, 1], strict=True):
        in_place(row, HESSIAN[expected])


def test_a_slope_is_the_gradient_times_the_direction_each_variable_once():
    model, v = tied(X1, X2), tied(V1, V2)
    gradient, slope = wg.grad(ours)(model), wg.jvp(ours, (model,), (v,))[1]
    require_close(np.sum(gradient["a"] * V1) + np.sum(gradient["rest"][1] * V2), slope, 1e-13)
    step = 1e-6
    ahead, behind = (ours(tied(X1 + h * V1, X2 + h * V2)) for h in (step, -step))
    require_close((ahead - behind) / (2 * step), slope, 1e-8)


def test_check_grads_moves_a_tied_array_as_one():
    """Of a function that is smooth only where both places are equal."""

    def equal_places(model: Any) -> Any:
        return wg.sum(wg.where(model["a"] == model["rest"][0], model["a"] ** 3, np.nan))

    wg.check_grads(ours, [tied(X1, X2)])
    wg.check_grads(equal_places, [tied(X1, X2)])
    with pytest.raises(AssertionError):
        wg.check_grads(equal_places, [{"a": X1, "rest": (X1.copy(), X2)}])


def test_tangents_of_one_array_must_be_one():
    model = tied(X1, X2)
    apart = {"a": V1, "rest": (V1.copy(), V2)}  # equal, if not the same
    require_close(wg.jvp(ours, (model,), (apart,))[1], SLOPE, BY_JAX)
    different = {"a": V1, "rest": (V2, V2)}
    for differentiate in (
        lambda: wg.jvp(ours, (model,), (different,)),
        lambda: wg.hvp(ours, model, different),
        lambda: wg.compile(lambda m, v: wg.jvp(ours, (m,), (v,)))(model, different),
    ):
        with pytest.raises(ValueError, match=r"jvp: the tangents at 0\.a and 0\.rest\.0 differ"):
            differentiate()


def test_a_custom_rule_gets_the_cotangent_of_every_place():
    @wg.custom_vjp
    def product(model: Any) -> Any:
        return wg.sum(model["a"] * model["rest"][0] * model["rest"][1])

    def backward(model: Any, g: Any) -> Any:
        a, (b, c) = model["a"], model["rest"]
        return ({"a": g * b * c, "rest": (g * a * c, g * a * b)},)

    product.defvjp(lambda m: (product.function(m), m), backward)
    for run in (lambda f: f, wg.compile):
        in_place(run(wg.grad(product))(tied(X1, X2)), [2 * X1 * X2, X1 * X1])

    @wg.custom_vjp
    def slope(model: Any) -> Any:
        return wg.sum(wg.grad(ours)(model)["a"])

    slope.defvjp(lambda m: (slope.function(m), None), lambda _, g: (None,))
    require_close(slope(tied(X1, X2)), np.sum(GRADIENT[0]), BY_JAX)


def test_a_tensor_twice_in_one_argument_is_tied_as_an_array_is():
    """A function means the same wherever it is called: plainly, compiled, or differentiated."""

    def both(x: Any) -> Any:
        return wg.grad(lambda pair: pair["a"] ** 2 * pair["b"])({"a": x, "b": x})["a"]

    x = np.array(3.0)
    assert float(both(x)) == 27.0  # of x³
    assert float(wg.compile(both)(x)) == 27.0
    assert [float(y) for y in wg.value_and_grad(both)(x)] == [27.0, 18.0]

    def apart(x: Any) -> Any:
        return wg.grad(lambda a, b: a**2 * b, argnums=0)(x, x)

    assert [float(y) for y in wg.value_and_grad(apart)(x)] == [18.0, 12.0]  # of 2x²


@pytest.mark.parametrize("way", ["eager", "compiled", "in a region", "under a tape"])
def test_two_arguments_are_two_variables_in_every_derivative(way: str):
    run = WAYS[way]

    def f(x: Any, y: Any) -> Any:
        return wg.sum(wg.sin(x) * y**2)

    def theirs(x: Any, y: Any) -> Any:
        return jnp.sum(jnp.sin(x) * y**2)

    expected = jax.grad(theirs, (0, 1))(X1, X1)
    require_all_close(run(wg.grad(f, argnums=(0, 1)))(X1, X1), expected, BY_JAX)
    require_all_close(run(lambda x, y: wg.vjp(f, x, y)[1](1.0))(X1, X1), expected, BY_JAX)
    slope = run(lambda x, y, dx, dy: wg.jvp(f, (x, y), (dx, dy))[1])(X1, X1, V1, V2)
    require_close(slope, np.sum(expected[0] * V1) + np.sum(expected[1] * V2), BY_JAX)
    found = run(wg.hessian(f, argnums=(0, 1)))(X1, X1)
    for row, by in zip(found, jax.hessian(theirs, (0, 1))(X1, X1), strict=True):
        require_all_close(row, by, BY_JAX)
    moved = run(lambda x, y, dx, dy: wg.hvp(f, (x, y), (dx, dy), argnums=(0, 1)))(X1, X1, V1, V2)
    by = jax.jvp(jax.grad(theirs, (0, 1)), (X1, X1), (V1, V2))[1]
    require_all_close(moved, by, BY_JAX)
    wg.check_grads(f, [X1, X1])


def test_arrays_in_another_byte_order_are_tied():
    x = X1.astype(">f8")
    in_place(wg.grad(ours)(tied(x, X2)), GRADIENT)


def test_a_tied_array_is_one_input_of_a_traced_graph():
    graph = wg.trace(ours, tied(X1, X2))
    x, y = graph.inputs
    found = wg.grad_with_loss(graph, [x, y]).run(**{"model.a": X1, "model.rest.1": X2})
    require_all_close(found[1:], GRADIENT, BY_JAX)


def test_one_array_at_two_places_is_one_parameter():
    shared = np.array([1.0, 2.0])
    tied = {"embed": shared, "head": shared}

    def loss(model: Any) -> Any:
        return wg.sum(model["embed"] ** 2) + wg.sum(3 * model["head"])

    gradient = wg.grad(loss)(tied)
    np.testing.assert_array_equal(gradient["embed"], [5.0, 7.0])
    np.testing.assert_array_equal(gradient["head"], [5.0, 7.0])
    apart = wg.grad(loss)({"embed": shared, "head": shared.copy()})
    np.testing.assert_array_equal(apart["embed"], [2.0, 4.0])
    np.testing.assert_array_equal(apart["head"], [3.0, 3.0])


def test_parameters_that_are_not_used_have_gradient_zero():
    model = {"w": np.ones(2), "unused": np.ones((2, 3), np.float32)}
    gradient = wg.grad(lambda m: wg.sum(m["w"]))(model)
    assert (gradient["unused"].shape, gradient["unused"].dtype) == ((2, 3), np.float32)
    assert not np.any(gradient["unused"])


def test_one_array_as_two_arguments_is_two_variables():
    """Ties hold inside a tree; partial derivatives by two arguments stay apart."""
    x = np.array([3.0, 4.0])
    gx, gy = wg.grad(lambda x, y: wg.sum(x**2 * y), argnums=(0, 1))(x, x)
    np.testing.assert_array_equal(gx, 2 * x * x)
    np.testing.assert_array_equal(gy, x**2)


def test_a_tied_array_has_tied_second_derivatives():
    shared = np.array(3.0)
    hessian = wg.hessian(lambda m: m["a"] ** 2 * m["b"])({"a": shared, "b": shared})
    assert {float(hessian[i][j]) for i in "ab" for j in "ab"} == {18.0}  # of x³


def test_a_dataclass_that_another_thread_meets_first(monkeypatch):
    """optree is told of it between this thread's look at the tree and at its leaves."""

    @dataclass
    class Late:
        w: Any

    def flatten_and_wait(*args: Any, **kwargs: Any) -> Any:
        found = flatten(*args, **kwargs)
        monkeypatch.undo()
        assert len(wg.tree.leaves(Late(X))) == 1
        return found

    flatten = optree.tree_flatten
    monkeypatch.setattr(optree, "tree_flatten", flatten_and_wait)
    assert wg.grad(lambda p: (p.w * p.w).sum())(Late(W)).w.tolist() == (2 * W).tolist()
