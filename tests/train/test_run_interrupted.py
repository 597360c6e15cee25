"""Runs inside machine code that signals and other threads meet: whole steps are left."""

import os
import signal
import threading
import time

import pytest

import wengert as wg
from train.models import data, net, squared_error
from train.run_by_steps import by_steps
from train.test_train_options import noisy
from wengert.runtime import executable, native_runs
from wengert.runtime.entries.entry import never
from wengert.train.engine import Engine
from wengert.train.runs import run as whole_runs


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("at", [3, 11, 12, 30])
def test_a_run_goes_on_in_the_epoch_in_which_it_was_interrupted(at, seed, monkeypatch):
    """Epochs have 11 steps, of which machine code takes one at a time."""
    monkeypatch.setattr(native_runs, "LIMIT", 0)
    monkeypatch.setattr(whole_runs, "PATIENCE", 1000.0)
    x, y = data(rows=42)
    run, steps = (wg.TrainStep(squared_error, net(), wg.optim.Adam(0.01)) for _ in range(2))
    by_steps(steps, (x, y), 4, epochs=6, seed=seed)
    run.run(x, y, batch_size=4, epochs=2, shuffle_seed=seed)
    made = native_runs.CallLoop.made

    def interrupted(self):
        if run._engine.calls > 22 + at:
            monkeypatch.setattr(native_runs.CallLoop, "made", made)
            raise KeyboardInterrupt
        return made(self)

    monkeypatch.setattr(native_runs.CallLoop, "made", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.run(x, y, batch_size=4, epochs=4, shuffle_seed=seed)
    passed, number = divmod(at + 1, 11)
    assert run.epoch == 2 + passed
    assert run.last.index == 22 + at
    begun = run._engine.progress.begun
    assert (begun and begun.calls) == (22 + 11 * passed if number else None)
    again = wg.TrainStep(squared_error, net(), wg.optim.Adam(0.01))
    again.load_state_dict(run.state_dict())
    for step in (run, again):
        step.run(x, y, batch_size=4, epochs=4 - passed, shuffle_seed=seed)
        assert step.fingerprint() == steps.fingerprint()
        assert step.epoch == 6


def test_an_interrupted_epoch_that_has_no_batch_left(monkeypatch):
    """The smaller batch was left, and is left out now: the epoch is over."""
    x, y = data(rows=42)
    run, steps = (wg.TrainStep(squared_error, net(), wg.optim.Adam(0.01)) for _ in range(2))
    call = Engine.call

    def interrupted(engine, batch):
        if len(batch[0]) == 2:
            monkeypatch.setattr(Engine, "call", call)
            raise KeyboardInterrupt
        return call(engine, batch)

    monkeypatch.setattr(Engine, "call", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.run(x, y, batch_size=4, shuffle_seed=1)
    assert run._engine.calls == 10
    assert run.epoch == 0
    history = run.run(x, y, batch_size=4, epochs=3, drop_last=True, shuffle_seed=1)
    assert (len(history), run.epoch, run._engine.progress.begun) == (20, 3, None)
    by_steps(steps, (x, y), 4, epochs=3, seed=1, drop_last=True)
    assert run.fingerprint() == steps.fingerprint()


def interrupt_until(ended):
    """Ask the main thread to stop, again if need be: Python loses what a signal raises while an
    object is taken apart.
    """
    while not ended.is_set():
        os.kill(os.getpid(), signal.SIGINT)
        ended.wait(10)


@pytest.fixture
def heard():
    """Ctrl-C raises, whatever who started this process has said about it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_a_signal_leaves_whole_steps():
    x, y = data(rows=4000)

    def make():
        return wg.TrainStep(noisy, net(), wg.optim.Adam(0.01), accumulate=2)

    run, steps = make(), make()
    run.run(x[:40], y[:40], batch_size=4)
    by_steps(steps, (x[:40], y[:40]), 4)

    ended = threading.Event()

    def interrupt():
        while run.last.index < 20:
            time.sleep(0.001)
        interrupt_until(ended)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        run.run(x, y, batch_size=4, epochs=10**6)  # without end, if nobody heard it
    ended.set()
    other.join()
    calls = run.last.index + 1
    assert calls > 11
    for number in range(10, calls):
        begin = (number - 10) * 4 % 4000
        loss = steps(x[begin : begin + 4], y[begin : begin + 4])
    assert run.fingerprint() == steps.fingerprint()
    assert run.last.loss == loss
    run.run(x[:40], y[:40], batch_size=4)
    by_steps(steps, (x[:40], y[:40]), 4)
    assert run.fingerprint() == steps.fingerprint()


@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_signal_behind_the_loop_leaves_the_last_call_right(accumulate, monkeypatch):
    """It comes when the steps are taken, and nothing has been noted of them."""
    x, y = data(rows=80)

    def make():
        return wg.TrainStep(noisy, net(), wg.optim.Adam(0.01), accumulate=accumulate)

    run, steps = make(), make()
    run.run(x[:40], y[:40], batch_size=4)
    by_steps(steps, (x[:40], y[:40]), 4)
    made = native_runs.CallLoop.made

    def interrupted(self):
        monkeypatch.setattr(native_runs.CallLoop, "made", made)
        raise KeyboardInterrupt

    monkeypatch.setattr(native_runs.CallLoop, "made", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.run(x, y, batch_size=4)
    by_steps(steps, (x[: 4 * (run._engine.calls - 10)], y[: 4 * (run._engine.calls - 10)]), 4)
    assert steps._engine.calls == run._engine.calls > 20
    assert run.last == steps.last
    assert run.fingerprint() == steps.fingerprint()
    assert run(x, y) == steps(x, y)
    assert run.last == steps.last


@pytest.mark.parametrize("quick", [True, False])
def test_a_signal_during_a_single_step(quick, monkeypatch):
    """It raises when the program has returned; counts must be those of the arrays."""
    x, y = data(rows=8)
    run, steps = (wg.TrainStep(squared_error, net(), wg.optim.Adam(0.01)) for _ in range(2))
    monkeypatch.setattr(executable, "LONG", 1 << 60)  # a cold first call says little
    for step in (run, steps):
        step(x, y)
    entry = run._engine.programs[True].entry
    way = run._quick if quick else entry

    def interrupted(*arguments):
        assert way(*arguments) is not NotImplemented
        raise KeyboardInterrupt

    run._quick = interrupted if quick else never
    run._engine.programs[True].entry = entry if quick else interrupted
    with pytest.raises(KeyboardInterrupt):
        run(x, y)
    run._engine.programs[True].entry, run._quick = entry, never
    steps(x, y)
    assert run.fingerprint() == steps.fingerprint()
    assert run(x, y) == steps(x, y)


@pytest.mark.usefixtures("heard")
def test_other_threads_run_meanwhile():
    x, y = data(rows=4000)
    step = wg.TrainStep(squared_error, net((3, 64, 64, 2)), wg.optim.Adam(0.01), threads=1)
    step.run(x, y, batch_size=4)
    seen, ended = set(), threading.Event()

    def look():
        while len(seen) < 3:
            seen.add(step.last.index)
            time.sleep(0.001)
        interrupt_until(ended)

    watcher = threading.Thread(target=look)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        step.run(x, y, batch_size=4, epochs=10**6)
    ended.set()
    watcher.join()
    assert len(seen) == 3
