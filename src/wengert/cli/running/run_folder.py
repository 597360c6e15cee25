"""The folder of a run, which is whole or not there.

While training goes on, everything lies in `NAME.unfinished`. When all files are written it is
renamed to `NAME`. So a folder `NAME` always has all of its files; a process that was killed leaves
`NAME.unfinished`, from which `--resume NAME` goes on.

    config.toml         the settings, as `--config` reads them
    metrics.jsonl       one line per epoch
    model.safetensors   the best weights, and how data are prepared for them
    state.safetensors   the last state: what `--resume` goes on from
    report.html         a page about all of it
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wengert.cli.exit_codes import RunFault
from wengert.cli.running.model_file import SavedModel, load_model
from wengert.cli.train_settings import TrainSettings, read_config
from wengert.errors import CheckpointError
from wengert.train.fitting.saved_fit import LAST

CONFIG, METRICS, REPORT = "config.toml", "metrics.jsonl", "report.html"
MODEL, STATE = "model.safetensors", "state.safetensors"
CHECKPOINT = "checkpoint"  # a folder, while training goes on
FILES = (CONFIG, METRICS, MODEL, STATE, REPORT)
_UNFINISHED, _REPLACED = ".unfinished", ".replaced"


@dataclass(frozen=True)
class RunFolder:
    """Where a run will be, and where it is until it is whole."""

    path: Path

    def __post_init__(self) -> None:
        if self.path.name in ("", ".."):
            name = self.path.resolve().name
            raise RunFault(
                f"{self.path}: is the folder that you are in, or one above it; a run is written "
                "beside its place, and renamed. Go to the folder above it, and give its name: "
                f"{name or 'a folder'}."
            )

    @property
    def work(self) -> Path:
        return self.path.with_name(f"{self.path.name}{_UNFINISHED}")

    @property
    def checkpoint(self) -> Path:
        return self.work / CHECKPOINT

    def require_free(self) -> None:
        """Refuse what is there already: nothing is written over."""
        if self.path.is_file():
            raise RunFault(
                f"{self.path}: is a file; a run is a new folder. Choose another: --out "
                f"{self.path}-run."
            )
        if self.path.exists():
            raise RunFault(
                f"{self.path}: is there already, and is not written over. Go on with it: --resume "
                f"{self.path}; or choose another: --out {self.path}-2."
            )
        if self.work.exists():
            raise RunFault(
                f"{self.work}: another training is writing there, or one was killed. Go on with "
                f"it: --resume {self.path}; or delete the folder."
            )

    def begin(self) -> None:
        """Make the folder to work in."""
        self.require_free()
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.work.mkdir()
            self.checkpoint.mkdir()

    def begin_again(self) -> bool:
        """Make the folder to work in from a run that is to go on. True where it was there already,
        left by a process that was killed.
        """
        if (self.work / STATE).exists():  # it was killed between two renames
            self._put_in_place()
        if self.work.is_dir():
            if not (self.checkpoint / LAST).exists():
                raise RunFault(
                    f"{self.work}: has no checkpoint to go on from. Delete it, and train anew."
                )
            return True
        require_run(self.path)
        try:
            with writing(self.path):
                self.checkpoint.mkdir(parents=True)
                shutil.copyfile(self.path / STATE, self.checkpoint / LAST)
                shutil.copyfile(self.path / METRICS, self.work / METRICS)
        except BaseException:
            self.remove()
            raise
        return False

    def can_go_on(self) -> bool:
        """Whether the unfinished folder can be resumed."""
        return (self.checkpoint / LAST).exists() or (self.work / STATE).exists()

    def finish(self) -> None:
        """Put the run in its place. One that was there before is removed only then."""
        with writing(self.path):
            os.replace(self.checkpoint / LAST, self.work / STATE)
            shutil.rmtree(self.checkpoint)
        self._put_in_place()

    def _put_in_place(self) -> None:
        with writing(self.path):
            replaced = self.path.with_name(f"{self.path.name}{_REPLACED}")
            shutil.rmtree(replaced, ignore_errors=True)
            if self.path.exists():
                os.rename(self.path, replaced)
            os.rename(self.work, self.path)
            shutil.rmtree(replaced, ignore_errors=True)

    def remove(self) -> None:
        """Remove the unfinished folder."""
        shutil.rmtree(self.work, ignore_errors=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the system into one that says what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise RunFault(
            f"{path}: cannot be written ({reason}). Choose another place with --out, or make room."
        ) from None
    except CheckpointError as error:
        raise RunFault(
            f"{path}: cannot be written ({error.__cause__ or error}). Choose another place with "
            "--out, or make room."
        ) from None


def next_folder(data: str) -> Path:
    """A name that no run has: runs/digits-1, runs/digits-2, …"""
    name = re.sub(r"[^\w.-]+", "-", Path(data).stem or "run").strip("-.") or "run"
    number = 1
    while any(Path("runs", f"{name}-{number}{ending}").exists() for ending in ("", _UNFINISHED)):
        number += 1
    return Path("runs", f"{name}-{number}")


def require_run(path: Path) -> Path:
    """The folder of a whole run; anything else is refused."""
    if not path.exists():
        raise RunFault(f"{path}: there is no such run.")
    if not path.is_dir():
        raise RunFault(f"{path}: is a file; the folder of a run is needed.")
    absent = [name for name in (CONFIG, METRICS, MODEL, STATE) if not (path / name).exists()]
    if absent:
        raise RunFault(f"{path}: is no run of `wengert train`: {', '.join(absent)} is not there.")
    return path


@dataclass(frozen=True, eq=False)
class RecordedRun:
    """A run as it lies on the disk."""

    path: Path
    settings: TrainSettings
    rows: list[dict[str, Any]]  # one per epoch
    model: SavedModel

    @property
    def best(self) -> dict[str, Any]:
        """The epoch whose weights are kept."""
        number = self.model.facts["best_epoch"]
        return next((row for row in self.rows if row["epoch"] == number), self.rows[-1])


def read_run(path: Path) -> RecordedRun:
    require_run(path)
    model = load_model(path / MODEL)
    return RecordedRun(path, read_settings(path), read_metrics(path / METRICS), model)


def read_settings(path: Path) -> TrainSettings:
    """The settings in the folder of a run."""
    return TrainSettings(**read_config(path / CONFIG))


def kept_metrics(path: Path, epochs: int) -> list[dict[str, Any]]:
    """The first lines of metrics.jsonl; others, of an epoch that was interrupted, are removed."""
    rows = read_metrics(path)
    if len(rows) > epochs:
        with writing(path):
            text = "".join(f"{json.dumps(row)}\n" for row in rows[:epochs])
            path.write_text(text, encoding="utf-8")
    return rows[:epochs]


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        epochs = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise RunFault(f"{path}: cannot be read ({error}).") from None
    if not epochs:
        raise RunFault(f"{path}: has no epochs.")
    return epochs
