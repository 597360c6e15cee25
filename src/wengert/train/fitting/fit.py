"""fit: a whole training in one call."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core.words.arguments import worded
from wengert.train.checkpoints.checkpoint import MADE
from wengert.train.engine import Engine
from wengert.train.fitting.asked import Asked, require_effect, require_known
from wengert.train.fitting.callbacks import Callback, callbacks_of
from wengert.train.fitting.epoch_record import EpochRecord
from wengert.train.fitting.fit_data import (
    BY,
    TRAINING,
    VALIDATION,
    batch_arguments,
    divided,
    engine_of,
    frames_read,
    require_alike,
    require_share,
    rows_checksum,
)
from wengert.train.fitting.held_rows import HeldRows
from wengert.train.fitting.made_with import tell_of_more_epochs, tell_of_other_settings
from wengert.train.fitting.measures import LOSS, Measures
from wengert.train.fitting.progress_lines import ProgressLines
from wengert.train.fitting.saved_fit import DATA, HELD_BACK, OPTIMIZERS, SavedFit, Snapshot
from wengert.train.fitting.stopping import Best, EarlyStopping, early_stopping_of
from wengert.train.fitting.unmeasured import look_at_measures
from wengert.train.mistakes.copied.loaded_settings import optimizers_in_words
from wengert.train.option_checks import require_epochs
from wengert.train.recorded.plateaus import PlateauWatch
from wengert.train.runs.auxes import Auxes
from wengert.train.runs.data import Data
from wengert.train.runs.history import Epoch, History, Rates, Recorder, joined
from wengert.train.runs.read_frames import ReadFrames
from wengert.train.runs.run import require_shuffle_seed
from wengert.train.step import TrainStep


@worded
def fit(
    step: TrainStep,
    data: Any,
    epochs: int,
    batch_size: int,
    *,
    validation: Any = None,
    metrics: Any = None,
    predict: Callable[..., Any] | None = None,
    target: str | None = None,
    weight: str | None = None,
    validation_loss: Callable[..., Any] | bool | None = None,
    early_stopping: EarlyStopping | int | bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool | None = None,
    callbacks: Callback | Iterable[Callback] = (),
    progress: bool = True,
    shuffle_seed: int | None = 0,
    drop_last: bool = False,
) -> History:
    """Train a step on data for a number of epochs, and return the history of all of it.

    `data` are the arguments of the loss behind the model: a tuple of arrays with one row per
    sample, or a dict by the names that the loss gives them. The step trains as with `step.epochs`,
    in an order of rows that `shuffle_seed` and the epoch decide (None: their own order).

    `validation` are data of the same form, or the share of the rows that is held back for it. After
    each epoch their mean loss is measured (of `validation_loss` in place of the step's loss, if it
    is given; False leaves it out where there are metrics), and `metrics`: names or functions of
    `wg.train.metrics`, or functions `metric(target, prediction)` of yours. Predictions are
    `predict(model, …)`, whose parameters have the names that the loss gives the data; a model that
    can be called is its own prediction for the first argument. `target` names the argument that is
    compared (by default the one that is left), `weight` the one with a weight per row.

    `early_stopping` is a number of epochs to wait for a better validation loss, or an
    `EarlyStopping`; the step is then left as it was after its best epoch. `checkpoint` is a folder
    for the last and the best state; with `resume=True` a fit that was interrupted, by whatever
    means, goes on from there and ends with the same bits. A learning rate that is a
    `ReduceOnPlateau` is shown the validation loss after each epoch (the loss where there are no
    validation data; with mode="max" the first metric of which more is better), unless a callback
    has shown it something. `callbacks` get an `EpochRecord` after
    each epoch, and stop the fit by returning True.

    >>> x = np.linspace(-1, 1, 64)
    >>> step = wg.TrainStep(
    ...     lambda w, x, y: wg.mean((x * w - y) ** 2), np.zeros(1), wg.optim.SGD(0.1)
    ... )
    >>> history = wg.train.fit(step, (x, 3 * x), epochs=50, batch_size=16, progress=False)
    >>> step.model.round(2)
    array([3.])
    """
    engine, rule = engine_of(step), early_stopping_of(early_stopping)
    if np.ndim(epochs):
        raise TypeError(
            f"{BY}: epochs is {type(epochs).__name__}; it is a whole number, and the data are one "
            "argument. Write data=(x, y)."
        )
    epochs = require_epochs(BY, epochs)
    require_shuffle_seed(BY, shuffle_seed)
    training, held_back = _divided(step, data, validation, validation_loss, shuffle_seed)
    held_rows = HeldRows(step, training, held_back)
    asked = Asked(metrics, predict, target, weight, validation_loss)
    callbacks = callbacks_of(callbacks)
    require_known(asked, engine.names(len(training if held_back is None else held_back)))
    require_effect(asked, held_back is not None)
    measures = None if held_back is None else Measures(step, held_back, batch_size, asked)
    directions = measures.directions() if measures else {}
    best = Best(rule, {LOSS: "min", **directions})
    watch = PlateauWatch(BY, engine.plan.groups, {**directions, LOSS: "min"})
    names = engine.names(len(training))
    checked = Data(BY, names, training, batch_size, model=engine.model_form)
    how: dict[str, Any] = {
        "rows": checked.rows,
        "batch_size": checked.size,
        "shuffle_seed": shuffle_seed,
        "drop_last": bool(drop_last),
    }
    if checkpoint is not None:
        how[DATA] = checked.full_checksum()
        how[HELD_BACK] = None if held_back is None else rows_checksum(held_back)
    saved = None if checkpoint is None else SavedFit(checkpoint, resume, engine.writes)
    if saved is None and resume is not None:
        raise ValueError(
            f"{BY}: resume={resume!r} was given without checkpoint; a fit goes on from a folder. "
            "Pass checkpoint=, the folder."
        )
    # Of rows that are divided, all that a fit has are copies.
    frames = None if isinstance(validation, float) else frames_read(step, data, training)
    fitting = _Fit(step, engine, epochs, measures, best, watch, saved, how, frames)
    if saved is not None and resume:
        fitting.resume(saved)
    else:
        held_rows.look()
    shown = ProgressLines() if progress and engine.writes else None
    fitting.go_on(training, callbacks, shown)
    held_rows.note()
    return fitting.history()


def _divided(
    step: TrainStep, data: Any, validation: Any, validation_loss: Any, shuffle_seed: int | None
) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
    """The arguments of the loss to train with, and those to validate with, if there are any."""
    given = batch_arguments(step, TRAINING, data)
    if validation is None:
        return given, None
    if isinstance(validation, float):
        share = require_share(validation)
        return divided(given, share, shuffle_seed, step._engine.model_form)
    held_back = batch_arguments(step, VALIDATION, validation)
    if validation_loss is None:
        require_alike(step, given, held_back)
    return given, held_back


class _Fit:
    """A fit while it goes on: what came of its epochs so far."""

    def __init__(
        self,
        step: TrainStep,
        engine: Engine,
        epochs: int,
        measures: Measures | None,
        best: Best,
        watch: PlateauWatch,
        saved: SavedFit | None,
        how: Mapping[str, Any],
        frames: ReadFrames | None,
    ) -> None:
        self._step, self._engine, self._epochs = step, engine, epochs
        self._measures, self._best, self._saved, self._how = measures, best, saved, how
        self._watch, self._frames = watch, frames
        rates = Rates(engine, step._several)
        self._parts = [Recorder(0, rates, Auxes(only_last=True)).history()]
        self._columns: dict[str, list[float]] = {}
        self._best_state: Mapping[str, Any] | None = None
        self._stopped: str | None = None
        self._before = 0.0  # seconds of an earlier process
        self._made_with = {} if saved is None else optimizers_in_words(engine.plan.groups)
        self._begun = False  # whether this process has taken an epoch
        self._has_told = False  # of an epoch that could not be measured

    @property
    def _done(self) -> int:
        return len(self._columns.get("epoch", ()))

    # Training.

    def go_on(
        self, data: tuple[Any, ...], callbacks: Sequence[Callback], shown: ProgressLines | None
    ) -> None:
        """Take the epochs that are left, and end as is asked for."""
        try:
            self._stopped = self._best.reason_to_stop()
            left = self._epochs - self._done
            if left > 0 and self._stopped is None:
                self._train(data, left, callbacks, shown)
        except BaseException as error:
            error.add_note(self._note_of_interruption())
            raise
        finally:
            if self._saved is not None:
                self._saved.flush()
            if shown is not None:
                shown.close(self._stopped and f"stopped: {self._stopped}")
        if self._best.restores and self._best.epoch is not None and self._best_state is not None:
            self._step.load_state_dict(self._best_state)

    def _train(
        self,
        data: tuple[Any, ...],
        left: int,
        callbacks: Sequence[Callback],
        shown: ProgressLines | None,
    ) -> None:
        step, how, began = self._step, self._how, time.perf_counter()
        options = how["batch_size"], left, how["shuffle_seed"], how["drop_last"], "last"
        run = step._run("TrainStep.epochs", (data, {}), *options)
        stretches = run.stretches(self._engine, Rates(self._engine, step._several))
        while left and self._stopped is None:
            if self._frames is not None:
                self._frames.look(BY)
            start, count = time.perf_counter(), min(left, self._epochs_at_once(callbacks, shown))
            try:
                stretches.take(count)
            except BaseException:
                if count > 1:
                    self._note_all(stretches.complete(), np.nan, began, callbacks, shown)
                raise
            taken = stretches.complete()
            step._originals.warn()
            speed = len(taken) * how["rows"] / max(time.perf_counter() - start, 1e-9)
            self._note_all(taken, speed, began, callbacks, shown)
            left -= len(taken)

    def _epochs_at_once(self, callbacks: Sequence[Callback], shown: ProgressLines | None) -> int:
        """How many epochs can be taken before anybody has to look at one of them."""
        looks = self._measures or self._saved or shown or self._best.rule or self._watch or None
        if looks is not None or self._engine.plan.has_aux or self._engine.ranked is not None:
            return 1
        return min((_epochs_ahead(each) for each in callbacks), default=self._epochs)

    def _note_all(
        self,
        epochs: Sequence[Epoch],
        speed: float,
        began: float,
        callbacks: Sequence[Callback],
        shown: ProgressLines | None,
    ) -> None:
        for epoch in epochs:
            record = self._noted(epoch, speed, began)
            if shown is not None:
                shown(record)
            asked = [_asks_to_stop(each, each(record)) for each in callbacks]
            self._watch.show({LOSS: record.loss, **record.metrics})
            self._keep(record.is_best)  # with what callbacks have set
            self._stopped = self._stopped or self._best.reason_to_stop()
            if self._stopped is None and any(asked):
                self._stopped = "a callback asked for it"

    def _noted(self, epoch: Epoch, speed: float, began: float) -> EpochRecord:
        """Measure, and keep everything that is known of an epoch."""
        metrics = {} if self._measures is None else self._measured(self._measures)
        is_best = self._best.note(epoch.index, {LOSS: epoch.loss, **metrics})
        rates = epoch.history.learning_rate
        record = EpochRecord(
            epoch=epoch.index,
            number=self._done + 1,
            epochs=self._epochs,
            loss=epoch.loss,
            metrics=metrics,
            learning_rate=_last_rate(rates),
            seconds=self._before + time.perf_counter() - began,
            rows_per_second=speed,
            is_best=is_best,
            begins=not self._begun,
            history=epoch.history,
            step=self._step,
        )
        self._parts.append(epoch.history)
        for name, value in record.values().items():
            self._columns.setdefault(name, []).append(value)
        self._begun = True
        return record

    def _measured(self, measures: Measures) -> dict[str, float]:
        measured = measures.measured()
        if not self._has_told:
            monitor = self._best.monitor
            self._has_told = look_at_measures(self._engine, measured, monitor, measures.data)
        return measured

    def _keep(self, is_best: bool) -> None:
        """Remember the state of the step, as far as somebody will need it."""
        if self._saved is None and not (is_best and self._best.restores):
            return
        state = self._step.state_dict()
        if is_best or self._best_state is None:
            self._best_state = state
        if self._saved is not None:
            self._saved.note(Snapshot(state, self._as_tree(), self._best_state))

    def _note_of_interruption(self) -> str:
        text = f"{BY}: {self._done} of {self._epochs} epochs were complete, and the step is whole."
        if self._saved is None or not self._done:
            return text
        return f"{text} resume=True goes on from {str(self._saved.folder)!r}."

    # What is known of it.

    def history(self) -> History:
        steps = joined(self._parts, self._parts[-1].aux)
        columns = {name: np.array(values) for name, values in self._columns.items()}
        return History(
            steps.loss,
            steps.grad_norm,
            steps.learning_rate,
            steps.skipped,
            steps.aux,
            columns,
            self._best.epoch,
            self._stopped,
        )

    def _as_tree(self) -> dict[str, Any]:
        steps = joined(self._parts, None)
        self._parts = [steps]
        return {
            "how": dict(self._how),
            OPTIMIZERS: self._made_with,
            "columns": {name: np.array(values) for name, values in self._columns.items()},
            "steps": {
                "loss": steps.loss,
                "grad_norm": steps.grad_norm,
                "learning_rate": steps.learning_rate,
                "skipped": steps.skipped,
            },
            "best": {
                "monitor": self._best.monitor,
                "epoch": self._best.epoch,
                "value": self._best.value,
                "waited": self._best.waited,
            },
        }

    def resume(self, saved: SavedFit) -> None:
        """Go on from what an earlier fit has saved, if one has."""
        snapshot = saved.read()
        if snapshot is None:
            return
        saved.require_same(snapshot.fit["how"], self._how)
        best, columns = snapshot.fit["best"], snapshot.fit["columns"]
        saved.require_same({"monitor": best["monitor"]}, {"monitor": self._best.monitor})
        now = [] if self._measures is None else self._measures.names
        before = [name for name in columns if name not in _OWN and not name.startswith("learning")]
        saved.require_same({"metrics": before}, {"metrics": now})
        given, folder = self._made_with, str(saved.folder)
        state = {name: part for name, part in snapshot.state.items() if name != MADE}
        self._step.load_state_dict(state)  # of other settings it is told here
        first = snapshot.fit.get(OPTIMIZERS, given)
        self._made_with = tell_of_other_settings(self._engine, folder, first, given)
        self._columns = {name: list(values.tolist()) for name, values in columns.items()}
        self._parts = [History(**snapshot.fit["steps"])]
        self._best.epoch, self._best.value = best["epoch"], best["value"]
        self._best.waited, self._best_state = best["waited"], snapshot.best_state
        self._before = self._columns["seconds"][-1]
        tell_of_more_epochs(folder, self._done, self._epochs)


_OWN = ("epoch", LOSS, "seconds")  # columns that no metric has


def _last_rate(rates: Any) -> float | dict[str, float]:
    """The learning rate of the last step of an epoch."""
    if isinstance(rates, dict):
        return {glob: _last_rate(each) for glob, each in rates.items()}  # type: ignore[misc]
    return float(rates[-1]) if len(rates) else np.nan


def _epochs_ahead(callback: Callback) -> int:
    """How many epochs a callback can be told of together, behind the last of them: one, unless it
    has a method `epochs_ahead` that knows how long it will neither stop nor change anything.
    """
    ahead = getattr(callback, "epochs_ahead", None)
    return 1 if ahead is None else max(1, ahead())


def _asks_to_stop(callback: Callback, answer: Any) -> bool:
    if answer is None or isinstance(answer, bool | np.bool_):
        return bool(answer)
    raise TypeError(
        f"{BY}: the callback {getattr(callback, '__name__', callback)!r} returned "
        f"{type(answer).__name__}; it returns True to stop, and None or False to go on. Return one "
        "of these."
    )
