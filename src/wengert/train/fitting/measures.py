"""Measures: what a fit finds out about its validation data after each epoch."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.words.warn import warn_user
from wengert.errors import PairedRowsWarning, ShapeError
from wengert.train.batch import AVERAGED, GENERATOR, POSITIONAL
from wengert.train.engine import Engine
from wengert.train.evaluation_words import EvaluationWords
from wengert.train.fitting.asked import Asked, require_function
from wengert.train.fitting.fit_data import BY, engine_of, state_name
from wengert.train.metrics import better_direction, metric_named
from wengert.train.option_checks import require_no_network
from wengert.train.step import TrainStep

Array = np.ndarray[Any, Any]
Given = str | Callable[..., Any]
LOSS, VALIDATION_LOSS = "loss", "validation_loss"  # columns that every fit can have
TAKEN = ("epoch", LOSS, VALIDATION_LOSS, "learning_rate", "seconds")  # no names of metrics
NEAR = 1e-3  # how far apart rounding may put two values of a metric
ROWS_AT_ONCE = 4096  # of a prediction, at least
_WORDS = EvaluationWords(
    f"{BY}: the validation loss is that of a function that",
    "its mean over batches is taken",
    "Pass validation_loss=, a function that gives a mean over rows; what is trained may stay a sum",
    "Pass a metric of yours, which gets all rows at once, and validation_loss=False: "
    "metrics={name: f}, predict=, early_stopping=EarlyStopping(monitor=name, mode='min'); or "
    "validation_loss=, a function that gives a mean over rows",
)


class Measures:
    """The loss of the validation data, and metrics of its predictions."""

    def __init__(
        self, step: TrainStep, data: tuple[Any, ...], batch_size: int, asked: Asked
    ) -> None:
        self._step, self.data, self._size = step, data, batch_size
        self._metrics = named_metrics(asked.metrics)
        self._has_looked = False  # at whether a metric pairs rows
        self._loss: Any = None  # where metrics are enough
        if asked.validation_loss is not False or not self._metrics:
            self._loss = asked.validation_loss or _loss_alone(engine_of(step))
            require_function("validation_loss", self._loss)
        if self._metrics:
            self._prepare(asked)

    def _prepare(self, asked: Asked) -> None:
        """Find out from which of the data to predict, and with which to compare predictions."""
        engine, names = engine_of(self._step), self._step._engine.names(len(self.data))
        by_name = dict(zip(names, self.data, strict=True))
        predict = _prediction(engine.plan.storage.tree(engine.plan.storage.leaves), asked, names)
        require_no_network(
            f"{BY}: predict",
            predict,
            engine.plan.storage.structure,
            "Leave predict= out, since a model that can be called predicts by itself; or write "
            f"predict=lambda m, {names[0]}: m({names[0]})",
        )
        state, wanted = state_name(engine), _parameters(predict)
        for name in wanted:
            if name not in (*names, state):
                known = ", ".join(names if state is None else (*names, state))
                given = "data" if state is None else f"data and the state, {state!r},"
                raise TypeError(
                    f"{BY}: predict has a parameter {name!r}; it is given {given} by the names "
                    f"that the loss gives them, {known}. Use one of these names."
                )
        self._takes_state = state is not None and state in wanted
        self._inputs = [by_name[name] for name in wanted if name != state]
        used = [name for name in names if name in wanted]
        self._target = _target(asked, names, used, by_name)
        self._weight = None if asked.weight is None else np.asarray(by_name[asked.weight])
        self._predict = self._step.bind(predict)
        self._rows = len(self._target)

    @property
    def names(self) -> list[str]:
        return [VALIDATION_LOSS, *self._metrics] if self._loss else list(self._metrics)

    def directions(self) -> dict[str, str | None]:
        """Whether "min" or "max" is better, for each name; None where that is not known."""
        directions = {name: better_direction(metric) for name, metric in self._metrics.items()}
        return {VALIDATION_LOSS: "min", **directions} if self._loss else directions

    def measured(self) -> dict[str, float]:
        """All of it, by name, of the model as it is now."""
        numbers = {VALIDATION_LOSS: self._mean_loss()} if self._loss else {}
        if self._metrics:
            prediction = self._predicted()
            named = {} if self._weight is None else {"weight": self._weight}
            for name, metric in self._metrics.items():
                try:
                    measured = metric(self._target, prediction, **named)
                except Exception as error:
                    error.add_note(_note_of_metric(name, self._target, prediction))
                    raise
                numbers[name] = _number(name, measured)
            if not self._has_looked:
                self._has_looked = True
                self._look_for_pairs(numbers, prediction, named)
        return numbers

    def _look_for_pairs(
        self, numbers: Mapping[str, float], prediction: Array, named: Mapping[str, Any]
    ) -> None:
        """Warn of a metric that pairs rows: with predictions of (n, 1) and targets of (n,), or the
        other way around, it gives another number than with one shape for both.
        """
        target = self._target
        column, row = sorted((prediction.shape, target.shape), key=len, reverse=True)
        if row != (len(target),) or column != (len(target), 1) or len(target) < 2:
            return
        for name, metric in self._metrics.items():
            try:
                alike = float(metric(target.reshape(row), prediction.reshape(row), **named))
            except Exception:  # it accepts only the shapes that it was given
                continue
            if not np.isclose(numbers[name], alike, NEAR, NEAR, equal_nan=True):
                warn_user(
                    f"{BY}: the metric {name!r} was given targets of shape {target.shape} and "
                    f"predictions of shape {prediction.shape}, and found {numbers[name]:.6g}; with "
                    f"one shape for both it finds {alike:.6g}. It computes a number for each pair "
                    "of rows. Let predict return model(x)[:, 0], or give targets of that shape.",
                    PairedRowsWarning,
                )

    def _mean_loss(self) -> float:
        engine = engine_of(self._step)
        data = self.data
        if self._loss is not engine.plan.loss and state_name(engine) in _parameters(self._loss):
            data = (engine.carried_state(), *data)
        loss = self._step._evaluate(self._loss, data, self._size, {}, _WORDS)
        return _number(VALIDATION_LOSS, loss)

    def _predicted(self) -> Array:
        """What the model predicts for all rows."""
        size = max(self._size, ROWS_AT_ONCE)
        state = (engine_of(self._step).carried_state(),) if self._takes_state else ()
        parts = []
        for begin in range(0, self._rows, size):
            rows = slice(begin, min(begin + size, self._rows))
            batch = [tree.map(lambda x, rows=rows: _rows_of(x, rows), x) for x in self._inputs]
            predicted = self._predict(*state, *batch)
            count = rows.stop - rows.start
            if not isinstance(predicted, np.ndarray) or predicted.shape[:1] != (count,):
                shown = (
                    f"shape {predicted.shape}"
                    if hasattr(predicted, "shape")
                    else type(predicted).__name__
                )
                raise ShapeError(
                    f"{BY}: predict returned {shown} for {count} rows; it must return one array "
                    "with a row for each. Return what the metrics are to see."
                )
            parts.append(predicted)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _note_of_metric(name: str, target: Array, prediction: Array) -> str:
    """What a metric was given that has failed, and what to write where it takes classes."""
    told = (
        f"{BY}: the metric {name!r} was given targets of shape {target.shape} and predictions of "
        f"shape {prediction.shape}, as the model or predict= gives them"
    )
    if target.dtype.kind not in "biu" or prediction.dtype.kind != "f":
        return f"{told}."
    called = name if name.isidentifier() else "metric"
    if prediction.ndim == target.ndim + 1 and prediction.shape[-1] > 1:
        classes = "p.argmax(-1)"
    else:
        classes = "p > 0" if prediction.ndim == target.ndim else "p[:, 0] > 0"
    return (
        f"{told}: these are scores. If it takes classes, write metrics={{{name!r}: lambda y, p: "
        f"{called}(y, {classes})}}."
    )


def _loss_alone(engine: Engine) -> Callable[..., Any]:
    """The loss of a step without its aux, which may be no mean over rows."""
    loss = engine.plan.loss
    if not engine.plan.has_aux:
        return loss

    @functools.wraps(loss)
    def alone(*args: Any, **named: Any) -> Any:
        return loss(*args, **named)[0]

    return alone


def _rows_of(x: Any, rows: slice) -> Any:
    return x if np.ndim(x) == 0 else np.asarray(x)[rows]


def named_metrics(given: Any) -> dict[str, Callable[..., Any]]:
    """Metrics by name: given as a dict, or as names and functions, one or several."""
    if given is None:
        return {}
    if isinstance(given, str) or callable(given):
        given = [given]
    if not isinstance(given, Mapping | Sequence):
        raise TypeError(
            f"{BY}: metrics is {type(given).__name__}; it is a list of functions and names, as in "
            'metrics=["accuracy"], or a dict from names to functions. Pass one of these.'
        )
    pairs = given.items() if isinstance(given, Mapping) else [(_name_of(x), x) for x in given]
    by_name: dict[str, Callable[..., Any]] = {}
    for name, each in pairs:
        metric = metric_named(BY, each) if isinstance(each, str) else each
        require_function(f"the metric {name!r}", metric)
        if not isinstance(name, str) or name in TAKEN or name in by_name:
            raise ValueError(
                f"{BY}: the name {name!r} of a metric is taken, or no text; each column of a "
                "history has a name of its own. Write metrics={name: function} with another one."
            )
        by_name[name] = metric
    return by_name


def _name_of(metric: Given) -> str:
    """What a metric is called that was given without a name."""
    if isinstance(metric, str):
        return metric
    inner: Any = metric
    while isinstance(inner, functools.partial):
        inner = inner.func
    return str(getattr(inner, "__name__", type(inner).__name__))


def _parameters(function: Callable[..., Any]) -> list[str]:
    """The names of what a function takes behind the model, without what a step provides and what
    can be left out.
    """
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return [
        p.name
        for p in parameters
        if p.kind in POSITIONAL and p.default is p.empty and p.name not in (GENERATOR, AVERAGED)
    ]


def _prediction(model: Any, asked: Asked, names: Sequence[str]) -> Callable[..., Any]:
    """The function that predicts; by default the model itself is called with the first argument."""
    if asked.predict is not None:
        require_function("predict", asked.predict)
        return asked.predict
    if not callable(model):
        raise TypeError(
            f"{BY}: metrics were given without predict, and the model is {type(model).__name__}, "
            "which cannot be called; metrics are held against predictions. Pass "
            f"predict=f, where f(model, {names[0]}) predicts."
        )
    needed = _needed(model)
    if len(needed) > 1:
        raise TypeError(
            f"{BY}: metrics were given without predict, and the model is called with "
            f"{', '.join(needed)}; a model predicts by itself where {names[0]} is all it needs. "
            f"Pass predict=f, where f(model, {names[0]}) predicts; with a parameter that is called "
            "as the state is in the loss, f is given the state, too."
        )
    return _called_with(names[0])


def _needed(model: Any) -> list[str]:
    """The names of what a model has to be called with."""
    try:
        parameters = inspect.signature(model).parameters.values()
    except (TypeError, ValueError):  # some callables do not say
        return []
    kinds = (*POSITIONAL, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in parameters if p.kind in kinds and p.default is p.empty]


@functools.cache
def _called_with(name: str) -> Callable[..., Any]:
    """A function that calls the model with the argument of this name; one for each name, so that a
    step knows its program.
    """

    def call(model: Any, x: Any) -> Any:
        return model(x)

    place = inspect.signature(call).parameters.values()
    model, x = place
    call.__signature__ = inspect.Signature([model, x.replace(name=name)])  # type: ignore[attr-defined]
    return call


def _target(
    asked: Asked, names: Sequence[str], used: Sequence[str], data: Mapping[str, Any]
) -> Any:
    """What predictions are compared with: the one argument that they are not made from."""
    if asked.target is not None:
        return np.asarray(data[asked.target])
    left = [name for name in names if name not in used and name != asked.weight]
    if len(left) != 1:
        raise TypeError(
            f"{BY}: predictions are made from {', '.join(used) or 'nothing'}, which leaves "
            f"{', '.join(left) or 'nothing'} of the data; which of them metrics compare with is "
            "not known. Pass target=, the name of an argument of the loss."
        )
    return np.asarray(data[left[0]])


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{BY}: {name} is {type(value).__name__}; what is measured after an epoch is one "
            "number. Return a mean over the rows."
        ) from error
