"""Steps that a loop makes anew, averages that forget, and probabilities where logarithms should be:
all of them are told.
"""

import threading

import numpy as np

import wengert as wg
from train.warned_steps import X, squares, stepped, warned
from wengert.errors import LogitsWarning, ProgramsWarning, ScheduleWarning

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
