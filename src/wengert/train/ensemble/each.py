"""Each: one value for every member, as arrays with an axis of members in front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.words.arguments import worded
from wengert.errors import ShapeError


class Each:
    """A tree whose arrays have an axis of members in front: entry i is for member i."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree

    def of(self, member: int) -> Any:
        """What member i is given: views of the arrays."""
        return tree.map(lambda x: x[member, ...], self.tree)

    def __repr__(self) -> str:
        return f"each({self.tree!r})"


@worded
def each(given: Any) -> Any:
    """Mark an argument of an ensemble as one for each member: axis 0 of every array counts them.

    >>> models = [np.zeros(2)] * 3
    >>> ensemble = wg.Ensemble(lambda w, x: wg.mean((w - x) ** 2), models, wg.optim.SGD(0.1))
    >>> ensemble(wg.train.each(np.arange(6.0).reshape(3, 2)))
    array([ 0.5,  6.5, 20.5])
    """
    arrays = tree.with_numpy(given)
    if not tree.leaves(arrays) or any(np.ndim(x) == 0 for x in tree.leaves(arrays)):
        raise ShapeError(
            f"each: given {given!r}; it must be an array, or a tree of arrays, with an axis of "
            "members in front. Stack what the members are given, as in each(np.stack(batches))."
        )
    return Each(arrays)


def given_trees(arguments: Sequence[Any]) -> list[Any]:
    """The arguments as they were given, of all members at once."""
    return [x.tree if isinstance(x, Each) else x for x in arguments]


def of_member(arguments: Sequence[Any], member: int) -> tuple[Any, ...]:
    """The arguments that one member is given."""
    return tuple(x.of(member) if isinstance(x, Each) else x for x in arguments)


def note_lists(
    error: Exception, names: Sequence[str], arguments: Sequence[Any], members: int
) -> None:
    """Add to what a loss raises that a list of a tree for each member was given to all of them: it
    reaches the loss as a list, which is no network.
    """
    for name, x in zip(names, arguments, strict=True):
        if isinstance(x, list | tuple) and len(x) == members > 1 and _are_trees(x):
            error.add_note(
                f"In an ensemble: argument {name!r} is a list of {members} trees, as many as "
                "there are members, and every member was given all of it. To give one to each, "
                f"write wg.train.each(wg.tree.map(lambda *x: np.stack(x), *{name}))."
            )


def _are_trees(given: Sequence[Any]) -> bool:
    """Whether these are several trees of arrays, all of one form."""
    if any(tree.is_leaf(x) for x in given):
        return False
    structures = [tree.flatten(x)[1] for x in given]
    return all(each == structures[0] for each in structures)


def require_members(by: str, names: Sequence[str], arguments: Sequence[Any], members: int) -> None:
    """Refuse an argument for each member whose first axis is not that of the members."""
    for name, x in zip(names, arguments, strict=True):
        for leaf in tree.leaves(x.tree) if isinstance(x, Each) else ():
            if leaf.shape[0] != members:
                is_list = isinstance(x.tree, list | tuple) and len(x.tree) == members
                what = "a list of shape" if is_list else "shape"
                repair = _stacking(x.tree) if is_list else f"Stack {members} of them"
                raise ShapeError(
                    f"{by}: argument {name!r} was given for each member with {what} "
                    f"{tuple(int(n) for n in leaf.shape)}; its first axis must have {members} "
                    f"entries, one for each member. {repair}."
                )


def require_rows_of_each(by: str, names: Sequence[str], arguments: Sequence[Any]) -> None:
    """Refuse an array for all members that has their number in front of the rows which each member
    has in others, where it stands among data: it has another number of rows.
    """
    own = {leaf.shape[:2] for x in arguments if isinstance(x, Each) for leaf in tree.leaves(x.tree)}
    if not own:
        return
    for name, x in zip(names, arguments, strict=True):
        for leaf in () if isinstance(x, Each) else tree.leaves(tree.with_numpy(x)):
            begin = np.shape(leaf)[:2]
            if begin in own and begin[0] != begin[-1]:
                raise ShapeError(
                    f"{by}: argument {name!r} was given for all members with shape "
                    f"{np.shape(leaf)}, beside arrays with {begin[-1]} rows for each member; the "
                    "arrays that a member is given have one number of rows. Write "
                    f"wg.train.each({name}) to give {name}[i] to member i."
                )


def _stacking(given: Sequence[Any]) -> str:
    """How a list with an entry for each member becomes arrays."""
    if not hasattr(given[0], "shape"):  # trees, such as networks
        return "Write each(wg.tree.map(lambda *x: np.stack(x), *them))"
    lengths = sorted({len(x) for x in given})
    if len(lengths) == 1:
        return "Write each(np.stack(…)) of it"
    return (
        f"These have {lengths[0]} to {lengths[-1]} rows, and an array has one number of them: cut "
        f"all to the shortest, each(np.stack([x[:{lengths[0]}] for x in them])), or fill up with "
        "rows that the loss gives a weight of 0"
    )
