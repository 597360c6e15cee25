"""Every variant of GradOp: value, gradient, tangent, Hessian, record and fresh values."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differences import (
    BY_DIFFERENCES,
    BY_JAX,
    directional,
    gradients,
    require_all_close,
    require_close,
)

import wengert as wg
from api.parity.variants import VARIANTS, Variant

# fmt: off
NAMES = [
    "input", "parameter", "add", "sub", "mul", "div", "neg", "matmul", "sum", "mean", "scalar_mul",
    "exp", "ln", "struct_field", "map_lookup", "sin", "cos", "sqrt", "pow", "sigmoid", "relu",
    "tanh", "abs", "log2", "softmax", "cross_entropy", "layer_norm", "batch_norm", "clamp", "where",
    "reshape", "transpose", "cat", "gather",
]
# fmt: on

every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=lambda each: each.name)


def cotangent(variant: Variant) -> Any:
    shape = np.shape(variant.formula(np, *variant.values))
    return np.random.default_rng(len(variant.name)).standard_normal(shape)


def built(variant: Variant) -> tuple[wg.Graph, list[Any], Any]:
    g = wg.Graph()
    parameters = variant.parameters(g, variant.values)
    return g, parameters, variant.build(g, *parameters)


def flat_gradients(g: wg.Graph, parameters: list[Any]) -> list[Any]:
    return [gx for each in parameters for gx in wg.tree.leaves(g.gradient(each))]


def expected_gradients(variant: Variant, values: Any, gy: Any) -> list[Any]:
    return gradients(lambda *xs: np.sum(gy * variant.formula(np, *xs)), *values)


def test_grad_op_lists_the_34_variants_by_name():
    assert [each.name for each in wg.GradOp] == NAMES
    assert [each.name for each in VARIANTS] == NAMES


def test_every_variant_is_a_method_of_the_graph():
    assert all(callable(getattr(wg.Graph, name)) for name in NAMES)


@every_variant
def test_value(variant: Variant):
    g, _, y = built(variant)
    require_close(g.value(y), variant.formula(np, *variant.values), 1e-14)


@every_variant
def test_gradient_is_that_of_central_differences(variant: Variant):
    g, parameters, y = built(variant)
    gy = cotangent(variant)
    g.backward(y, seed=gy)
    expected = expected_gradients(variant, variant.values, gy)
    require_all_close(flat_gradients(g, parameters), expected, BY_DIFFERENCES)


@every_variant
def test_gradient_is_that_of_jax(variant: Variant):
    g, parameters, y = built(variant)
    gy = cotangent(variant)
    g.backward(y, seed=gy)
    loss = jax.jit(
        jax.grad(
            lambda *xs: jnp.sum(gy * variant.formula(jnp, *xs)),
            argnums=tuple(range(len(variant.values))),
        )
    )
    require_all_close(flat_gradients(g, parameters), loss(*variant.values), BY_JAX)


@every_variant
def test_op_says_kind_operands_and_fields(variant: Variant):
    g, _, y = built(variant)
    node = g.op(y)[1][0] if variant.name == "input" else y  # there y is the input times x
    kind, operands, fields = g.op(node)
    assert kind == variant.name
    assert kind == wg.GradOp[variant.name]
    found = [leaf for each in operands for leaf in wg.tree.leaves(g.value(each))]
    expected = wg.tree.leaves(list(variant.operands(*variant.values)))
    assert len(found) == len(expected)
    for value, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(value, other)
    assert set(variant.fields) <= set(fields)
    for name, value in variant.fields.items():
        np.testing.assert_array_equal(fields[name], value)


@every_variant
def test_run_takes_values_by_name(variant: Variant):
    g, _, y = built(variant)
    g.set_outputs(y)
    [kept] = g.run()
    require_close(kept, variant.formula(np, *variant.values), 1e-14)
    [given] = g.run(**dict(zip(variant.names(), variant.again, strict=True)))
    require_close(given, variant.formula(np, *variant.again), 1e-14)
    [kept_again] = g.run()
    np.testing.assert_array_equal(kept_again, kept, "a run must not change what is kept")


@every_variant
def test_nothing_is_stale_after_set(variant: Variant):
    """Theirs: re-running a graph leaves ten ops stale."""
    g, parameters, y = built(variant)
    root = g.sum(g.mul(y, y))  # something that depends on the node, computed before as well
    gy = cotangent(variant)
    g.backward(y, seed=gy)
    g.value(root)
    values = list(variant.values)
    if variant.tree is not None:
        values = list(variant.again)
        g.set(parameters[0], variant.tree(*values))
    for i in range(0 if variant.tree is not None else len(values)):
        values[i] = variant.again[i]
        g.set(parameters[i], values[i])
        require_close(g.value(y), variant.formula(np, *values), 1e-14)
    expected = variant.formula(np, *values)
    require_close(g.value(y), expected, 1e-14)
    require_close(g.value(root), np.sum(expected * expected), 1e-14)
    g.zero_grad()
    g.backward(y, seed=gy)
    found = flat_gradients(g, parameters)
    require_all_close(found, expected_gradients(variant, values, gy), BY_DIFFERENCES)


@every_variant
def test_tangent(variant: Variant):
    """Theirs: forward mode knows scalars only."""
    rng = np.random.default_rng(3)
    tangents = tuple(rng.standard_normal(x.shape) for x in variant.values)
    value, tangent = wg.jvp(variant.ours, variant.values, tangents)
    require_close(value, variant.formula(np, *variant.values), 1e-14)
    expected = directional(lambda *xs: variant.formula(np, *xs), variant.values, tangents)
    require_close(tangent, expected, BY_DIFFERENCES)


@every_variant
def test_hessian_is_exact(variant: Variant):
    """Theirs: Hessians are finite differences."""
    gy = cotangent(variant)
    every = tuple(range(len(variant.values)))
    ours = wg.hessian(lambda *xs: wg.sum(gy * variant.ours(*xs)), argnums=every)
    other = jax.jit(jax.hessian(lambda *xs: jnp.sum(gy * variant.formula(jnp, *xs)), argnums=every))
    for row, expected in zip(ours(*variant.values), other(*variant.values), strict=True):
        require_all_close(row, expected, BY_JAX)


@every_variant
def test_text_reads_back(variant: Variant):
    g, _, y = built(variant)
    g.set_outputs(y)
    g.check()
    again = wg.Graph.from_text(g.to_text())
    again.check()
    assert again.to_text() == g.to_text()
    inputs = dict(zip(variant.names(), variant.again, strict=True))
    inputs |= {"input": {"data": np.ones((2, 3))}, "where": {"mask": np.eye(2, 3) > 0}}.get(
        variant.name, {}
    )
    np.testing.assert_array_equal(again.run(**inputs)[0], g.run(**inputs)[0])
