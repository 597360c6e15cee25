"""Positions that are written to a cache: one that it has no room for is an error."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import promotion
from wengert.core.define import elementwise
from wengert.core.lowering import Elementwise, changed_meanwhile
from wengert.core.op_parts.samples import Integers, sample


def _with_room(position: Any, room: Any) -> Any:
    dtype = np.result_type(position, room)
    position, room = np.broadcast_arrays(position, room)
    if not np.all(position < room):
        wrong = tuple(np.argwhere(position >= room)[0])
        raise IndexError(
            f"MultiheadAttention: position {position[wrong]} was given for a cache of "
            f"{room[wrong]}; there must be room for all. Make one with more room: "
            "layer.cache(room, batch). Axis 0 of a cache is its room; rows of the batch are chosen "
            "along axis 1, keys[:, rows]."
        )
    return position.astype(dtype)


@elementwise(
    numpy=_with_room,
    dtypes=promotion.any_number,
    flat=True,
    samples=(
        sample(Integers((3, 4), 0, 1), Integers((3, 4), 1, 9)),
        sample(Integers((3,), 0, 1), Integers((), 1, 9)),
    ),
    space="hidden",
    exact=True,
    lower=Elementwise(
        lambda e, position, room: position,
        failure=changed_meanwhile(
            IndexError,
            "a position that the cache has no room for",
            refuses=lambda e, position, room: e.le(room, position),
        ),
    ),
)
def position_with_room(position: Any, room: Any, /) -> None:
    """A position in a cache, which must be below its room."""
