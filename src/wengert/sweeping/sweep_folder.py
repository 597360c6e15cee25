"""The folder of a sweep: one file per finished setting, and what train was when they were made.

A file is written when its setting is finished, by `wg.save`, and so is whole or not there. An
interrupted sweep goes on with the settings that have none.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wengert.core.words.warn import warn_user
from wengert.errors import CheckpointError, SweepWarning
from wengert.sweeping.grid import BY, Settings, identity, key, shown
from wengert.sweeping.returned import Returned
from wengert.sweeping.sweep_call import Outcome
from wengert.sweeping.sweep_results import SweepRun
from wengert.sweeping.train_identity import CHANGING, what_differs, with_changing
from wengert.train.checkpoints.drafts import replace_file
from wengert.train.checkpoints.files import load, save

DESCRIPTION, LOCK, VERSION = "sweep.json", ".lock", 1
ANYWAY = "anyway"
_FINISHED = re.compile(r"[0-9a-f]{16}\.safetensors")


class SweepFolder:
    """A folder while a sweep uses it; no other process can meanwhile."""

    def __init__(self, folder: Any, resume: Any, train: Mapping[str, str]) -> None:
        if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
            raise TypeError(
                f"{BY}: folder={folder!r} was given; it is the path of a folder, which is made if "
                "it is not there. Pass a path."
            )
        self.path = Path(os.fspath(folder))
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path / LOCK, os.O_CREAT | os.O_RDWR, 0o666)
        except OSError as error:
            raise CheckpointError(
                f"{BY}: folder={str(folder)!r} cannot be used ({error.strerror}); a folder that "
                "can be written to is needed. Choose another path."
            ) from error
        self._take()
        try:
            self._begin(resume, train)
        except BaseException:
            self.close()
            raise

    def _take(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise CheckpointError(
                f"{BY}: folder={str(self.path)!r} is used by a sweep that is running; each needs "
                "one of its own. Wait for it, or choose another path."
            ) from None
        except OSError:  # not every file system has locks
            return

    def close(self) -> None:
        os.close(self._lock)

    def _begin(self, resume: Any, train: Mapping[str, str]) -> None:
        if resume is False:
            for each in self._files():
                each.unlink()
        elif resume is True and self._files():
            before = self._described()
            self._require_same(before, train)
            train = {**train, **{name: text for name, text in before.items() if text == CHANGING}}
        self._describe(train)

    def _describe(self, train: Mapping[str, str]) -> None:
        self._train = dict(train)
        text = json.dumps({"version": VERSION, "train": self._train}, indent=1)
        replace_file(self.path / DESCRIPTION, lambda draft: _write(draft, text))

    def note_changes(self, train: Mapping[str, str]) -> None:
        """Note what calls of train have changed themselves, given what it is after them."""
        if what_differs(self._train, train):
            self._describe(with_changing(self._train, train))

    def _files(self) -> list[Path]:
        return [each for each in sorted(self.path.iterdir()) if _FINISHED.fullmatch(each.name)]

    def _described(self) -> dict[str, str]:
        """What train was when the files were made."""
        path = self.path / DESCRIPTION
        try:
            saved = json.loads(path.read_text(encoding="utf-8"))
            return {str(name): str(text) for name, text in saved["train"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(
                f"{BY}: {str(path)!r} says nothing that can be read ({type(error).__name__}); "
                "whether the results in the folder are of this train function is not known. Pass "
                f"resume={ANYWAY!r} to keep them, resume=False to begin anew, or another folder."
            ) from error

    def _require_same(self, before: Mapping[str, str], now: Mapping[str, str]) -> None:
        differ = what_differs(before, now)
        if differ:
            raise CheckpointError(
                f"{BY}: {str(self.path)!r} holds {len(self._files())} results of another train "
                f"function: {', '.join(map(repr, differ))} changed since; old and new results "
                f"would stand in one table. Pass resume={ANYWAY!r} to keep them, resume=False to "
                "begin anew, or another folder."
            )

    def finished(self, settings: Sequence[Settings]) -> dict[int, SweepRun]:
        """The runs that earlier sweeps have finished, by the numbers of their settings here."""
        runs = {}
        for number, each in enumerate(settings):
            run = self._read(each)
            if run is not None:
                runs[number] = run
        others = len(self._files()) - len(runs)
        if others:
            warn_user(
                f"{BY}: {str(self.path)!r} holds {others} finished settings that are not in this "
                f"grid, and {len(runs)} that are; those are left in the folder, and out of the "
                "table. Choose another folder if that was not meant.",
                SweepWarning,
            )
        return runs

    def _path(self, settings: Settings) -> Path:
        return self.path / f"{key(settings)}.safetensors"

    def _read(self, settings: Settings) -> SweepRun | None:
        path = self._path(settings)
        if not path.exists():
            return None
        fault = "it is of other settings"
        try:
            tree = load(path)
            if tree["identity"] == identity(settings):
                parts, seconds = Returned.of_tree(tree), float(tree["seconds"])
                return SweepRun(settings, parts.metrics, parts.kept, seconds, resumed=True)
        except (CheckpointError, KeyError, TypeError, ValueError) as error:
            fault = str(error)
        warn_user(
            f"{BY}: the result of {shown(settings)} cannot be read ({fault}); it is run again. "
            "Nothing is to be done.",
            SweepWarning,
        )
        path.unlink()
        return None

    def keep(self, settings: Settings, outcome: Outcome) -> None:
        """Write what came of a setting."""
        if outcome.tree is not None:
            words = {name: shown({"": value})[1:] for name, value in settings.items()}
            known = {"identity": identity(settings), "settings": words, "seconds": outcome.seconds}
            save(self._path(settings), {**known, **outcome.tree})


def _write(draft: Path, text: str) -> None:
    draft.write_text(text + "\n", encoding="utf-8")
