"""Maps over trees whose result nothing reads, as `wg.tree.map(lambda t, w: 0.99 * t + 0.01 * w,
target, model)`, which leaves the target as it is. Functions that are mapped for what they do to the
leaves, such as `np.copyto`, return nothing, or what they were given.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.core.words.noticed.unused_results import is_dropped
from wengert.core.words.source import Line, is_users
from wengert.core.words.warn import warn_user
from wengert.errors import UnusedWarning


def warn_if_map_dropped(rows: Sequence[Sequence[Any]], results: Sequence[Any]) -> None:
    """Warn where the caller's caller drops a map whose function has made a new array of some leaf.
    Given are the leaves that it was called with, and what it has returned for each.
    """
    frame = sys._getframe(2)
    if not is_users(frame.f_code) or not is_dropped(frame, function="map"):
        return
    if any(_is_new(x, row) for x, row in zip(results, rows, strict=True)):
        warn_user(
            "tree.map: given a tree, which stays as it is; a new one was returned, and nothing "
            "reads it. Write tree = wg.tree.map(f, tree); to write into its arrays, map a function "
            "that does so, such as np.copyto.",
            UnusedWarning,
            Line(frame.f_code.co_filename, frame.f_lineno),
        )


def _is_new(x: Any, row: Sequence[Any]) -> bool:
    """Whether a result could take the place of the leaf, and is no leaf itself. A number that tells
    how much was done, as `file.write` returns it, could not.
    """
    if not isinstance(x, np.ndarray | np.generic | Tensor) or x.shape != row[0].shape:
        return False
    return not any(x is leaf or _shares_memory(x, leaf) for leaf in row)


def _shares_memory(x: Any, leaf: Any) -> bool:
    both = isinstance(x, np.ndarray) and isinstance(leaf, np.ndarray)
    return both and np.may_share_memory(x, leaf)
