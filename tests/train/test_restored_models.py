"""Weights that are kept and put back into a step, without the running statistics of a BatchNorm."""

import gc
import weakref

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import BatchNormWarning

ROWS = (5 + 3 * np.random.default_rng(0).normal(size=(16, 4))).astype(np.float32)


def predict(m, state, x, training=False):
    h, state = m["norm"](x, state, training=training)
    return m["out"](h)[:, 0], state


def loss(m, state, x):
    y, state = predict(m, state, x, training=True)
    return wg.mean((y - x[:, 0]) ** 2), state


def score(m, state, x):
    return wg.mean((predict(m, state, x)[0] - x[:, 0]) ** 2)


def made():
    model = {"norm": wg.nn.BatchNorm(4), "out": wg.nn.Linear(4, 1, seed=0)}
    state = model["norm"].initial_state()
    return wg.TrainStep(loss, model, wg.optim.Adam(0.1), state=state)


def trained():
    """A step, and the weights and the state that it had earlier."""
    step = made()
    step(ROWS)
    kept = wg.tree.copy((step.model, step.state))
    step(ROWS), step(ROWS)
    return step, *kept


def used(step, path):
    """Ways to use the state of a step."""
    bound = step.bind(lambda m, state, x: predict(m, state, x)[0])
    return {
        "evaluated": lambda: step.evaluate(score, step.state, ROWS, batch_size=8),
        "bound": lambda: bound(step.state, ROWS),
        "at once": lambda: predict(step.model, step.state, ROWS),
        "saved": lambda: wg.save(path, {"model": step.model, "state": step.state}),
        "saved with the step": lambda: step.save(path),
    }


WAYS = ["evaluated", "bound", "at once", "saved", "saved with the step"]


@pytest.mark.parametrize("way", WAYS)
def test_weights_without_their_statistics(way, tmp_path):
    step, weights, _ = trained()
    use = used(step, tmp_path / "file.safetensors")[way]
    assert not warned(use)
    step.model = weights
    (found,) = warned(lambda: [use(), use()])
    assert (found.category, found.filename) == (BatchNormWarning, __file__)
    assert "step.model, step.state = best" in str(found.message)


@pytest.mark.parametrize("way", WAYS)
def test_weights_with_their_statistics_are_right(way, tmp_path):
    step, weights, state = trained()
    use = used(step, tmp_path / "file.safetensors")[way]
    step.model, step.state = weights, state
    assert not warned(use)
    step(ROWS)
    step.state, step.model = state, weights
    assert not warned(use)
    step(ROWS)
    step.model = weights
    for name, x in step.state.items():
        x[...] = state[name]
    assert not warned(use)


@pytest.mark.parametrize("way", WAYS)
def test_other_weights_are_let_pass(way, tmp_path):
    step, weights, _ = trained()
    use = used(step, tmp_path / "file.safetensors")[way]
    last = wg.tree.copy(step.model)
    step.model = wg.tree.map(lambda a, b: (a + b) / 2, weights, last)
    assert not warned(use)
    step.model = last  # as it was, with the statistics that it had
    assert not warned(use)


def test_a_call_renews_the_statistics():
    step, weights, _ = trained()
    step.model = weights
    step(ROWS)
    assert not warned(lambda: predict(step.model, step.state, ROWS))


def test_the_weights_of_the_beginning_begin_anew():
    step = made()
    start = wg.tree.copy(step.model)
    step(ROWS), step(ROWS)
    step.model = start
    assert not warned(lambda: step.run(ROWS, batch_size=8))


def test_a_state_that_is_no_statistics_is_let_pass():
    def with_memory(m, h, x):
        return wg.mean((x @ m - h) ** 2), 0.9 * h + 0.1 * wg.mean(x @ m)

    step = wg.TrainStep(
        with_memory, np.ones(4, np.float32), wg.optim.SGD(0.01), state=np.float32(0)
    )
    step(ROWS)
    kept = wg.tree.copy(step.model)
    step(ROWS)
    step.model = kept
    assert not warned(lambda: wg.tree.copy(step.state))


def test_a_step_is_not_kept_alive():
    step, weights, _ = trained()
    step.model = weights
    gone = weakref.ref(step._engine.restored)
    del step
    gc.collect()
    assert gone() is None
