"""Given objects: the dataclasses of the model and the state that a step was made with, and what was
in them. Arrays that are put into them, and settings that are set there, do not reach the step.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, TypeAlias

import numpy as np

from wengert.core import tree
from wengert.runtime.outside.capture_walk import CaptureWalk
from wengert.runtime.outside.reads import reads_of
from wengert.train.mistakes.layer_settings import layer_settings
from wengert.train.mistakes.taken_arrays import is_only_of, taken_array
from wengert.train.mistakes.target_averages import is_near

Array: TypeAlias = np.ndarray[Any, Any]

_TIED = "To tie the two, make a new step with the model as it is now. "


class GivenObject:
    """A dataclass that was given, and what was in it. Dicts and lists have no weak references."""

    def __init__(self, tree_name: str, x: Any, lives: Mapping[int, Array]) -> None:
        self.tree_name, self.object = tree_name, weakref.ref(x)
        self.has_other_use = False  # whether it has arrays of this step, or of another one
        leaves = tree.leaves(x)
        self._arrays = [*map(_reference, leaves)]
        self._lives = [lives[id(leaf)] for leaf in leaves]
        self._numbers = dict(tree.plain_values(x))

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
            path = f"leaf {tree.paths(x)[i]!r} of the {name} that it was made with"
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
        Layers that have another use by now may have other settings there.
        """
        x = self.object()
        now = dict(tree.plain_values(x))
        changed = [path for path, was in self._numbers.items() if now.get(path, was) != was]
        if not changed:
            return None
        walk = CaptureWalk()
        walk.follow([*functions, x])
        names = {name for code in walk.captures.codes for name in reads_of(code).attributes}
        settings = layer_settings(x) if has_no_other_use(self) else ()
        for path in changed:
            if path.rpartition(".")[2] in names or path in settings:
                return path, now[path], self._numbers[path]
        self._numbers = now
        return None

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
    return [GivenObject(tree_name, each, lives) for each in _dataclasses(x)]


def _dataclasses(x: Any) -> Iterator[Any]:
    if isinstance(x, dict | list | tuple):
        for each in x.values() if isinstance(x, dict) else x:
            yield from _dataclasses(each)
    elif is_dataclass(x) and not isinstance(x, type) and type(x).__weakrefoffset__:
        yield x
