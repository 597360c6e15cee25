"""Calls that machine code makes alone: only while nothing else is under way, and with the results
of any other call.
"""

import contextlib
import gc
import queue
import signal
import sys
import threading
from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg
from train.witness import ROWS, make, require_whole
from wengert.runtime import executable
from wengert.runtime.entries import objects
from wengert.runtime.entries.entry import never
from wengert.runtime.outside.live import recording_threads

pytestmark = pytest.mark.skipif(not objects.fits(), reason="there are no entry points here")

X = np.linspace(-1, 1, 12).reshape(4, 3)


def trained(**options):
    """A step whose numbers differ from update to update."""

    def loss(model, x):
        found = wg.mean((x @ model["w"] - 1.0) ** 2)
        return (found, {"x": x * 2.0}) if options.get("has_aux") else found

    schedule = wg.optim.Cosine(0.3, 400)
    return wg.TrainStep(loss, {"w": np.ones(3)}, wg.optim.Adam(schedule), threads=1, **options)


def is_quick(step):
    return step._quick is not never


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """No first call takes so long that others would be let run meanwhile."""
    monkeypatch.setattr(executable, "LONG", 1 << 60)


def refuse(*_):
    raise AssertionError("the call went the way of the locks")


@contextlib.contextmanager
def only_quickly(monkeypatch, *kinds):
    with monkeypatch.context() as patched:
        for kind in kinds:
            patched.setattr(kind, "_call_guarded", refuse)
        yield


def test_calls_are_made_by_machine_code_alone(monkeypatch):
    step = trained()
    predict = step.bind(lambda m, x: x @ m["w"])
    step(X), predict(X)
    with only_quickly(monkeypatch, wg.TrainStep, type(predict)):
        for _ in range(5):
            step(X)
            predict(X)
            step(X[:2])  # another number of rows
    assert step.last.index == 10


@pytest.mark.parametrize("options", [{}, {"has_aux": True}, {"accumulate": 3}, {"clip_norm": 0.1}])
def test_quick_calls_give_the_same_bits(options):
    quick, guarded = trained(**options), trained(**options)
    guarded._quick_steps.find = lambda: never
    for number in range(300):  # beyond the rows of numbers that are known at once
        batch = X[: 1 + number % 4]
        found, expected = quick(batch), guarded(batch)
        if options.get("has_aux"):
            (found, aux), (expected, other) = found, expected
            np.testing.assert_array_equal(aux["x"], other["x"])
        assert type(found) is float
        assert found == expected
        assert quick.last == guarded.last
        assert quick.last.index == number
    assert is_quick(quick)
    assert quick.fingerprint() == guarded.fingerprint()
    assert not is_quick(guarded)


def test_equal_settings_and_other_ones(monkeypatch):
    step, twin = trained(), trained()
    twin._quick_steps.find = lambda: never
    for rate in (0.25, float("0.25"), 0.5, 0.5):
        for each in (step, twin):
            each.optimizer.lr = rate
            each(X)
            each(X)
        assert step.last.learning_rate == rate
        assert step.fingerprint() == twin.fingerprint()
        with only_quickly(monkeypatch, wg.TrainStep):
            found = step(X)
        assert found == twin(X)


@contextlib.contextmanager
def held(step, name, value):
    guard = step._engine.guard
    before = getattr(guard, name)
    setattr(guard, name, value)
    yield
    setattr(guard, name, before)


@contextlib.contextmanager
def member(container, value):
    container.add(value)
    yield
    container.discard(value)


@contextlib.contextmanager
def long_program(step):
    entry = step._engine.programs[True].gateable
    words = entry._words
    before = words.copy()
    entry.memory.capacity = None
    entry.release(long=True)
    yield
    words[:] = before


@contextlib.contextmanager
def shown(step):
    step.model  # noqa: B018
    yield
    step._engine.shown.look()


HINDRANCES = {
    "a change": lambda step: held(step, "changing", (1, "another thread")),
    "a read": lambda step: held(step, "reading", 1),
    "a commit": lambda step: held(step, "pending", lambda: None),
    "a thread that waits": lambda step: member(step._engine.guard.waiting, (1, object())),
    "a recording": lambda step: member(recording_threads, 1),
    "eager mode": lambda step: wg.eager(),
    "a tree that was shown": shown,
}
OF_STEPS = {
    "a long program": long_program,
}


@pytest.mark.parametrize("hindrance", HINDRANCES | OF_STEPS)
def test_nothing_happens_while_something_is_under_way(hindrance):
    step = trained()
    predict = step.bind(lambda m, x: x @ m["w"])
    step(X), predict(X)
    before = step.fingerprint()
    assert step._quick(X) is not NotImplemented
    changed = step.fingerprint()
    assert changed != before
    quick, bound = step._quick, predict._quick
    assert bound(X) is not NotImplemented
    with (HINDRANCES | OF_STEPS)[hindrance](step):
        assert quick(X) is NotImplemented
        assert (bound(X) is NotImplemented) == (hindrance in HINDRANCES)
    assert step.fingerprint() == changed
    assert step.last.index == 1
    assert quick(X) is not NotImplemented
    assert step.last.index == 2


CHANGES = {
    "a rate": lambda step: setattr(step.optimizer, "lr", 0.125),
    "a hidden setting": lambda step: vars(step.optimizer).update(betas=(0.5, 0.5)),
    "a limit": lambda step: setattr(step, "clip_norm", 0.01),
    "a model": lambda step: setattr(step, "model", {"w": np.zeros(3)}),
    "an epoch": lambda step: setattr(step, "epoch", 3),
    "a state": lambda step: step.load_state_dict(step.state_dict()),
    "a run": lambda step: step.run(X, batch_size=2),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_by_the_next_call(change, monkeypatch):
    step, twin = (trained(clip_norm=0.5) for _ in range(2))
    for _ in range(3):
        step(X), twin(X)
    quick = step._quick
    for each in (step, twin):
        CHANGES[change](each)
        each(X) if each is step else each._call_guarded((X,), {})
    assert step.last == twin.last
    assert step.fingerprint() == twin.fingerprint()
    with only_quickly(monkeypatch, wg.TrainStep):
        step(X)
    assert quick is not never


def test_an_epoch_that_was_interrupted_ends_with_a_call():
    step = trained()
    step(X)
    data = X.copy()
    data[3] = np.nan
    with pytest.raises(wg.errors.NonFiniteError):
        step.run(data, batch_size=1)
    assert step.state_dict()["unfinished"]["epoch"]["batches"] == 3
    step(X)
    assert "unfinished" not in step.state_dict()
    assert is_quick(step)


WORK = queue.SimpleQueue()  # in which nobody looks for captured values


class Calling:
    """An attribute that makes another call of a step when it is read."""

    def __get__(self, owner, kind):
        if owner is None:
            return self
        if not WORK.empty():
            WORK.get()()
        return owner.__dict__["x"]

    def __set__(self, owner, value):
        owner.__dict__["x"] = value


@dataclass
class Batch:
    x: np.ndarray


Batch.x = Calling()


def test_a_call_by_code_that_looks_at_the_arguments(monkeypatch):
    def loss(model, batch):
        return wg.mean((batch.x @ model["w"] - 1.0) ** 2)

    def trained():
        rate = wg.optim.Cosine(0.3, 400)
        return wg.TrainStep(loss, {"w": np.ones(3)}, wg.optim.SGD(rate), threads=1)

    step, twin = trained(), trained()
    batch, other = Batch(X), Batch(X[:2])
    for each in (step, twin):
        each(batch), each(other), each(batch)
    with only_quickly(monkeypatch, wg.TrainStep):
        step(batch)
    twin(batch)
    inner = []
    WORK.put(lambda: inner.append(step(other)))
    outer = step(batch)
    assert [*inner, outer] == [twin(other), twin(batch)]
    assert step.last == twin.last
    assert step.fingerprint() == twin.fingerprint()


def test_a_bound_function_that_lets_others_run_is_noted():
    step = trained()
    predict = step.bind(lambda m, x: x @ m["w"])
    predict(X)
    seen, programs = [], predict._programs
    entry = programs.entry

    def looking(*args):
        seen.append(step._engine.guard.reading)
        return entry(*args)

    programs.entry, predict._quick = looking, never
    predict(X)
    assert seen == [threading.get_ident()]
    assert step._engine.guard.reading == 0


@pytest.fixture
def switching():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switching")
def test_no_quick_call_is_lost():
    step = make(threads=1)
    predict = step.bind(lambda model, x: x * model["w"])
    step(ROWS), predict(np.ones(3))
    errors, calls = [], 2000

    def train():
        for _ in range(calls):
            step(ROWS)

    def look():
        for number in range(calls):
            found = predict(np.ones(3))
            if len(set(found.tolist())) != 1:
                errors.append(found)
            if number % 50 == 0:
                require_whole(step.state_dict())

    threads = [threading.Thread(target=work) for work in (train, train, look, look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert not errors
    assert require_whole(step.state_dict()) == 2 * calls + 1
    assert step.last.index == 2 * calls


def test_a_handler_may_call_between_calls():
    """Whether it interrupts a call or comes between two: each call is made or refused."""
    step, made, refused = make(threads=1), [], []
    step(ROWS)

    def handler(*_):
        require_whole(step.state_dict())
        try:
            step(ROWS)
            made.append(1)
        except RuntimeError:
            refused.append(1)

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    calls = 1
    try:
        while len(made) < 50:
            step(ROWS)
            calls += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert require_whole(step.state_dict()) == calls + len(made)


def test_a_call_that_is_not_finite_is_refused_as_ever():
    step = trained()
    step(X), step(X)
    before = step.fingerprint()
    bad = X.copy()
    bad[1, 2] = np.inf
    with pytest.raises(wg.errors.NonFiniteError, match="the loss"):
        step(bad)
    assert step.fingerprint() == before
    step(X)
    assert step.last.index == 2


@pytest.mark.parametrize("has_aux", [False, True])
def test_references_are_counted(has_aux):
    step = trained(has_aux=has_aux)
    for _ in range(3):
        found = step(X)
    noted = step._engine.noted
    if has_aux:
        counts = [sys.getrefcount(x) for x in (found, found[1], found[1]["x"])]
        assert counts == [4, 4, 4]  # the loop has two of them, and the call one
    row, report = noted[0], noted[1]
    before = sys.getrefcount(row), sys.getrefcount(report), sys.getrefcount(step._engine.live)
    step._quick(np.ones((4, 4)))  # refused
    assert (
        sys.getrefcount(row),
        sys.getrefcount(report),
        sys.getrefcount(step._engine.live),
    ) == before
    step(X)
    assert sys.getrefcount(report) == 2
    assert sys.getrefcount(row) == 3  # and the list of rows
    blocks = []
    for _ in range(3):
        gc.collect()
        blocks.append(sys.getallocatedblocks())
        for _ in range(100):
            step(X)
    assert blocks[2] - blocks[1] < 50


def test_a_slow_first_call_is_not_the_last_word(monkeypatch):
    """It was cold, or another process had the CPU; calls are quick as soon as one was short."""
    monkeypatch.setattr(executable, "LONG", 0)
    step = trained()
    predict = step.bind(lambda m, x: x @ m["w"])
    step(X), predict(X)
    assert not is_quick(step)
    assert not is_quick(predict)
    for _ in range(100):
        step(X), predict(X)
    assert is_quick(step)
    assert is_quick(predict)


def test_a_short_call_of_a_smaller_batch_is_no_sign(monkeypatch):
    """A program that took long lets others run, whatever smaller batches take."""
    monkeypatch.setattr(executable, "LONG", 0)
    step = trained()
    step(X)
    for _ in range(20):
        step(X[:2])
    assert step._engine.programs[True]._latest._entry.releases
    assert not is_quick(step)
    for _ in range(100):
        step(X)
    assert is_quick(step)


def test_gates_are_few():
    step = wg.TrainStep(lambda w, x: wg.sum(x) * w, np.ones(()), wg.optim.SGD(0.0), threads=1)
    predict = step.bind(lambda w, x: x * w)
    for n in range(1, 9):
        for _ in range(2):
            step(np.ones((2,) * n))
            predict(np.ones((2,) * n))
    assert len(step._quick_steps._gates) <= 4
    assert len(predict._quick_calls._gates) <= 4
