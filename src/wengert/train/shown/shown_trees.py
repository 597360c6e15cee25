"""Shown trees: `step.model`, `step.state` and their like are made anew each time, of live arrays.
What is put into such a tree in the place of an array has no effect, and the user is warned of it,
for as long as the tree is alive, which may be long after it was shown.

Dicts and lists have no weak references. So the trees are held here, and let go when nobody else
holds one of their nodes.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import deque
from collections.abc import Sequence
from typing import Any, TypeAlias

from wengert.core import tree
from wengert.core.trees.same import same
from wengert.core.words.warn import warn_user
from wengert.errors import LiveWarning

KEPT = 16  # trees that are looked at, the latest
OFTEN = 8  # calls after which a tree is looked at less often than in every one
SELDOM = 64  # calls from one look to the next, at most
ASSIGNABLE = ("model", "state")
_FIELDS = "__dataclass_fields__"  # of dataclasses
_Contents: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...]]


class _ShownTree:
    """A tree as it was when it was shown."""

    def __init__(self, name: str, shown: Any) -> None:
        self.name = name
        self._nodes: list[Any] = []
        self._contents: list[_Contents] = []
        self._note([shown])  # so that each node has a parent, but for that list

    def _note(self, x: Any) -> None:
        """Note the dicts, lists, tuples and dataclasses of a tree. Without empty tuples: there is
        one of them in a process.
        """
        if isinstance(x, dict | list | tuple | deque):
            if not x and isinstance(x, tuple):
                return
        elif not hasattr(type(x), _FIELDS):
            return
        contents = _contents(x)
        self._nodes.append(x)
        self._contents.append(contents)
        for each in contents[1]:
            self._note(each)

    def is_changed(self) -> bool:
        return not all(map(_is_as_before, self._nodes, self._contents))

    def has_other_settings(self) -> bool:
        """Whether something was set that is no array, and was none: a number, a text, a choice."""
        return any(map(_is_set_otherwise, self._nodes, self._contents))

    def as_it_is(self) -> _ShownTree:
        return _ShownTree(self.name, self._nodes[0][0])

    def is_held_elsewhere(self) -> bool:
        return max(_references(self._nodes), default=0) > _OWN


def _contents(node: Any) -> _Contents:
    """The names of what a node holds, where it has any, and what that is."""
    if isinstance(node, dict):
        return tuple(node), tuple(node.values())
    if isinstance(node, list | tuple | deque):
        return (), (*node,)  # another tuple: `tuple(node)` would be one more reference to a tuple
    held = getattr(node, "__dict__", None)
    if held is None:
        held = {f.name: getattr(node, f.name, None) for f in dataclasses.fields(node)}
    return tuple(held), tuple(held.values())


def _is_as_before(node: Any, before: _Contents) -> bool:
    names, values = _contents(node)
    if names != before[0] or len(values) != len(before[1]):
        return False
    pairs = zip(values, before[1], strict=True)
    return all(a is b or (not tree.is_leaf(a) and same(a, b)) for a, b in pairs)


def _is_set_otherwise(node: Any, before: _Contents) -> bool:
    if isinstance(node, list | tuple | deque):
        return False
    known = dict(zip(*before, strict=True))
    pairs = [(known.get(name), x) for name, x in zip(*_contents(node), strict=True)]
    return any(_is_setting(a) and _is_setting(b) and not same(a, b) for a, b in pairs)


def _is_setting(x: Any) -> bool:
    return x is None or isinstance(x, bool | int | float | str)


class ShownTrees:
    """The trees that were shown and may still be written to."""

    def __init__(self) -> None:
        self.trees: list[_ShownTree] = []  # always this list: machine code looks at its size
        self._looks, self._left = 0, 0  # since the last one was shown; calls until the next

    def show(self, name: str, shown: Any) -> Any:
        """Note a tree, and return it."""
        self.look()
        del self.trees[: max(len(self.trees) + 1 - KEPT, 0)]
        self.trees.append(_ShownTree(name, shown))
        self._looks = self._left = 0
        return shown

    def is_due(self) -> bool:
        """Whether a call is to look: each one soon after a tree was shown, later one of many."""
        self._left -= 1
        return self._left < 0

    def look(self) -> None:
        """Warn of trees that were changed, and forget these and those that nobody holds."""
        trees = self.trees[:]
        if not trees:
            return
        del self.trees[: len(trees)]  # another thread may look, too
        self._looks += 1
        self._left = min(2 ** max(self._looks - OFTEN, 0), SELDOM) - 1
        changed = [each for each in trees if each.is_changed()]
        self.trees += [x for x in trees if x not in changed and x.is_held_elsewhere()]
        set_otherwise = {each.name for each in changed if each.has_other_settings()}
        for name in set_otherwise:
            warn_user(
                f"TrainStep: a setting was changed in the tree that step.{name} returned; that "
                "tree is made anew each time, and the step does not see it: numbers and texts are "
                "part of its program. Pass it as an argument of the loss, or make a new step.",
                LiveWarning,
            )
        for name in dict.fromkeys(each.name for each in changed if each.name not in set_otherwise):
            assign = f", or assign a whole tree to step.{name}" if name in ASSIGNABLE else ""
            warn_user(
                f"TrainStep: something was put into the tree that step.{name} returned; that "
                "tree is made anew each time, and the step does not see it. Write into its "
                f"arrays, step.{name}[…][...] = value{assign}.",
                LiveWarning,
            )

    def accept(self, name: str) -> None:
        """Take what was put into the trees of an attribute as meant: it has been assigned."""
        self.trees[:] = [x.as_it_is() if x.name == name else x for x in self.trees]


def _references(nodes: Sequence[Any]) -> list[int]:
    return [sys.getrefcount(x) for x in nodes]


def _references_of_own() -> int:
    """How many references a node has that only a shown tree holds: those of its parent, of the
    parent's contents and of the list of nodes.
    """
    parent: list[Any] = [{}]
    nodes, contents = [*parent], _contents(parent)
    assert contents
    return _references(nodes)[0]


_OWN = _references_of_own()
