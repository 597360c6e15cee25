"""Steps that a loop makes anew, averages that forget, and probabilities where logarithms should be:
all of them are told.
"""

import threading

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import X, squares, stepped, warned
from wengert.errors import (
    LogitsWarning,
    ProgramsWarning,
    ScheduleWarning,
    SummedRowsWarning,
    TargetsWarning,
)

# Steps that a loop makes anew.


def outside_of_tests(call):
    """Our warnings in a call that no runner of tests makes: that of a thread."""

    def in_thread():
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()

    return warned(in_thread)


def test_a_step_that_a_loop_makes_anew_is_named():
    def one_call_each(count=3):
        for _ in range(count):
            step = wg.TrainStep(squares, np.ones(3), wg.optim.SGD(0.5), compiled=False)
            step(X)

    assert warned(lambda: one_call_each(5)) == []  # each test may make some
    (found,) = outside_of_tests(lambda: one_call_each(5))
    assert found.category is ProgramsWarning
    assert found.filename == __file__
    assert "Make the step once, before the loop" in str(found.message)
    assert "compiles" not in str(found.message)


def test_steps_that_train_or_are_kept_are_no_reason_to_warn():
    def trained(seeds):
        for seed in range(seeds):
            step = wg.TrainStep(squares, np.ones(3), wg.optim.SGD(0.5), seed=seed, compiled=False)
            step(X), step(X)

    def kept(count):
        made = []
        for _ in range(count):
            made.append(wg.TrainStep(squares, np.ones(3), wg.optim.SGD(0.5), compiled=False))
            made[-1](X)

    def of_sizes(count):
        for size in range(2, 2 + count):
            step = wg.TrainStep(squares, np.ones(size), wg.optim.SGD(0.5), compiled=False)
            step(np.ones((4, size)))

    def uncalled(count):
        for _ in range(count):
            wg.TrainStep(squares, np.ones(3), wg.optim.SGD(0.5), compiled=False)

    for harmless in (trained, kept, of_sizes, uncalled):
        assert outside_of_tests(lambda harmless=harmless: harmless(4)) == []


def test_a_function_that_a_loop_binds_anew_is_named():
    step = wg.TrainStep(squares, np.ones(3), wg.optim.SGD(0.5), compiled=False)

    def noisy(w, x, rng):
        return x @ w + rng.normal()

    def in_the_loop():
        for _ in range(5):
            step.bind(noisy)(X)

    def harmless():
        kept = [step.bind(noisy) for _ in range(4)]
        for bound in kept:
            bound(X)
        for _ in range(4):
            bound = step.bind(noisy)
            bound(X), bound(X)
            step.bind(squares)(X)  # without random numbers: it has its program

    assert warned(in_the_loop) == []  # each test may bind some
    assert outside_of_tests(harmless) == []
    (found,) = outside_of_tests(in_the_loop)
    assert found.category is ProgramsWarning
    assert found.filename == __file__
    assert "TrainStep.bind: noisy is bound a third time" in str(found.message)


# Averages and logarithms.


def test_a_decay_that_forgets_nearly_everything_is_named():
    (found,) = warned(lambda: wg.optim.EMA(wg.optim.SGD(0.1), decay=0.005))
    assert found.category is ScheduleWarning
    assert "Write decay=0.995" in str(found.message)
    for decay in (0.0, 0.5):
        assert warned(lambda decay=decay: wg.optim.EMA(wg.optim.SGD(0.1), decay=decay)) == []


def test_an_average_that_never_moves_is_named():
    (found,) = warned(lambda: wg.optim.EMA(wg.optim.SGD(0.1), decay=1.0))
    assert found.category is ScheduleWarning
    assert "stays at the first weights" in str(found.message)
    assert warned(lambda: wg.optim.EMA(wg.optim.SGD(0.1), decay=0.9999)) == []


def test_probabilities_in_the_place_of_their_logarithms_are_named():
    p, q = np.array([0.25, 0.75]), np.array([0.5, 0.5])
    (found,) = warned(lambda: wg.kl_div(q, p))
    assert found.category is LogitsWarning
    assert "kl_div: log_q from 0.5 to 0.5 was given" in str(found.message)

    def loss(w, x, p):
        return wg.kl_div(wg.softmax(x @ w), p)

    (found,) = warned(stepped(loss, np.ones((3, 2)), X, np.resize(p, (8, 2))))
    assert "Pass wg.log_softmax of the same" in str(found.message)
    assert warned(lambda: wg.kl_div(np.log(q), p)) == []


def test_logits_in_the_place_of_logarithms_are_named():
    p, logits = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([[0.5, -3.0], [2.0, 1.0]])
    (found,) = warned(lambda: wg.kl_div(logits, p))
    assert found.category is LogitsWarning
    assert "add up to 1.7 in the first row" in str(found.message)
    of_columns = wg.log_softmax(logits, axis=0)
    for log_q, q, axis in ((of_columns, p.T / p.T.sum(0), 0), (logits, 2.0 * p, -1)):
        assert (
            warned(lambda x=log_q, q=q, axis=axis: wg.kl_div(x, q, axis)) == []
        )  # parts of p, too


OF_LAYERS = {
    "logits": lambda m, x: m(x),
    "of a temperature": lambda m, x: m(x) / 2.0,
    "right": lambda m, x: wg.log_softmax(m(x) / 2.0),
    "by hand": lambda m, x: m(x) - wg.logsumexp(m(x), axis=-1, keepdims=True),
    "of a table": lambda m, x: wg.softmax(x) @ wg.log_softmax(m.weight.T) - 1e-9,
}


@pytest.mark.parametrize(("name", "count"), [*zip(OF_LAYERS, (1, 1, 0, 0, 0), strict=True)])
def test_what_a_layer_gives_to_kl_div_is_named(name, count):
    def loss(m, x, p):
        return wg.kl_div(OF_LAYERS[name](m, x), p)

    model = wg.nn.Linear(3, 2, dtype=np.float64)
    found = warned(stepped(loss, model, X, np.resize([0.25, 0.75], (8, 2))))
    assert [each.category for each in found] == [LogitsWarning] * count


def test_logarithms_in_the_place_of_probabilities_are_named():
    log_p = np.log(np.array([0.25, 0.75]))
    with np.errstate(all="ignore"):
        (found,) = warned(lambda: wg.kl_div(log_p, log_p))
    assert found.category is TargetsWarning
    assert "p from -1.38629 to -0.287682 was given as the second operand" in str(found.message)
    assert "wg.exp(log_p)" in str(found.message)

    def loss(m, x):
        return wg.kl_div(wg.log_softmax(m(x)), wg.log(wg.softmax(x)))

    step = stepped(loss, wg.nn.Linear(3, 3, dtype=np.float64), X, nonfinite="ignore")
    assert [each.category for each in warned(step)] == [TargetsWarning]


def _of_teacher(p):
    """What is told of kl_div with such a p of the teacher's logits, by a step."""
    teacher = wg.nn.Linear(3, 3, dtype=np.float64, seed=5)

    def loss(m, x, logits):
        return wg.kl_div(wg.log_softmax(m(x)), p(teacher(x), logits))

    model = wg.nn.Linear(3, 3, dtype=np.float64)
    step = stepped(loss, model, X, X - X.mean(), nonfinite="ignore")
    return [each.category for each in warned(step)]


@pytest.mark.parametrize(
    "p", [lambda z, _: z, lambda z, _: z / 2.0, lambda z, _: wg.stop_gradient(z), lambda _, y: y]
)
def test_logits_in_the_place_of_probabilities_are_named(p):
    assert _of_teacher(p) == [TargetsWarning]


CHAIN = np.array([[0.9, 0.1, 0.0], [0.2, 0.6, 0.2], [0.0, 0.1, 0.9]])


@pytest.mark.parametrize(
    "p",
    [
        lambda z, _: wg.softmax(z),
        lambda _, y: wg.softmax(y / 2.0),
        lambda z, _: wg.softmax(z) @ CHAIN,
        lambda z, _: 0.9 * (wg.softmax(z) @ CHAIN) + np.full(3, 0.1 / 3),
        lambda z, _: wg.softmax(z) - 1e-9,  # which rounding gives
    ],
)
def test_probabilities_of_a_teacher_are_let_pass(p):
    assert _of_teacher(p) == []


def test_classes_of_kl_div_that_are_summed_again_before_the_mean_are_named():
    def loss_of(reduced):
        def loss(m, x, p):
            return reduced(wg.kl_div(wg.log_softmax(m(x)), p, reduction="none"))

        return loss

    model, p = wg.nn.Linear(3, 2, dtype=np.float64), np.resize([0.25, 0.75], (8, 2))
    (found,) = warned(stepped(loss_of(lambda x: x.sum(-1).mean()), model, X, p))
    assert found.category is SummedRowsWarning
    assert "Leave the sum out: wg.mean(wg.kl_div(…, reduction='none'))" in str(found.message)
    for right in (wg.mean, wg.sum, lambda x: wg.mean(wg.reshape(x, (4, 2)).sum(-1))):
        assert warned(stepped(loss_of(right), model, X, p)) == []
