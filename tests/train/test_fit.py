"""fit: the same bits as epochs by hand, validation, stopping early, checkpoints, callbacks."""

import csv
import io
import json
import warnings

import numpy as np
import pytest

import wengert as wg
from train.models import data, forward, net, squared_error
from wengert.errors import WengertWarning
from wengert.train import EarlyStopping, fit, metrics
from wengert.train.fitting import saved_fit
from wengert.train.fitting.progress_lines import ProgressLines

X, Y = data(rows=24)
MORE = data(rows=10, seed=5)


def make(compiled=False, **options):  # op by op: these tests are about the loop around the steps
    return wg.TrainStep(squared_error, net(), wg.optim.Adam(0.01), compiled=compiled, **options)


def fitted(step, epochs=4, **options):
    return fit(step, (X, Y), epochs, batch_size=5, progress=False, **options)


def test_a_fit_is_its_epochs():
    one, two = make(compiled=True), make(compiled=True)
    history = fitted(one)
    epochs = list(two.epochs(X, Y, batch_size=5, epochs=4, shuffle_seed=0))
    assert one.fingerprint() == two.fingerprint()
    assert history.epochs["loss"].tolist() == [epoch.loss for epoch in epochs]
    assert history.epochs["epoch"].tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(
        history.loss, np.concatenate([epoch.history.loss for epoch in epochs])
    )
    assert len(history) == 20
    assert history.stopped is None


def test_validation_is_measured_after_each_epoch():
    one, two = make(), make()
    history = fitted(one, validation=MORE, metrics=["mae", metrics.r2], predict=forward)
    predict, found = two.bind(forward), []
    for _ in two.epochs(X, Y, batch_size=5, epochs=4, shuffle_seed=0):
        prediction = predict(MORE[0])
        loss = two.evaluate(squared_error, *MORE, batch_size=5)
        found.append((loss, metrics.mae(MORE[1], prediction), metrics.r2(MORE[1], prediction)))
    columns = [history.epochs[name] for name in ("validation_loss", "mae", "r2")]
    np.testing.assert_array_equal(np.transpose(columns), found)
    assert one.fingerprint() == two.fingerprint()
    assert history.best_epoch == int(np.argmin(columns[0]))


def test_a_loss_that_is_a_sum_is_told_in_the_name_of_fit():
    def halves(model, x, y):
        return 0.5 * wg.sum((forward(model, x) - y) ** 2)

    step = wg.TrainStep(halves, net(), wg.optim.Adam(0.01))
    with pytest.warns(wg.errors.SummedRowsWarning, match="^fit: .* Pass validation_loss=, a func"):
        fitted(step, epochs=1, validation=MORE)
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.errors.SummedRowsWarning)
        fitted(step, epochs=1, validation=MORE, validation_loss=squared_error)


def root_of_mean(model, x, y):
    return wg.sqrt(wg.mean((forward(model, x) - y) ** 2))


def of_weights(model, x, y):
    return wg.sum((forward(model, x) - y) ** 2 * x[:, :1] ** 2) / wg.sum(x[:, :1] ** 2)


@pytest.mark.parametrize(
    ("loss", "options"),
    [
        (root_of_mean, {}),
        (of_weights, {}),
        (squared_error, {"validation_loss": of_weights}),
    ],
)
def test_a_validation_loss_that_depends_on_the_batch_size_is_told(loss, options):
    step = wg.TrainStep(loss, net(), wg.optim.Adam(0.01))
    with pytest.warns(
        wg.errors.SummedRowsWarning, match="^fit: the validation loss .* Pass a metric of yours"
    ):
        fitted(step, epochs=1, validation=MORE, **options)


def test_aux_is_no_part_of_the_validation_loss():
    def with_aux(model, x, y):
        error = (forward(model, x) - y) ** 2
        return wg.mean(error), {"sum": wg.sum(error), "worst": wg.max(error), "all": error}

    step = wg.TrainStep(with_aux, net(), wg.optim.Adam(0.01), has_aux=True)
    history = fitted(step, epochs=1, validation=MORE)
    assert history.epochs["validation_loss"] == step.evaluate(squared_error, *MORE, batch_size=5)


def test_a_share_of_the_rows_is_held_back():
    seen = []
    history = fitted(make(), validation=0.25, callbacks=lambda record: seen.append(record))
    assert len(history) == 4 * 4  # 18 rows in batches of 5
    assert set(seen[0].metrics) == {"validation_loss"}
    again = fitted(make(), validation=0.25)
    np.testing.assert_array_equal(history.loss, again.loss)


def test_data_by_name_and_by_place_are_the_same():
    one, two = make(), make()
    fitted(one)
    fit(two, {"y": Y, "x": X}, 4, 5, progress=False)
    assert one.fingerprint() == two.fingerprint()


def test_a_model_that_can_be_called_predicts():
    model = wg.nn.Sequential(wg.nn.Linear(3, 2, seed=0, dtype=np.float64))
    step = wg.TrainStep(lambda m, x, y: wg.mean((m(x) - y) ** 2), model, wg.optim.SGD(0.01))
    history = fitted(step, epochs=1, validation=MORE, metrics="mse")
    np.testing.assert_allclose(history.epochs["mse"], history.epochs["validation_loss"])


def weighted_loss(model, state, x, y, w):
    value = wg.mean(w[:, None] * (forward(model, x) - y) ** 2)
    return value, 0.5 * state + value


def with_state(model, state, x):
    return forward(model, x) + 0.0 * state


def test_states_and_weights_are_given_by_name():
    step = wg.TrainStep(weighted_loss, net(), wg.optim.SGD(0.01), state=np.zeros(()))
    rows = np.arange(1.0, 11.0)
    history = fit(
        step,
        (X, Y, np.ones(24)),
        2,
        8,
        validation=(*MORE, rows),
        metrics="mse",
        predict=with_state,
        target="y",
        weight="w",
        validation_loss=lambda model, state, x, y, w: wg.mean(x) + 0.0 * state,
        progress=False,
    )
    prediction = step.bind(with_state)(step.state, MORE[0])
    assert history.epochs["mse"][-1] == metrics.mse(MORE[1], prediction, rows)
    np.testing.assert_allclose(history.epochs["validation_loss"], MORE[0].mean())


# What newcomers write.


NEWCOMERS = {
    "validation_split": (lambda s: fitted(s, validation_split=0.2), "Write validation=0.2 for a"),
    "patience": (lambda s: fitted(s, patience=3), "early_stopping=wg.train.EarlyStopping"),
    "two places": (lambda s: fit(s, X, Y, epochs=2), r"one argument: write data=\(x, y\)"),
    "all places": (lambda s: fit(s, X, Y, 2, 5), r"one argument: write data=\(x, y\)"),
    "epochs": (lambda s: fit(s, X, Y, 5), r"epochs is ndarray.*data=\(x, y\)"),
    "x alone": (lambda s: fitted(s, validation=X), "validation has 1 of the 2 arguments"),
    "swapped": (lambda s: fitted(s, validation=MORE[::-1]), r"validation has rows of .* x: \(2,"),
    "rows": (lambda s: fitted(s, validation=20), "a share of the rows such as 0.2"),
    "acc": (lambda s: fitted(s, validation=MORE, metrics=["acc"]), "Write 'accuracy'"),
    "max_grad_norm": (lambda s: make(max_grad_norm=1.0), "Write clip_norm= instead"),
    "lr": (lambda s: make(lr=1.0), "Give it to the optimizer"),
    "random_state": (lambda s: make(random_state=1), "Write seed= instead"),
    "tau": (lambda s: wg.optim.EMA(wg.optim.SGD(0.1), tau=0.01), "Write decay=1 - tau"),
}


@pytest.mark.parametrize("name", NEWCOMERS)
def test_newcomers_are_told_what_to_write(name):
    call, words = NEWCOMERS[name]
    with pytest.raises((TypeError, ValueError), match=words):
        call(make())


def test_a_model_that_needs_more_than_x_is_told_of_predict():
    model = wg.nn.BatchNorm(3, dtype=np.float64)

    def loss(model, state, x, y):
        out, state = model(x, state, training=True)
        return wg.mean((out[:, :2] - y) ** 2), state

    step = wg.TrainStep(loss, model, wg.optim.SGD(0.1), state=model.initial_state())
    with pytest.raises(TypeError, match=r"called with x, state, training; .* Pass predict=f"):
        fitted(step, validation=MORE, metrics=["mae"], validation_loss=False)


def test_validation_data_may_leave_out_what_has_a_default():
    def loss(model, x, y, w=None):
        return squared_error(model, x, y) * (1.0 if w is None else wg.mean(w))

    step = wg.TrainStep(loss, net(), wg.optim.SGD(0.01), compiled=False)
    history = fit(step, (X, Y, np.ones(24)), 1, 8, validation=MORE, progress=False)
    assert np.isfinite(history.epochs["validation_loss"]).all()


# Data of pandas.


def test_rows_in_different_orders_are_told():
    pandas = pytest.importorskip("pandas")
    labels = [f"row {i}" for i in range(len(X))]
    x, y = pandas.DataFrame(X, labels), pandas.DataFrame(Y, labels)
    for validation in (None, 0.25):
        with pytest.warns(wg.errors.RowOrderWarning) as found:
            fit(make(), (x.iloc[::-1], y), 1, 5, progress=False, validation=validation)
        (told,) = found
        assert "the indices of x and y have the same labels" in str(told.message)
    with pytest.warns(wg.errors.RowOrderWarning, match=r"TrainStep\.run"):
        make().run(x.iloc[::-1], y, batch_size=5)


def test_a_column_of_texts_is_named():
    pandas = pytest.importorskip("pandas")
    x = pandas.DataFrame(X).assign(city="Berlin")
    with pytest.raises(wg.errors.DTypeError, match="fit: data: column 'city' of x holds texts"):
        fit(make(), (x, Y), 1, 5, progress=False)
    with pytest.raises(wg.errors.DTypeError, match="column 'city' of x holds texts, such as 'Ber"):
        make().run(x, Y, batch_size=5)


# Learning rates that follow a metric.


def at_plateau(patience=1, **options):
    rate = wg.optim.ReduceOnPlateau(0.1, factor=0.5, patience=patience, threshold=0.9, **options)
    return wg.TrainStep(squared_error, net(), wg.optim.SGD(rate), compiled=False)


@pytest.mark.parametrize("validation", [None, MORE], ids=["loss", "validation loss"])
def test_a_plateau_is_shown_each_epoch(validation):
    one, two = at_plateau(), at_plateau()
    history = fitted(one, 6, validation=validation)
    for epoch in two.epochs(X, Y, batch_size=5, epochs=6, shuffle_seed=0):
        loss = (
            epoch.loss if validation is None else two.evaluate(squared_error, *MORE, batch_size=5)
        )
        two.optimizer.lr.observe(loss)
    assert one.optimizer.lr.rate == two.optimizer.lr.rate < 0.1
    assert history.learning_rate[-1] < 0.1
    assert one.fingerprint() == two.fingerprint()


def test_a_plateau_is_shown_what_its_mode_is_for():
    step = at_plateau(mode="max")
    history = fitted(step, 3, validation=MORE, metrics=["mae", "r2"], predict=forward)
    assert step.optimizer.lr.best == history.epochs["r2"][0]
    with pytest.raises(ValueError, match="nothing of which more is better"):
        fitted(at_plateau(mode="max"), validation=MORE)


def test_a_plateau_that_a_callback_shows_something_is_left_alone():
    step = at_plateau(patience=9)
    fitted(step, 3, callbacks=lambda record: step.optimizer.lr.observe(7.0) and None)
    assert (step.optimizer.lr.best, step.optimizer.lr.bad_count) == (7.0, 2)


# Stopping early.


def bad_after(epochs):
    """A metric that becomes better for some epochs, and then worse."""
    calls = []

    def quality(target, prediction):
        calls.append(None)
        return -abs(len(calls) - epochs)

    return quality


def test_the_step_is_left_as_after_its_best_epoch():
    one, two = make(), make()
    rule = EarlyStopping(patience=3, monitor="quality", mode="max")
    history = fitted(
        one,
        20,
        validation=MORE,
        metrics={"quality": bad_after(4)},
        predict=forward,
        early_stopping=rule,
    )
    two.run(X, Y, batch_size=5, epochs=4, shuffle_seed=0)
    assert one.fingerprint() == two.fingerprint()
    assert one.epoch == 4
    assert history.best_epoch == 3
    assert history.epochs["quality"].tolist() == [-3, -2, -1, 0, -1, -2, -3]
    assert history.stopped == "quality was no better for 3 epochs"


def test_the_last_weights_can_be_kept():
    one, two = make(), make()
    rule = EarlyStopping(2, monitor="quality", mode="max", restore_best=False)
    given = {"validation": MORE, "metrics": {"quality": bad_after(2)}, "predict": forward}
    fitted(one, 20, early_stopping=rule, **given)
    two.run(X, Y, batch_size=5, epochs=4, shuffle_seed=0)
    assert one.fingerprint() == two.fingerprint()


def test_a_gain_below_the_least_one_is_waited_for():
    rule = EarlyStopping(patience=2, min_delta=1e9)
    history = fitted(make(), 20, early_stopping=rule)
    assert len(history.epochs["epoch"]) == 3  # the first one is better than none
    assert history.best_epoch == int(np.argmin(history.epochs["loss"]))


def test_a_callback_stops_the_fit():
    history = fitted(make(), 20, callbacks=[lambda record: record.number == 3])
    assert len(history.epochs["epoch"]) == 3
    assert history.stopped == "a callback asked for it"


# Checkpoints.

OPTIONS = {"validation": MORE, "metrics": "mae", "predict": forward, "early_stopping": 4}


class Interrupted(BaseException):
    """What Ctrl-C is, for these tests."""


def interrupt_at(number):
    def callback(record):
        if record.number == number:
            raise Interrupted

    return callback


def without_time(history):
    return {name: x.tolist() for name, x in history.epochs.items() if name != "seconds"}


@pytest.mark.parametrize("every", [0.0, 1e9], ids=["each epoch", "at the end"])
def test_a_resumed_fit_gives_the_same_bits(tmp_path, monkeypatch, every):
    monkeypatch.setattr(saved_fit, "EVERY", every)
    whole, first, second = (make(compiled=not every) for _ in range(3))
    log, log_whole = (wg.train.log_csv(tmp_path / name) for name in ("a.csv", "b.csv"))
    expected = fitted(whole, 8, callbacks=log_whole, **OPTIONS)
    with pytest.raises(Interrupted) as interrupted:
        fitted(first, 8, checkpoint=tmp_path / "run", callbacks=[log, interrupt_at(4)], **OPTIONS)
    assert "3 of 8" not in str(interrupted.value)
    assert "resume=True" in interrupted.value.__notes__[0]
    log = wg.train.log_csv(tmp_path / "a.csv")
    found = fitted(second, 8, checkpoint=tmp_path / "run", resume=True, callbacks=log, **OPTIONS)
    assert second.fingerprint() == whole.fingerprint()
    assert without_time(found) == without_time(expected)
    np.testing.assert_array_equal(found.loss, expected.loss)
    assert (found.best_epoch, found.stopped) == (expected.best_epoch, expected.stopped)
    rows = [
        [row[:-1] for row in csv.reader((tmp_path / name).open())] for name in ("a.csv", "b.csv")
    ]
    assert rows[0] == rows[1]


def test_a_fit_that_is_over_is_not_trained_again(tmp_path):
    one, two = make(), make()
    expected = fitted(one, 4, checkpoint=tmp_path, **OPTIONS)
    found = fitted(two, 4, checkpoint=tmp_path, resume=True, **OPTIONS)
    assert one.fingerprint() == two.fingerprint()
    assert without_time(found) == without_time(expected)


def test_both_files_are_those_of_a_step(tmp_path):
    step, last, best = make(), make(), make()
    rule = EarlyStopping(2, monitor="quality", mode="max")
    given = {"validation": MORE, "metrics": {"quality": bad_after(3)}, "predict": forward}
    fitted(step, 9, checkpoint=tmp_path, early_stopping=rule, **given)
    best.load(tmp_path / "best.safetensors")
    last.load(tmp_path / "last.safetensors")
    assert best.fingerprint() == step.fingerprint()
    assert (best.epoch, last.epoch) == (3, 5)


@pytest.mark.parametrize(
    "other",
    [
        {"data": (X + 1, Y)},
        {"shuffle_seed": 3},
        {"metrics": "mse"},
        {"early_stopping": EarlyStopping(monitor="loss")},
    ],
    ids=lambda other: next(iter(other)),
)
def test_another_fit_is_not_resumed(tmp_path, other):
    fitted(make(), 1, checkpoint=tmp_path, **OPTIONS)
    step = make()
    before = step.fingerprint()
    given = {"data": (X, Y), **OPTIONS, **other}
    words = "is of a fit on other data; the rows" if "data" in other else "is of a fit with"
    with pytest.raises(wg.errors.CheckpointError, match=words):
        fit(
            step,
            epochs=2,
            batch_size=5,
            checkpoint=tmp_path,
            resume=True,
            progress=False,
            **given,
        )
    assert step.fingerprint() == before


def changed(x, place):
    other = x.copy()
    other.reshape(-1)[place] += 1
    return other


def test_one_number_that_changed_is_other_data(tmp_path):
    x, y = np.resize(X, (500, *X.shape[1:])), np.resize(Y, (500, *Y.shape[1:]))
    options = {"batch_size": 100, "progress": False, "checkpoint": tmp_path}
    fit(make(), (x, y), 1, validation=MORE, **options)
    others = [
        {"data": (x, changed(y, 253)), "validation": MORE},
        {"data": (changed(x, 1001), y), "validation": MORE},
        {"data": (x, y), "validation": (MORE[0], changed(MORE[1], 1))},
    ]
    for other, rows in zip(others, ("train", "train", "validate"), strict=True):
        with pytest.raises(wg.errors.CheckpointError, match=f"the rows that {rows}, or"):
            fit(make(), epochs=2, resume=True, **options, **other)
    step = make()
    fit(step, (x[:, ::-1].copy()[:, ::-1], y), 2, validation=MORE, resume=True, **options)
    assert step.epoch == 2  # the same numbers


def test_a_step_that_was_interrupted_is_whole():
    one, two = make(), make()
    with pytest.raises(Interrupted):
        fitted(one, callbacks=interrupt_at(2))
    fitted(one, 2)
    two.run(X, Y, batch_size=5, epochs=4, shuffle_seed=0)
    assert one.fingerprint() == two.fingerprint()


class Patient:
    """A callback that can be told of many epochs together."""

    def __init__(self):
        self.heard, self.steps = [], []

    def __call__(self, record):
        self.heard.append((record.epoch, record.loss))
        self.steps.append(record.step.last.index)

    def epochs_ahead(self):
        return 100


def test_epochs_that_nobody_looks_at_are_taken_at_once(monkeypatch):
    monkeypatch.setattr("wengert.train.runs.run.PATIENCE", 1e9)  # seconds that others wait
    patient, heard, one, two = Patient(), [], make(), make()
    fitted(one, 3, callbacks=patient)
    fitted(two, 3, callbacks=lambda record: heard.append((record.epoch, record.loss)))
    assert one.fingerprint() == two.fingerprint()
    assert patient.heard == heard
    assert patient.steps == [14] * 3  # all had been taken when it heard of the first


def test_epochs_before_an_error_are_told():
    patient, heard = Patient(), []
    for callback, told in (
        (patient, patient.heard),
        (lambda record: heard.append((record.epoch, record.loss)), heard),
    ):
        step = wg.TrainStep(squared_error, net(), wg.optim.SGD(30.0), compiled=False)
        with pytest.raises(wg.errors.NonFiniteError) as error:
            fitted(step, 200, callbacks=callback)
        assert any(f"fit: {len(told)} of 200 epochs" in note for note in error.value.__notes__)
    assert patient.heard == heard != []


# What is shown and written.


def test_logs_have_a_line_per_epoch(tmp_path):
    written, run = [], type("Run", (), {})()
    run.log = lambda values, step: written.append((step, values["loss"]))
    writer = type("Writer", (), {"flush": lambda self: None})()
    writer.add_scalar = lambda name, value, step: written.append((name, value, step))
    log = wg.train.log_jsonl(tmp_path / "a.jsonl")
    loggers = [log, wg.train.log_wandb(run), wg.train.log_tensorboard(writer)]
    fitted(make(), 2, callbacks=loggers)
    with pytest.warns(WengertWarning, match="2 epochs that were logged before"):
        history = fitted(make(), 2, callbacks=loggers)  # a second step begins anew
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [line["loss"] for line in lines] == history.epochs["loss"].tolist()
    assert (1, history.epochs["loss"][1]) in written
    assert ("loss", history.epochs["loss"][1], 1) in written


def test_numbers_that_are_not_finite_are_null(tmp_path):
    step = make(nonfinite="skip")
    log = wg.train.log_jsonl(tmp_path / "a.jsonl")
    fit(step, (X * np.nan, Y), 1, 24, callbacks=log, progress=False)
    assert json.loads((tmp_path / "a.jsonl").read_text())["loss"] is None


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_progress_ends_with_the_last_epoch(stream):
    shown = stream()
    progress = ProgressLines(shown)
    fitted(make(), 45, callbacks=progress)
    progress.close()
    text = shown.getvalue()
    assert text.rstrip().endswith("0:00 left")
    lines = text.replace("\r", "\n").strip().splitlines()
    assert "epoch 45/45  loss" in lines[-1]
    assert len(lines) <= 24
    assert text.endswith("\n")


def test_progress_is_written_to_the_stream_for_messages(capsys):
    fit(make(), (X, Y), 2, 24)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "epoch 2/2" in captured.err


def test_a_picture_has_a_panel_per_kind_of_column(tmp_path):
    history = fitted(make(), 3, validation=MORE, metrics="mae", predict=forward)
    picture = history.plot(tmp_path / "curves.svg")
    text = (tmp_path / "curves.svg").read_text()
    assert text == picture.svg
    assert text.count("<polyline") == 3
    assert all(f">{name}<" in text for name in ("loss", "validation_loss", "mae", "epoch"))
    steps = make().run(X, Y, batch_size=5).plot().svg
    assert ">step<" in steps


def test_curves_have_gaps_where_numbers_are_not_finite():
    picture = wg.train.fitting.curves.picture_of(
        {"epoch": np.arange(5), "loss": [2.0, 1.0, np.nan, 1.0, 0.5], "a<b": [1, 1, 1, 1, 1]}
    )
    assert picture.svg.count("<polyline") == 3
    assert "a&lt;b" in picture.svg
    assert "nan" not in picture.svg


def test_histories_show_what_they_are():
    assert "4 epochs, the best" in repr(fitted(make()))
