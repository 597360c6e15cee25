"""Sequences without times, steps of other shapes, ties of directions, and results that are lost."""

import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ShapeError, TiedWarning, UnusedWarning

nn = wg.nn


def outputs(layer, x):
    found = layer(x)
    return found[0] if isinstance(found, tuple) else found


@pytest.mark.parametrize("make", [nn.GRU, nn.LSTM, nn.RNN, nn.Mamba, nn.S4D])
def test_sequences_without_times_have_outputs_and_gradients(make):
    recurrent = make in (nn.GRU, nn.LSTM, nn.RNN)
    layer = make(3, 4) if recurrent else make(3)
    x = np.zeros((0, 2, 3) if recurrent else (2, 0, 3), np.float32)
    assert outputs(layer, x).size == 0
    gradient = wg.grad(lambda m, x: wg.sum(outputs(m, x)))
    for f in (gradient, wg.compile(gradient)):
        assert not any(g.any() for g in wg.tree.leaves(f(layer, x)))


def test_a_scan_along_stacked_layers_keeps_their_numbers():
    blocks = [nn.TransformerBlock(8, 2, seed=i, dtype=np.float64) for i in range(3)]
    stacked = wg.tree.map(lambda *arrays: np.stack(arrays), *blocks)
    x = np.random.default_rng(0).standard_normal((2, 5, 8))

    def along(x, blocks):
        return wg.scan(lambda x, block: (block(x), None), x, blocks)[0]

    expected = x
    for block in blocks:
        expected = block(expected)
    for f in (along, wg.compile(along)):
        np.testing.assert_allclose(f(x, stacked), expected, rtol=1e-9)


def test_numbers_alone_are_no_steps():
    with pytest.raises(ShapeError, match=r"np\.array\(xs\)"):
        wg.scan(lambda total, x: (total + x, None), 0, [1, 2, 3])


@pytest.mark.parametrize("make", [nn.GRU, nn.LSTM, nn.RNN])
def test_steps_of_other_shapes_are_refused(make):
    layer = make(3, 4)
    xs, x = np.ones((5, 2, 3), np.float32), np.ones((2, 3), np.float32)
    state = layer.initial_state(2)
    layer.step(x, state)
    with pytest.raises(ShapeError, match=r"\.step: x has shape \(5, 2, 3\).*call the layer"):
        layer.step(xs, state)
    with pytest.raises(ShapeError, match=r"initial_state\(\(2,\)\)"):
        layer.step(x, layer.initial_state(4))
    if make is not nn.LSTM:
        with pytest.raises(ShapeError, match="the input first"):
            layer.step(state, x)


def test_one_layer_for_both_directions_is_told():
    cell = nn.GRU(3, 4)
    with pytest.warns(TiedWarning, match="one GRU for both directions"):
        nn.Bidirectional(cell, cell)


def test_a_model_that_is_loaded_and_dropped_is_told(tmp_path):
    model, weights = nn.Linear(3, 2), {"weight": np.ones((2, 3)), "bias": np.zeros(2)}
    wg.save(tmp_path / "model", model)
    calls = (
        lambda: nn.from_torch_names(model, weights),
        lambda: wg.load(tmp_path / "model", like=model),
    )
    with pytest.warns(UnusedWarning, match="model = wg.nn.from_torch_names"):
        dropping_torch(model, weights)
    with pytest.warns(UnusedWarning, match=r"model = wg\.load"):
        dropping_file(model, tmp_path / "model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in calls:
            assert call() is not None
        wg.load(tmp_path / "model", like=model)  # inside of `with`: it may be there to raise


def dropping_torch(model, weights):
    nn.from_torch_names(model, weights)


def dropping_file(model, path):
    wg.load(path, like=model)
