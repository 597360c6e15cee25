"""What a file holds, put into the form of a tree that is already there: the `like` of wg.load."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.core.types import ArrayType
from wengert.core.words.functions import NAMELESS, name_of_function
from wengert.core.words.warn import warn_user
from wengert.errors import CheckpointError, CheckpointWarning
from wengert.train.checkpoints.files_structure import below, node_of, unused
from wengert.train.checkpoints.mistaken_files import is_of_step, step_file_given

_SHOWN = 8  # paths named in a message before the rest is counted


@dataclasses.dataclass(frozen=True)
class FileEntry:
    """One value of a file: how to get it, and its shape and dtype if it is an array."""

    value: Callable[[], Any]
    type: ArrayType | None  # None for a number, a string, None
    function: str | None = None  # the name of a function: all that is kept of one

    @property
    def is_function(self) -> bool:
        return self.function is not None


class Fitting:
    """The entries of a file by path, beside a tree they are to fit."""

    def __init__(self, file: str, entries: dict[str, FileEntry], foreign: bool) -> None:
        self.file = file
        self.entries = entries
        self.foreign = foreign  # made by another program: it holds arrays only

    def fit(self, like: Any) -> Any:
        """A tree of the form of `like` with the values of the file; refuses any difference."""
        places = _paths(like)
        if is_of_step(self.entries) and not is_of_step([path for path, _ in places]):
            raise step_file_given(self.file)
        self._require_same_paths(places)
        self._require_same_types(places)
        return _rebuilt(like, iter(self._values(places)))

    def _require_same_paths(self, places: list[tuple[str, Any]]) -> None:
        known = {path for path, _ in places}
        missing = [
            path
            for path, value in places
            if path not in self.entries and not callable(value) and self._wanted(value)
        ]
        extra = [p for p, entry in self.entries.items() if p not in known and not entry.is_function]
        faults = [
            f"{what} {_listed(paths)}"
            for what, paths in (("it lacks", missing), ("it also holds", extra))
            if paths
        ]
        if faults:
            self._refuse(faults)

    def _wanted(self, value: Any) -> bool:
        return not self.foreign or _type_of(value) is not None

    def _require_same_types(self, places: list[tuple[str, Any]]) -> None:
        faults = []
        for path, value in places:
            entry, wanted = self.entries.get(path), _type_of(value)
            if entry is None or entry.is_function:
                if wanted is not None:
                    faults.append(
                        f"{path or 'the tree'} is a function where `like` has {_word(wanted)}"
                    )
            elif callable(value) or entry.type != wanted:
                needed = "a function" if callable(value) else _word(wanted)
                place = path or "the tree"
                faults.append(f"{place} is {_word(entry.type)} where `like` has {needed}")
        if faults:
            self._refuse(faults)

    def _values(self, places: list[tuple[str, Any]]) -> list[Any]:
        """The values of the file. One array object at two places of `like` is one in the result,
        and nothing else is, except that an ArrayType says nothing about ties: there the file does.
        """
        made: dict[int, tuple[str, Any]] = {}  # array of `like` → its first path and new array
        given: set[int] = set()  # arrays of the file that are already in the result
        values, faults = [], []
        for path, value in places:
            entry = self.entries.get(path)
            if entry is None or entry.is_function:
                self._note_function(path, entry, value)
                values.append(value)
                continue
            new = entry.value()
            if isinstance(value, np.ndarray) and id(value) in made:
                other, first = made[id(value)]
                if first.tobytes() != new.tobytes():
                    faults.append(f"{other} and {path} differ where `like` has one array at both")
                new = first
            elif isinstance(value, np.ndarray):
                new = new.copy() if id(new) in given else new
                made[id(value)] = path, new
                given.add(id(new))
            values.append(new)
        if faults:
            self._refuse(faults)
        return values

    def _note_function(self, path: str, entry: FileEntry | None, value: Any) -> None:
        """Warn where `like` has a function of another name: most likely a network of another kind.
        The names of lambdas say nothing.
        """
        if entry is None or not callable(value):
            return
        saved, given = entry.function, name_of_function(value)
        if saved != given and NAMELESS not in (saved, given):
            warn_user(
                f"load: {self.file!r} was saved with the function {saved!r} at {path}, and `like` "
                f"has {given!r} there; functions are not kept in files, so that the result has "
                f"{given!r}. Make `like` as the tree was when it was saved.",
                CheckpointWarning,
            )

    def _refuse(self, faults: list[str]) -> None:
        shown = "; ".join(faults[:_SHOWN])
        if len(faults) > _SHOWN:
            shown += f"; and {len(faults) - _SHOWN} more"
        raise CheckpointError(
            f"load: {self.file!r} does not fit `like`: {shown}; both must have the same paths, "
            "shapes and dtypes. Pass a tree of the form that was saved, or leave out `like`."
        )


def _type_of(value: Any) -> ArrayType | None:
    """Shape and dtype of an array or of its description; None for all else."""
    if isinstance(value, ArrayType):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return ArrayType(value.shape, value.dtype.newbyteorder("="))
    return None


def _word(type: ArrayType | None) -> str:
    return "a Python value" if type is None else f"{type}"


def _listed(paths: list[str]) -> str:
    shown = ", ".join(path or "the tree" for path in paths[:_SHOWN])
    return shown + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")


def _paths(tree: Any) -> list[tuple[str, Any]]:
    """Every value of a tree with nothing inside, by a path that occurs once."""
    by_path: dict[str, Any] = {}
    for path, value in _terminals(tree, ""):
        by_path[unused(path, by_path)] = value
    return list(by_path.items())


def _terminals(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    node = node_of(value)
    if node is None:
        yield path, value
    else:
        for key, each in zip(node.keys, node.values, strict=True):
            yield from _terminals(each, below(path, key))


def _rebuilt(value: Any, values: Iterator[Any]) -> Any:
    """The same tree with every value replaced, in order; its nodes are new, of their own types."""
    node = node_of(value)
    if node is None:
        return next(values)
    return node.rebuild([_rebuilt(each, values) for each in node.values])
