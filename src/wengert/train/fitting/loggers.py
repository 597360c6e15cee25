"""Loggers: callbacks of a fit that write down what each epoch measured."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import reprlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wengert.core.words.arguments import worded
from wengert.core.words.warn import warn_user
from wengert.errors import WengertWarning
from wengert.train.fitting.epoch_record import EpochRecord
from wengert.train.fitting.fit_data import engine_of

Logger = Callable[[EpochRecord], None]
File = str | os.PathLike[str]


@worded
def log_csv(path: File) -> Logger:
    """A callback that writes a CSV file: one line per epoch, below the names. The first fit of a
    step writes the file anew; another one, or one that was resumed, goes on behind the epochs that
    the step has had. A file that is no such log is refused, and stays as it is.

    >>> step = wg.TrainStep(lambda w, x: wg.mean((x @ w) ** 2), np.ones(1), wg.optim.SGD(0.25))
    >>> log = wg.train.log_csv("epochs.csv")
    >>> _ = wg.train.fit(step, (np.ones((4, 1)),), 2, batch_size=4, callbacks=log, progress=False)
    >>> with open("epochs.csv") as file:
    ...     print(file.readline(), end="")
    epoch,loss,learning_rate,seconds
    """

    def line(values: dict[str, float]) -> str:
        return _csv_line([repr(x) for x in values.values()])

    def epoch_of(text: str) -> int | None:
        first = text.partition(",")[0]
        return int(first) if first.isdigit() else None

    begins = "epoch,loss"
    return _file_logger(
        "log_csv", path, begins, line, epoch_of, lambda values: _csv_line(list(values))
    )


@worded
def log_jsonl(path: File) -> Logger:
    """A callback that writes a file of JSON lines: one object per epoch, with null for what is not
    finite. The first fit of a step writes the file anew; another one, or one that was resumed, goes
    on behind the epochs that the step has had. A file that is no such log is refused, and stays as
    it is.

    >>> x = np.ones((4, 1))
    >>> step = wg.TrainStep(lambda w, x: wg.mean((x @ w) ** 2), np.ones(1), wg.optim.SGD(0.25))
    >>> log = wg.train.log_jsonl("metrics.jsonl")
    >>> _ = wg.train.fit(step, (x,), 2, batch_size=4, callbacks=log, progress=False)
    >>> with open("metrics.jsonl") as file:
    ...     print(file.readline()[:25])
    {"epoch": 0, "loss": 1.0,
    """

    def line(values: dict[str, float]) -> str:
        finite = {name: x if math.isfinite(x) else None for name, x in values.items()}
        return json.dumps(finite)

    def epoch_of(text: str) -> int | None:
        try:
            epoch = json.loads(text).get("epoch")
        except (ValueError, AttributeError):  # a line that was cut off, or of something else
            return None
        return epoch if isinstance(epoch, int) else None

    return _file_logger("log_jsonl", path, '{"epoch": ', line, epoch_of, None)


def _csv_line(cells: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()


def _file_logger(
    by: str,
    path: File,
    begins: str,  # what every log begins with
    line: Callable[[dict[str, float]], str],
    epoch_of: Callable[[str], int | None],
    header: Callable[[dict[str, float]], str] | None,
) -> Logger:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"{by}: path is {type(path).__name__}; it is where the file is written. Pass a path."
        )
    file = Path(path)
    _lines_of_log(by, file, begins)  # no epoch is trained for a file that is refused

    def begin(record: EpochRecord) -> None:
        """The lines of the epochs before this one, if there are some; nothing else."""
        lines = [header(record.values())] if header else []
        known = [(epoch_of(text), text) for text in _lines_of_log(by, file, begins)]
        if record.epoch > 0:  # of this step: its epochs count on
            before = [text for epoch, text in known if epoch is not None and epoch < record.epoch]
            if before and header and known[0][1] != lines[0]:
                warn_user(
                    f"{by}: {str(file)!r} has {len(before)} epochs of this step with the columns "
                    f"{known[0][1]}, and this fit has {lines[0]}; the file is written anew. Pass "
                    "another path to keep them, or use log_jsonl, whose lines name their values.",
                    UserWarning,
                )
                before = []
            lines += before
            known = []
        _look_at_lost(by, file, sum(epoch is not None for epoch, _ in known))
        file.write_text("".join(f"{text}\n" for text in lines), encoding="utf-8")

    def log(record: EpochRecord) -> None:
        if not engine_of(record.step).writes:
            return
        if record.begins:
            begin(record)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(f"{line(record.values())}\n")

    return log


def _lines_of_log(by: str, file: Path, begins: str) -> list[str]:
    """The lines that are there, if some are; what is no log is refused, as it would be lost."""
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", errors="replace") as stream:
        first = stream.readline()
        if first and not first.startswith(begins):
            raise ValueError(
                f"{by}: {str(file)!r} begins with {reprlib.repr(first.rstrip())} and is no log of "
                "epochs; it would be lost. Pass another path, or remove the file."
            )
        return (first + stream.read()).splitlines()


_begun: dict[Path, int | None] = {}  # the files that this process has begun, with the cells


def _look_at_lost(by: str, file: Path, epochs: int) -> None:
    """Warn where epochs that this process has logged are written over, as those of another fold. A
    program or a cell of a notebook that runs once more replaces its logs.
    """
    place, cell = file.resolve(), _cell()
    lost = epochs > 0 and place in _begun and _begun[place] == cell
    _begun[place] = cell
    if lost:
        warn_user(
            f"{by}: {str(file)!r} has {epochs} epochs that were logged before in this program; "
            "the first fit of a step writes the file anew, and they are lost. Pass a path of its "
            f"own for each step, as {by}(f'fold-{{k}}{file.suffix}').",
            WengertWarning,
        )


def _cell() -> int | None:
    """The number of the cell that runs, in a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "execution_count", None)


@worded
def log_tensorboard(folder: Any) -> Logger:
    """A callback for TensorBoard. Given a folder, it writes there through the package
    `tensorboard`; given a writer with `add_scalar` (of tensorboardX, or of torch), through that.

    >>> class Writer:
    ...     def add_scalar(self, name, value, epoch):
    ...         print(name, epoch)
    ...
    ...     def flush(self): ...
    >>> step = wg.TrainStep(lambda w, x: wg.mean((x @ w) ** 2), np.ones(1), wg.optim.SGD(0.25))
    >>> log = wg.train.log_tensorboard(Writer())
    >>> _ = wg.train.fit(step, (np.ones((4, 1)),), 1, batch_size=4, callbacks=log, progress=False)
    loss 0
    learning_rate 0
    seconds 0
    """
    if hasattr(folder, "add_scalar"):
        writer = folder

        def log_through_writer(record: EpochRecord) -> None:
            for name, value in record.values().items():
                if name != "epoch":
                    writer.add_scalar(name, value, record.epoch)
            writer.flush()

        return log_through_writer
    return _tensorboard_files(os.fspath(folder))


def _tensorboard_files(folder: str) -> Logger:
    try:
        from tensorboard.compat.proto.event_pb2 import Event  # type: ignore[import-not-found]
        from tensorboard.compat.proto.summary_pb2 import Summary  # type: ignore[import-not-found]
        from tensorboard.summary.writer.event_file_writer import (  # type: ignore[import-not-found]
            EventFileWriter,
        )
    except ImportError as error:
        raise ImportError(
            f"log_tensorboard: the package tensorboard cannot be imported ({error}); it writes the "
            "files. Run pip install tensorboard, or pass a writer that has add_scalar."
        ) from error
    events = EventFileWriter(folder)

    def log(record: EpochRecord) -> None:
        scalars = [
            Summary.Value(tag=name, simple_value=value)
            for name, value in record.values().items()
            if name != "epoch"
        ]
        event = Event(wall_time=time.time(), step=record.epoch, summary=Summary(value=scalars))
        events.add_event(event)
        events.flush()

    return log


@worded
def log_wandb(run: Any) -> Logger:
    """A callback for Weights & Biases: `run` is what `wandb.init(…)` returned.

    >>> class Run:  # as that of wandb
    ...     def log(self, values, step):
    ...         print(step, sorted(values))
    >>> step = wg.TrainStep(lambda w, x: wg.mean((x @ w) ** 2), np.ones(1), wg.optim.SGD(0.25))
    >>> log = wg.train.log_wandb(Run())
    >>> _ = wg.train.fit(step, (np.ones((4, 1)),), 1, batch_size=4, callbacks=log, progress=False)
    0 ['epoch', 'learning_rate', 'loss', 'seconds']
    """
    if not callable(getattr(run, "log", None)):
        raise TypeError(
            f"log_wandb: given {type(run).__name__}; it is a run of Weights & Biases, which has "
            "log. Pass what wandb.init(project=…) returns."
        )

    def log(record: EpochRecord) -> None:
        run.log(record.values(), step=record.epoch)

    return log
