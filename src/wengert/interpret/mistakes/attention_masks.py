"""Masks of attention that hide something else than meant: a warning at the user's line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.dtypes import bool_, is_float
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import MaskWarning
from wengert.interpret.mistakes.first_values import ask_computed_value, ask_first_value
from wengert.interpret.mistakes.picked import picked_from
from wengert.interpret.mistakes.widening import place_of

_HIDDEN = -1e4  # what is added to scores that are to be hidden is less


def note_mask(name: str, mask: Value) -> None:
    """Warn of a mask that is added, and has only 0 and 1 or was converted from bools; where it is
    an argument, its values in the first call are looked at. Warn of one that hides what a query
    may look at, and shows what it may not; those of rows are looked at, too, where they are
    computed from arguments.
    """
    text, told = None, _floats_told if is_float(mask.dtype) else _padding_told
    if is_float(mask.dtype):
        text = _truths_told(name) if _was_truths(mask) else _floats_told(name, mask)
    elif isinstance(mask, np.ndarray):
        text = _bools_told(name, mask) or _padding_told(name, mask)
    if text is not None:
        warn_user(text, MaskWarning, user_line())
    elif (
        type(mask) is Tensor
        and (_is_of_rows(mask) or is_float(mask.dtype))
        and not ask_first_value(mask, name, told, MaskWarning)
        and _is_of_rows(mask)
    ):
        ask_computed_value(mask, name, told, MaskWarning)


def note_rows_as_heads(name: str, mask: Value, heads: int) -> None:
    """Warn of a mask (heads, …, keys) for as many rows as heads that hides the end of each row, or
    its beginning: it is one for each row. Heads, too, may have masks, or biases, of their own. Of
    what is computed in a program, bools of no query in particular are those of rows.
    """
    told, text = _RowsTold(heads), None
    if isinstance(mask, np.ndarray):
        text = told(name, mask)
    elif type(mask) is Tensor and not ask_first_value(mask, name, told, MaskWarning):
        text = told.text(name, mask) if mask.dtype == bool_ and mask.shape[1] == 1 else None
    if text is not None:
        warn_user(text, MaskWarning, user_line())


@dataclass(frozen=True)
class _RowsTold:
    """What is wrong with a mask of each row in the place of one of each head."""

    heads: int

    def __call__(self, name: str, mask: Any, where: str = "") -> str | None:
        if not isinstance(mask, np.ndarray) or mask.ndim not in (2, 3) or len(mask) != self.heads:
            return None
        seen: Any = mask > _HIDDEN if is_float(mask.dtype) else mask != 0
        seen = seen if mask.ndim == 2 else seen.any(axis=1)  # (rows or heads, keys)
        of_padding = (np.count_nonzero(np.diff(seen, axis=1), axis=1) <= 1).all()
        return self.text(name, mask, where) if of_padding and (seen != seen[:1]).any() else None

    def text(self, name: str, mask: Value, where: str = "") -> str:
        return (
            f"{name}: given a mask of shape {tuple(mask.shape)}{where} for {self.heads} rows and "
            f"{self.heads} heads, which hides an end of each; its first axis is that of heads, so "
            "it hides the same keys in all rows. For a mask of each row write mask[:, None]."
        )


def _is_of_rows(mask: Value) -> bool:
    """Whether a mask is (batch, 1, …, keys): the same for all heads and queries of a row."""
    return len(mask.shape) > 2 and all(size == 1 for size in mask.shape[1:-1])


def _padding_told(name: str, mask: Any, where: str = "") -> str | None:
    """What is wrong with bools of rows, (batch, 1, 1, keys), or the argument they are made of: they
    are true at the end of rows, no row is all true, and one is true nowhere. So are masks of
    padding in torch, of which one has none.
    """
    if not (isinstance(mask, np.ndarray) and mask.dtype == bool_ and _shows_ends(mask, where)):
        return None
    return (
        f"{name}: given a mask{where} that is true only at the end of rows, and in one of them "
        "nowhere, so that it gives zeros there; bools are true where a query may look. If they are "
        "true at padding, as in torch, write ~mask."
    )


def _shows_ends(seen: np.ndarray[Any, Any], where: str) -> bool:
    """Whether bools of rows are true at the end of rows alone, and nowhere in one of them."""
    if seen.ndim < 2 or (where == "" and seen.ndim == 2) or any(n != 1 for n in seen.shape[1:-1]):
        return False
    rows = seen.reshape(len(seen), seen.shape[-1])
    if not rows.any() or rows.any(axis=1).all() or rows.all(axis=1).any():
        return False
    return not (np.diff(rows.astype(np.int8), axis=1) < 0).any()


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
    if np.all(seen | hidden) and seen.any() and hidden.any():
        return _truths_told(name, where)
    if not _shows_ends(mask > _HIDDEN, where):
        return None
    return (
        f"{name}: given a mask of floats{where} that shows only the end of rows, and of one of "
        "them nothing; floats are added to the scores, and hide where they are as low as -1e9. If "
        "it is mask * -1e9 of bools that are true where a query may look, pass these bools."
    )


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
