"""Ties that look like an accident: one array at several places of one list or tuple, one network
under two names, one array of equal numbers under two names, and arrays that are views of one
memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import optree
from numpy.lib.array_utils import byte_bounds

from wengert.core import tree
from wengert.core.words.warn import warn_user
from wengert.errors import TiedWarning

_IN_ORDER = (optree.PyTreeKind.LIST, optree.PyTreeKind.TUPLE)  # without names
_BY_NAME = (
    optree.PyTreeKind.DICT,
    optree.PyTreeKind.ORDEREDDICT,
    optree.PyTreeKind.DEFAULTDICT,
)
_OF_ARRAYS = (
    "Make each its own, as in [np.zeros(3) for _ in range(2)], or give them names in a dict if "
    "they are tied on purpose."
)
_OF_LAYERS = (
    "Make each its own, as in [make_layer() for _ in range(2)]; if they are one on purpose, keep "
    "it under one name and use it twice in the loss."
)
MOST_WORK = 1000  # of a search for elements that two arrays have in common


def warn_of_ties(by: str, model: Any) -> None:
    """Warn where a list or tuple holds one array of floats several times, as `[np.zeros(3)] * 2`
    does, or a dict the same several arrays under two names, as `{"online": net, "target": net}`
    does.

    Ties of single arrays by their names, as of an embedding and the output, are made on purpose;
    such arrays have numbers that were drawn.
    """
    leaves = [each for each in tree.leaves_with_accessors(model) if each[2].dtype.kind == "f"]
    _warn_of_twins(by, leaves)
    first: dict[Any, str] = {}
    for accessor, path, x in leaves:
        for level, key in enumerate(accessor):
            if key.kind not in _IN_ORDER:
                continue
            others = (*accessor[:level], *accessor[level + 1 :])
            seen = first.setdefault((id(x), level, others), path)
            if seen != path:
                warn_user(
                    f"{by}: one array stands at {seen!r} and at {path!r}, in one list or "
                    "tuple; it is one parameter with one gradient. "
                    f"{_OF_LAYERS if accessor[level + 1 :] else _OF_ARRAYS}",
                    TiedWarning,
                )
                return
    warn_of_equal_numbers(by, leaves)


def warn_of_equal_numbers(by: str, leaves: Sequence[tuple[Any, str, Any]]) -> None:
    """Warn where one array of floats that are all the same stands under two names of one dict or
    dataclass, as in `dict.fromkeys(names, np.zeros(3))`, given leaves with accessors.
    """
    first: dict[Any, str] = {}
    for accessor, path, x in leaves:
        if not accessor or accessor[-1].kind in _IN_ORDER or not _has_equal_numbers(x):
            continue
        seen = first.setdefault((id(x), (*accessor[:-1],)), path)
        if seen != path:
            warn_user(
                f"{by}: one array, whose numbers are all {x.flat[0]}, stands at {seen!r} and at "
                f"{path!r}; it is one parameter with one gradient, and the two stay equal. Make "
                "each its own, as in {name: np.zeros(3) for name in names}, or with x.copy(). If "
                "they are tied on purpose, keep it under one name, and read it twice in the "
                "function.",
                TiedWarning,
            )
            return


def warn_of_assigned_tie(arrays: Mapping[str, Any]) -> None:
    """Warn where one array is assigned to two parameters of a step, given what is assigned to each
    by its path. Several such arrays copy a network to another one, and equal numbers begin anew.
    """
    paths = defaultdict(list)
    for path, x in arrays.items():
        paths[id(x)].append(path)
    tied = [each for each in paths.values() if len(each) > 1]
    if len(tied) == 1 and not _has_equal_numbers(arrays[tied[0][0]]):
        warn_user(
            f"TrainStep: the model was assigned one array at {tied[0][0]!r} and at {tied[0][1]!r}; "
            "they are two parameters of this step, with the same numbers until its next update. "
            "Make a new step with that model if they are to be one.",
            TiedWarning,
        )


def _has_equal_numbers(x: Any) -> bool:
    """Whether an array of floats that are known has 0 everywhere, or 1, as one has that nothing
    was drawn for.
    """
    if not isinstance(x, np.ndarray) or x.dtype.kind != "f" or not x.size:
        return False
    return bool(x.flat[0] in (0.0, 1.0) and (x == x.flat[0]).all())


def _warn_of_twins(by: str, leaves: Sequence[tuple[Any, str, Any]]) -> None:
    """Warn where two items of a dict have the same arrays, all of them and more than one."""
    items: defaultdict[Any, dict[Any, int]] = defaultdict(dict)  # arrays by the way inside an item
    for accessor, _, x in leaves:
        for level, key in enumerate(accessor):
            if key.kind in _BY_NAME:
                items[(*accessor[:level],), key.entry][(*accessor[level + 1 :],)] = id(x)
    first: dict[Any, Any] = {}
    for (above, name), arrays in items.items():
        if len(set(arrays.values())) < 2:
            continue
        other = first.setdefault((above, frozenset(arrays.items())), name)
        if other != name:
            warn_user(
                f"{by}: {other!r} and {name!r} have the same {len(arrays)} arrays: one network "
                "under two names, with one gradient, and to train the one is to train the other. "
                f"Copy it, {{{name!r}: wg.tree.copy(net)}}, if they are two; make it with another "
                "seed if both are trained, since a copy that gets the same gradient stays the "
                "same. If they are one on purpose, keep it under one name and use it twice in the "
                "loss.",
                TiedWarning,
            )
            return


def warn_of_shared_memory(
    by: str, paths: Sequence[str], arrays: Sequence[np.ndarray[Any, Any]]
) -> None:
    """Warn where two arrays of floats have elements in common, as an array and its transpose do.
    They are told apart by their bounds in memory, and looked at more closely where these overlap.
    """
    spans = [
        (*byte_bounds(x), path, x)
        for path, x in zip(paths, arrays, strict=True)
        if x.size and x.dtype.kind == "f"
    ]
    last: tuple[int, int, str, np.ndarray[Any, Any]] | None = None
    for each in sorted(spans, key=lambda entry: entry[:2]):
        if last is not None and each[0] < last[1] and _share(last[3], each[3]):
            warn_user(
                f"{by}: {last[2]!r} and {each[2]!r} are views of one memory; they become two "
                "parameters, each trained on its own. Keep one of them in the model and take the "
                "view in the loss if they are tied, or copy one.",
                TiedWarning,
            )
            return
        last = each if last is None or each[1] > last[1] else last


def _share(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    try:
        return bool(np.shares_memory(a, b, max_work=MOST_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return False
