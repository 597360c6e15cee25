"""Given objects: the dataclasses of the model and the state that a step was made with, and what was
in them. Arrays that are put into them, and settings that are set there, do not reach the step.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import CodeType
from typing import Any, TypeAlias, TypeVar

import numpy as np

from wengert.core import tree
from wengert.runtime.outside.capture_walk import CaptureWalk
from wengert.runtime.outside.reads import reads_of
from wengert.train.mistakes.copied.layer_settings import layer_settings
from wengert.train.mistakes.copied.taken_arrays import is_only_of, taken_array
from wengert.train.mistakes.copied.taken_parts import TakenPart, outermost_dataclasses, take_parts
from wengert.train.mistakes.copied.target_averages import is_near

Array: TypeAlias = np.ndarray[Any, Any]
T = TypeVar("T")

_TIED = "To tie the two, make a new step with the model as it is now. "


class GivenObject:
    """A dataclass that was given, and what was in it. Dicts and lists have no weak references."""

    def __init__(self, tree_name: str, x: Any, lives: Mapping[int, Array]) -> None:
        self.tree_name, self.object = tree_name, weakref.ref(x)
        self.has_other_use = False  # whether it has arrays of this step, or of another one
        leaves, structure = tree.flatten(x)
        self._arrays = [*map(_reference, leaves)]
        self._lives = [lives[id(leaf)] for leaf in leaves]
        self._numbers = dict(tree.plain_values(x))
        self._parts = take_parts(x)
        self._before = ""  # what the paths in a part begin with
        self._whole = structure, self._lives  # of which the step's copy is made

    @property
    def is_part(self) -> bool:
        """Whether it was given as a part of an object that nobody has any more."""
        return bool(self._before)

    def left(self) -> list[GivenObject]:
        """Itself or, where nobody has it any more, those of its parts that somebody has."""
        if self.object() is not None:
            return [self]
        found: list[tuple[str, TakenPart]] = []
        for path, part in self._parts:
            is_inner = any(path.startswith(f"{outer}.") for outer, _ in found)
            if part.object() is not None and not is_inner:
                found.append((path, part))
        if not found:
            return []
        paths = tree.paths(self._copy())
        return [self._part_at(f"{path}.", part, paths) for path, part in found]

    def _part_at(self, before: str, part: TakenPart, paths: Sequence[str]) -> GivenObject:
        """One for a part, given what paths in it begin with, and the paths of all arrays of the
        outermost object.
        """
        made = copy.copy(self)
        made.object, made._before = part.object, self._before + before
        own = [path for path in paths if path.startswith(self._before)]
        places = [i for i, path in enumerate(own) if path.startswith(made._before)]
        made._arrays = [self._arrays[i] for i in places]
        made._lives = [self._lives[i] for i in places]
        made._numbers = dict(_below(before, self._numbers.items()))
        made._parts = [("", part), *_below(before, self._parts)]
        return made

    def _copy(self) -> Any:
        """The outermost object as the step has it."""
        return tree.unflatten(*self._whole)

    def change(self, own: object) -> tuple[str, str] | None:
        """What was put into the object that concerns the step, in words, and what to do."""
        x, name = self.object(), self.tree_name
        try:
            leaves = tree.leaves(x)
        except Exception:  # it is no model any more
            return None
        if len(leaves) != len(self._arrays):
            return f"the {name} that it was made with has other arrays by now", ""
        for i, leaf in enumerate(leaves):
            if leaf is self._arrays[i]():
                continue
            place = f"{self._before}{tree.paths(x)[i]}"
            path = f"leaf {place!r} of the {name} that it was made with"
            if is_only_of(leaf, own):
                return f"{path} was replaced by another one of it", _TIED
            if taken_array(leaf) is None and not is_near(np.asarray(leaf), self._lives[i]):
                return f"{path} was replaced", ""
            self.has_other_use = True
        return None

    def other_number(
        self, functions: Sequence[Any], has_no_other_use: Callable[[GivenObject], bool]
    ) -> tuple[str, Any, Any] | None:
        """The path of a number or text that was set, and that code of the loss and of bound
        functions, of the object or of our layers could read; what it is now, and what it was.
        Layers that have another use by now may have other settings there, and so may parts.
        """
        x = self.object()
        try:
            now = dict(tree.plain_values(x))
        except Exception:  # it is no model any more
            return None
        changed = [
            path
            for path, was in self._numbers.items()
            if now.get(path, was) != was and not self._part_of(path).has_other_use
        ]
        if not changed:
            return None
        reads = _Reads(functions, self._copy() if self.is_part else x)
        settings = layer_settings(x) if has_no_other_use(self) else ()
        for path in changed:
            name = path.rpartition(".")[2]
            if path in settings or reads.may_read(name, self._part_of(path).object()):
                return f"{self._before}{path}", now[path], self._numbers[path]
        self._numbers = now
        return None

    def _part_of(self, path: str) -> TakenPart:
        """The innermost part that holds what is at a path."""
        return next(
            part
            for inner, part in reversed(self._parts)
            if not inner or path.startswith(f"{inner}.")
        )

    @property
    def arrays(self) -> list[Any]:
        """Those of its arrays that are left."""
        return [array() for array in self._arrays]

    def has_some_of(self, arrays: Collection[int]) -> bool:
        """Whether one of its arrays is among these, given by their ids."""
        return any(id(array()) in arrays for array in self._arrays)

    def accept(self) -> None:
        """Take what is in the object for what was given, if it is of the same form."""
        try:
            leaves = tree.leaves(self.object())
        except Exception:  # it is no model any more
            return
        if len(leaves) == len(self._arrays):
            self._arrays = [*map(_reference, leaves)]


def _reference(leaf: Any) -> Callable[[], Any]:
    """How to find an array as long as it lives; NumPy's numbers have no weak references."""
    return weakref.ref(leaf) if isinstance(leaf, np.ndarray) else lambda: leaf


def given_objects(
    tree_name: str, x: Any, given: Iterable[Any], live: Iterable[Array]
) -> list[GivenObject]:
    """The outermost dataclasses of a tree, whose arrays are given beside the step's copies."""
    lives = {id(leaf): copy for leaf, copy in zip(given, live, strict=True)}
    return [GivenObject(tree_name, each, lives) for each in outermost_dataclasses(x)]


class _Reads:
    """The names of attributes that code of some functions reads, and code of a model."""

    def __init__(self, functions: Sequence[Any], model: Any) -> None:
        walk = CaptureWalk()
        walk.follow(functions)
        codes = walk.captures.codes
        self._outside = {(id(each.container), each.key) for each in walk.captures.places}
        self._by_functions = _names_in(codes)
        known = len(codes)
        walk.follow([model])
        self._by_model = _names_in(codes[known:])

    def may_read(self, name: str, owner: Any) -> bool:
        """Whether what an object has by this name may be read in the model. Functions that read it
        in the object itself, from outside, are recorded again when it changes.
        """
        if name in self._by_model:
            return True
        held = {id(owner), id(getattr(owner, "__dict__", None))}
        return name in self._by_functions and not any((x, name) in self._outside for x in held)


def _below(before: str, by_path: Iterable[tuple[str, T]]) -> list[tuple[str, T]]:
    """What is at paths that begin so, by the rest of these."""
    return [(path[len(before) :], x) for path, x in by_path if path.startswith(before)]


def _names_in(codes: Iterable[CodeType]) -> set[str]:
    return {name for code in codes for name in reads_of(code).attributes}
