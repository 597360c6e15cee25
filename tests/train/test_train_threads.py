"""One step and several threads: calls wait for each other, and none is lost."""

import os
import threading

import numpy as np
import pytest

import wengert as wg
from train.witness import ROWS, make, require_whole
from wengert.runtime import native_runs
from wengert.train import guard


def in_threads(*works):
    """Do something in a thread each; errors are raised here."""
    errors = []

    def doing(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=doing, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    for error in errors:
        raise error


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("accumulate", [1, 4])
def test_no_call_is_lost(compiled, accumulate):
    step = make(accumulate, compiled=compiled)
    calls = 200 if compiled else 20

    def work():
        for _ in range(calls):
            step(ROWS)

    in_threads(*[work] * 4)
    assert require_whole(step.state_dict(), accumulate) == 4 * calls


def test_everything_at_once(tmp_path):
    step, ended = make(), threading.Event()
    predict = step.bind(lambda model, x: x * wg.sum(model["w"]))
    found = []

    def train():
        for _ in range(20):
            step.run(ROWS, batch_size=1, epochs=2, shuffle_seed=0)
            for _ in range(20):
                step(ROWS)
        ended.set()

    def look(read):
        def work():
            while not ended.is_set():
                found.append(read())

        return work

    def saved():
        path = tmp_path / f"{threading.get_ident()}.safetensors"
        step.save(path)
        return require_whole(wg.load(path))

    def predicted():
        assert predict(np.ones(1))[0] % 3 == 0
        return 0

    def evaluated():
        first = step.evaluate(lambda m, x: wg.mean(x) * m["w"], ROWS, batch_size=8)
        assert len(set(first.tolist())) == 1
        assert first[0] == int(first[0])  # of one state, or a mean of several
        return 0

    reads = (saved, predicted, evaluated, lambda: require_whole(step.state_dict()))
    in_threads(train, *map(look, reads))
    assert require_whole(step.state_dict()) == 20 * (128 + 20)
    assert len(set(found)) > 2


def test_runs_and_calls_and_assignments_wait_for_each_other(monkeypatch):
    monkeypatch.setattr(native_runs, "LIMIT", 0)  # others may look after every step of a run
    step = make()

    def run():
        for _ in range(10):
            assert len(step.run(ROWS, batch_size=4)) == 16

    def call():
        for _ in range(100):
            step(ROWS)

    def change():
        for i in range(20):
            step.clip_norm = 10.0 + i
            step.load_state_dict(step.state_dict()) if i == 19 else step.fingerprint()

    in_threads(run, call, lambda: [step.fingerprint() for _ in range(50)])
    assert require_whole(step.state_dict()) == 10 * 16 + 100
    assert "unfinished" not in step.state_dict()
    in_threads(run, change)
    require_whole(step.state_dict())


def test_a_thread_that_waits_gets_its_turn(monkeypatch):
    """A run, or calls without end, let others have the step now and then."""
    monkeypatch.setattr(native_runs, "LIMIT", 0)
    for train in (
        lambda step: step.run(ROWS, batch_size=1),
        lambda step: [step(ROWS) for _ in range(64)],
    ):
        step, ended = make(), threading.Event()
        during = []

        def endless(step=step, train=train, ended=ended):
            while not ended.is_set():
                train(step)

        def look(step=step, ended=ended, during=during):
            try:
                while len(during) < 20:
                    during.append(require_whole(step.state_dict()))
            finally:
                ended.set()

        in_threads(endless, look)
        assert during == sorted(during)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("patience", [guard.PATIENCE, 0.0])
def test_a_fork_while_another_thread_trains(patience, monkeypatch):
    monkeypatch.setattr(guard, "PATIENCE", patience)
    step, ended = make(threads=1), threading.Event()
    step.run(ROWS, batch_size=1)
    state = step.state_dict()

    def train():
        while not ended.is_set():
            step.run(ROWS, batch_size=1, epochs=5)

    def fork():
        try:
            for _ in range(10):
                child = os.fork()
                if not child:
                    os._exit(_in_child(step, state, patience))
                assert os.waitpid(child, 0)[1] == 0
        finally:
            ended.set()

    in_threads(train, fork)
    require_whole(step.state_dict())


def _in_child(step, state, patience):
    try:
        calls = require_whole(step.state_dict())
        step(ROWS)
        assert require_whole(step.state_dict()) == calls + 1
    except RuntimeError as error:  # somebody was inside, and nobody waited
        if patience or "half of an update" not in str(error):
            return 1
        step.load_state_dict(state)
    except BaseException:
        return 2
    before = step._engine.calls
    step.run(ROWS, batch_size=4)
    return 0 if require_whole(step.state_dict()) == before + 16 else 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_inside_a_step_of_the_same_thread():
    """The child goes on where the parent was."""
    step, children = make(), []

    def rate(count):
        if count == 3 and not children:
            children.append(os.fork())
        return 1.0

    step.optimizer["*"].lr = rate
    step.run(ROWS, batch_size=8)
    well = require_whole(step.state_dict()) == 8 and step(ROWS) is not None
    if not children[0]:
        os._exit(0 if well else 1)
    assert well
    assert os.waitpid(children[0], 0)[1] == 0
