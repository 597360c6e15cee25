"""The progress of a sweep: a bar on a terminal, a plain line for each setting elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

from wengert.sweeping.grid import shown
from wengert.sweeping.sweep_results import SweepRun
from wengert.train.fitting.progress_lines import duration

BAR = 20  # places of the bar


class SweepProgress:
    """Shows settings as they are finished, on the stream for messages."""

    def __init__(self, total: int, resumed: int, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._changes = self._stream.isatty()
        self._total, self._before, self._done, self._failed = total, resumed, resumed, 0
        self._began = time.monotonic()
        if resumed:
            self._stream.write(f"sweep: {resumed} of {total} settings were finished before\n")
        if self._changes:
            self._bar()

    def __call__(self, run: SweepRun) -> None:
        """Show a setting that has been finished, or has failed."""
        self._done += 1
        if run.error is not None:
            self._failed += 1
        line = f"sweep {self._done:{len(str(self._total))}}/{self._total}  {described(run)}"
        if not self._changes:
            self._stream.write(f"{line}\n")
        elif run.error is not None:  # this one stays
            self._stream.write(f"\r{line[: self._width()]:<{self._width()}}\n")
        if self._changes:
            self._bar(described(run))
        self._stream.flush()

    def close(self) -> None:
        """End the line of the bar."""
        if self._changes:
            self._stream.write("\n")
        self._stream.flush()

    def _bar(self, last: str = "") -> None:
        filled = BAR * self._done // max(self._total, 1)
        parts = [f"sweep {'█' * filled}{'░' * (BAR - filled)} {self._done}/{self._total}"]
        if self._failed:
            parts.append(f"{self._failed} failed")
        many = self._done - self._before
        if many and self._done < self._total:
            each = (time.monotonic() - self._began) / many
            parts.append(f"{duration(each * (self._total - self._done))} left")
        line = "  ".join([*parts, last])
        self._stream.write(f"\r{line[: self._width()]:<{self._width()}}")

    @staticmethod
    def _width() -> int:
        return shutil.get_terminal_size().columns - 1


def described(run: SweepRun) -> str:
    """One setting and what came of it in one line."""
    if run.error is not None:
        return f"{shown(run.settings)}: failed, {run.error}"
    numbers = (
        f"{name} {value:.6g}"
        for name, value in run.metrics.items()
        if isinstance(value, int | float)
    )
    return "  ".join([f"{shown(run.settings)}:", *numbers, f"({run.seconds:.1f} s)"])
