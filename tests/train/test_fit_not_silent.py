"""Fits that would go wrong without a word."""

import sys
import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.errors import CheckpointWarning, NonFiniteError, WengertWarning
from wengert.train import EarlyStopping

X = np.random.default_rng(0).normal(size=(64, 2))
Y = X.sum(axis=1)
BAD = X.copy()
BAD[5, 1] = np.nan


def loss(w, x, y):
    return wg.mean((x @ w - y) ** 2)


def a_step(**options):
    return wg.TrainStep(loss, np.zeros(2), wg.optim.SGD(0.05), **options)


def fitted(step, **options):
    return wg.train.fit(step, (X, Y), 12, 16, progress=False, **options)


def test_validation_data_that_are_not_finite_are_refused(tmp_path):
    with pytest.raises(NonFiniteError, match=r"argument 'x' is nan at index \(5, 1\)") as caught:
        fitted(a_step(), validation=(BAD, Y), early_stopping=3, checkpoint=tmp_path)
    assert (caught.value.parameter, caught.value.index, caught.value.row) == ("x", (5, 1), 5)
    assert not (tmp_path / "best.safetensors").exists()
    infinite = np.where(np.isnan(BAD), np.inf, BAD)
    with pytest.raises(NonFiniteError, match=r"argument 'x' is inf at index \(5, 1\)"):
        fitted(a_step(), validation=(infinite, Y))
    with pytest.raises(NonFiniteError, match="mae is nan"):
        fitted(
            a_step(),
            validation=(BAD, Y),
            validation_loss=False,
            metrics={"mae": lambda target, found: np.mean(np.abs(target - found))},
            predict=lambda w, x: x @ w,
            early_stopping=EarlyStopping(3, "mae", "min"),
        )


def skipping(train, loss=loss):
    step = wg.TrainStep(loss, np.zeros(2), wg.optim.SGD(0.05), nonfinite="skip", compiled=False)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        train(step)
    return [str(each.message) for each in heard]


def test_a_run_that_skips_every_step_says_so_once():
    missing = X.copy()
    missing[:, 1] = np.nan
    ways = [
        lambda step: wg.train.fit(step, (missing, Y), 3, 16, validation=(X, Y), progress=False),
        lambda step: step.run(missing, Y, batch_size=16, epochs=3),
        lambda step: list(step.epochs(missing, Y, batch_size=64, epochs=3)),
    ]
    for count, way in zip((4, 12, 3), ways, strict=True):
        (text,) = skipping(way)
        assert f"the last {count} steps" in text
        assert "argument 'x' is nan at index (0, 1); nothing is trained" in text
    (text,) = skipping(
        lambda step: step.run(BAD, Y, batch_size=16), lambda w, x, y: loss(w, x, y) + wg.log(w[0])
    )
    assert "argument" not in text  # one row of the data is not the reason


def test_single_batches_may_be_skipped():
    def now_and_then(step):
        step.run(BAD, Y, batch_size=16, epochs=3, shuffle_seed=0)
        for _ in range(3):  # an epoch of one batch
            step.run(BAD, Y, batch_size=64)

    def at_ends(step):
        for bad in (slice(16, None), slice(48)):
            x = X.copy()
            x[bad] = np.nan
            step.run(x, Y, batch_size=16)

    assert not skipping(now_and_then)
    assert not skipping(at_ends)


def test_a_validation_loss_that_is_no_number_is_told(tmp_path):
    step = a_step(nonfinite="skip")
    with pytest.warns(WengertWarning, match="validation_loss is nan after an epoch") as caught:
        history = fitted(step, validation=(BAD, Y), early_stopping=3, checkpoint=tmp_path)
    assert len(caught) == 1
    assert (history.best_epoch, len(history.epochs["epoch"])) == (None, 3)
    assert not (tmp_path / "best.safetensors").exists()
    other = a_step()
    wg.train.fit(other, (X, Y), 3, 16, progress=False)
    np.testing.assert_array_equal(step.model, other.model)  # as after its last epoch

    def undefined(w, x, y):
        return loss(w, x, y) + wg.log(wg.mean(x) - 100.0)

    with pytest.warns(WengertWarning, match="although the validation data are finite"):
        fitted(a_step(), validation=(X, Y), validation_loss=undefined)


def test_gaps_that_a_loss_leaves_out_are_no_reason_to_warn():
    def without_gaps(w, x, y):
        return wg.mean(wg.where(wg.isnan(x), 0.0, x) @ w * 0 + y**2)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fitted(a_step(), validation=(BAD, Y), validation_loss=without_gaps)
    assert found.best_epoch == 0


@pytest.mark.parametrize(("monitor", "mode"), [("r2", "min"), ("mae", "max"), ("loss", "max")])
def test_a_mode_against_what_is_known_of_a_metric_is_refused(monitor, mode):
    options = {"metrics": ["r2", "mae"], "predict": lambda w, x: x @ w, "validation": (X, Y)}
    with pytest.raises(ValueError, match="Leave mode out"):
        fitted(a_step(), early_stopping=EarlyStopping(3, monitor, mode), **options)
    other = "max" if mode == "min" else "min"
    fitted(a_step(), early_stopping=EarlyStopping(3, monitor, other), **options)


def test_rows_that_trained_before_and_validate_now_are_told():
    step, share = a_step(), {"validation": 0.25}
    before = step.state_dict()
    fitted(step, **share)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(step, **share)  # the same rows validate
        step.load_state_dict(before)
        fitted(step, **share, shuffle_seed=1)  # it has seen nothing
        fitted(a_step(), **share, shuffle_seed=2)
        wg.train.fit(step, (X[::-1].copy(), Y), 1, 16, progress=False, **share)  # other data
        fitted(step, **share, shuffle_seed=3)
    with pytest.warns(WengertWarning, match="trained on rows which validate now"):
        fitted(step, **share, shuffle_seed=4)


def folds(step):
    """A cross-validation of four folds with the steps that a function gives."""
    for fold in range(4):
        held = np.arange(64) % 4 == fold
        training, validation = (X[~held], Y[~held]), (X[held], Y[held])
        wg.train.fit(step(), training, 2, 16, validation=validation, progress=False)


def test_one_step_for_all_folds_is_told():
    one = a_step()
    with pytest.warns(CheckpointWarning, match="Make a new step for each fold"):
        folds(lambda: one)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folds(a_step)


def test_rows_that_are_often_alike_are_no_reason_to_warn():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, size=(96, 2)).astype(float), rng.integers(0, 2, 96).astype(float)
    parts = [slice(i, i + 24) for i in (0, 24, 48, 72)]
    step = a_step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for train, held in (parts[:2], parts[2:]):
            validation = x[held], y[held]
            wg.train.fit(step, (x[train], y[train]), 2, 8, validation=validation, progress=False)


def resumed(folder, rate, epochs, **options):
    """Going on with a step that is made with this rate, and what was told."""
    step = wg.TrainStep(loss, np.zeros(2), wg.optim.SGD(rate))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        wg.train.fit(
            step, (X, Y), epochs, 16, progress=False, checkpoint=folder, resume=True, **options
        )
    assert all(each.category is CheckpointWarning for each in found)
    return [str(each.message) for each in found]


def lower_rate(record):
    record.step.optimizer.lr = 0.01


def test_a_fit_that_is_resumed_tells_of_other_settings(tmp_path):
    assert resumed(tmp_path, 0.05, 2, callbacks=lower_rate) == []
    assert resumed(tmp_path, 0.05, 3, callbacks=lower_rate) == []  # what a callback has set is kept
    for epochs in (4, 5):
        (text,) = resumed(tmp_path, 0.2, epochs)
        assert "begun with SGD(lr=0.05), and the step is made with SGD(lr=0.2); it goes on" in text
        assert "with SGD(lr=0.01)" in text
    assert resumed(tmp_path, 0.01, 6) == []  # what it goes on with


def test_a_fit_that_is_resumed_tells_of_another_schedule_once(tmp_path):
    cosine = wg.optim.Cosine
    assert resumed(tmp_path, cosine(0.1, 30), 2) == []
    (text,) = resumed(tmp_path, cosine(0.1, 60), 3)
    assert "it goes on with the new schedule" in text
    assert resumed(tmp_path, cosine(0.1, 60), 4) == []


def test_a_fit_of_more_epochs_than_are_asked_for_says_so(tmp_path):
    assert resumed(tmp_path, 0.05, 3) == resumed(tmp_path, 0.05, 3) == []
    (text,) = resumed(tmp_path, 0.05, 2)
    assert "epochs=2 was given, and the fit in" in text
    assert "has 3; none is taken back" in text


def test_the_log_of_a_second_fit_goes_on(tmp_path):
    step, file = a_step(), tmp_path / "log.csv"
    for _ in range(2):
        fitted(step, callbacks=wg.train.log_csv(file))
    lines = file.read_text().splitlines()
    assert [line.partition(",")[0] for line in lines] == ["epoch", *map(str, range(24))]
    with pytest.warns(UserWarning, match="24 epochs of this step with the columns"):
        fitted(step, callbacks=wg.train.log_csv(file), validation=(X, Y))
    with pytest.warns(WengertWarning, match="has 12 epochs that were logged before"):
        fitted(a_step(), callbacks=wg.train.log_csv(file))  # another step begins anew
    assert len(file.read_text().splitlines()) == 13


@pytest.mark.parametrize("made", [wg.train.log_csv, wg.train.log_jsonl])
def test_a_file_that_is_no_log_is_not_written_over(tmp_path, made):
    file = tmp_path / "data"
    log = made(file)
    file.write_text("a,b,target\n1,2,3\n")
    with pytest.raises(ValueError, match="begins with 'a,b,target' and is no log of epochs"):
        fitted(a_step(compiled=False), callbacks=log)
    with pytest.raises(ValueError, match="is no log of epochs"):
        made(file)
    file.write_bytes(bytes(range(128, 256)))
    with pytest.raises(ValueError, match="is no log of epochs"):
        made(file)
    assert len(file.read_bytes()) == 128


def test_a_log_of_an_earlier_program_is_replaced(tmp_path, monkeypatch):
    file, cells = tmp_path / "log.jsonl", type("Shell", (), {"execution_count": 1})
    notebook = type("IPython", (), {"get_ipython": staticmethod(lambda: cells)})
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    for text in ("", '{"epoch": 0, "loss": 1.0}\n{"epoch": 1, "lo'):
        file.write_text(text)
        fitted(a_step(compiled=False), callbacks=wg.train.log_jsonl(file))
        assert len(file.read_text().splitlines()) == 12
        cells.execution_count += 1  # the cell runs once more
    cells.execution_count -= 1
    with pytest.warns(WengertWarning, match="has 12 epochs that were logged before"):
        fitted(a_step(compiled=False), callbacks=wg.train.log_jsonl(file))


def predict(w, x):
    return x @ w


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weight": "nope"}, "weight='nope' was given; the loss has the arguments x, y"),
        ({"target": "nope"}, "target='nope' was given"),
        ({"predict": 3}, "predict is int"),
        ({"weight": Y}, r"weight is ndarray; .* loss\(model, x, y, w\), and pass data=\(x, y, w\)"),
        ({"weight": "y"}, r"weight was given without metrics; .* make the weights an argument"),
        ({"predict": predict}, "predict was given without metrics"),
        ({"target": "y", "metrics": []}, "target was given without metrics"),
        ({"predict": predict, "metrics": "mae", "weight": Y}, "weight is ndarray"),
        ({"predict": predict, "metrics": "mae", "target": Y}, "target is ndarray"),
        ({"sample_weight": Y}, r"Give the loss an argument .* weight='w' is for metrics alone"),
    ],
)
def test_what_metrics_are_made_of_is_checked_without_metrics_too(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        fitted(a_step(), validation=(X, Y), **options)


@pytest.mark.parametrize(
    ("callback", "words"),
    [
        (EarlyStopping(3), "Write early_stopping="),
        (EarlyStopping, "Write early_stopping="),
        (wg.optim.Cosine(1e-2, 10), r"learning rate of the optimizer: .*wg.optim.Cosine\("),
        (wg.optim.ReduceOnPlateau, "learning rate of the optimizer"),
        (lambda epoch, logs: None, "one argument, the record"),
    ],
)
def test_what_is_no_callback_is_refused_before_training(callback, words):
    step = a_step()
    for given in (callback, [callback]):
        with pytest.raises(TypeError, match=words):
            fitted(step, callbacks=given)
    assert step.epoch == 0


def test_an_ensemble_is_told_its_own_loops():
    ensemble = wg.Ensemble(loss, [np.zeros(2), np.ones(2)], wg.optim.SGD(0.1))
    with pytest.raises(TypeError, match=r"given Ensemble .*ensemble\.epochs\(x, y, batch_size=32"):
        fitted(ensemble)


def agreement(y, p):
    if p.shape != y.shape or p.dtype.kind == "f":
        raise ValueError("a mix of binary and continuous targets")
    return float(np.mean(y == p))


@pytest.mark.parametrize(("outputs", "classes"), [(2, "p.argmax(-1)"), (1, "p[:, 0] > 0")])
def test_a_metric_that_fails_is_named_with_what_it_was_given(outputs, classes):
    labels = (Y > 0).astype(int)

    def of_classes(m, x, y):
        return wg.mean(m(x) ** 2) + 0.0 * wg.sum(y)

    def scored(metrics):
        step = wg.TrainStep(of_classes, wg.nn.Linear(2, outputs, seed=0), wg.optim.SGD(0.01))
        data = (X, labels)
        wg.train.fit(step, data, 1, 16, validation=data, metrics=metrics, progress=False)

    with pytest.raises(ValueError, match="a mix of") as found:
        scored([agreement])
    note = found.value.__notes__[0]
    assert (
        f"'agreement' was given targets of shape (64,) and predictions of shape (64, {outputs})"
        in note
    )
    repair = f"metrics={{'agreement': lambda y, p: agreement(y, {classes})}}."
    assert note.endswith(repair)
    scored(eval(repair.removeprefix("metrics=").removesuffix("."), {"agreement": as_classes}))


def as_classes(y, p):
    return agreement(y, p.astype(int))
