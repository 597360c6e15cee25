"""A training run from the data to its folder."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wengert.cli.datasets.column_kinds import Say
from wengert.cli.datasets.data_source import read_data
from wengert.cli.datasets.learning_task import LearningData, learning_data
from wengert.cli.datasets.preparation import CLASSIFICATION
from wengert.cli.exit_codes import CommandError, ExitCode, RunFault, UsageFault
from wengert.cli.looking.setup_facts import versions
from wengert.cli.report.report_page import RunFindings, main_metric, report_page
from wengert.cli.running.class_shares import (
    simplest_answer,
    tell_one_answer,
    tell_rare_classes,
)
from wengert.cli.running.model_file import SavedModel, load_model, save_model
from wengert.cli.running.run_folder import (
    CONFIG,
    METRICS,
    MODEL,
    REPORT,
    RunFolder,
    kept_metrics,
    read_metrics,
    read_settings,
    writing,
)
from wengert.cli.running.table_network import Predictor, make_step, outputs
from wengert.cli.running.thread_check import check_threads
from wengert.cli.running.trained_data import data_fingerprint
from wengert.cli.toml_text import toml_text
from wengert.cli.train_settings import TrainSettings
from wengert.core import tree
from wengert.errors import NonFiniteError
from wengert.train.fitting.epoch_record import EpochRecord
from wengert.train.fitting.fit import fit
from wengert.train.fitting.loggers import log_jsonl
from wengert.train.fitting.saved_fit import SavedFit
from wengert.train.fitting.stopping import EarlyStopping
from wengert.train.metrics import accuracy, mae, r2
from wengert.train.ranked.unshared import launched_rank
from wengert.train.step import TrainStep

KEPT_AFTER = 60.0  # seconds of training that are worth keeping when a file cannot be written
RESUMABLE = ("epochs", "threads", "patience")  # settings that may change when a run goes on

Progress = Callable[[int, str], Any]  # epochs and a metric → a context that is a callback of fit


@dataclass
class TrainRun:
    """One run: what was asked for, and how to tell the user of it."""

    settings: TrainSettings
    folder: RunFolder
    say: Say
    progress: Progress
    resumes: bool = False
    checks_threads: bool = False
    speeds: list[float] = field(default_factory=list)  # rows per second, of each epoch

    def go(self) -> ExitCode:
        """Do all of it. A failure leaves no run behind; Ctrl-C leaves one that can go on."""
        one = launched_rank()
        if one is not None and one.rank == 0:
            self.say(f"this is {one}: each process trains everything by itself. Start only one")
        if not self.resumes:
            self.folder.require_free()
        table = read_data(self.settings.data, self.settings.delimiter, self.settings.header)
        data = learning_data(table, self.settings.choices(), self.say)
        self._introduce(data)
        step = make_step(data.preparation, self.settings, len(data.x))
        with one_interrupt():
            return self._go_on(data, step)

    def _go_on(self, data: LearningData, step: TrainStep) -> ExitCode:
        """Train, and write; from here on there is a folder."""
        was_killed = False
        if self.resumes:
            self._require_same_data(data)
            was_killed = self.folder.begin_again()
        else:
            self.folder.begin()
        began, is_interrupted = time.monotonic(), False
        try:
            if self.checks_threads:
                self.say(check_threads(data, self.settings))
            is_interrupted = self._train(data, step)
            with undisturbed():
                if is_interrupted:
                    self.say("interrupted; saving what was learned")
                self._finish(data, step, is_interrupted)
        except _NothingLearned:
            self.folder.remove()
            self.say("interrupted before the first epoch was over; nothing is saved")
            return ExitCode.INTERRUPTED
        except BaseException as error:
            self._clean_up(error, was_killed or time.monotonic() - began > KEPT_AFTER)
            raise
        return ExitCode.INTERRUPTED if is_interrupted else ExitCode.DONE

    # Before training.

    def _introduce(self, data: LearningData) -> None:
        target = data.preparation.target
        self.say(f"task: {target.task} of {target.name!r} ({data.why_task})")
        kinds = [feature.kind for feature in data.preparation.features]
        counts = [f"{kinds.count('number')} of numbers", f"{kinds.count('category')} of categories"]
        classes = f"; {len(target.classes)} classes" if target.classes else ""
        self.say(
            f"data: {len(data.x)} rows to learn from, {len(data.held_x)} held out; {len(kinds)} "
            f"columns ({' and '.join(counts)}) become {data.preparation.width} inputs{classes}"
        )
        if target.classes:
            tell_rare_classes(data, self.say)
        if self.settings.batch_size > len(data.x):
            self.say(
                f"--batch-size {self.settings.batch_size} is more than there are rows: all at once"
            )
            self.settings = replace(self.settings, batch_size=len(data.x))
        sizes = (data.preparation.width, *self.settings.layers, data.preparation.outputs)
        between = self.settings.activation if self.settings.layers else "linear"
        self.say(
            f"model: {' → '.join(map(str, sizes))}, {between}; "
            f"{self.settings.optimizer}, lr {self.settings.lr:g}, {self.settings.schedule}"
        )

    def _require_same_data(self, data: LearningData) -> None:
        path = self.folder.path / MODEL
        if not path.exists():  # it was killed before there was one; fit compares, too
            return
        known = load_model(path).facts["data_fingerprint"]
        if data_fingerprint(data) != known:
            raise RunFault(
                f"--resume: {self.settings.data} is no longer what {self.folder.path} was trained "
                "on; the bits would be others. Bring the data back, or train anew."
            )

    # Training.

    def _train(self, data: LearningData, step: TrainStep) -> bool:
        """Train until the end or Ctrl-C; whether it was Ctrl-C."""
        work, settings = self.folder.work, self.settings
        with writing(work):
            (work / CONFIG).write_text(toml_text(settings.as_dict()), encoding="utf-8")
        task = data.preparation.target.task
        try:
            with (
                writing(self.folder.path),
                self.progress(settings.epochs, main_metric(task)) as shown,
            ):
                history = fit(
                    step,
                    (data.x, data.y),
                    settings.epochs,
                    settings.batch_size,
                    validation=(data.held_x, data.held_y),
                    metrics=_metrics(data),
                    predict=outputs,
                    early_stopping=EarlyStopping(settings.patience, restore_best=False)
                    if settings.patience
                    else None,
                    checkpoint=self.folder.checkpoint,
                    resume=self.resumes,
                    callbacks=[log_jsonl(work / METRICS), shown, self._note_speed],
                    progress=False,
                    shuffle_seed=settings.seed,
                )
        except KeyboardInterrupt:
            return True
        except NonFiniteError as error:
            what = str(error).partition("; ")[0]  # behind it: what to write in a program
            raise CommandError(
                f"training: {what}; all numbers must be finite. A lower --lr than "
                f"{settings.lr:g}, or --clip 1, may help.",
                ExitCode.NONFINITE,
            ) from None
        if history.stopped:
            self.say(f"stopped early: {history.stopped}")
        elif not self.speeds:
            count = len(history.epochs["epoch"])
            self.say(
                f"no epoch was left to train: the run has {count}, and is as it was. Go on with "
                f"--epochs {2 * count}, say"
            )
        return False

    def _note_speed(self, record: EpochRecord) -> None:
        self.speeds.append(record.rows_per_second)

    # After training.

    def _finish(self, data: LearningData, step: TrainStep, is_interrupted: bool) -> None:
        """Write all files, and put the run in its place."""
        work = self.folder.work
        snapshot = SavedFit(self.folder.checkpoint, True).read()
        if snapshot is None:
            raise _NothingLearned
        if snapshot.fit["best"]["epoch"] is None:
            raise CommandError(
                "training: the held-out loss was not a number in any epoch, so that none is the "
                f"best. A lower --lr than {self.settings.lr:g}, or --clip 1, may help.",
                ExitCode.NONFINITE,
            )
        step.load_state_dict(snapshot.state)
        timed = self.speeds[1:] or self.speeds or [math.nan]  # the first epoch compiles
        facts = {
            "best_epoch": int(snapshot.fit["best"]["epoch"]),
            "fingerprint": step.fingerprint(),
            "data_fingerprint": data_fingerprint(data),
            "rows_per_second": float(np.median(timed)),
            "interrupted": is_interrupted,
            "columns": list(data.columns),
        }
        step.load_state_dict(snapshot.best_state)
        rows = kept_metrics(work / METRICS, len(snapshot.fit["columns"]["epoch"]))
        findings = RunFindings(self.settings, data, step, rows, facts, versions())
        saved = SavedModel(tree.copy(step.model), data.preparation, self.settings, facts)
        with writing(self.folder.path):
            (work / CONFIG).write_text(toml_text(self.settings.as_dict()), encoding="utf-8")
            save_model(work / MODEL, saved)
            (work / REPORT).write_text(report_page(findings), encoding="utf-8")
        self.folder.finish()
        self._tell(findings, is_interrupted)

    def _tell(self, findings: RunFindings, is_interrupted: bool) -> None:
        best = next(row for row in findings.rows if row["epoch"] == findings.facts["best_epoch"])
        number, path = findings.facts["best_epoch"] + 1, self.folder.path
        if findings.data.preparation.target.task == CLASSIFICATION:
            name, share = simplest_answer(findings.data)
            result = (
                f"{best['accuracy']:.2%} of the held-out rows are right; always {name!r} would be "
                f"right for {share:.2%}"
            )
        else:
            result = f"held-out R² {best['r2']:.4f}, mean absolute error {best['mae']:.4g}"
        self.say(f"best epoch: {number} of {len(findings.rows)}; {result}")
        if findings.data.preparation.target.classes:
            predictor = Predictor(findings.step, findings.data.preparation)
            said = predictor.outputs(findings.data.held_x).argmax(axis=1)
            tell_one_answer(findings.data, said, self.say)
        speed = findings.facts["rows_per_second"]
        if math.isfinite(speed):
            self.say(f"speed: {speed:,.0f} rows per second")
        self.say(f"fingerprint: {findings.facts['fingerprint']}")
        if is_interrupted:
            self.say(f"go on with: wengert train --resume {path}")
        self.say(f"report: {path / REPORT}")

    def _clean_up(self, error: BaseException, is_much: bool) -> None:
        """Leave nothing that is not whole, unless it is much that was learned, or all that is left
        of a run.
        """
        if is_much and self.folder.can_go_on():
            error.add_note(
                f"What was learned is in {self.folder.work}. Go on with: wengert train --resume "
                f"{self.folder.path}"
            )
        else:
            self.folder.remove()


@contextmanager
def one_interrupt() -> Iterator[None]:
    """Answer the first Ctrl-C, and no other one: it must not lose what the first one saves."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def answer(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, answer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Leave Ctrl-C without an answer, while files are written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _NothingLearned(Exception):
    """Ctrl-C came before the first epoch was over."""


def _metrics(data: LearningData) -> dict[str, Callable[..., float]]:
    if data.preparation.target.classes:
        return {"accuracy": accuracy}
    return {"r2": r2, "mae": partial(_scaled_mae, scale=data.preparation.target.scale)}


def _scaled_mae(target: Any, prediction: Any, scale: float) -> float:
    """In the unit of the target."""
    return mae(target, prediction) * scale


def resumed_settings(path: Path, flags: dict[str, Any]) -> TrainSettings:
    """The settings of a run that goes on, with the few that may change."""
    folder = RunFolder(path)
    source = folder.work if folder.work.is_dir() else path
    if not source.is_dir():
        raise RunFault(f"--resume: there is no run {path}.")
    settings = read_settings(source)
    for name, value in flags.items():
        before = getattr(settings, name)
        if name not in RESUMABLE and value != before:
            has = "was begun without it" if before is None else f"has {before!r}"
            raise UsageFault(
                f"--resume: {name} was given as {value!r}, and the run {has}; it goes on "
                f"as it began. Only {', '.join(RESUMABLE)} may change."
            )
    changed = replace(settings, **flags)
    done = len(read_metrics(source / METRICS)) if (source / METRICS).exists() else 0
    if "epochs" in flags and changed.epochs < done:
        raise UsageFault(
            f"--epochs: given {changed.epochs} for a run that has {done} epochs already; it counts "
            f"all of them, and none is taken back. Give more than {done}."
        )
    if changed.epochs != settings.epochs and settings.schedule != "constant":
        raise UsageFault(
            f"--epochs: given {changed.epochs} for a run of {settings.epochs} with schedule "
            f"{settings.schedule}, which is made for so many; the rates would be others. Train "
            "anew, or leave --epochs out."
        )
    return changed
