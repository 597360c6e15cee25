"""Functions that are bound or evaluated and have a state from before training: the one that the
step was made with, or the one that a BatchNorm begins with.
"""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import BatchNormWarning, CopiedWarning

ROWS = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
TIMES = np.random.default_rng(1).standard_normal((7, 2, 4)).astype(np.float32)


def centred(m, mean, s):
    new = 0.9 * mean + 0.1 * wg.mean(s, axis=0)
    return wg.mean((m(s - new) - 1) ** 2), new


def made(trained=True):
    mean = np.zeros(4, np.float32)
    step = wg.TrainStep(centred, wg.nn.Linear(4, 1), wg.optim.SGD(0.01), state=mean)
    if trained:
        step(ROWS)
    return step, mean


def told(calls, category=CopiedWarning):
    (found,) = warned(calls)
    assert (found.category, found.filename) == (category, __file__)
    return str(found.message)


# The state that the step was made with.


def test_a_function_that_reads_it_from_outside():
    step, mean = made()
    act = step.bind(lambda m, s: m(s - mean))
    text = told(lambda: [act(ROWS), act(ROWS), act(ROWS[:3])])
    assert "TrainStep.bind: the function reads the state that the step was made with" in text


def test_a_function_that_is_given_it():
    step, mean = made()
    act = step.bind(lambda m, mean, s: m(s - mean))
    text = told(lambda: [act(mean, ROWS), act(mean, ROWS)])
    assert "TrainStep.bind: called with the state that the step was made with" in text


@pytest.mark.parametrize("is_given", [False, True])
def test_calls_before_training_are_right_and_those_after_it_are_told(is_given):
    step, mean = made(trained=False)
    act = step.bind((lambda m, s, mean: m(s - mean)) if is_given else (lambda m, s: m(s - mean)))
    given = (ROWS, mean) if is_given else (ROWS,)
    assert not warned(lambda: [act(*given) for _ in range(4)])
    step(ROWS)
    assert "the step was made with" in told(lambda: [act(*given) for _ in range(4)])


def test_an_evaluated_function_that_reads_it():
    step, mean = made()
    text = told(lambda: step.evaluate(lambda m, s: wg.mean(m(s - mean)), ROWS, batch_size=8))
    assert "TrainStep.evaluate: the function reads the state" in text


def test_the_state_of_the_step_is_right():
    step, mean = made()
    act = step.bind(lambda m, mean, s: m(s - mean))
    both = step.bind(lambda m, now, s: m(s - mean) - m(s - now))
    assert not warned(lambda: [act(step.state, ROWS), both(step.state, ROWS)])
    assert not warned(lambda: act(wg.tree.copy(mean), ROWS))
    mean[...] = step.state  # somebody keeps it up to date
    assert not warned(lambda: act(mean, ROWS))


def test_a_reference_that_the_loss_reads_too():
    mean = np.zeros(4, np.float32)

    def loss(m, now, s):
        value, new = centred(m, now, s)
        return value + wg.mean((m(s - mean)) ** 2), new

    step = wg.TrainStep(loss, wg.nn.Linear(4, 1), wg.optim.SGD(0.01), state=mean)
    step(ROWS)
    assert not warned(lambda: step.bind(lambda m, s: m(s - mean))(ROWS))


def test_sequences_begin_with_the_first_memory():
    layer = wg.nn.GRU(4, 3)
    start = layer.initial_state(2)

    def loss(m, h, x):
        outputs, h = m(x, h)
        return wg.mean(outputs**2), h

    step = wg.TrainStep(loss, layer, wg.optim.SGD(0.01), state=start)
    step(TIMES)
    whole = step.bind(lambda m, x: m(x, start)[0])
    given = step.bind(lambda m, h, x: m(x, h)[0])
    assert not warned(lambda: [whole(TIMES), given(start, TIMES)])


def test_a_function_that_goes_on_by_itself():
    start = np.zeros((2, 3), np.float32)
    model = {"u": np.ones((3, 3), np.float32), "w": np.ones((4, 3), np.float32)}

    def cell(m, h, x):
        h = wg.tanh(h @ m["u"] + x @ m["w"])
        return wg.sum(h), h

    step = wg.TrainStep(cell, model, wg.optim.SGD(0.01), state=start)
    step(TIMES[0])
    assert not warned(lambda: step.bind(cell)(start, TIMES[0]))


# The state that a BatchNorm begins with.


def normalized(m, state, x, training):
    y, state = m["norm"](x, state, training=training)
    return m["out"](y), state


def normalized_loss(m, state, x):
    y, state = normalized(m, state, x, True)
    return wg.mean((y - 1) ** 2), state


def with_norm():
    model = {"norm": wg.nn.BatchNorm(4), "out": wg.nn.Linear(4, 1)}
    start = model["norm"].initial_state()
    return model, start, wg.TrainStep(normalized_loss, model, wg.optim.SGD(0.01), state=start)


@pytest.mark.parametrize("how", ["made anew", "given to the step"])
def test_a_batch_norm_that_predicts_with_its_first_statistics(how):
    _, start, step = with_norm()
    predict = step.bind(
        (lambda m, x: normalized(m, start, x, False)[0])
        if how == "given to the step"
        else (lambda m, x: normalized(m, m["norm"].initial_state(), x, False)[0])
    )
    if how == "given to the step":
        assert not warned(lambda: predict(ROWS))
    step(ROWS)
    text = told(lambda: [predict(ROWS), predict(ROWS)], BatchNormWarning)
    assert "a BatchNorm in it has training=False and the state that it begins with" in text


def test_a_batch_norm_in_the_predictions_of_a_fit():
    model, _, step = with_norm()

    def loss(m, state, x, y):
        return normalized_loss(m, state, x)

    step = wg.TrainStep(loss, model, wg.optim.SGD(0.01), state=model["norm"].initial_state())

    def fit(predict):
        wg.train.fit(
            step,
            (ROWS, ROWS[:, 0]),
            epochs=1,
            batch_size=4,
            validation=(ROWS, ROWS[:, 0]),
            validation_loss=lambda m, state, x, y: wg.mean(normalized(m, state, x, False)[0]),
            metrics=["mae"],
            predict=predict,
            progress=False,
        )

    fresh = model["norm"].initial_state()
    wrong = warned(lambda: fit(lambda m, x: normalized(m, fresh, x, False)[0][:, 0]))
    assert [each.category for each in wrong] == [BatchNormWarning]
    assert not warned(lambda: fit(lambda m, state, x: normalized(m, state, x, False)[0][:, 0]))


def test_a_batch_norm_with_the_state_of_the_step_is_right():
    _, start, step = with_norm()
    step(ROWS)
    predict = step.bind(lambda m, state, x: normalized(m, state, x, False)[0])
    both = step.bind(
        lambda m, state, x: normalized(m, state, x, False)[0] - normalized(m, start, x, False)[0]
    )
    assert not warned(lambda: [predict(step.state, ROWS), both(step.state, ROWS)])


# A BatchNorm that is evaluated at once.


def predicted(m, state, x, training=False):
    y, state = m["norm"](x, state, training=training)
    return m["out"](y)[:, 0], state


def error(m, state, x):
    y, state = predicted(m, state, x, training=True)
    return wg.mean((y - 1) ** 2), state


def made_with_norm():
    model = {"norm": wg.nn.BatchNorm(4), "out": wg.nn.Linear(4, 1)}
    state = model["norm"].initial_state()
    return wg.TrainStep(error, model, wg.optim.SGD(0.01), state=state), state


@pytest.mark.parametrize("runs", [False, True])
def test_a_norm_of_the_step_with_the_state_from_before(runs):
    step, state = made_with_norm()
    assert not warned(lambda: predicted(step.model, state, ROWS))  # before training it is right
    if runs:
        step.run(ROWS, batch_size=4, epochs=2)
    else:
        step(ROWS)
    text = told(lambda: [predicted(step.model, state, ROWS) for _ in range(3)])
    assert "BatchNorm: called with training=False and leaf 'mean' of the state that a step" in text
    assert "Pass step.state." in text


def test_norms_that_belong_with_their_state_are_let_pass():
    step, state = made_with_norm()
    before = wg.tree.copy(step.model)
    step(ROWS)
    for model, given in [
        (step.model, step.state),
        (wg.tree.copy(step.model), wg.tree.copy(step.state)),
        (before, state),
        (step.model, wg.tree.copy(state)),
    ]:
        assert not warned(lambda model=model, given=given: predicted(model, given, ROWS))
    assert not warned(lambda: predicted(step.model, state, ROWS, training=True))
    for name, x in step.state.items():
        state[name][...] = x  # somebody keeps it up to date
    assert not warned(lambda: predicted(step.model, state, ROWS))


def test_a_recurrent_layer_of_the_step_may_begin_anew():
    first = np.zeros((2, 3), np.float32)

    def carried(m, h, x):
        hs, h = m(x, h)
        return wg.mean(hs**2), h

    step = wg.TrainStep(carried, wg.nn.GRU(4, 3), wg.optim.SGD(0.01), state=first)
    step(TIMES)
    assert not warned(lambda: step.model(TIMES, first))
