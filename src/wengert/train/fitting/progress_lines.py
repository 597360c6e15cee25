"""The progress of a fit: one line that changes on a terminal, some plain lines elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

from wengert.train.fitting.epoch_record import EpochRecord

LINES = 20  # of a whole fit, where each one stays, about
PAUSE = 0.1  # seconds between two changes of the line on a terminal


class ProgressLines:
    """Shows epochs as they come, on the stream for messages."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._changes = self._stream.isatty()
        self._shown = 0.0
        self._left: str | None = None  # the newest line, if it is not shown
        self._first: EpochRecord | None = None

    def __call__(self, record: EpochRecord) -> None:
        """Show an epoch, or leave it out where many go by."""
        self._first = self._first or record
        line, now = shown(record, self._first), time.monotonic()
        self._left = line
        if self._changes:
            if now - self._shown >= PAUSE:
                self._shown = now
                self._write(line)
        elif record.number % max(1, record.epochs // LINES) == 0:
            self._write(line)

    def close(self, note: str | None = None) -> None:
        """Show the last epoch, if it was left out, and why the fit ended."""
        if self._left is not None:
            self._write(self._left)
        if self._changes and self._shown:
            self._stream.write("\n")
        if note:
            self._stream.write(f"{note}\n")
        self._stream.flush()

    def _write(self, line: str) -> None:
        self._left = None
        if self._changes:
            width = shutil.get_terminal_size().columns - 1
            self._shown = self._shown or time.monotonic()
            self._stream.write(f"\r{line[:width]:<{width}}")
        else:
            self._stream.write(f"{line}\n")
        self._stream.flush()


def shown(record: EpochRecord, first: EpochRecord) -> str:
    """One epoch in one line: what was measured, how fast it is, and how long it will take. The
    first epoch, in which programs are compiled, says little of the others.
    """
    digits = len(str(record.epochs))
    numbers = {"loss": record.loss, **record.metrics}
    taken, many = record.seconds - first.seconds, record.number - first.number
    left = taken / many if many else record.seconds / record.number
    return "  ".join(
        [
            f"epoch {record.number:{digits}}/{record.epochs}",
            *(f"{name} {value:.4g}" for name, value in numbers.items()),
            f"{record.rows_per_second:,.0f} rows/s",
            f"{duration(left * (record.epochs - record.number))} left",
        ]
    )


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
