"""The checkpoint of a fit: a folder with `last.safetensors` and `best.safetensors`.

Both are files that `TrainStep.load` reads. The last one has one more part, which the step leaves
alone: the history so far and the best state. So one file, which is replaced as a whole, has all
that a resumed fit needs to end as if it had never stopped.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wengert.errors import CheckpointError
from wengert.train.checkpoints.checkpoint import FIT
from wengert.train.checkpoints.files import load, save
from wengert.train.fitting.fit_data import BY

LAST, BEST = "last.safetensors", "best.safetensors"
DATA = "data"  # the entry whose value is a checksum of the data
HELD_BACK = "validation"  # the same, of those that validate
OPTIMIZERS = "optimizers"  # the part that says what they were made with
_ROWS = {DATA: "train", HELD_BACK: "validate"}
EVERY = 1.0  # seconds between two files, at least; what is newer is written at the end


@dataclass(frozen=True)
class Snapshot:
    """A step and a fit as they were when an epoch was over. Nobody changes what it holds."""

    state: Mapping[str, Any]  # of the step
    fit: Mapping[str, Any]  # all but the best state
    best_state: Mapping[str, Any]


class SavedFit:
    """Keeps the last snapshot of a fit, and writes it to a folder now and then."""

    def __init__(self, folder: Any, resume: bool | None, writes: bool = True) -> None:
        if not isinstance(folder, str | os.PathLike):
            raise TypeError(
                f"{BY}: checkpoint is {type(folder).__name__}; it is the path of a folder, which "
                "is made if it is not there. Pass a path."
            )
        self.folder, self._writes = Path(os.fspath(folder)), writes
        self._newest: Snapshot | None = None
        self._best_written: Mapping[str, Any] | None = None
        self._written = -EVERY  # when, by the clock
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(
                f"{BY}: checkpoint={str(folder)!r} cannot be a folder ({error.strerror}); a folder "
                "that can be written to is needed. Choose another path."
            ) from error
        if resume is None and (self.folder / LAST).exists():
            raise CheckpointError(
                f"{BY}: checkpoint={str(folder)!r} already holds a fit; it would be lost. Pass "
                "resume=True to go on with it, resume=False to begin anew, or another path."
            )

    def read(self) -> Snapshot | None:
        """What an earlier fit left here, if one did."""
        path = self.folder / LAST
        if not path.exists():
            return None
        state = load(path)
        if not isinstance(state, dict) or not isinstance(state.get(FIT), dict):
            raise CheckpointError(
                f"{BY}: {str(path)!r} is no checkpoint of a fit; it may be one of a step alone. "
                "Load it with step.load, and choose another folder."
            )
        fit = state.pop(FIT)
        snapshot = Snapshot(state, fit, fit.pop("best_state"))
        self._newest = self._best_written = None
        return snapshot

    def require_same(self, saved: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        """Refuse to go on with other data or in another way: the bits would be others."""
        for name, value in now.items():
            before = saved.get(name)
            if before != value and name in _ROWS:  # checksums, which tell the user nothing
                raise CheckpointError(
                    f"{BY}: the checkpoint in {str(self.folder)!r} is of a fit on other data; the "
                    f"rows that {_ROWS[name]}, or their order, differ from those of then. Pass "
                    "the same data, or resume=False to begin anew."
                )
            if before != value:
                raise CheckpointError(
                    f"{BY}: the checkpoint in {str(self.folder)!r} is of a fit with {name} "
                    f"{before!r}; now it is {value!r}. Pass what was passed then, or resume=False "
                    "to begin anew."
                )

    def note(self, snapshot: Snapshot) -> None:
        """Take what an epoch has left; write it, unless something was written just now."""
        self._newest = snapshot
        if time.monotonic() - self._written >= EVERY:
            self.flush()

    def flush(self) -> None:
        """Write what is not written yet."""
        if self._newest is None or not self._writes:
            return
        newest, best = self._newest, self._newest.best_state
        if best is not self._best_written and newest.fit["best"]["epoch"] is not None:
            save(self.folder / BEST, best)
            self._best_written = best
        save(self.folder / LAST, {**newest.state, FIT: {**newest.fit, "best_state": best}})
        self._newest, self._written = None, time.monotonic()
