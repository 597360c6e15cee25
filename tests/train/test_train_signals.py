"""Handlers of signals, callbacks and interruptions: a step is whole whenever Python runs."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from train.witness import ROWS, make, require_whole
from wengert.runtime import native_runs
from wengert.train import guard
from wengert.train.bound_function import BoundFunction

TRAIN = os.path.dirname(guard.__file__)
AT_LOCKS = {each._call_guarded.__code__ for each in (wg.TrainStep, BoundFunction)}
K = 4  # divides 1 exactly


class AtLine:
    """Do something before the n-th line that Python runs in wengert.train. Left out are lines at
    locks, some of which no signal can reach: handlers run behind calls and at the ends of loops.
    """

    def __init__(self, number, work):
        self.number, self.work, self.seen = number, work, 0

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self._trace)

    def __exit__(self, *_):
        sys.settrace(self.before)

    def _trace(self, frame, event, _):
        code, file = frame.f_code, frame.f_code.co_filename
        if not file.startswith(TRAIN) or file == guard.__file__ or code in AT_LOCKS:
            return None if event == "call" else self._trace
        if event == "line":
            self.seen += 1
            if self.seen == self.number:
                self.work()
        return self._trace


def at_every_line(prepare, act, work, stride=1):
    """Call `act(step)` once for every line of it, with work(step) before that; yields steps."""
    number = 1
    while True:
        step = prepare()
        at = AtLine(number, lambda step=step: work(step))
        with at, contextlib.suppress(KeyboardInterrupt):
            act(step)
        yield step
        if at.seen < number:
            return
        number += stride


@cache
def made(accumulate, compiled):
    """A step whose programs are compiled, a state to begin with, and one to load."""
    step, states = make(accumulate, compiled=compiled), []
    for calls in (accumulate + 1, 3 * accumulate):
        for _ in range(calls):
            step(ROWS[:4])
        states.append(step.state_dict())
    return step, *states


def prepared(accumulate=1, compiled=True):
    step, first, _ = made(accumulate, compiled)
    step.load_state_dict(first)
    return step


def other(accumulate):
    return made(accumulate, True)[2]


ACTS = {
    "call": lambda step: step(ROWS),
    "run": lambda step: step.run(ROWS, batch_size=8, epochs=2),
    "load": lambda step: step.load_state_dict(other(step._engine.plan.accumulate)),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("accumulate", [1, K])
@pytest.mark.parametrize("compiled", [True, False])
def test_what_a_handler_reads_is_whole(act, accumulate, compiled):
    read = []

    def look(step):
        state = step.state_dict()
        read.append(require_whole(state, accumulate))
        again = made(accumulate, not compiled)[0]
        again.load_state_dict(state)
        assert again.fingerprint() == step.fingerprint()

    stride = (13 if compiled else 211) if act == "run" else 3
    steps = at_every_line(lambda: prepared(accumulate, compiled), ACTS[act], look, stride)
    ended = {(require_whole(step.state_dict(), accumulate), step.fingerprint()) for step in steps}
    assert len(ended) == 1  # looking changes nothing
    assert len(set(read)) > 1


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_handler_just_before_machine_code(interrupted, monkeypatch):
    """It sees what was before; the steps that are taken then are counted all the same."""
    alone = prepared()
    ACTS["run"](alone)
    expected, epoch = alone.fingerprint(), alone.epoch
    step, run = prepared(), native_runs.CallLoop.run

    def read_and_run(self, sorting):
        step.state_dict()
        run(self, sorting)
        if interrupted:
            raise KeyboardInterrupt

    monkeypatch.setattr(native_runs.CallLoop, "run", read_and_run)
    with contextlib.suppress(KeyboardInterrupt):
        ACTS["run"](step)
    monkeypatch.undo()
    assert (step.fingerprint(), step.epoch) == (expected, epoch)


def interrupt(_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("accumulate", [1, K])
@pytest.mark.parametrize("compiled", [True, False])
def test_what_is_interrupted_is_done_or_not(act, accumulate, compiled):
    found = set()
    stride = (13 if compiled else 211) if act == "run" else 3
    for step in at_every_line(lambda: prepared(accumulate, compiled), ACTS[act], interrupt, stride):
        found.add(require_whole(step.state_dict(), accumulate))
        before = step.state_dict()["counts"]["calls"]
        step(ROWS)
        assert require_whole(step.state_dict(), accumulate) == before + 1
    assert len(found) > 1


def test_interrupted_assignments_are_done_or_not():
    def assign(step):
        step.model = {"w": np.full(3, 7.0), "v": np.full(2, 7, np.float32)}

    def before():
        step = prepared()
        step.model = {"w": np.zeros(3), "v": np.zeros(2, np.float32)}
        return step

    for step in at_every_line(before, assign, interrupt):
        step.fingerprint()  # what was begun is done
        assert {x for leaf in wg.tree.leaves(step.model) for x in leaf.tolist()} in ({0.0}, {7.0})

    def limit(step):
        step.clip_norm = 0.5

    for step in at_every_line(lambda: make(), limit, interrupt, stride=11):
        before = step.model["w"].copy()
        step(ROWS)
        moved = np.linalg.norm(step.model["w"] - before)
        assert moved == pytest.approx(np.sqrt(3) if step.clip_norm is None else 0.5)


@pytest.mark.parametrize("compiled", [True, False])
def test_signals_at_any_time(compiled):
    step, found = make(compiled=compiled), []
    wanted = 60

    def handler(*_):
        found.append(require_whole(step.state_dict()))

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
    try:
        while len(found) < wanted:
            step.run(ROWS, batch_size=1, epochs=5, shuffle_seed=1)
            step(ROWS)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert found == sorted(found)
    assert found[-1] <= require_whole(step.state_dict())


@pytest.mark.parametrize("act", ["call", "state_dict"])
def test_a_handler_does_not_wait_for_the_call_that_it_interrupts(act, monkeypatch):
    step, depths = prepared(), []
    step._engine.guard.waiting.add(another := (0, object()))  # a thread that came first

    def handler(_):
        depths.append(len(step._engine.guard.waiting))
        assert len(depths) <= guard.TURNS  # a handler that waits would be interrupted, and so on
        require_whole(step.state_dict())

    monkeypatch.setattr(guard.time, "sleep", handler)
    ACTS["call"](step) if act == "call" else step.state_dict()
    step._engine.guard.waiting.discard(another)
    assert set(depths) == {2}
    assert len(depths) == guard.TURNS
    assert not step._engine.guard.waiting


CHANGES = {
    "TrainStep": lambda step: step(ROWS),
    "TrainStep.run": lambda step: step.run(ROWS, batch_size=4),
    "TrainStep.epochs": lambda step: next(step.epochs(ROWS, batch_size=4)),
    "TrainStep.load_state_dict": lambda step: step.load_state_dict(step.state_dict()),
    "TrainStep.model": lambda step: setattr(step, "model", {"w": np.ones(3), "v": np.ones(2)}),
    "TrainStep.state": lambda step: setattr(step, "state", {"seen": np.ones(())}),
    "TrainStep.epoch": lambda step: setattr(step, "epoch", 5),
    "TrainStep.clip_norm": lambda step: setattr(step, "clip_norm", 1.0),
}
READS = {
    "save": lambda step, path: step.save(path),
    "state_dict": lambda step, path: step.state_dict(),
    "fingerprint": lambda step, path: step.fingerprint(),
    "evaluate": lambda step, path: step.evaluate(
        lambda m, x: wg.mean(x) * wg.sum(m["w"]), ROWS, batch_size=64
    ),
    "bind": lambda step, path: step.bind(lambda m, x: x * wg.sum(m["w"]))(np.ones(2)),
    "check": lambda step, path: step.check(ROWS),
    "looking": lambda step, path: (step.last, repr(step), step.epoch, step.optimizer_states),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_inside_a_change_is_refused(change):
    """By the loss, which Python calls while the step is recorded."""
    steps, refused = [], []

    def loss(w, x):
        with pytest.raises(RuntimeError, match=r"called inside TrainStep, .* changed by one call"):
            CHANGES[change](steps[0])
        refused.append(1)
        return wg.mean(x * w)

    steps.append(wg.TrainStep(loss, np.ones(1), wg.optim.SGD(0.1), state=None))
    twin = wg.TrainStep(lambda w, x: wg.mean(x * w), np.ones(1), wg.optim.SGD(0.1))
    assert steps[0](ROWS) == twin(ROWS)
    assert refused
    assert steps[0].fingerprint() == twin.fingerprint()
    assert steps[0](ROWS) == twin(ROWS)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_inside_a_run_or_a_read_is_refused(change):
    step, twin, refused = make(), make(), []

    def handler(*_):
        with pytest.raises(RuntimeError, match=f"^{change}: called inside "):
            CHANGES[change](step)
        refused.append(1)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        for each in (step, twin):
            schedule = each.optimizer["*"]
            if each is step:
                schedule.lr = lambda count: [signal.raise_signal(signal.SIGUSR1), 1.0][1]
            each.run(ROWS, batch_size=16)
        step.evaluate(_raising, ROWS, batch_size=64)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(refused) > 1
    assert require_whole(step.state_dict()) == require_whole(twin.state_dict()) == 4


def _raising(model, x):
    signal.raise_signal(signal.SIGUSR1)
    return wg.mean(x)


@pytest.mark.parametrize("read", READS)
def test_reading_inside_a_change_is_allowed(read, tmp_path):
    step, twin, done, inside = make(), make(), [], []

    def handler(*_):
        if not inside:
            inside.append(1)
            READS[read](step, tmp_path / "step.safetensors")
            done.append(inside.pop())

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        step.optimizer["*"].lr = lambda count: [signal.raise_signal(signal.SIGUSR1), 1.0][1]
        for _ in range(2):
            step.run(ROWS, batch_size=16)
            step(ROWS)
    finally:
        signal.signal(signal.SIGUSR1, before)
    for _ in range(2):
        twin.run(ROWS, batch_size=16)
        twin(ROWS)
    assert len(done) > 4
    assert step.fingerprint() == twin.fingerprint()


def test_a_handler_inside_compiled_code_that_prints(monkeypatch):
    """The callback runs in the middle of a program, and before anything is committed."""
    found = []

    def loss(w, x):
        return wg.mean(wg.debug(x, "x") * w)

    step = wg.TrainStep(loss, np.ones(1), wg.optim.SGD(1.0))

    class Looking(io.StringIO):
        def write(self, text):
            found.append((step.state_dict()["counts"]["calls"], step.model[0]))
            with pytest.raises(RuntimeError, match=r"^TrainStep: called inside TrainStep"):
                step(np.ones(1))
            return super().write(text)

    monkeypatch.setattr(sys, "stdout", Looking())
    for _ in range(3):
        step(np.ones(1))
    assert sorted(set(found)) == [(0, 1.0), (1, 0.0), (2, -1.0)]


def test_a_setting_that_changes_while_it_is_read_is_not_lost():
    """As a handler of a signal may do, or another thread."""

    class Changing(wg.optim.SGD):
        def numbers(self, count):
            found = super().numbers(count)
            if CHANGE:
                self.lr = CHANGE.pop()
            return found

    CHANGE = []
    step = wg.TrainStep(lambda w, x: wg.mean(x * w), np.zeros(1), Changing(1.0))
    CHANGE.append(8.0)
    step(ROWS)
    step(ROWS)
    assert step.last.learning_rate == 8.0


# Going on in the middle of an epoch.


def noisy(model, x, rng):
    return wg.mean((wg.dropout(x, 0.5, rng) @ model["w"]) ** 2)


def trained(accumulate=1, **options):
    model = {"w": np.linspace(0.5, 1, 3)}
    return wg.TrainStep(noisy, model, wg.optim.Adam(0.01), accumulate=accumulate, **options)


DATA = np.random.default_rng(0).standard_normal((40, 3))
MANY = np.tile(DATA, (10, *[1] * (DATA.ndim - 1)))


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("compiled", [True, False])
def test_an_interrupted_epoch_goes_on(seed, accumulate, compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(native_runs, "LIMIT", 0)  # Python comes back after every step
    path = tmp_path / "step.safetensors"
    options = {"batch_size": 3, "shuffle_seed": seed}
    first, again = (trained(accumulate, compiled=compiled) for _ in range(2))
    begin, kinds = first.state_dict(), set()
    first.run(DATA, epochs=3, **options)
    expected = first.fingerprint()

    def save(step):
        step.save(path)
        raise KeyboardInterrupt

    def from_the_beginning():
        first.load_state_dict(begin)
        return first

    for step in at_every_line(
        from_the_beginning,
        lambda step: step.run(DATA, epochs=3, **options),
        save,
        stride=101 if compiled else 997,
    ):
        if step.epoch == 3:
            continue
        again.load(path)
        for each in (again, step):  # in another process, or after Ctrl-C in this one
            kinds.add(each.state_dict().get("unfinished", {}).get("epoch", {}).get("batches"))
            each.run(DATA, epochs=3 - each.epoch, **options)
            assert each.fingerprint() == expected
            assert "unfinished" not in each.state_dict() or accumulate > 1
    assert len(kinds) > 4


def interrupted(batches):
    """A step that was interrupted after so many batches of its epoch."""
    step = trained()
    data = MANY.copy()
    data[batches * 40 + 1] = np.nan  # a row that is none of those that data are known by
    with pytest.raises(wg.errors.NonFiniteError):
        step.run(data, batch_size=40)
    return step


def test_other_data_begin_another_epoch():
    for change in ({"batch_size": 50}, {"batch_size": 40, "shuffle_seed": 1}):
        assert len(interrupted(3).run(MANY, **change)) == 400 // change["batch_size"]
    assert len(interrupted(3).run(MANY[:360], batch_size=40)) == 9
    assert len(interrupted(3).run(MANY * 1.5, batch_size=40)) == 10
    assert len(interrupted(3).run(MANY.copy(), batch_size=40)) == 7
    assert len(interrupted(0).run(MANY, batch_size=40)) == 10


@pytest.mark.parametrize(
    "leave", [lambda step: setattr(step, "epoch", 0), lambda step: step(DATA[:4])]
)
def test_an_interrupted_epoch_can_be_left(leave):
    step = interrupted(3)
    leave(step)
    assert "unfinished" not in step.state_dict()
    assert len(step.run(MANY, batch_size=40)) == 10


def test_an_epoch_that_was_interrupted_at_its_end():
    step, whole = trained(), trained()
    whole.run(DATA, batch_size=4, epochs=2)
    step.run(DATA, batch_size=4)
    state = step.state_dict()
    state["counts"]["epoch"] = 0  # as after the last batch, and before the epoch was counted
    state["unfinished"] = {
        "epoch": {
            "batches": 10,
            "rows": 40,
            "batch_size": 4,
            "shuffle_seed": None,
            "data": zlib.crc32(DATA.tobytes()),
        }
    }
    step.load_state_dict(state)
    first, second = step.epochs(DATA, batch_size=4, epochs=2)
    assert len(first.history) == 0
    assert np.isnan(first.loss)
    assert len(second.history) == 10
    assert step.fingerprint() == whole.fingerprint()


RECIPE = Path(__file__).parent / "preempted.py"


def test_a_process_that_is_told_to_end(tmp_path):
    """Ended by SIGTERM again and again, it ends with the bits of one that was left alone."""
    alone = subprocess.run(
        [sys.executable, RECIPE, tmp_path / "alone"], capture_output=True, text=True, check=True
    )
    path, ended = tmp_path / "step.safetensors", 0
    for _ in range(100):
        process = subprocess.Popen(
            [sys.executable, RECIPE, path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "begun\n"
        for _ in range(ended):  # later and later
            process.stdout.readline()
        if ended < 5:
            process.send_signal(signal.SIGTERM)
        # Not `communicate`, which would miss the lines that `readline` has read ahead.
        out, errors = process.stdout.read(), process.stderr.read()
        process.wait(timeout=120)
        # One that ends between the call of `epochs` and its loop has used none.
        assert not errors or "UnusedWarning" in errors
        if process.returncode == 0:
            break
        assert process.returncode == 3
        ended += 1
    assert ended == 5
    assert out.splitlines()[-1] == alone.stdout.splitlines()[-1]
