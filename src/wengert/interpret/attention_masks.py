"""Masks of attention that hide something else than meant: a warning at the user's line."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.dtypes import bool_, is_float
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import MaskWarning
from wengert.interpret.first_values import ask_first_value
from wengert.interpret.picked import picked_from
from wengert.interpret.widening import place_of


def note_mask(name: str, mask: Value) -> None:
    """Warn of a mask that is added, and has only 0 and 1 or was converted from bools; where it is
    an argument, its values in the first call are looked at. Warn of a known one that hides what a
    query may look at, and shows what it may not.
    """
    text = None
    if is_float(mask.dtype):
        text = _truths_told(name) if _was_truths(mask) else _floats_told(name, mask)
    elif isinstance(mask, np.ndarray):
        text = _bools_told(name, mask)
    if text is not None:
        warn_user(text, MaskWarning, user_line())
    elif is_float(mask.dtype) and type(mask) is Tensor:
        ask_first_value(mask, name, _floats_told, MaskWarning)


def _truths_told(name: str, where: str = "") -> str:
    return (
        f"{name}: given a mask of floats that are 0 and 1{where}; floats are added to the scores, "
        "and hide nothing. Pass bools, true where a query may look: mask.astype(bool)."
    )


def _floats_told(name: str, mask: Any, where: str = "") -> str | None:
    """What is wrong with floats that are known."""
    if not isinstance(mask, np.ndarray):
        return None
    seen, hidden = mask == 1, mask == 0
    are_truths = np.all(seen | hidden) and seen.any() and hidden.any()
    return _truths_told(name, where) if are_truths else None


def _bools_told(name: str, mask: Any) -> str | None:
    """What is wrong with bools that are known: a mask for all of a batch, (time, keys), in which
    queries look only at what comes behind them, and the last one nowhere.
    """
    if mask.ndim < 2 or mask.size != mask.shape[-1] ** 2 or mask.shape[-1] != mask.shape[-2]:
        return None
    matrix = mask.reshape(mask.shape[-2:])
    if len(matrix) < 2 or np.tril(matrix).any():
        return None
    return (
        f"{name}: given a mask that is true only where a key comes behind the query; the last "
        "query may look nowhere, and gives zeros. Bools are true where a query may look, not where "
        "it is hidden: write ~mask, or causal=True."
    )


def _was_truths(mask: Value) -> bool:
    """Whether a traced mask was converted from bools."""
    place = place_of(mask)
    if place is None:
        return False
    level, number = place
    node = level.graph.nodes[picked_from(level, number)]
    if node.op is not op.astype:
        return False
    (source,) = node.operands
    return source is not None and bool(level.graph.type(source).dtype == bool_)
