"""wg.sweep: every setting of a grid, and what comes back."""

from __future__ import annotations

import io
import math
import os
import re
from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg
from sweeping.trained import GRID, X, Y, loss, train
from wengert.sweeping.sweep_progress import SweepProgress
from wengert.sweeping.sweep_results import SweepRun


def swept(train, grid, *args, **options):
    return wg.sweep(train, grid, *args, progress=False, **options)


@pytest.fixture(scope="module")
def results():
    return swept(train, GRID)


def test_every_combination_in_order(results):
    assert [dict(run.settings) for run in results] == [
        {"lr": 0.1, "epochs": 1},
        {"lr": 0.1, "epochs": 3},
        {"lr": 0.02, "epochs": 1},
        {"lr": 0.02, "epochs": 3},
    ]


def test_a_run_has_what_train_would_have_returned(results):
    alone = train(0.02, 3)
    assert results[3]["loss"] == alone["loss"]
    assert isinstance(results[3]["history"], wg.train.History)
    np.testing.assert_array_equal(results[3]["history"].loss, alone["history"].loss)
    step = wg.TrainStep(loss, np.zeros(3), wg.optim.SGD(1.0))
    step.load_state_dict(results[3]["step"])  # a step travels as its state
    assert step.fingerprint() == alone["step"].fingerprint()
    assert step.optimizer.lr == 0.02


def test_a_table(results):
    records = results.records()
    assert list(records[0]) == ["lr", "epochs", "loss", "seconds"]
    frame = results.to_pandas()
    assert frame["loss"].tolist() == [run["loss"] for run in results]
    lines = repr(results).splitlines()
    assert lines[0] == "SweepResults(4 runs)"
    assert lines[1].split() == ["lr", "epochs", "loss", "seconds"]
    assert len(lines) == 6
    assert len({len(line) for line in lines[1:]}) == 1


def test_the_best_run(results):
    assert results.best("loss").settings == {"lr": 0.1, "epochs": 3}
    worst = max(results, key=lambda run: run["loss"])
    assert results.best("loss", mode="max") is worst


def test_nan_is_never_the_best():
    values = {0: math.nan, 1: 0.5, 2: 0.75, 3: None, 4: "high"}
    found = swept(lambda n: {"accuracy": values[n]}, {"n": range(5)})
    assert found.best("accuracy").settings == {"n": 2}
    assert found.best("accuracy", "min").settings == {"n": 1}
    found = swept(lambda n: {"loss": math.nan, "accuracy": n}, {"n": [1, 2]})
    with pytest.raises(ValueError, match="no run has a number for 'loss'; it is NaN, or no"):
        found.best("loss")


def test_a_list_of_settings_and_a_number():
    found = swept(lambda a, b=10: a + b, [{"a": 1}, {"a": 2, "b": 3}])
    assert [run["result"] for run in found] == [11, 5]


def test_a_history_is_a_result():
    def fitted(lr):
        step = wg.TrainStep(loss, np.zeros(3), wg.optim.SGD(lr))
        return wg.train.fit(step, (X, Y), 3, 8, validation=(X, Y), progress=False)

    (run,) = swept(fitted, {"lr": [0.1]})
    history = run["history"]
    assert run["validation_loss"] == history.epochs["validation_loss"][history.best_epoch]
    assert run["epoch"] == history.best_epoch


def test_numpy_values_are_given_as_numbers():
    seen = []
    swept(lambda lr: seen.append(lr) or 0.0, {"lr": np.logspace(-1, 0, 2)})
    assert [type(each) for each in seen] == [float, float]


def test_results_belong_to_nobody_else():
    live = np.zeros(2)

    def returns_live(n):
        live[:] = n
        return {"array": live, "number": np.float32(n), "zero": live[0]}

    found = swept(returns_live, {"n": [1, 2]})
    np.testing.assert_array_equal([run["array"] for run in found], [[1, 1], [2, 2]])
    assert [type(found[0][name]) for name in ("number", "zero")] == [float, float]


def test_dataclasses_come_back_as_files_give_them():
    @dataclass
    class Line:
        slope: np.ndarray
        steps: int

    (run,) = swept(lambda n: {"line": Line(np.ones(n), 7)}, {"n": [2]})
    np.testing.assert_array_equal(run["line"]["slope"], [1, 1])
    assert run["line"]["steps"] == 7


def test_seeds():
    found = swept(train, {"lr": [0.1, 0.02]}, seeds=2)
    assert [(run["lr"], run["seed"]) for run in found] == [(0.1, 0), (0.1, 1), (0.02, 0), (0.02, 1)]
    first, _ = found.mean_over()
    both = [found[0]["loss"], found[1]["loss"]]
    assert both[0] != both[1]
    assert first == {
        "lr": 0.1,
        "runs": 2,
        "loss": np.mean(both),
        "loss_std": np.std(both, ddof=1),
    }
    assert [run["seed"] for run in swept(lambda seed: 0, [{}], seeds=[5, 9])] == [5, 9]


def test_a_failure_keeps_its_settings_and_loses_no_other():
    def half(n):
        if n % 2:
            raise ArithmeticError(f"{n} is\nodd")
        return n

    with pytest.warns(wg.errors.SweepWarning, match=r"2 of 4 settings \(n=1: ArithmeticError: 1"):
        found = swept(half, {"n": range(4)})
    assert [run.error for run in found] == [
        None,
        "ArithmeticError: 1 is odd",
        None,
        "ArithmeticError: 3 is odd",
    ]
    assert [run["n"] for run in found.failed] == [1, 3]
    assert 'raise ArithmeticError(f"{n} is' in found.failed[0].traceback
    assert "sweep_call" not in found.failed[0].traceback
    assert found.records()[1] | {"seconds": 0} == {
        "n": 1,
        "seconds": 0,
        "error": "ArithmeticError: 1 is odd",
    }
    assert found.best("result", "min")["n"] == 0


def test_an_exit_is_a_failure():
    with pytest.raises(wg.errors.SweepError, match="SystemExit: 3"):
        swept(lambda n: os.sys.exit(n), {"n": [3]})


def test_threads_of_a_serial_sweep(monkeypatch):
    monkeypatch.setenv("WENGERT_NUM_THREADS", "2")
    asked = lambda n: int(os.environ["WENGERT_NUM_THREADS"])  # noqa: E731
    assert swept(asked, {"n": [0]}, threads=1)[0]["result"] == 1
    assert swept(asked, {"n": [0]})[0]["result"] == 2
    assert os.environ["WENGERT_NUM_THREADS"] == "2"


def test_a_group_is_one_call():
    calls = []

    def together(lr, width):
        calls.append((lr, width))
        return [{"loss": each * width} for each in lr]

    found = swept(together, {"width": [1, 2], "lr": [0.1, 0.2, 0.3]}, group="lr")
    assert calls == [([0.1, 0.2, 0.3], 1), ([0.1, 0.2, 0.3], 2)]
    assert [run["loss"] for run in found] == [0.1, 0.2, 0.3, 0.2, 0.4, 0.6]
    assert found[4].settings == {"width": 2, "lr": 0.2}


def test_of_a_group_that_fails_each_is_tried_alone():
    def together(seed):
        if 1 in seed:
            raise ValueError("one")
        return [{"double": 2 * each} for each in seed]

    with pytest.warns(wg.errors.SweepWarning, match="1 of 3 settings"):
        found = swept(together, [{}], seeds=3, group="seed")
    assert [run.metrics.get("double") for run in found] == [0, None, 4]
    assert found[1].error == "ValueError: one"


def test_a_group_that_fails_only_together_is_told():
    """One by one takes longer, and nobody would know."""

    def together(lr):
        if len(lr) > 1:
            raise ValueError("too many")
        return [{"loss": lr[0]}]

    with pytest.warns(wg.errors.SweepWarning, match="ValueError: too many for a group.* 3 set"):
        found = swept(together, {"lr": [1, 2, 3]}, group="lr")
    assert [run["loss"] for run in found] == [1, 2, 3]


@pytest.mark.parametrize("value", [[{"loss": 1}], {"loss": 1}])
def test_a_group_without_a_list_of_results_is_not_tried_alone(value):
    calls = []

    def together(lr):
        calls.append(lr)
        return value

    with pytest.raises(wg.errors.SweepError, match="for a group of 2; it returns a list"):
        swept(together, {"lr": [1, 2]}, group="lr")
    assert calls == [[1, 2]]


outside = wg.TrainStep(loss, np.zeros(3), wg.optim.SGD(0.1))


def trained_outside(lr):
    outside.optimizer.learning_rate = lr
    return outside(X, Y)


def set_back(lr):
    outside.load_state_dict(BEGUN)
    return trained_outside(lr)


BEGUN = outside.state_dict()


def test_a_step_that_settings_share_is_told():
    grid = {"lr": [0.1, 0.01, 0.2]}
    with pytest.warns(wg.errors.SweepWarning, match="train trained 'outside'.*Make it inside") as w:
        swept(lambda lr: trained_outside(lr), grid)
    assert len(w) == 1


@pytest.mark.filterwarnings("error")
def test_a_step_that_is_set_back_is_no_reason_to_warn():
    found = swept(set_back, {"lr": [0.1, 0.01, 0.2]})
    assert len({run["result"] for run in found}) == 1  # the loss before an update
    swept(lambda n: outside.evaluate(loss, X, Y, batch_size=n), {"n": [2, 4, 5]})


def test_an_ensemble_is_kept_as_its_state():
    members = wg.Ensemble(loss, [np.zeros(3), np.ones(3)], wg.optim.SGD(0.1))
    found = swept(lambda lr: {"loss": members(X, Y).min(), "all": members}, {"lr": [0.1]})
    other = wg.Ensemble(loss, [np.zeros(3)] * 2, wg.optim.SGD(0.1))
    other.load_state_dict(found[0]["all"])
    assert [other.fingerprint(i) for i in range(2)] == [members.fingerprint(i) for i in range(2)]


class Terminal(io.StringIO):
    def isatty(self):
        return True


RUNS = [
    SweepRun({"lr": 0.1}, {"loss": 0.25, "kind": "a"}, seconds=1.0),
    SweepRun({"lr": 9.0}, error="ValueError: no"),
]


def test_progress_in_a_pipe():
    stream = io.StringIO()
    shown = SweepProgress(3, 1, stream)
    for run in RUNS:
        shown(run)
    shown.close()
    assert stream.getvalue().splitlines() == [
        "sweep: 1 of 3 settings were finished before",
        "sweep 2/3  lr=0.1:  loss 0.25  (1.0 s)",
        "sweep 3/3  lr=9: failed, ValueError: no",
    ]


def test_progress_on_a_terminal():
    stream = Terminal()
    shown = SweepProgress(2, 0, stream)
    for run in RUNS:
        shown(run)
    shown.close()
    states = [state.strip() for state in re.split(r"[\r\n]", stream.getvalue()) if state.strip()]
    assert states[0] == f"sweep {'░' * 20} 0/2"
    assert states[1].startswith(f"sweep {'█' * 10}{'░' * 10} 1/2  0:00 left  lr=0.1:  loss 0.25")
    assert states[2] == "sweep 2/2  lr=9: failed, ValueError: no"
    assert states[3].startswith(f"sweep {'█' * 20} 2/2  1 failed")


def without_a_seed(width):
    return {"weight": float(wg.nn.Linear(width, 1).weight.sum())}


@pytest.mark.filterwarnings("error")
def test_layers_without_a_seed_do_not_depend_on_the_place_of_a_setting():
    alone = wg.sweep(without_a_seed, {"width": [3]}, progress=False)[0]["weight"]
    before = wg.nn.Linear(3, 1)
    results = wg.sweep(without_a_seed, {"width": [2, 3, 4]}, progress=False)
    assert results[1]["weight"] == alone
    wg.nn.seed()
    assert (wg.nn.Linear(3, 1).weight == before.weight).all()  # this process goes on as it was


@pytest.mark.filterwarnings("error")
def test_layers_without_a_seed_differ_from_seed_to_seed():
    results = wg.sweep(lambda seed: without_a_seed(3), {}, seeds=2, progress=False)
    assert results[0]["weight"] != results[1]["weight"]
    solved = wg.sweep(lambda seed: {"accuracy": 1.0}, {}, seeds=3, progress=False)
    assert len(solved) == 3


def test_seeds_that_change_nothing_are_told():
    with pytest.warns(wg.errors.SweepWarning, match="the same numbers for every seed"):
        wg.sweep(lambda lr, seed: lr / 3, {"lr": [0.1, 0.2]}, seeds=3, progress=False)


def test_frames_and_rows_of_pandas_are_results():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"epoch": [0, 1], "said": ["a", "b"]})

    def train(kind):
        return {
            "row": pandas.Series({"loss": 0.5, "right": 1.0}),
            "frame": table,
            "both": {"loss": 0.5, "curve": table["epoch"], "table": table},
        }[kind]

    row, frame, both = wg.sweep(train, {"kind": ["row", "frame", "both"]}, progress=False)
    assert row.metrics == {"loss": 0.5, "right": 1.0}
    assert frame.kept["epoch"].tolist() == [0, 1]
    assert frame.kept["said"] == ["a", "b"]
    assert both["loss"] == 0.5
    assert both.kept["curve"].tolist() == both.kept["table"]["epoch"].tolist() == [0, 1]


def test_workers_without_processes_are_refused():
    with pytest.raises(ValueError, match=r'workers=3 .*backend="joblib" or backend="ray"'):
        wg.sweep(lambda n: n, {"n": [1, 2]}, workers=3, progress=False)
    with pytest.raises(TypeError, match='Write backend="joblib", and workers='):
        wg.sweep(lambda n: n, {"n": [1, 2]}, n_jobs=2, progress=False)
    found = wg.sweep(lambda n: n, {"n": [1, 2]}, workers=1, threads=1, progress=False)
    assert len(found) == 2
