"""What one tree has for the arrays of another: by keys, whatever order dicts were filled in."""

from __future__ import annotations

from typing import Any

from wengert.core.tree import is_leaf
from wengert.core.trees.tree_nodes import Tree, TreePlace, ends_before, of_plain_nodes, places


def spread(parts: Tree, whole: Tree) -> list[Any] | None:
    """What `parts` has for each array of a tree: it has the same form, or ends before the tree does
    with one value for all that is below. None where the forms differ.

    >>> spread({"b": None, "a": 0}, {"a": [np.ones(1), np.ones(2)], "b": np.ones(3)})
    [0, 0, None]
    """
    parts, whole = of_plain_nodes(parts), of_plain_nodes(whole)
    if not ends_before(parts, whole):
        return None
    known = dict(places(parts))
    return [_nearest(known, place) for place, x in places(whole) if is_leaf(x)]


def _nearest(known: dict[TreePlace, Any], place: TreePlace) -> Any:
    """What is known at a place, or at the first one above it."""
    while place not in known:
        place = place[:-1]
    return known[place]


def beside(part: Tree, whole: Tree) -> list[Any] | None:
    """The array that `part` has at the place of each array of a tree, None where it has None there
    or above. What it has beside static values does not count. None where the forms differ.

    >>> beside({"b": None, "a": 1.0 * np.ones(1)}, {"a": np.ones(1), "b": [np.ones(3)]})
    [array([1.]), None]
    >>> beside([np.ones(1)], {"a": np.ones(1)}) is None
    True
    """
    known = dict(places(of_plain_nodes(part)))
    above = {place for place, x in known.items() if x is None}
    values: list[Any] = []
    for place, x in places(of_plain_nodes(whole)):
        given = known.pop(place, None)
        if not is_leaf(x):
            continue
        if given is None and not any(place[:n] in above for n in range(len(place) + 1)):
            return None
        if given is not None and not is_leaf(given):
            return None
        values.append(given)
    unused = [place for place, x in known.items() if x is not None]
    return None if unused else values
