"""Runs inside machine code: the same bits as their steps, whatever the step consists of."""

import weakref

import numpy as np
import pytest

import wengert as wg
from train.models import OPTIMIZERS, data, net, squared_error
from train.run_by_steps import by_steps
from train.test_train_options import noisy
from wengert.runtime import native_runs
from wengert.train.engine import Engine
from wengert.train.runs import run as whole_runs

WAYS = OPTIMIZERS | {
    "scheduled": lambda: wg.optim.Adam(wg.optim.Cosine(0.01, 20, min_lr=1e-4)),
    "plateau": lambda: wg.optim.SGD(wg.optim.ReduceOnPlateau(0.1)),
    "function": lambda: wg.optim.SGD(lambda count: 0.1 * 0.9**count),
    "groups": lambda: {"*.b": wg.optim.SGD(0.1), "layers.0.*": None, "*": wg.optim.Adam(0.01)},
}


class Python:
    """Counts the steps that Python takes."""

    def __init__(self, monkeypatch):
        self.steps = 0
        call = Engine.call

        def counted(engine, batch):
            self.steps += 1
            return call(engine, batch)

        monkeypatch.setattr(Engine, "call", counted)


@pytest.fixture
def python(monkeypatch):
    return Python(monkeypatch)


def require_equal(make, arrays, size, python, most, **options):
    """A run and its steps end with equal bits, and Python takes few of its steps."""
    run, steps = make(), make()
    expected = by_steps(steps, arrays, size, **options)
    python.steps = 0
    seed = options.pop("seed", None)
    history = run.run(*arrays, batch_size=size, shuffle_seed=seed, **options)
    assert python.steps <= most
    assert len(history) == len(expected)
    losses, norms, rates, skipped = zip(*expected, strict=True)
    np.testing.assert_array_equal(history.loss, losses)
    np.testing.assert_array_equal(history.grad_norm, norms)
    np.testing.assert_array_equal(history.skipped, skipped)
    given = history.learning_rate
    if isinstance(given, dict):
        given = [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]
        assert given == list(rates)
    else:
        np.testing.assert_array_equal(given, rates)
    assert run.last == steps.last or np.isnan(run.last.loss)
    assert run.fingerprint() == steps.fingerprint()
    return run


@pytest.mark.parametrize("name", WAYS)
def test_every_optimizer(name, python):
    x, y = data(rows=50)

    def make():
        return wg.TrainStep(squared_error, net(), WAYS[name](), clip_norm=0.5)

    # The first step compiles; the last batch of each epoch is smaller.
    require_equal(make, (x, y), 4, python, 3, epochs=2, seed=3)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("drop_last", [False, True])
def test_random_numbers_accumulation_and_threads(threads, accumulate, seed, drop_last, python):
    x, y = data(rows=46, dtype=np.float32)

    def make():
        return wg.TrainStep(
            noisy,
            net(dtype=np.float32),
            wg.optim.Adam(wg.optim.LinearWarmup(0.01, 5)),
            accumulate=accumulate,
            threads=threads,
        )

    most = accumulate + (0 if drop_last else 3)
    options = {"epochs": 3, "seed": seed, "drop_last": drop_last}
    require_equal(make, (x, y), 4, python, most, **options)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_carried_state_and_aux(accumulate, python):
    def loss(w, state, x, label):
        mean = 0.9 * state["mean"] + 0.1 * wg.mean(x, axis=0)
        value = wg.mean(((x - mean) @ w - label) ** 2)
        return value, {"mean": mean, "count": state["count"] + 1}, {"rows": x, "mean": mean}

    def make():
        state = {"mean": np.zeros(3), "count": np.array(0)}
        optimizer = wg.optim.Adam(0.01)
        options = {"state": state, "has_aux": True, "accumulate": accumulate}
        return wg.TrainStep(loss, np.ones(3), optimizer, **options)

    x = data(rows=41)[0]
    label = np.arange(41, dtype=np.int32)
    step = require_equal(make, (x, label), 4, python, accumulate + 2, epochs=2, seed=0)
    assert step.state["count"] == 22


@pytest.mark.parametrize("limit", [0, 10**6])
def test_python_may_come_back_after_any_step(limit, python, monkeypatch):
    monkeypatch.setattr(native_runs, "LIMIT", limit)
    x, y = data(rows=50)

    def make():
        return wg.TrainStep(noisy, net(), wg.optim.Adam(0.01), accumulate=2)

    require_equal(make, (x, y), 4, python, 4 + 6, epochs=2, seed=1)


def test_more_steps_than_the_table_has_rows(python):
    x, y = data(rows=1400)

    def make():
        return wg.TrainStep(squared_error, net(), wg.optim.Adam(wg.optim.Exponential(0.01, 0.99)))

    require_equal(make, (x, y), 1, python, 1, seed=5)


ROWS = {
    "columns of a wider array": lambda x: np.repeat(x, 2, axis=1)[:, :3],
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "from the last to the first": lambda x: x[::-1],
    "one row for all": lambda x: np.broadcast_to(x[0], x.shape),
    "bytes": lambda x: x.astype(np.int8),
    "halves of words": lambda x: x[:, :1].astype(np.float32),
    "long rows": lambda x: np.repeat(x, 40, axis=1),
    "no axes": lambda x: x[:, 0],
    "unaligned": lambda x: _unaligned(x),
    "empty rows": lambda x: x[:, :0],
    "bools": lambda x: x > 0,
}


def _unaligned(x):
    found = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


@pytest.mark.parametrize("seed", [None, 4])
@pytest.mark.parametrize("kind", ROWS)
def test_rows_of_every_kind(kind, seed, python):
    x = ROWS[kind](data(rows=42)[0])

    def loss(w, x):
        return wg.mean((w + wg.sum(x.reshape(x.shape[0], -1) * 1.0, axis=1)) ** 2)

    def make():
        return wg.TrainStep(loss, np.zeros(1), wg.optim.SGD(0.01, momentum=0.9))

    require_equal(make, (x,), 5, python, 2, seed=seed)


@pytest.mark.parametrize("seed", [None, 4])
@pytest.mark.parametrize("kind", [">f8", "float16", "inner strides"])
def test_rows_that_python_prepares(kind, seed, python):
    x, y = data(rows=42)
    x = np.repeat(x, 2, axis=1)[:, ::2] if kind == "inner strides" else x.astype(kind)

    def make():
        return wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1))

    require_equal(make, (x, y), 5, python, 9, seed=seed)


def test_trees_with_a_row_twice(python):
    x, y = data(rows=42)
    batch = {"a": x, "pair": [x, y], "name": "static"}

    def loss(model, batch):
        return squared_error(model, batch["a"] - 0.5 * batch["pair"][0], batch["pair"][1])

    def make():
        return wg.TrainStep(loss, net(), wg.optim.Adam(0.01))

    require_equal(make, (batch,), 5, python, 2, seed=1)


def test_live_parameters_of_another_step(python):
    def loss(w, x, other):
        return wg.mean((x @ w - x @ other["w"]) ** 2)

    def make():
        return wg.TrainStep(loss, np.zeros(3), wg.optim.SGD(0.1))

    teacher = wg.TrainStep(lambda m, x: wg.sum(m["w"]), {"w": np.arange(3.0)}, wg.optim.SGD(0.1))
    x = data(rows=40)[0]
    run, steps = make(), make()
    for _ in range(2):
        python.steps = 0
        run.run(x, teacher.model, batch_size=4)
        assert python.steps <= 1
        for begin in range(0, 40, 4):
            steps(x[begin : begin + 4], teacher.model)
        assert run.fingerprint() == steps.fingerprint()
        teacher(x)
        run.model = steps.model = np.zeros(3)


def test_live_parameters_of_the_same_step_are_refused():
    step = wg.TrainStep(lambda w, x, v: wg.mean(x @ w - v), np.zeros(3), wg.optim.SGD(0.1))
    x = data(rows=40)[0]
    step.run(x, np.zeros(40), batch_size=4)
    before = step.fingerprint()
    with pytest.raises(ValueError, match="live array of this step"):
        step.run(x, step.model, batch_size=4)
    assert step.fingerprint() == before


def test_programs_for_one_size_of_batches(python):
    def loss(w, h, x):
        h = np.tanh(x @ w + h)
        return wg.mean(h**2), wg.stop_gradient(h)

    def make():
        return wg.TrainStep(loss, np.eye(3), wg.optim.SGD(0.1), state=np.zeros((4, 3)))

    require_equal(make, (data(rows=40)[0],), 4, python, 1, epochs=2)


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("seed", [None, 2])
def test_skipped_steps(accumulate, seed, python):
    x, y = data(rows=80)
    x[[17, 41, 42, 79]] = np.nan

    def make():
        optimizer = wg.optim.Adam(wg.optim.Exponential(0.01, 0.9))
        options = {"accumulate": accumulate, "nonfinite": "skip"}
        return wg.TrainStep(squared_error, net(), optimizer, **options)

    require_equal(make, (x, y), 4, python, accumulate, epochs=2, seed=seed)


@pytest.mark.parametrize("accumulate", [1, 3])
def test_a_step_that_fails(accumulate):
    x, y = data(rows=80)
    x[57, 1] = np.nan

    def make():
        return wg.TrainStep(squared_error, net(), wg.optim.Adam(0.01), accumulate=accumulate)

    run, steps = make(), make()
    with pytest.raises(wg.errors.NonFiniteError) as expected:
        by_steps(steps, (x, y), 4)
    with pytest.raises(wg.errors.NonFiniteError) as found:
        run.run(x, y, batch_size=4)
    assert str(found.value) == str(expected.value)
    assert run.last == steps.last
    assert run.last.index == 13
    assert run.fingerprint() == steps.fingerprint()
    np.testing.assert_array_equal(run.gradients.layers[0].w, steps.gradients.layers[0].w)


def test_an_index_out_of_range():
    rows = np.arange(40) % 5
    rows[33] = 7

    def make():
        return wg.TrainStep(lambda w, i: wg.mean(w[i] ** 2), np.ones(5), wg.optim.SGD(0.1))

    run, steps = make(), make()
    with pytest.raises(IndexError) as expected:
        by_steps(steps, (rows,), 4)
    with pytest.raises(IndexError) as found:
        run.run(rows, batch_size=4)
    assert str(found.value) == str(expected.value)
    assert run.fingerprint() == steps.fingerprint()
    assert run.last.index == 7


def test_a_schedule_that_fails_at_its_step():
    def rate(count):
        return 0.1 if count < 12 else -1.0

    x, y = data(rows=80)
    for schedule in (rate, wg.optim.Lambda(1.0, rate)):
        run, steps = (wg.TrainStep(squared_error, net(), wg.optim.SGD(schedule)) for _ in range(2))
        with pytest.raises(wg.errors.OptimError):
            by_steps(steps, (x, y), 4)
        with pytest.raises(wg.errors.OptimError):
            run.run(x, y, batch_size=4)
        assert run.last.index == steps.last.index == 11
        assert run.fingerprint() == steps.fingerprint()


def test_settings_change_between_epochs(python):
    x, y = data(rows=40)

    def train(step, batches):
        for epoch in range(3):
            batches()
            if epoch == 0:
                step.optimizer.learning_rate = 0.02
            else:
                step.clip_norm = 0.1  # another program

    run, steps = (wg.TrainStep(squared_error, net(), wg.optim.Adam(0.01)) for _ in range(2))
    train(steps, lambda: by_steps(steps, (x, y), 4))
    python.steps = 0
    epochs = run.epochs(x, y, batch_size=4, epochs=3)
    train(run, lambda: next(epochs))
    assert python.steps == 2
    assert run.fingerprint() == steps.fingerprint()


def test_steps_between_epochs_use_the_same_memory(python):
    x, y = data(rows=40)
    run, steps = (wg.TrainStep(squared_error, net(), wg.optim.Adam(0.01)) for _ in range(2))
    for _ in run.epochs(x, y, batch_size=4, epochs=3, shuffle_seed=0):
        run(x, y)
    for _ in range(3):
        by_steps(steps, (x, y), 4, seed=0)
        steps(x, y)
    assert run.fingerprint() == steps.fingerprint()


def test_runs_op_by_op(python):
    x, y = data(rows=40)
    compiled = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1))
    compiled.run(x, y, batch_size=4)
    python.steps = 0
    eager = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1), compiled=False)
    eager.run(x, y, batch_size=4)
    with wg.eager():
        again = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1))
        again.run(x, y, batch_size=4)
    assert python.steps == 20
    for other in (eager, again):
        np.testing.assert_allclose(other.model.layers[0].w, compiled.model.layers[0].w, rtol=1e-10)


def test_values_are_shown_in_runs(capfd, python):
    def loss(w, x):
        return wg.mean(wg.debug(x @ w, "product"))

    step = wg.TrainStep(loss, np.ones(3), wg.optim.SGD(0.1))
    step.run(data(rows=40)[0], batch_size=4)
    assert sum("product" in line for line in "".join(capfd.readouterr()).splitlines()) == 10


def test_a_second_run_needs_no_python_at_all(python):
    traces = []

    def loss(model, x, y):
        traces.append(1)
        return squared_error(model, x, y)

    x, y = data(rows=40)
    step = wg.TrainStep(loss, net(), wg.optim.Adam(0.01))
    step.run(x, y, batch_size=4)
    python.steps = 0
    for seed in (None, 1, 2):
        step.run(x, y, batch_size=4, epochs=5, shuffle_seed=seed)
    assert python.steps == 0
    step.run(x, y, batch_size=5, epochs=5)  # another size, the same program
    assert python.steps == 1
    assert len(traces) == 1


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("rows", [40, 42])
def test_all_epochs_of_a_run_are_one_call(rows, seed, python, monkeypatch):
    """The first batch and the first smaller one are Python's."""
    calls, take = [], native_runs.CallLoop.run
    monkeypatch.setattr(native_runs.CallLoop, "run", lambda *args: calls.append(1) or take(*args))
    monkeypatch.setattr(native_runs, "LIMIT", 10**12)  # however slow the machine is
    monkeypatch.setattr(whole_runs, "PATIENCE", 1000.0)
    x, y = data(rows=rows)
    smaller = rows % 4 > 0

    def make():
        return wg.TrainStep(squared_error, net(), wg.optim.Adam(wg.optim.Exponential(0.01, 0.99)))

    step = require_equal(make, (x, y), 4, python, 1 + smaller, epochs=9, seed=seed)
    assert len(calls) == 1 + smaller
    python.steps = 0
    calls.clear()
    history = step.run(x, y, batch_size=4, epochs=7, shuffle_seed=seed)
    assert len(history) == 7 * (10 + smaller)
    assert (python.steps, len(calls), step.epoch) == (0, 1, 16)


def test_short_runs_need_no_python_either(python):
    x, y = data(rows=16)
    run, steps = (wg.TrainStep(squared_error, net(), wg.optim.Adam(0.01)) for _ in range(2))
    for expected in (1, 0, 0):  # Python takes the first step of all
        python.steps = 0
        run.run(x, y, batch_size=4)
        assert python.steps == expected
        by_steps(steps, (x, y), 4)
        assert run.fingerprint() == steps.fingerprint()


@pytest.mark.parametrize("seed", [None, 3])
def test_smaller_batches_of_several_sizes(seed, python):
    step, steps = (wg.TrainStep(squared_error, net(), wg.optim.Adam(0.01)) for _ in range(2))
    for rows in (41, 43, 40, 41, 43, 42):
        x, y = data(rows=rows)
        by_steps(steps, (x, y), 4, epochs=2, seed=seed)
        python.steps = 0
        step.run(x, y, batch_size=4, epochs=2, shuffle_seed=seed)
        taken = python.steps
        assert step(x[:4], y[:4]) == steps(x[:4], y[:4])  # in the same memory
        assert step(x[:3], y[:3]) == steps(x[:3], y[:3])
        assert step.fingerprint() == steps.fingerprint()
    assert taken == 1  # 42 rows are new


def test_a_step_does_not_keep_the_data_of_its_runs():
    step = wg.TrainStep(squared_error, net(), wg.optim.Adam(0.01))
    for seed in (None, 3, None):
        x, y = data(rows=42)
        step.run(x, y, batch_size=4, epochs=2, shuffle_seed=seed)
        kept = weakref.ref(x)
        del x
        assert kept() is None


def test_a_rate_may_depend_on_the_epoch():
    x, y = data(rows=40)
    made = []

    def rate(_):
        return 0.1 / (1 + made[-1].epoch) if made else 0.1

    run = wg.TrainStep(squared_error, net(), wg.optim.SGD(rate))
    made.append(run)
    history = run.run(x, y, batch_size=4, epochs=3)
    steps = wg.TrainStep(squared_error, net(), wg.optim.SGD(rate))
    made.append(steps)
    rates = [rate for _, _, rate, _ in by_steps(steps, (x, y), 4, epochs=3)]
    assert run.fingerprint() == steps.fingerprint()
    assert list(history.learning_rate) == rates == [0.1] * 10 + [0.05] * 10 + [0.1 / 3] * 10


def test_epochs_of_two_loops_in_turns(python):
    """They use one loop and one place for orders."""
    x, y = data(rows=40)
    run, steps = (wg.TrainStep(squared_error, net(), wg.optim.Adam(0.01)) for _ in range(2))
    loops = [run.epochs(x[k:], y[k:], batch_size=4, epochs=3, shuffle_seed=k) for k in (0, 4)]
    for _ in range(3):
        for k, loop in zip((0, 4), loops, strict=True):
            next(loop)
            by_steps(steps, (x[k:], y[k:]), 4, seed=k)
    assert run.fingerprint() == steps.fingerprint()
