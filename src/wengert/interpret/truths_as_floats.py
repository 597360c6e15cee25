"""Masks of 0 and 1 where floats are added to scores: a warning at the user's line."""

from __future__ import annotations

import numpy as np

from wengert.core.dtypes import bool_, is_float
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import MaskWarning
from wengert.interpret.picked import picked_from
from wengert.interpret.widening import place_of


def note_truths_as_floats(name: str, mask: Value) -> None:
    """Warn of a mask that is added, and has only 0 and 1, or was converted from bools."""
    if is_float(mask.dtype) and _are_truths(mask):
        warn_user(
            f"{name}: given a mask of floats that are 0 and 1; floats are added to the scores, and "
            "hide nothing. Pass bools, true where a query may look: mask.astype(bool).",
            MaskWarning,
            user_line(),
        )


def _are_truths(mask: Value) -> bool:
    if isinstance(mask, np.ndarray):
        seen, hidden = mask == 1, mask == 0
        return bool(np.all(seen | hidden) and seen.any() and hidden.any())
    place = place_of(mask)
    if place is None:
        return False
    level, number = place
    node = level.graph.nodes[picked_from(level, number)]
    if node.op is not op.astype:
        return False
    (source,) = node.operands
    return source is not None and bool(level.graph.type(source).dtype == bool_)
