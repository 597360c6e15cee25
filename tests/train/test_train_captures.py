"""What losses and bound functions read beside their arguments: the answer of now, or an error."""

from __future__ import annotations

import signal
import time
from collections import deque
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import RandomnessWarning, TraceError
from wengert.runtime.outside.watch import MOST_CALLS, MOST_SECONDS, Watch

factor: Any = 1.0
X = np.ones((8, 2))


def set_factor(value: Any) -> None:
    globals()["factor"] = value


@pytest.fixture(autouse=True)
def _restored():
    yield
    set_factor(1.0)


def make(loss=lambda w, x: wg.mean(x @ w) * factor, **options):
    return wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.0), **options)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_loss_reads_globals_of_now(accumulate):
    step = make(accumulate=accumulate)
    for value in (1.0, 1.0, 3.0, 3.0, 3.0, 1.0):
        set_factor(value)
        assert step(X) == 2.0 * value


def test_evaluate_reads_globals_of_now():
    step = make()
    for value in (1.0, 3.0, 4.0):
        set_factor(value)
        found = step.evaluate(lambda w, x: wg.mean(x @ w) * factor, X, batch_size=3)
        assert found == 2.0 * value


def test_bound_functions_read_closures_of_now():
    step, scale = make(), 2.0
    bound = step.bind(lambda w, x: x @ w * scale)
    assert bound(X)[0] == bound(X)[0] == 4.0
    scale = 5.0
    assert bound(X)[0] == bound(X)[0] == 10.0


def test_epochs_read_globals_of_now():
    step = make()
    found = []
    for epoch in step.epochs(np.ones((64, 2)), batch_size=4, epochs=4):
        found.append(epoch.loss)
        set_factor(factor + 1.0)
    assert found == [2.0, 4.0, 6.0, 8.0]


def test_runs_read_globals_of_now():
    step, x = make(), np.ones((64, 2))
    for value in (1.0, 3.0, 1.0):
        set_factor(value)
        assert np.all(step.run(x, batch_size=4).loss == 2.0 * value)


def ways(step, x):
    """Ways to have captured arrays looked at, however many calls there were."""
    return {
        "epochs": lambda: list(step.epochs(x, batch_size=4)),
        "run": lambda: step.run(x, batch_size=4),
        "save": lambda: step.save("never-written.safetensors"),
        "evaluate": lambda: step.evaluate(lambda w, x: wg.mean(x @ w), x, batch_size=4),
        "bind": lambda: step.bind(lambda w, x: x @ w),
        "state_dict": step.state_dict,
        "fingerprint": step.fingerprint,
        "check": lambda: step.check(x),
    }


@pytest.mark.parametrize("way", list(ways(make(), X)))
def test_a_captured_array_that_was_changed_is_refused(way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    weights = np.ones(8)[:4]
    step = make(lambda w, x: wg.mean((x @ w) * weights))
    x = np.ones((64, 2))
    for _ in range(9):
        step(x[:4])
    weights[:] = 2.0
    with pytest.raises(TraceError, match="array 'weights' was changed"):
        ways(step, x)[way]()
    assert not list(tmp_path.iterdir())


def test_evaluate_refuses_a_captured_array_that_was_changed():
    step, weights = make(), np.ones(2)

    def f(w, x):
        return wg.mean(x @ (w * weights))

    for _ in range(3):
        assert step.evaluate(f, X, batch_size=4) == 2.0
    weights[:] = 2.0
    with pytest.raises(TraceError, match="array 'weights' was changed"):
        step.evaluate(f, X, batch_size=4)


def test_live_arrays_of_another_step_are_refused():
    other = make()
    step = make(lambda w, x: wg.mean(x @ (w - other.model)))
    with pytest.raises(TraceError, match=r"Pass it as an argument\. \(test_train_captures.py"):
        step(X)
    with pytest.raises(TraceError, match="Pass it as an argument"):
        other.bind(lambda w, x: x @ step.model)(X)


def test_random_numbers_of_numpy_in_a_loss_are_a_warning():
    step = make(lambda w, x: wg.mean(x @ w) + np.random.normal())
    with pytest.warns(RandomnessWarning, match="rng"):
        step(X)


class Holder:
    """Something of the user's that shows the parameters of a step in its own words."""

    def __init__(self, step):
        self.step = step

    @property
    def alpha(self):
        return float(np.exp(self.step.model[0]))


READS = {
    "np": lambda other: np.exp(other.model)[0],
    "float": lambda other: float(other.model[0]),
    "wg": lambda other: wg.exp(other.model)[0],
    "sum": lambda other: other.model.sum(),
    "copy": lambda other: wg.tree.copy(other.model)[0],
    "property": lambda other: Holder(other).alpha,
    "gradients": lambda other: other.gradients[0],
    "state": lambda other: other.state[0],
    "optimizer_states": lambda other: other.optimizer_states["momentum"][0],
    "epoch": lambda other: other.epoch,
    "last": lambda other: other.last.index,
    "optimizer": lambda other: other.optimizer.lr,
    "clip_norm": lambda other: other.clip_norm,
    "clip_value": lambda other: other.clip_value,
    "bound": lambda other: other.bind(lambda w: w[0])(),
    "called": lambda other: other(),
    "evaluated": lambda other: other.evaluate(lambda w, x: w[0], np.ones(4), batch_size=2),
}


@pytest.mark.parametrize("way", READS)
def test_what_training_changes_is_refused_while_a_loss_is_recorded(way):
    read = READS[way]
    other = wg.TrainStep(
        lambda w, s: (wg.sum(w), s),
        np.zeros(2),
        wg.optim.SGD(0.5, momentum=0.5),
        state=np.ones(1),
        clip_norm=10.0,
    )
    other()
    step = make(lambda w, x: read(other) * wg.mean(x @ w))
    before = other.fingerprint()
    with pytest.raises(TraceError, match=r"while a function was recorded.*test_train_captures.py"):
        step(X)
    assert other.fingerprint() == before
    assert read(other) is not None or way.startswith("clip")  # outside, all is as ever
    with pytest.raises(TraceError, match="while a function was recorded"):
        wg.compile(lambda x: x * read(other))(X)


def test_a_loss_that_reads_its_own_parameters_from_outside_is_refused():
    step = make(lambda w, x: float(step.model[0]) * wg.mean(x @ w))
    with pytest.raises(TraceError, match=r"TrainStep\.model.*given its own model"):
        step(X)


def test_op_by_op_the_parameters_of_now_are_read():
    other = wg.TrainStep(lambda w: wg.sum(w), np.zeros(1), wg.optim.SGD(1.0))
    step = make(lambda w, x: float(other.model[0]) + wg.mean(x @ w), compiled=False)
    for i in range(3):
        assert step(X) == 2.0 - i
        other()


def test_a_live_array_that_a_loss_knows_by_name_is_looked_at_in_every_call():
    other = wg.TrainStep(lambda w: wg.sum(w), np.zeros(1), wg.optim.SGD(1.0))
    live = other.model
    step = make(lambda w, x: float(live[0]) + wg.mean(x @ w))
    for _ in range(9):
        assert step(X) == 2.0
    other()
    with pytest.raises(TraceError, match="array 'live' was changed"):
        step(X)


def test_a_bound_function_of_another_step_is_no_part_of_a_loss():
    other = make()
    predict = other.bind(lambda w, x: x @ w)
    step = make(lambda w, x: wg.mean(predict(x) * (x @ w)))
    with pytest.raises(TraceError, match="Call the function itself that was bound"):
        step(X)
    with pytest.raises(TraceError, match=r"argument 'x' is a Tensor.*step\.model"):
        wg.grad(lambda x: wg.sum(predict(x)))(X)
    with pytest.raises(TraceError, match="argument 'x' is a Tensor"):
        wg.grad(lambda x: other(x))(X)


def test_networks_in_place_are_no_part_of_a_loss():
    mlp = wg.nn.Mlp((2, 1), seed=0)
    scratch, grads = mlp.scratch(8), mlp.gradients(8)
    for read in (lambda: mlp.forward(X, scratch), lambda: mlp.backward(X, scratch, grads)):
        step = make(lambda w, x, read=read: float(read()[0, 0]) * wg.mean(x @ w))
        with pytest.raises(TraceError, match=r"Pass the Mlp as an argument, and call mlp\(x\)"):
            step(X)
        read()


def test_a_handler_of_a_signal_reads_the_step_while_its_loss_is_recorded():
    seen = []

    def handler(_number, _frame):
        seen.append((step.model[0], step.epoch))

    def loss(w, x):
        signal.raise_signal(signal.SIGUSR1)
        return wg.mean(x @ w)

    step = make(loss)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        step(X)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen[0] == (1.0, 0)


OFTEN = 1000


@pytest.mark.parametrize("way", ["call", "run", "epochs", "evaluate", "save", "bind", "compile"])
def test_looks_at_a_captured_array_never_end(way, tmp_path):
    c = np.array([1.0, 5.0])
    step, x = make(lambda w, x: wg.mean(x @ w) * c[0]), np.ones((4, 2))
    step(x)

    def metric(w, x):
        return wg.mean(x @ w) * c[0]

    bound, compiled = step.bind(metric), wg.compile(metric)
    ways = {
        "call": lambda: [step(x) for _ in range(OFTEN)],
        "run": lambda: step.run(x, batch_size=4, epochs=OFTEN),
        "epochs": lambda: list(step.epochs(x, batch_size=4, epochs=OFTEN)),
        "evaluate": lambda: [step.evaluate(metric, x, batch_size=4) for _ in range(OFTEN)],
        "save": lambda: [step.save(tmp_path / "state") for _ in range(OFTEN)],
        "bind": lambda: [bound(x) for _ in range(OFTEN)],
        "compile": lambda: [compiled(np.ones(2), x) for _ in range(OFTEN)],
    }
    ways[way]()
    assert step(x) == 2.0
    c[0] = 3.0
    with pytest.raises(TraceError, match="'c' was changed"):
        step.run(x, batch_size=4)
    c[0] = 1.0
    assert step(x) == 2.0  # the step goes on as soon as the array is what it was


def test_looks_that_are_asked_for_do_not_put_off_those_that_are_due(tmp_path):
    c = np.array([1.0])
    step, x = make(lambda w, x: wg.mean(x @ w) * c[0]), np.ones((4, 2))
    step(x)
    for _ in range(OFTEN):
        step.save(tmp_path / "state")
    c[0] = 3.0
    with pytest.raises(TraceError, match="'c' was changed"):
        [step(x) for _ in range(8)]


def test_looks_that_are_due_keep_coming():
    watch = Watch()
    for _ in range(OFTEN):
        watch.wait_longer()
    assert watch.calls == MOST_CALLS


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "complex128"])
def test_an_array_that_is_written_anew_is_refused_in_the_next_call(dtype):
    target = {"w": np.zeros((4, 5), dtype)[1:, ::2]}

    def loss(w, x):
        return wg.mean((x @ w - wg.sum(wg.abs(target["w"]))) ** 2)

    step = make(loss)
    bound, compiled = step.bind(loss), wg.compile(loss)
    for _ in range(69):
        step(X), bound(X), compiled(np.ones(2), X)
    target["w"][...] = 1
    for call in (lambda: step(X), lambda: bound(X), lambda: compiled(np.ones(2), X)):
        with pytest.raises(TraceError, match="was changed after"):
            call()


def test_one_element_of_many_is_noticed_after_some_time():
    scale = np.ones(1000)
    step = make(lambda w, x: wg.mean(x @ w) * wg.sum(scale))
    for _ in range(10):  # the next look is due after six more
        step(X)
        time.sleep(MOST_SECONDS / 4)
    scale[7] = 2.0
    with pytest.raises(TraceError, match="'scale' was changed"):
        [step(X) for _ in range(9)]


def test_an_array_that_is_gone_is_compared_no_more():
    held = [np.ones(2**22)]  # so large that its memory goes back to the system

    def loss(w, x):
        return wg.mean(x @ w) * wg.sum(held[0] if held else np.zeros(1))

    step = make(loss)
    assert [step(X) for _ in range(9)][-1] == 2.0**23
    held.clear()
    assert [step(X) for _ in range(9)][-1] == 0.0


def test_a_model_in_a_deque_is_no_value_from_outside():
    recorded = []

    def loss(layers, x):
        recorded.append(None)
        for layer in layers:
            x = layer(x)
        return wg.mean(x**2)

    layers = deque([wg.nn.Linear(2, 2, seed=0), wg.nn.Linear(2, 1, seed=1)])
    step = wg.TrainStep(loss, layers, wg.optim.SGD(0.1))
    losses = [float(step(X)) for _ in range(4)]
    assert losses == sorted(losses, reverse=True)
    assert len(recorded) == 1
