"""Mlp: forward and backward against a reference, as a tree, as a function, and what it refuses."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import wengert as wg
from nn.reference import FUNCTIONS, forward_backward
from wengert.errors import DTypeError, ShapeError, TraceError

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


def random(shape, seed=1, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def made(dims=(3, 5, 4, 2), batch=None, **options):
    """An Mlp with biases that are not zero, its scratch and gradients."""
    mlp = wg.nn.Mlp(dims, **options)
    for i in range(len(dims) - 1):
        mlp.biases(i)[...] = random(dims[i + 1], i, mlp.dtype) / 4
    return mlp, mlp.scratch(batch), mlp.gradients(batch)


def loss(mlp, x, g):
    return wg.sum(mlp(x) * g)


def parameters_of(grads):
    depth = grads.kind.depth
    return [f(i) for i in range(depth) for f in (grads.d_weights, grads.d_biases)]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("output_activation", ["identity", "tanh", "silu"])
@pytest.mark.parametrize("activation", FUNCTIONS)
def test_forward_and_backward_are_right_for_every_activation(activation, output_activation, dtype):
    options = {"activation": activation, "output_activation": output_activation, "dtype": dtype}
    for batch in (None, 1, 7):
        mlp, scratch, grads = made(batch=batch, **options)
        rows = 1 if batch is None else batch
        x, g = random((rows, 3), 5, dtype), random((rows, 2), 6, dtype)
        y, d_input, parameters = forward_backward(mlp, x, g)
        given = x[0] if batch is None else x
        found = mlp.forward(given, scratch)
        grads.d_output[...] = g[0] if batch is None else g
        returned = mlp.backward(given, scratch, grads)
        close = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
        np.testing.assert_allclose(found, y[0] if batch is None else y, **close)
        np.testing.assert_allclose(returned, d_input[0] if batch is None else d_input, **close)
        assert returned is grads.d_input
        for a, b in zip(parameters_of(grads), parameters, strict=True):
            np.testing.assert_allclose(a, b, **close)
            assert a.dtype == dtype


@pytest.mark.parametrize("dims", [(1, 1), (3, 2), (2, 17, 33, 1), (5, 4, 4, 4, 4, 4, 3)])
def test_any_depth_and_width(dims):
    mlp, scratch, grads = made(dims, 4, dtype=np.float64)
    x, g = random((4, dims[0]), 5, float), random((4, dims[-1]), 6, float)
    y, d_input, parameters = forward_backward(mlp, x, g)
    np.testing.assert_allclose(mlp.forward(x, scratch), y, rtol=1e-12, atol=1e-12)
    grads.d_output[...] = g
    np.testing.assert_allclose(mlp.backward(x, scratch, grads), d_input, rtol=1e-12, atol=1e-12)
    for a, b in zip(parameters_of(grads), parameters, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("activation", FUNCTIONS)
def test_bits_are_those_of_compiled_gradients(activation):
    """The same program, whether it is split at the output or not."""
    mlp, scratch, grads = made((4, 64, 64, 2), 32, activation=activation)
    x, g = random((32, 4)), random((32, 2), 2)
    run = wg.compile(wg.grad(loss, argnums=(0, 1)))
    d_mlp, d_x = run(mlp, x, g)
    mlp.forward(x, scratch)
    grads.d_output[...] = g
    assert np.array_equal(mlp.backward(x, scratch, grads), d_x)
    for a, b in zip(parameters_of(grads), wg.tree.leaves(d_mlp), strict=True):
        assert np.array_equal(a, b)


def test_a_row_alone_has_the_bits_it_has_in_a_batch():
    mlp, scratch, grads = made((4, 64, 64, 2), 9)
    x, g = random((9, 4)), random((9, 2), 2)
    mlp.forward(x, scratch)
    grads.d_output[...] = g
    mlp.backward(x, scratch, grads)
    one, own = mlp.scratch(), mlp.gradients()
    for i in range(9):
        assert np.array_equal(mlp.forward(x[i], one), scratch.output[i])
        own.d_output[...] = g[i]
        assert np.array_equal(mlp.backward(x[i], one, own), grads.d_input[i])


def test_a_large_batch_that_threads_may_divide():
    mlp, scratch, grads = made((32, 256, 256, 8), 512)
    x, g = random((512, 32)), random((512, 8), 2)
    mlp.forward(x, scratch)
    grads.d_output[...] = g
    mlp.backward(x, scratch, grads)
    run = wg.compile(wg.grad(loss, argnums=(0, 1)), threads=1)
    d_mlp, d_x = run(mlp, x, g)
    assert np.array_equal(grads.d_input, d_x)
    for a, b in zip(parameters_of(grads), wg.tree.leaves(d_mlp), strict=True):
        assert np.array_equal(a, b)


def test_accumulate_adds_and_backward_overwrites():
    mlp, scratch, grads = made(batch=4)
    sums = [np.zeros_like(a) for a in parameters_of(grads)]
    for seed in range(3):
        x, g = random((4, 3), seed), random((4, 2), seed + 10)
        mlp.forward(x, scratch)
        grads.d_output[...] = g
        d_input = mlp.backward(x, scratch, grads, accumulate=True)
        alone = mlp.gradients(4)
        alone.d_output[...] = g
        assert np.array_equal(mlp.backward(x, scratch, alone), d_input)
        sums = [a + b for a, b in zip(sums, parameters_of(alone), strict=True)]
        for a, b in zip(parameters_of(grads), sums, strict=True):
            assert np.array_equal(a, b)
    mlp.backward(x, scratch, grads)
    for a, b in zip(parameters_of(grads), parameters_of(alone), strict=True):
        assert np.array_equal(a, b)


def test_weights_are_live_and_may_be_replaced():
    mlp, scratch, _ = made()
    x = random(3)
    before = mlp.forward(x, scratch).copy()
    mlp.weights(0)[...] *= 2
    mlp.biases(-1)[...] += 1
    changed = mlp.forward(x, scratch).copy()
    np.testing.assert_allclose(changed, mlp(x), rtol=1e-5)
    assert not np.allclose(before, changed)
    mlp.layers[1].weight = np.asfortranarray(mlp.weights(1) + 1)  # another array, in another order
    np.testing.assert_allclose(mlp.forward(x, scratch), mlp(x), rtol=1e-5)
    mlp.layers[1].weight = mlp.weights(1).copy()
    np.testing.assert_allclose(mlp.forward(x, scratch), mlp(x), rtol=1e-5)


def test_a_scratch_fits_another_mlp_of_the_same_kind():
    _, scratch, grads = made()
    other = wg.nn.Mlp((3, 5, 4, 2), seed=9)
    x = random(3)
    np.testing.assert_allclose(other.forward(x, scratch), other(x), rtol=1e-5)
    grads.d_output[...] = 1
    other.backward(x, scratch, grads)
    gradient = wg.grad(lambda m: wg.sum(m(x)))(other)
    np.testing.assert_allclose(grads.d_weights(0), gradient.weights(0), rtol=1e-4, atol=1e-6)


def test_gradients_follow_the_scratch_they_are_given():
    mlp, first, grads = made(batch=2)
    second = mlp.scratch(2)
    x, y = random((2, 3), 1), random((2, 3), 2)
    mlp.forward(x, first)
    mlp.forward(y, second)
    grads.d_output[...] = 1
    found = [mlp.backward(a, s, grads).copy() for a, s in ((x, first), (y, second), (x, first))]
    assert np.array_equal(found[0], found[2])
    np.testing.assert_allclose(found[1], forward_backward(mlp, y, grads.d_output)[1], rtol=1e-4)


@pytest.mark.parametrize(
    "given",
    [
        lambda x: x.tolist(),
        lambda x: x.astype(np.float64),
        lambda x: x.astype(np.float16).astype(np.float32),
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: x.astype(">f4"),
        lambda x: np.round(x).astype(np.int64),
    ],
)
def test_inputs_of_other_forms_are_converted(given):
    mlp, scratch, grads = made(batch=4)
    x = given(random((4, 3)))
    plain = np.array(x, np.float32)
    expected = mlp.forward(plain, scratch).copy()
    grads.d_output[...] = 1
    d_input = mlp.backward(plain, scratch, grads).copy()
    assert np.array_equal(mlp.forward(x, scratch), expected)
    assert np.array_equal(mlp.backward(x, scratch, grads), d_input)


def test_an_input_may_lie_where_the_output_goes():
    """A network applied to its own output reads it before it is overwritten."""
    mlp, scratch, grads = made((3, 8, 3))
    y = mlp.forward(random(3), scratch)
    expected = mlp(y.copy())
    np.testing.assert_allclose(mlp.forward(scratch.output, scratch), expected, rtol=1e-5)
    grads.d_output[...] = 1
    x = random(3)
    mlp.forward(x, scratch)
    expected = mlp.backward(x, scratch, grads).copy()
    grads.d_input[...] = x
    assert np.array_equal(mlp.backward(grads.d_input, scratch, grads), expected)


def test_an_mlp_is_a_tree_and_a_function():
    mlp = wg.nn.Mlp((3, 5, 2))
    assert wg.tree.paths(mlp) == [
        "layers.0.weight",
        "layers.0.bias",
        "layers.1.weight",
        "layers.1.bias",
    ]
    x = random((4, 3))
    by_numpy = np.tanh(x @ mlp.weights(0).T + mlp.biases(0)) @ mlp.weights(1).T + mlp.biases(1)
    np.testing.assert_allclose(mlp(x), by_numpy, rtol=1e-5)
    compiled = wg.compile(lambda m, x: m(x))
    np.testing.assert_allclose(compiled(mlp, x), by_numpy, rtol=1e-4, atol=1e-6)
    graph = wg.trace(lambda m, x: m(x), mlp, x)
    names = [f"m.{path}" for path in wg.tree.paths(mlp)]
    values = dict(zip(names, wg.tree.leaves(mlp), strict=True))
    np.testing.assert_allclose(graph.run(x=x, **values)[0], by_numpy, rtol=1e-5)
    wg.check_grads(lambda m: wg.sum(m(x) ** 2), [mlp])


def test_an_mlp_is_the_model_of_a_training_step():
    """Its live parameters are read where they are, and its gradients have the same bits."""
    mlp, scratch, grads = made((4, 16, 2), 8)
    x, g = random((8, 4)), random((8, 2), 2)
    step = wg.TrainStep(loss, mlp, wg.optim.SGD(0.1))
    grads.d_output[...] = g
    for _ in range(3):
        live = step.model
        assert isinstance(live, wg.nn.Mlp)
        assert np.array_equal(live.forward(x, scratch), wg.compile(lambda m, x: m(x))(live, x))
        live.backward(x, scratch, grads)
        step(x, g)
        for a, b in zip(parameters_of(grads), wg.tree.leaves(step.gradients), strict=True):
            assert np.array_equal(a, b)
    assert not np.array_equal(step.model.weights(0), mlp.weights(0))


def test_rebuilding_does_not_initialise_again():
    mlp = wg.nn.Mlp((3, 5, 2))
    mlp.weights(0)[...] = 7
    other = wg.tree.copy(mlp)
    assert isinstance(other, wg.nn.Mlp)
    assert np.all(other.weights(0) == 7)
    other.weights(0)[...] = 1
    assert np.all(mlp.weights(0) == 7)
    x = random(3)
    np.testing.assert_allclose(other.forward(x, other.scratch()), other(x), rtol=1e-5)


def test_all_parameters_lie_in_one_piece():
    mlp = wg.nn.Mlp((3, 5, 2))
    arrays = wg.tree.leaves(mlp)
    place = arrays[0].ctypes.data
    for x in arrays:
        assert x.ctypes.data == place
        place += x.nbytes


def test_seeds_and_dtypes():
    first, again, other = (wg.nn.Mlp((3, 4, 4), seed=seed).weights(0) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    wide = wg.nn.Mlp((3, 4, 4), seed=0, dtype=np.float64)
    assert np.array_equal(wide.weights(0).astype(np.float32), first)
    assert not np.array_equal(wide.weights(0)[:, :3], wide.weights(1)[:, :3])  # layers differ
    assert np.all(wide.biases(0) == 0)


def test_copies_and_pickles():
    mlp, scratch, grads = made(batch=2)
    x = random((2, 3))
    y = mlp.forward(x, scratch).copy()
    grads.d_output[...] = 1
    mlp.backward(x, scratch, grads)
    for other in (copy.deepcopy(mlp), pickle.loads(pickle.dumps(mlp))):
        assert np.array_equal(other.forward(x, other.scratch(2)), y)
    other = copy.deepcopy(scratch)
    mlp.forward(x + 1, scratch)
    assert np.array_equal(other.output, y)
    again = copy.deepcopy(grads)
    assert np.array_equal(mlp.backward(x, other, again), grads.d_input)


@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("way", [copy.copy, lambda x: pickle.loads(pickle.dumps(x))])
def test_memory_is_pickled_by_its_values(batch, way):
    mlp, scratch, grads = made(batch=batch)
    x = random((2, 3) if batch else (3,))
    y = mlp.forward(x, scratch).copy()
    grads.d_output[...] = 1
    mlp.backward(x, scratch, grads)
    kept, before = way(scratch), way(grads)
    for name in ("d_input", "d_output", "params"):
        assert np.array_equal(getattr(before, name), getattr(grads, name))
    mlp.forward(x + 1, scratch)
    mlp.backward(x + 1, scratch, grads)
    assert np.array_equal(kept.output, y)
    assert not np.array_equal(before.params, grads.params)
    expected, added = before.params.copy(), before
    mlp.backward(x, kept, added, accumulate=True)
    np.testing.assert_allclose(added.params, 2 * expected, rtol=1e-6)


def test_sizes_may_be_any_sequence():
    for dims in ((4, 3, 2), [4, 3, 2], range(4, 1, -1), np.array([4, 3, 2])):
        assert wg.nn.Mlp(dims).dims == (4, 3, 2)
    with pytest.raises(ValueError, match=r"dims\[0\]=np.float64\(4.0\) was given"):
        wg.nn.Mlp(np.array([4.0, 2.0]))
    assert wg.nn.LayerNorm(np.array([2, 3])).scale.shape == (2, 3)


def test_what_is_refused():
    mlp, scratch, grads = made(batch=4)
    x = random((4, 3))
    other = wg.nn.Mlp((3, 6, 2))
    for wrong in (
        {"activation": "swish"},
        {"output_activation": None},
        {"init": "xavier"},
    ):
        with pytest.raises(ValueError, match=r"Mlp: .* Choose one"):
            wg.nn.Mlp((3, 2), **wrong)
    for dims in ((3,), (), "34", 5):
        with pytest.raises(ValueError, match="two sizes or more"):
            wg.nn.Mlp(dims)
    with pytest.raises(ValueError, match=r"dims\[1\]=0 was given"):
        wg.nn.Mlp((3, 0, 2))
    with pytest.raises(DTypeError, match="float32 or float64"):
        wg.nn.Mlp((3, 2), dtype=np.float16)
    for batch in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match="at least 1"):
            mlp.scratch(batch)
        with pytest.raises(ValueError, match="at least 1"):
            mlp.gradients(batch)
    with pytest.raises(TypeError, match="scratch is Gradients; it must be of class Scratch"):
        mlp.forward(x, grads)
    with pytest.raises(TypeError, match="grads is Scratch; it must be of class Gradients"):
        mlp.backward(x, scratch, scratch)
    with pytest.raises(TypeError, match="scratch is NoneType"):
        mlp.backward(x, None, grads)
    with pytest.raises(DTypeError, match="x has dtype complex64"):
        mlp.forward(x.astype(np.complex64), scratch)
    with pytest.raises(IndexError, match="layers 0 to 2"):
        grads.d_weights(3)
    with pytest.raises(IndexError, match="layers 0 to 2"):
        mlp.biases(-4)
    with pytest.raises(TraceError, match=r"Call mlp\(x\)"):
        wg.grad(lambda x: wg.sum(mlp.forward(x, scratch)))(x)
    with pytest.raises(ShapeError, match=r"this Mlp is 3-6-2"):
        other.forward(x, scratch)


def test_reprs():
    mlp, scratch, grads = made((4, 64, 2), 32)
    assert repr(mlp) == "Mlp(4-64-2, tanh, identity, float32, 450 parameters)"
    assert repr(scratch) == "Scratch(4-64-2, tanh, identity, float32, batch=32)"
    grads.d_biases(1)[...] = [3, 4]
    assert repr(grads) == "Gradients(4-64-2, tanh, identity, float32, batch=32, norm=5)"
