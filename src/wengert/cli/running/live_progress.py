"""Progress: a bar that moves on a terminal, plain lines in a pipe."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from wengert.cli.report.chart_axes import short
from wengert.cli.told import say
from wengert.train.fitting.epoch_record import EpochRecord

_LINES = 20  # of a whole run, where each one stays, about
_WIDE = 110  # letters of a line that has room for everything
_SILENCE = 10.0  # seconds after which a line comes in any case


class LiveProgress:
    """A callback of `fit`. On a terminal it is a context that shows a bar."""

    def __init__(self, console: Console, epochs: int, metric: str) -> None:
        self._console, self._epochs, self._metric = console, epochs, metric
        self._said = time.monotonic()
        self._first: EpochRecord | None = None
        self._bar: Any = None
        self._task: Any = None
        if console.is_terminal:
            self._bar = Progress(
                TextColumn("epoch {task.completed}/{task.total}"),
                BarColumn(bar_width=None),
                TextColumn("{task.fields[report]}", markup=False),
                *([TimeElapsedColumn()] if console.width >= _WIDE else []),
                console=console,
                expand=True,
            )
            self._task = self._bar.add_task("", total=epochs, report="recording and compiling")

    def __enter__(self) -> LiveProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, record: EpochRecord) -> None:
        is_narrow = self._bar is not None and self._console.width < _WIDE
        report = self._report(record, is_narrow)
        if self._bar is not None:
            self._bar.update(self._task, completed=record.number, report=report)
            return
        now = time.monotonic()
        every = max(1, self._epochs // _LINES)
        is_due = record.number in (1, self._epochs) or record.number % every == 0
        if is_due or now - self._said > _SILENCE:
            self._said = now
            width = len(str(self._epochs))
            say(f"epoch {record.number:{width}}/{self._epochs}  {report}")

    def _left(self, record: EpochRecord) -> str:
        """How long it will take, judged by the epochs behind the first, which compiles."""
        first = self._first = self._first or record
        known = record.number - first.number
        if not known:
            return "…"
        each = (record.seconds - first.seconds) / known
        return _duration(each * (self._epochs - record.number))

    def _report(self, record: EpochRecord, is_narrow: bool) -> str:
        metrics = record.metrics
        parts = [
            f"loss {record.loss:.3g}",
            f"held-out {metrics['validation_loss']:.3g}",
            f"{self._metric} {metrics[self._metric]:.4f}",
            f"{short(record.rows_per_second)} rows/s",
            f"{self._left(record)} left",
        ]
        return "  ".join(parts[:1] + parts[2:] if is_narrow else parts)


def _duration(seconds: float) -> str:
    """
    >>> _duration(75), _duration(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
