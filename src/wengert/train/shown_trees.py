"""Shown trees: `step.model` and `step.state` are made anew each time, of live arrays. What is put
into such a tree in the place of an array goes nowhere, and whoever did it should hear of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from wengert.core import tree
from wengert.core.same import same
from wengert.core.words.warn import warn_user
from wengert.errors import LiveWarning, TraceError


class ShownTree(NamedTuple):
    """A tree as it was when it was shown."""

    tree: Any
    leaves: list[Any]
    structure: tree.Structure


class ShownTrees(dict[str, ShownTree]):
    """The trees that were shown since someone looked, the latest by attribute."""

    def show(self, name: str, shown: Any) -> Any:
        """Note a tree, and return it."""
        self.look()
        self[name] = ShownTree(shown, *tree.flatten(shown))
        return shown

    def look(self) -> None:
        """Warn of trees that were changed, and forget all of them."""
        for name in list(self):
            shown = self.pop(name, None)  # another thread may look, too
            if shown is not None and _is_changed(shown):
                warn_user(
                    f"TrainStep: something was put into the tree that step.{name} returned; that "
                    "tree is made anew each time, and the step does not see it. Write into its "
                    f"arrays, step.{name}[…][...] = value, or assign a whole tree to step.{name}.",
                    LiveWarning,
                )


def _is_changed(shown: ShownTree) -> bool:
    try:
        leaves, structure = tree.flatten(shown.tree)
    except TraceError:  # something that is in no tree
        return True
    known = shown.structure
    if not structure.alike(known) or len(leaves) != len(shown.leaves):
        return True
    arrays = all(a is b for a, b in zip(leaves, shown.leaves, strict=True))
    return not (arrays and all(map(same, structure.static, known.static)))
