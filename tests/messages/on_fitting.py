"""Fits, metrics and loggers that are given what they cannot use."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

import wengert as wg
from wengert.train import EarlyStopping, metrics

X, Y = np.ones((4, 3)), np.ones(4)
LABELS = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 1, 1]])
NETWORK = wg.nn.Linear(3, 1, seed=0)


def loss(w: Any, x: Any, y: Any) -> Any:
    return wg.mean((x @ w - y) ** 2)


def predict(w: Any, x: Any) -> Any:
    return x @ w


def step(function: Callable[..., Any] = loss) -> wg.TrainStep:
    return wg.TrainStep(function, np.ones(3), wg.optim.SGD(0.01))


def fit(data: Any = (X, Y), epochs: Any = 1, **options: Any) -> Any:
    return wg.train.fit(step(), data, epochs, batch_size=4, progress=False, **options)


def measured(metrics: Any = "mae", **options: Any) -> Any:
    return fit(validation=(X, Y), metrics=metrics, **options)


def in_folder(function: Callable[[str], Any]) -> Any:
    """Call a function in a folder, whose name is the same every time."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return function("run")


def into_a_file(name: str) -> Any:
    Path(name).write_text("a file")
    return fit(checkpoint=name)


def into_a_table(name: str) -> Any:
    Path(name).write_text("a,b,target\n1,2,3\n")
    return wg.train.log_csv(name)


def into_a_fit(name: str) -> Any:
    fit(checkpoint=name)
    return fit(checkpoint=name)


def with_other_batches(name: str) -> Any:
    fit(checkpoint=name)
    return wg.train.fit(step(), (X, Y), 2, 2, checkpoint=name, resume=True, progress=False)


def with_other_data(name: str) -> Any:
    fit(checkpoint=name)
    return fit((X + 1, Y), checkpoint=name, resume=True)


class Texts:
    """A series of texts, as pandas has them."""

    dtype, cell = "object", "Berlin"

    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.array([[self.cell]] * len(Y), object)

    def head(self, _: int) -> Texts:
        return self

    def to_list(self) -> list[Any]:
        return [self.cell]


class Frame(Texts):
    """A table with a column of texts."""

    columns, dtypes = ("city",), ("object",)

    def __getitem__(self, _: str) -> Frame:
        return self


class FrameOfDates(Frame):
    """A table with a column of dates."""

    columns, dtypes = ("day",), ("datetime64[us]",)


class FrameOfObjects(Frame):
    """A table with a column of objects that are numbers."""

    columns, cell = ("size",), 1.5


def at_plateau() -> Any:
    rate = wg.optim.ReduceOnPlateau(0.1, mode="max")
    made = wg.TrainStep(loss, np.zeros(3), wg.optim.SGD(rate))
    return wg.train.fit(made, (X, Y), 1, 4, progress=False)


def measured_normed() -> Any:
    norm = wg.nn.BatchNorm(3, dtype=np.float64)

    def of_state(model: Any, state: Any, x: Any, y: Any) -> Any:
        found, state = model(x, state, training=True)
        return wg.mean((found[:, 0] - y) ** 2), state

    made = wg.TrainStep(of_state, norm, wg.optim.SGD(0.1), state=norm.initial_state())
    return wg.train.fit(made, (X, Y), 1, 4, validation=(X, Y), metrics="mae", progress=False)


def into_a_step(name: str) -> Any:
    Path(name).mkdir()
    step().save(f"{name}/last.safetensors")
    return fit(checkpoint=name, resume=True)


def without_tensorboard() -> Any:
    with mock.patch.dict(sys.modules, {"tensorboard": ModuleType("tensorboard")}):
        return wg.train.log_tensorboard("runs")


CASES: dict[str, Callable[[], Any]] = {
    "fit: a model in the place of the step": lambda: wg.train.fit(np.ones(3), (X, Y), 1, 4),
    "fit: an ensemble in the place of the step": lambda: wg.train.fit(
        wg.Ensemble(loss, [np.ones(3), np.zeros(3)], wg.optim.SGD(0.1)),  # type: ignore[arg-type]
        (X, Y),
        1,
        4,
    ),
    "fit: an unknown option": lambda: fit(metric="mae"),
    "fit: a list of arrays": lambda: fit([X, Y]),
    "fit: names that the loss does not have": lambda: fit({"a": X, "b": Y}),
    "fit: one name that the loss does not have": lambda: fit({"x": X, "target": Y}),
    "fit: half an epoch": lambda: fit(epochs=0.5),
    "fit: no whole seed": lambda: fit(shuffle_seed=1.5),
    "fit: a batch that does not fit": lambda: wg.train.fit(step(), (X, Y), 1, 5),
    "fit: a share of the rows that is none": lambda: fit(validation=1.5),
    "fit: a share that leaves nothing": lambda: fit(validation=0.01),
    "fit: validation data in a list": lambda: fit(validation=[X, Y]),
    "fit: metrics without validation data": lambda: fit(metrics="mae"),
    "fit: metrics without a prediction": measured,
    "fit: a metric that is unknown": lambda: measured("acuracy", predict=predict),
    "fit: a metric that is like no other": lambda: measured("quality", predict=predict),
    "fit: a metric that is a number": lambda: measured({"a": 3}, predict=predict),
    "fit: metrics that are a number": lambda: measured(3, predict=predict),
    "fit: two metrics of one name": lambda: measured(["mae", "mae"], predict=predict),
    "fit: a metric that returns an array": lambda: measured(lambda t, p: t - p, predict=predict),
    "fit: a network in the place of a prediction": lambda: wg.train.fit(
        wg.TrainStep(lambda m, x, y: wg.mse(m(x)[:, 0], y), NETWORK, wg.optim.SGD(0.1)),
        *((X, Y), 2, 4),
        validation=(X, Y),
        metrics="mae",
        predict=NETWORK,
    ),
    "fit: a prediction from something else": lambda: measured(predict=lambda w, z: z @ w),
    "fit: a prediction of one number": lambda: measured(predict=lambda w, x: wg.sum(x @ w)),
    "fit: a prediction from everything": lambda: measured(predict=lambda w, x, y: x @ w + y),
    "fit: a target that is none": lambda: measured(predict=predict, target="z"),
    "fit: a weight that is an array": lambda: measured(predict=predict, weight=Y),
    "fit: a weight without metrics": lambda: fit(validation=(X, Y), weight="y"),
    "fit: a weight without validation data": lambda: fit(weight="y"),
    "fit: a prediction without metrics": lambda: fit(validation=(X, Y), predict=predict),
    "fit: the weights of other libraries": lambda: fit(sample_weight=Y),
    "fit: a prediction of a model that needs more": measured_normed,
    "fit: data in two arguments": lambda: wg.train.fit(step(), X, Y, 4),  # type: ignore[arg-type]
    "fit: validation data without targets": lambda: fit(validation=X),
    "fit: validation data in another order": lambda: fit(validation=(Y, X)),
    "fit: validation data with NaN": lambda: fit(validation=(X, np.array([1, 1, np.nan, 1]))),
    "EarlyStopping: a mode against a known metric": lambda: measured(
        "r2", predict=predict, early_stopping=EarlyStopping(3, "r2", "min")
    ),
    "fit: a column of texts": lambda: fit((Frame(), Y)),
    "fit: a series of texts": lambda: fit((X, Texts())),
    "fit: a column of dates": lambda: fit((FrameOfDates(), Y)),
    "fit: a column of objects": lambda: fit((FrameOfObjects(), Y)),
    "fit: a plateau of something that is not measured": at_plateau,
    "fit: a checkpoint of other data": lambda: in_folder(with_other_data),
    "fit: early stopping by a word": lambda: fit(early_stopping="soon"),
    "fit: a callback that is none": lambda: fit(callbacks=[3]),
    "fit: early stopping as a callback": lambda: fit(callbacks=[EarlyStopping(patience=3)]),
    "fit: a schedule as a callback": lambda: fit(callbacks=wg.optim.ReduceOnPlateau(1e-2)),
    "fit: a class as a callback": lambda: fit(callbacks=[dict]),
    "fit: a callback of two arguments": lambda: fit(callbacks=lambda epoch, logs: None),
    "fit: a callback that returns a number": lambda: fit(callbacks=lambda record: record.loss),
    "fit: resume without a checkpoint": lambda: fit(resume=True),
    "fit: a checkpoint that is a number": lambda: fit(checkpoint=3),
    "fit: a checkpoint in the place of a file": lambda: in_folder(into_a_file),
    "fit: a checkpoint that is there already": lambda: in_folder(into_a_fit),
    "fit: a checkpoint of other batches": lambda: in_folder(with_other_batches),
    "fit: a checkpoint of a step alone": lambda: in_folder(into_a_step),
    "EarlyStopping: no patience": lambda: EarlyStopping(patience=0),
    "EarlyStopping: a wrong mode": lambda: EarlyStopping(mode="highest"),
    "EarlyStopping: a negative distance": lambda: EarlyStopping(min_delta=-1.0),
    "EarlyStopping: a column that is not there": lambda: fit(
        early_stopping=EarlyStopping(monitor="validation_loss")
    ),
    "EarlyStopping: a metric of the user's": lambda: measured(
        {"mine": lambda t, p: 0.0}, predict=predict, early_stopping=EarlyStopping(monitor="mine")
    ),
    "History.plot: nothing to draw": lambda: step().run(X, Y, batch_size=4, epochs=0).plot(),
    "log_csv: a number as path": lambda: wg.train.log_csv(3),  # type: ignore[arg-type]
    "log_csv: a file of something else": lambda: in_folder(into_a_table),
    "log_tensorboard: without the package": without_tensorboard,
    "log_wandb: a name": lambda: wg.train.log_wandb("project"),
    "metrics: one score per row": lambda: metrics.accuracy(Y, np.ones(4)),
    "metrics: a column for each class": lambda: metrics.accuracy(np.eye(2), np.eye(2)),
    "metrics: several labels in a row": lambda: metrics.f1(LABELS, np.zeros((4, 3))),
    "metrics: other rows": lambda: metrics.accuracy(Y, np.ones((3, 2))),
    "metrics: classes at all times": lambda: metrics.accuracy(np.ones((4, 5)), np.ones((4, 5, 2))),
    "metrics: targets and predictions exchanged": lambda: metrics.accuracy(Y / 3 + 0.1, Y > 1),
    "metrics: texts and numbers": lambda: metrics.accuracy(np.array(["a", "b"]), np.arange(2)),
    "metrics: classes that have no column": lambda: metrics.accuracy(np.arange(4), np.ones((4, 3))),
    "metrics: one class of unknown meaning": lambda: metrics.accuracy(
        np.full(4, 7), np.ones((4, 2))
    ),
    "metrics: two scores for three classes": lambda: metrics.auc(np.arange(3), np.arange(3.0)),
    "metrics: two classes without a positive one": lambda: metrics.f1(
        np.array([1, 2]), np.array([1, 2])
    ),
    "metrics: other numbers": lambda: metrics.mae(Y, np.ones(3)),
    "metrics: weights that are none": lambda: metrics.mae(Y, Y, np.zeros(4)),
    "metrics: no rows": lambda: metrics.mae(np.zeros(0), np.zeros(0)),
    "metrics: an unknown average": lambda: metrics.f1(Y, np.ones(4, int), average="both"),
    "metrics: one class alone": lambda: metrics.auc(Y, Y),
    "metrics: an area of other rows": lambda: metrics.auc(Y, np.ones(3)),
    "metrics: the best of no scores": lambda: metrics.top_k(Y, Y),
    "metrics: the best of too few": lambda: metrics.top_k(Y, np.ones((4, 3))),
}
