"""Accumulation where something is not finite: what is left out, and what is dropped."""

import numpy as np
import pytest

import wengert as wg

K = 3
GOOD = np.array([1.0, 2.0, 3.0])
LARGE = np.full(3, 1.7e308)  # the norm of a third of it is finite; that of two thirds is not
BAD = np.array([1.0, np.nan, 1.0])


def loss(w, x):
    return wg.sum(w * x)


def make(nonfinite, compiled=True, k=K, **options):
    optimizer = wg.optim.SGD(1.0, momentum=0.5)
    return wg.TrainStep(
        loss,
        np.zeros(3),
        optimizer,
        accumulate=k,
        nonfinite=nonfinite,
        compiled=compiled,
        **options,
    )


def counts(step):
    found = step.state_dict()["counts"]
    return found["calls"], found["updates"], found["phase"]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_call_that_is_not_finite_is_left_out_alone(compiled, before):
    step, twin = make("skip", compiled), make("skip", compiled)
    for _ in range(before):
        step(GOOD)
        twin(GOOD)
    assert np.isnan(step(BAD))
    assert step.last.skipped
    assert counts(step) == (before + 1, 0, before)
    for _ in range(4):
        step(GOOD)
        twin(GOOD)
    np.testing.assert_array_equal(step.model, twin.model)
    assert counts(step)[1:] == counts(twin)[1:]


@pytest.mark.parametrize("compiled", [True, False])
def test_what_is_not_finite_together_is_dropped_together(compiled):
    step, twin = make("skip", compiled), make("skip", compiled)
    step(LARGE)
    assert not step.last.skipped
    step(LARGE)  # finite by itself
    assert step.last.skipped
    assert counts(step) == (2, 0, 0)
    np.testing.assert_array_equal(step.model, 0)
    for _ in range(2 * K):
        step(GOOD)
        twin(GOOD)
        assert not step.last.skipped
    np.testing.assert_array_equal(step.model, twin.model)
    assert counts(step) == (2 + 2 * K, 2, 0)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_update_that_is_not_finite_drops_what_led_to_it(compiled):
    step, twin = make("skip", compiled, k=2), make("skip", compiled, k=2)
    step.optimizer.learning_rate = 1e300
    step(1e10 * GOOD)
    step(1e10 * GOOD)
    assert step.last.skipped
    assert counts(step) == (2, 0, 0)
    step.optimizer.learning_rate = 1.0
    for _ in range(4):
        step(GOOD)
        twin(GOOD)
        assert not step.last.skipped
    np.testing.assert_array_equal(step.model, twin.model)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_error_drops_it_too_and_says_so(compiled):
    step, twin = make("raise", compiled), make("raise", compiled)
    step(LARGE)
    with pytest.raises(wg.errors.NonFiniteError) as caught:
        step(LARGE)
    assert "dropped" in caught.value.__notes__[0]
    assert counts(step) == (1, 0, 0)  # a call that raises is not counted
    for _ in range(K):
        step(GOOD)
        twin(GOOD)
    np.testing.assert_array_equal(step.model, twin.model)
    step(GOOD)
    before = counts(step)
    with pytest.raises(wg.errors.NonFiniteError) as caught:
        step(BAD)
    assert not hasattr(caught.value, "__notes__")
    assert counts(step) == before


@pytest.mark.parametrize("compiled", [True, False])
def test_what_is_ignored_begins_anew_as_well(compiled):
    step = make("ignore", compiled)
    for _ in range(K):
        step(LARGE)
    assert counts(step) == (K, 1, 0)
    step.model = np.zeros(3)
    for each in wg.tree.leaves(step.optimizer_states):
        each[...] = 0
    for _ in range(K):
        step(GOOD)
    np.testing.assert_array_equal(step.model, -GOOD)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("seed", [None, 1])
def test_a_run_drops_what_its_calls_drop(compiled, seed):
    rng = np.random.default_rng(0)
    rows = [[GOOD, GOOD, GOOD, LARGE, BAD][i] for i in rng.integers(0, 5, 60)]
    data = np.array(rows)

    def one(w, x):
        return wg.sum((w - wg.stop_gradient(w)) * x[0])  # its gradient is x, whatever w is

    run, steps, epochs = (
        wg.TrainStep(
            one,
            np.zeros(3),
            wg.optim.SGD(1e-300, momentum=0.5),
            accumulate=K,
            nonfinite="skip",
            compiled=compiled,
        )
        for _ in range(3)
    )
    history = run.run(data, batch_size=1, epochs=2, shuffle_seed=seed)
    list(epochs.epochs(data, batch_size=1, epochs=2, shuffle_seed=seed))
    skipped = []
    for epoch in range(2):
        order = (
            np.arange(60) if seed is None else wg.train.runs.row_orders.shuffled(60, seed, epoch)
        )
        for i in order:
            steps(data[i : i + 1])
            skipped.append(steps.last.skipped)
    np.testing.assert_array_equal(history.skipped, skipped)
    assert counts(run) == counts(steps) == counts(epochs)
    np.testing.assert_array_equal(run.model, steps.model)
    np.testing.assert_array_equal(run.model, epochs.model)
    assert counts(run)[1] > 5
    assert 0 < sum(skipped) < 120
