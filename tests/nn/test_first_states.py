"""A BatchNorm that was trained, called with `training=False` and the state that it begins with."""

import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.errors import BatchNormWarning

ROWS = (5 + 3 * np.random.default_rng(0).normal(size=(32, 4))).astype(np.float32)


def make():
    return {"norm": wg.nn.BatchNorm(4), "out": wg.nn.Linear(4, 1, seed=0)}


def predict(m, state, x, training=False):
    h, state = m["norm"](x, state, training=training)
    return m["out"](h)[:, 0], state


def loss(m, state, x):
    y, state = predict(m, state, x, training=True)
    return wg.mean((y - x[:, 0]) ** 2), state


@pytest.fixture
def step():
    model = make()
    step = wg.TrainStep(loss, model, wg.optim.Adam(0.1), state=model["norm"].initial_state())
    step.run(ROWS, batch_size=8, epochs=2)
    return step


@pytest.fixture
def loaded(step, tmp_path):
    """The trained model, saved without its state."""
    wg.save(tmp_path / "model.safetensors", step.model)
    return wg.load(tmp_path / "model.safetensors", like=make())


def told(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    assert {each.category for each in found} <= {BatchNormWarning}
    assert {each.filename for each in found} <= {__file__}
    return [str(each.message) for each in found]


def first(m):
    return m["norm"].initial_state()


def test_at_once(loaded):
    (text,) = told(lambda: predict(loaded, first(loaded), ROWS))
    assert "training=False and the state that it begins with" in text
    assert '{"model": step.model, "state": step.state}' in text
    by_hand = {"mean": np.zeros(4, np.float32), "var": np.ones(4, np.float32)}
    assert told(lambda: predict(loaded, by_hand, ROWS)) == [text]


def test_at_once_with_the_model_of_the_step(step):
    assert len(told(lambda: predict(step.model, first(step.model), ROWS))) == 1


@pytest.mark.parametrize("model_is", ["argument", "outside"])
@pytest.mark.parametrize("state_is", ["argument", "outside", "made anew"])
def test_in_the_first_call_of_a_compiled_function(loaded, model_is, state_is):
    state = first(loaded)

    @wg.compile
    def compiled(m, given, x):
        m = loaded if model_is == "outside" else m
        given = {"argument": given, "outside": state, "made anew": first(m)}[state_is]
        return predict(m, given, x)[0]

    (text,) = told(lambda: [compiled(loaded, state, ROWS), compiled(loaded, state, ROWS)])
    assert text.startswith("BatchNorm: called with training=False")


def test_weights_of_another_library_without_their_statistics():
    norm = wg.nn.BatchNorm(3)
    tensors = {
        "weight": np.array([0.5, 1.0, 2.0], np.float32),
        "bias": np.array([0.0, -1.0, 1.0], np.float32),
    }
    norm = wg.nn.from_torch_names(norm, tensors)
    assert len(told(lambda: norm(ROWS[:, :3], norm.initial_state(), training=False))) == 1


def test_a_state_that_belongs_with_the_weights_is_right(step, loaded, tmp_path):
    wg.save(tmp_path / "both.safetensors", {"model": step.model, "state": step.state})
    like = {"model": make(), "state": first(make())}
    both = wg.load(tmp_path / "both.safetensors", like=like)
    compiled = wg.compile(lambda m, state, x: predict(m, state, x)[0])
    assert not told(
        lambda: [
            predict(step.model, step.state, ROWS),
            predict(loaded, step.state, ROWS),
            predict(both["model"], both["state"], ROWS),
            compiled(both["model"], both["state"], ROWS),
            compiled(loaded, wg.tree.copy(step.state), ROWS),
        ]
    )


def test_layers_that_are_not_trained_are_right():
    fresh, residual, drawn = make(), make(), make()
    residual["norm"].scale[...] = 0  # as the last one of a residual block begins
    rng = np.random.default_rng(1)
    drawn["norm"].scale[...] = rng.normal(1, 0.02, 4)  # as those of a generator do
    compiled = wg.compile(lambda m, state, x: predict(m, state, x)[0])
    assert not told(lambda: compiled(drawn, first(drawn), ROWS))
    for model in (fresh, residual, drawn):
        assert not told(lambda model=model: predict(model, first(model), ROWS))


def test_statistics_that_are_made_anew_are_right(loaded):
    def renewed():
        _, state = predict(loaded, first(loaded), ROWS, training=True)
        return predict(loaded, state, ROWS)

    assert not told(renewed)
