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


def _bound_prompt(dims=None):
    """A bound function that takes a prompt into a cache, and which shapes it was recorded with."""
    block, seen = nn.TransformerBlock(8, 2, causal=True, seed=0), []
    step = wg.TrainStep(lambda m, x: wg.mean(m(x) ** 2), block, wg.optim.SGD(0.1))

    def prompt(m, x, cache):
        seen.append(x.shape)
        return m.extend(x, cache)

    return block, step.bind(prompt, dims=dims), seen


def _warned(call, given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for each in given:
            call(each)
    return [str(each.message) for each in caught]


def test_prompts_of_several_lengths_are_open_as_the_warning_says():
    x = np.random.default_rng(0).normal(size=(4, 20, 8)).astype(np.float32)
    block, prompt, _ = _bound_prompt()
    plain = [prompt(x[:, :n], block.cache(32, batch=4))[0] for n in (3, 5)]
    (text,) = _warned(lambda n: prompt(x[:, :n], block.cache(32, batch=4)), (7, 9))
    assert "dims={'x': {1: wg.Dim('n')}}" in text
    block, prompt, seen = _bound_prompt({"x": {1: wg.Dim("n")}})
    found = []
    assert not _warned(
        lambda n: found.append(prompt(x[:, :n], block.cache(32, batch=4))[0]), (3, 5, 7, 9, 11)
    )
    assert [str(shape[1]) for shape in seen] == ["n"] * len(seen)
    assert all(map(np.array_equal, found, plain))


def test_caches_of_other_rooms_are_told_to_have_one():
    x = np.ones((4, 3, 8), np.float32)
    block, prompt, _ = _bound_prompt()
    (text,) = _warned(lambda room: prompt(x, block.cache(room, batch=4)), (8, 9, 10, 11))
    assert "'cache.keys' has shape (10, 4, 2, 4) and had (9, 4, 2, 4)" in text
    assert "Make all caches with one room" in text
    block, prompt, _ = _bound_prompt()
    (text,) = _warned(lambda rows: prompt(x[:rows], block.cache(8, batch=rows)), (1, 2, 3, 4))
    assert "one room" not in text  # these differ in their rows


@pytest.mark.parametrize("make", [nn.GRU, nn.LSTM, nn.RNN, nn.Mamba, nn.S4D])
def test_a_smaller_last_batch_beside_a_state_for_each_row_is_told_what_leaves_it_out(make):
    layer = make(4, 4) if make in (nn.GRU, nn.LSTM, nn.RNN) else make(4)
    x = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)

    def loss(m, state, x):
        outputs = m.step(x, state)
        value = wg.mean(wg.tree.leaves(outputs)[0] ** 2)
        return value, outputs if make in (nn.GRU, nn.LSTM, nn.RNN) else outputs[1]

    step = wg.TrainStep(loss, layer, wg.optim.SGD(0.1), state=layer.initial_state(5))
    with pytest.raises(ShapeError, match=r"initial_state.*; in a run .* drop_last=True leaves out"):
        step.run(x, batch_size=5)
    step.run(x, batch_size=5, drop_last=True)
    with pytest.raises(ShapeError) as found:
        step(x[:, :3])
    assert "drop_last" not in str(found.value)


def test_the_array_of_a_layer_that_returns_no_state_is_not_unpacked_in_silence():
    def loss(m, x):
        y, state = m(x)
        return wg.mean(y**2) + 0.0 * wg.sum(state)

    step = wg.TrainStep(loss, nn.Mamba(4), wg.optim.SGD(0.1))
    with pytest.raises(ValueError, match=r"too many values to unpack.* write y = layer\(x\)"):
        step(np.ones((3, 6, 4), np.float32))
    with pytest.raises(ValueError, match=r"not enough values to unpack.* write y = layer\(x\)"):
        step(np.ones((1, 6, 4), np.float32))


def test_a_generator_of_numpy_is_told_nothing_of_masks():
    block, x = nn.TransformerBlock(4, 2, dropout=0.1), np.ones((2, 3, 4), np.float32)
    with pytest.raises(TypeError, match=r"wg\.random\.Generator, or None to drop nothing\. In the"):
        block(x, rng=np.random.default_rng(0))
    with pytest.raises(TypeError, match="A Sequential calls its layers with one array: for a mask"):
        block(x, rng=np.ones((3, 3), bool))
