"""Derivatives by trees of arrays: containers, static leaves, data and tied arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
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
    assert (gradient["name"], gradient["none"], gradient["power"]) == ("net", None, 3)


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
