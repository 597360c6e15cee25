"""Layers: values against formulas in JAX, derivatives, and that they are plain trees."""

from __future__ import annotations

import copy
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wengert as wg
from wengert.errors import DTypeError, ShapeError

FLOAT = {"dtype": np.float64}


def random(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape)


def shaken(layer, seed=0):
    """The layer with other parameters, none of them zero or one."""
    rng = np.random.default_rng(seed)
    return wg.tree.map(lambda x: x + 0.3 * rng.normal(size=x.shape), layer)


def jax_linear(p, x):
    return x @ p.weight.T + (0 if p.bias is None else p.bias)


def jax_layer_norm(p, x):
    axes = tuple(range(-p.scale.ndim, 0))
    mean = x.mean(axes, keepdims=True)
    var = ((x - mean) ** 2).mean(axes, keepdims=True)
    return (x - mean) / jnp.sqrt(var + p.eps) * p.scale + p.shift


def jax_embedding(p, indices):
    return p.weight[indices]


def jax_gru(p, xs):
    size = p.hidden_weight.shape[1]
    h, found = jnp.zeros((*xs.shape[1:-1], size)), []
    for x in xs:
        a = x @ p.input_weight.T + p.input_bias
        b = h @ p.hidden_weight.T + p.hidden_bias
        r = jax.nn.sigmoid(a[..., :size] + b[..., :size])
        z = jax.nn.sigmoid(a[..., size : 2 * size] + b[..., size : 2 * size])
        n = jnp.tanh(a[..., 2 * size :] + r * b[..., 2 * size :])
        h = (1 - z) * n + z * h
        found.append(h)
    return jnp.stack(found)


def jax_batch_norm(p, x):
    axes = tuple(range(x.ndim - 1))
    mean = x.mean(axes)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(axes) + p.eps) * p.scale + p.shift


def run_gru(p, xs):
    return p(xs)[0]


def run_batch_norm(p, x):
    return p(x, p.initial_state(), training=True)[0]


def run(p, x):
    return p(x)


# name -> (layer, ours, JAX's, argument)
LAYERS = {
    "linear": (wg.nn.Linear(3, 4, **FLOAT), run, jax_linear, random(5, 3)),
    "linear of one row": (wg.nn.Linear(3, 4, **FLOAT), run, jax_linear, random(3)),
    "linear of blocks": (wg.nn.Linear(3, 4, **FLOAT), run, jax_linear, random(2, 5, 3)),
    "linear without bias": (wg.nn.Linear(3, 4, bias=False, **FLOAT), run, jax_linear, random(5, 3)),
    "layer_norm": (wg.nn.LayerNorm(4, **FLOAT), run, jax_layer_norm, random(5, 4)),
    "layer_norm of two axes": (
        wg.nn.LayerNorm((3, 4), eps=0.1, **FLOAT),
        run,
        jax_layer_norm,
        random(2, 3, 4),
    ),
    "batch_norm": (wg.nn.BatchNorm(4, **FLOAT), run_batch_norm, jax_batch_norm, random(5, 4)),
    "batch_norm of images": (
        wg.nn.BatchNorm(4, eps=0.1, **FLOAT),
        run_batch_norm,
        jax_batch_norm,
        random(2, 3, 4),
    ),
    "embedding": (
        wg.nn.Embedding(6, 3, **FLOAT),
        run,
        jax_embedding,
        np.array([[0, 5, 1], [1, 1, 4]]),
    ),
    "gru": (wg.nn.GRU(3, 4, **FLOAT), run_gru, jax_gru, random(6, 3)),
    "gru with a batch": (wg.nn.GRU(3, 4, **FLOAT), run_gru, jax_gru, random(6, 2, 3)),
    "sequential": (
        wg.nn.Sequential(wg.nn.Linear(3, 4, **FLOAT), "tanh", wg.nn.Linear(4, 2, seed=1, **FLOAT)),
        run,
        lambda p, x: jax_linear(p[2], jnp.tanh(jax_linear(p[0], x))),
        random(5, 3),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_values_and_gradients_are_those_of_the_formula_in_jax(name):
    layer, ours, theirs, x = LAYERS[name]
    layer = shaken(layer)
    leaves, structure = wg.tree.flatten(layer)
    found = ours(layer, x)
    g = random(*found.shape, seed=9)

    def loss(leaves):
        expected = theirs(wg.tree.unflatten(structure, leaves), x)
        return jnp.sum(expected * g), expected

    with_jax = jax.jit(jax.grad(loss, has_aux=True))(leaves)
    np.testing.assert_allclose(found, with_jax[1], rtol=1e-12, atol=1e-12)
    gradient = wg.grad(lambda p: wg.sum(ours(p, x) * g))(layer)
    assert type(gradient) is type(layer)
    for a, b in zip(wg.tree.leaves(gradient), with_jax[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", LAYERS)
def test_derivatives_agree_with_differences(name):
    layer, ours, _, x = LAYERS[name]
    leaves, structure = wg.tree.flatten(shaken(layer))

    def loss(leaves, x=x):
        return wg.sum(wg.sin(ours(wg.tree.unflatten(structure, leaves), x)))

    wg.check_grads(loss, [leaves, x] if x.dtype.kind == "f" else [leaves])


@pytest.mark.parametrize("name", LAYERS)
def test_compiled_and_traced(name):
    layer, ours, _, x = LAYERS[name]
    layer = shaken(layer)
    expected = ours(layer, x)
    np.testing.assert_allclose(wg.compile(ours)(layer, x), expected, rtol=1e-12, atol=1e-13)
    graph = wg.trace(ours, layer, x)
    names = [graph.nodes[i].params["name"] for i in graph.inputs]
    given = dict(zip(names, [*wg.tree.leaves(layer), x], strict=True))
    np.testing.assert_allclose(graph.run(**given)[0], expected, rtol=1e-12, atol=1e-13)

    def gradient(p, x):
        return wg.tree.leaves(wg.grad(lambda p: wg.sum(wg.sin(ours(p, x))))(p))

    for a, b in zip(wg.compile(gradient)(layer, x), gradient(layer, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_plain_dataclasses_that_can_be_copied(name):
    layer = LAYERS[name][0]
    assert dataclasses.is_dataclass(layer)
    for other in (wg.tree.copy(layer), copy.deepcopy(layer)):
        assert type(other) is type(layer)
        for a, b in zip(wg.tree.leaves(layer), wg.tree.leaves(other), strict=True):
            assert np.array_equal(a, b)
            assert not np.shares_memory(a, b)


def test_the_batch_may_be_open():
    model = wg.nn.Sequential(wg.nn.Linear(3, 8), "relu", wg.nn.LayerNorm(8), wg.nn.Linear(8, 2))
    compiled = wg.compile(lambda p, x: p(x), dims={"x": {0: wg.Dim("batch")}})
    for rows in (4, 1, 9):
        x = random(rows, 3).astype(np.float32)
        np.testing.assert_allclose(compiled(model, x), model(x), rtol=1e-4, atol=1e-6)
    assert len(compiled.programs) == 1


def test_float32_stays_float32():
    x = random(6, 3).astype(np.float32)
    layers = [wg.nn.Linear(3, 4), wg.nn.LayerNorm(3), wg.nn.Dropout(0.5), wg.nn.GRU(3, 4)]
    rng = wg.random.Generator(wg.random.key(0))
    for layer in layers:
        y = layer(x, rng=rng) if isinstance(layer, wg.nn.Dropout) else layer(x)
        assert all(leaf.dtype == np.float32 for leaf in wg.tree.leaves(y))
        assert all(leaf.dtype == np.float32 for leaf in wg.tree.leaves(layer))
    y, state = wg.nn.BatchNorm(3)(x, wg.nn.BatchNorm(3).initial_state(), training=True)
    assert {leaf.dtype for leaf in wg.tree.leaves((y, state))} == {np.dtype(np.float32)}


# Linear.


def test_linear_begins_with_the_named_initialiser_and_no_bias():
    layer = wg.nn.Linear(3, 4, init="he_normal", seed=5)
    assert np.array_equal(layer.weight, wg.nn.init.he_normal((4, 3), 5))
    assert np.array_equal(layer.bias, np.zeros(4))
    assert wg.nn.Linear(3, 4, bias=False).bias is None
    of = wg.nn.Linear.of(np.eye(2), np.ones(2))
    assert np.array_equal(of(np.array([1.0, 2.0])), [2.0, 3.0])


# BatchNorm.


def test_running_statistics():
    norm = wg.nn.BatchNorm(2, momentum=0.25, **FLOAT)
    x = random(6, 2) * 3 + 1
    state = norm.initial_state()
    assert np.array_equal(state["mean"], [0, 0])
    assert np.array_equal(state["var"], [1, 1])
    _, state = norm(x, state, training=True)
    np.testing.assert_allclose(state["mean"], 0.25 * x.mean(0))
    np.testing.assert_allclose(state["var"], 0.75 + 0.25 * x.var(0))
    y, same = norm(x, state, training=False)
    assert same is state
    expected = (x - state["mean"]) / np.sqrt(state["var"] + 1e-5)
    np.testing.assert_allclose(y, expected)


def test_evaluation_depends_on_one_row_only_and_differentiates():
    norm = shaken(wg.nn.BatchNorm(3, **FLOAT))
    state = {"mean": random(3), "var": np.array([0.5, 1.0, 2.0])}
    x = random(4, 3)
    whole, _ = norm(x, state, training=False)
    part, _ = norm(x[2:3], state, training=False)
    assert np.array_equal(whole[2:3], part)
    wg.check_grads(lambda p, x: wg.sum(wg.sin(p(x, state, training=False)[0])), [norm, x])


def test_a_state_that_does_not_fit_is_refused():
    norm, x = wg.nn.BatchNorm(3), random(4, 3)
    for bad in (np.zeros(2), np.zeros((1, 3)), None, [0.0, 0.0, 0.0], 0.0):
        for training in (True, False):
            with pytest.raises(ShapeError, match=r"BatchNorm: var of the state is .* shape \(3,\)"):
                norm(x, norm.initial_state() | {"var": bad}, training=training)


def test_batch_norm_takes_lists():
    norm = wg.nn.BatchNorm(2, dtype=np.float64)
    x = random(4, 2)
    for training in (True, False):
        found = norm(x.tolist(), norm.initial_state(), training=training)
        expected = norm(x, norm.initial_state(), training=training)
        assert np.array_equal(found[0], expected[0])


def test_no_gradient_flows_through_the_state():
    norm, x = wg.nn.BatchNorm(3, **FLOAT), random(4, 3)
    start = norm.initial_state()

    def of_state(x):
        state = norm(x, start, training=True)[1]
        return wg.sum(state["mean"]) + wg.sum(state["var"])

    assert not wg.grad(of_state)(x).any()


def test_batch_norm_compiles_with_its_state():
    norm, x = shaken(wg.nn.BatchNorm(3, **FLOAT)), random(5, 3)

    def call(norm, state, x):
        return norm(x, state, training=True)

    expected = call(norm, norm.initial_state(), x)
    found = wg.compile(call)(norm, norm.initial_state(), x)
    for a, b in zip(wg.tree.leaves(found), wg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


# Dropout.


def test_dropout_needs_a_generator():
    layer, x = wg.nn.Dropout(0.25), np.ones(10_000)
    assert layer(x) is x
    y = layer(x, rng=wg.random.Generator(wg.random.key(3)))
    assert set(np.unique(y)) == {0.0, 1 / 0.75}
    assert np.mean(y == 0) == pytest.approx(0.25, abs=0.02)
    assert np.array_equal(y, layer(x, rng=wg.random.Generator(wg.random.key(3))))
    gradient = wg.grad(lambda x: wg.sum(layer(x, rng=wg.random.Generator(wg.random.key(3)))))(x)
    assert np.array_equal(gradient, y)
    compiled = wg.compile(lambda x, key: layer(x, rng=wg.random.Generator(key)))
    assert np.array_equal(compiled(x, wg.random.key(3)), y)
    assert wg.tree.leaves(layer) == []


@pytest.mark.parametrize("rng", [np.random.default_rng(0), 0, wg.random.key(0)])
def test_dropout_refuses_other_generators(rng):
    for call in (wg.nn.Dropout(0.5), lambda x, rng: wg.dropout(x, 0.5, rng)):
        with pytest.raises(TypeError, match=r"dropout: rng is .*; it must be a wg\.random\.Gen"):
            call(np.ones(3), rng)


# Embedding.


def test_rows_that_are_asked_for_twice_add_their_gradients():
    layer = wg.nn.Embedding(4, 2, **FLOAT)
    gradient = wg.grad(lambda p: wg.sum(p(np.array([1, 1, 3]))))(layer)
    assert np.array_equal(gradient.weight, [[0, 0], [2, 2], [0, 0], [1, 1]])


def test_an_index_that_does_not_exist():
    layer = wg.nn.Embedding(4, 2)
    step = wg.TrainStep(lambda p, i: wg.mean(p(i) ** 2), layer, wg.optim.SGD(0.1))
    for call in (layer, wg.compile(layer), step):
        for wrong in (4, -1):
            with pytest.raises(IndexError, match=rf"index {wrong} was given at position \(1,\)"):
                call(np.array([0, wrong]))
    with pytest.raises(IndexError):  # where only the gradient is wanted, too
        wg.compile(wg.grad(lambda p, i: wg.sum(p(i))))(layer, np.array([0, -1]))


# GRU.


def test_gru_carries_on_from_a_state():
    gru, xs = shaken(wg.nn.GRU(3, 4, **FLOAT)), random(6, 2, 3)
    hs, last = gru(xs)
    assert np.array_equal(hs[-1], last)
    first, middle = gru(xs[:4])
    second, end = gru(xs[4:], middle)
    np.testing.assert_allclose(np.concatenate([first, second]), hs, rtol=1e-14)
    np.testing.assert_allclose(end, last, rtol=1e-14)
    h = np.zeros((2, 4))
    for x, expected in zip(xs, hs, strict=True):
        h = gru.step(x, h)
        np.testing.assert_allclose(h, expected, rtol=1e-12, atol=1e-14)


def test_gru_gates_begin_orthogonal_one_by_one():
    gru = wg.nn.GRU(3, 4, **FLOAT)
    for gate in np.split(gru.hidden_weight, 3):
        np.testing.assert_allclose(gate @ gate.T, np.eye(4), atol=1e-12)
    assert not np.array_equal(gru.hidden_weight[:4], gru.hidden_weight[4:8])


# Sequential.


@dataclasses.dataclass
class Noisy:
    """A layer of a user's own."""

    scale: np.ndarray

    def __call__(self, x, rng=None):
        return x if rng is None else x + self.scale * rng.normal(x.shape, np.float64)


def test_sequential_passes_rng_to_those_who_take_it():
    model = wg.nn.Sequential(Noisy(np.ones(())), np.tanh, wg.nn.Dropout(0.5), wg.tanh)
    x = random(50)
    assert np.array_equal(model(x), np.tanh(np.tanh(x)))
    one, two = (model(x, rng=wg.random.Generator(wg.random.key(k))) for k in (0, 1))
    assert not np.array_equal(one, two)
    inner = wg.nn.Sequential(model, "identity")
    again = inner(x, rng=wg.random.Generator(wg.random.key(0)))
    assert np.array_equal(again, one)
    assert wg.tree.paths(inner) == ["layers.0.layers.0.scale"]
    assert len(model) == 4
    assert model[1] is np.tanh


# What is refused.


def test_what_is_refused():
    for wrong in (0, -1, 2.0, "3", None, True):
        with pytest.raises(ValueError, match=r"Linear: in_size=.* at least 1"):
            wg.nn.Linear(wrong, 2)
        with pytest.raises(ValueError, match="GRU: hidden_size="):
            wg.nn.GRU(3, wrong)
        with pytest.raises(ValueError, match="Embedding: count="):
            wg.nn.Embedding(wrong, 3)
        with pytest.raises(ValueError, match="BatchNorm: size="):
            wg.nn.BatchNorm(wrong)
        if wrong != "3":
            with pytest.raises(ValueError, match="LayerNorm: size="):
                wg.nn.LayerNorm((2, wrong))
    with pytest.raises(DTypeError, match="LayerNorm: dtype="):
        wg.nn.LayerNorm(2, dtype=np.int32)
    with pytest.raises(ValueError, match="LayerNorm: eps=-1"):
        wg.nn.LayerNorm(2, eps=-1)
    with pytest.raises(ValueError, match="BatchNorm: momentum=2"):
        wg.nn.BatchNorm(2, momentum=2)
    for rate in (1.0, -0.1, np.nan, "a"):
        with pytest.raises(ValueError, match=r"Dropout: rate=.* in \[0, 1\)"):
            wg.nn.Dropout(rate)
    with pytest.raises(ShapeError, match=r"Linear: .*\(5, 4\)"):
        wg.nn.Linear(3, 2)(np.ones((5, 4)))
    norm = wg.nn.BatchNorm(3)
    for x in (np.ones(3), np.ones((5, 2))):
        with pytest.raises(ShapeError, match="BatchNorm: x has shape"):
            norm(x, norm.initial_state(), training=True)
    with pytest.raises(TypeError, match=r"Begin with norm.initial_state\(\)"):
        norm(np.ones((5, 3)), None, training=True)
    for xs in (np.ones(3), np.ones((4, 2)), np.ones((1, 2, 3, 3))):
        with pytest.raises(ShapeError, match="GRU: xs has shape"):
            wg.nn.GRU(3, 4)(xs)
    with pytest.raises(TypeError, match=r"Sequential: layers\[1\] is int"):
        wg.nn.Sequential(np.tanh, 3)
    with pytest.raises(ValueError, match=r"Sequential: layers\[0\]='swish' was given"):
        wg.nn.Sequential("swish")
    x, mask = np.ones((3, 3), np.float32), np.ones((3, 3), bool)
    block = wg.nn.TransformerBlock(3, 1)
    for layer, by in (
        (block, "TransformerBlock"),
        (wg.nn.Sequential(block, "relu"), "TransformerBlock"),
        (wg.nn.Sequential(wg.nn.Linear(3, 3), "relu"), "Sequential"),
        (wg.nn.Residual(wg.nn.Linear(3, 3)), "Sequential"),
        (wg.nn.Residual(wg.nn.Sequential("relu", wg.nn.Dropout(0.0))), "dropout"),
    ):
        with pytest.raises(TypeError, match=f"{by}: rng is numpy.ndarray; it must be a wg.random"):
            layer(x, rng=mask)
    with pytest.raises(TypeError, match=r"layers\[0\], GRU, returned 2 values"):
        wg.nn.Sequential(wg.nn.GRU(3, 4))(np.ones((5, 3), np.float32))


@pytest.mark.parametrize("kind", [wg.nn.Sequential, wg.nn.Residual])
def test_a_layer_is_not_assigned_and_its_arrays_are_written_to(kind):
    def loss(m, x):
        return wg.mean(m(x) ** 2)

    step = wg.TrainStep(loss, kind(wg.nn.Linear(3, 3), "relu"), wg.optim.SGD(0.1))
    told = rf"{kind.__name__}: layer \[0\] was set to Linear.*step.model\[0\].weight\[...\] = w"
    with pytest.raises(TypeError, match=told):
        step.model[0] = wg.nn.Linear(3, 3, seed=1)
    step.model[0].weight[...] = 0.5
    step.model[0].bias += 1.0
    assert step.evaluate(loss, np.ones((2, 3), np.float32), batch_size=2) > 1


@pytest.mark.parametrize(
    ("xs", "h", "words"),
    [
        ((5, 7, 3), (5, 4), r"xs is \(time, batch, in\), so h must be \(batch, hidden\).*\(7, 4\)"),
        ((7, 3), (1, 4), r"xs is \(time, in\), so h must be \(hidden,\).*\(4,\)"),
        ((7, 5, 3), (5, 3), r"\(5, 4\)"),
    ],
)
def test_a_gru_names_the_axes_of_a_state_that_does_not_fit(xs, h, words):
    gru = wg.nn.GRU(3, 4)
    given = np.ones(xs, np.float32), np.ones(h, np.float32)
    for call in (gru, wg.compile(lambda xs, h: gru(xs, h))):
        with pytest.raises(ShapeError, match=words + r".*np\.swapaxes\(xs, 0, 1\)"):
            call(*given)


def test_a_gru_with_an_open_batch_takes_the_state_of_that_batch():
    gru, batch = wg.nn.GRU(3, 4), wg.Dim("batch")
    call = wg.compile(lambda xs, h: gru(xs, h)[1], dims={"xs": {1: batch}, "h": {0: batch}})
    for size in (2, 5):
        xs, h = np.ones((7, size, 3), np.float32), np.ones((size, 4), np.float32)
        np.testing.assert_allclose(call(xs, h), gru(xs, h)[1], rtol=1e-5)


def test_a_sequential_refuses_a_batch_norm_and_shows_the_way():
    with pytest.raises(TypeError, match=r"layers\[1\] is BatchNorm.*dataclass.*y, state = "):
        wg.nn.Sequential(wg.nn.Linear(3, 4), wg.nn.BatchNorm(4))


def normalizing(compiled=True):
    norm = wg.nn.BatchNorm(2, dtype=np.float64)

    def loss(model, state, x, y):
        h, state = model["norm"](x @ model["w"], state, training=True)
        return wg.mean((h - y) ** 2), state

    model = {"w": np.eye(2), "norm": norm}
    return wg.TrainStep(
        loss, model, wg.optim.SGD(0.1), state=norm.initial_state(), compiled=compiled
    )


ONE_VALUE = r"BatchNorm: x has shape \(1, 2\) with training=True.*drop_last=True"


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_batch_norm_refuses_one_value_per_feature(compiled, first):
    step = normalizing(compiled)
    x, y = np.random.default_rng(0).normal(size=(2, 9, 2))
    if not first:
        step(x, y)  # a program for all sizes
        step(x[:2], y[:2])
    before = step.fingerprint()
    for _ in range(2):
        with pytest.raises(ShapeError, match=ONE_VALUE):
            step(x[:1], y[:1])
    assert step.fingerprint() == before
    step(x[:5], y[:5])
    with pytest.raises(ShapeError, match=ONE_VALUE):
        step.run(x, y, batch_size=4)
    left = step.run(x, y, batch_size=4, epochs=2, drop_last=True)  # the first was interrupted
    assert len(left) == 2


def test_batch_norm_takes_one_row_where_it_has_several_values():
    norm = wg.nn.BatchNorm(2, eps=0.0, dtype=np.float64)
    y, _ = norm(np.array([[[1.0, 2.0], [3.0, 4.0]]]), norm.initial_state(), training=True)
    assert np.array_equal(y, [[[-1.0, -1.0], [1.0, 1.0]]])
    y, _ = norm(np.array([[1.0, 2.0]]), norm.initial_state(), training=False)
    assert np.array_equal(y, [[1.0, 2.0]])


def test_a_program_for_several_serves_all_sizes_from_two_on():
    step = normalizing()
    x = np.random.default_rng(0).normal(size=(9, 2))
    step(x, x)
    entry = step._engine.programs[True].entry
    for rows in (2, 3, 8):
        step(x[:rows], x[:rows])
        assert step._engine.programs[True].entry is entry
