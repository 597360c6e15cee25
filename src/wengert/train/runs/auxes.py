"""Auxes: what a loss returns beside its value, kept over the steps of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.types import ArrayType
from wengert.train.storage import Array

ROOM = 2**26  # bytes that are reserved at once for steps that Python does not see
MANY = 2**62  # steps: more than any run has


@dataclass(frozen=True)
class _Part:
    """The aux of consecutive steps."""

    steps: int
    structure: tree.Structure
    leaves: Sequence[Array]  # with an axis of steps in front

    def trees(self) -> list[Any]:
        """The aux of each step."""
        return [
            tree.unflatten(self.structure, [x[i, ...] for x in self.leaves])
            for i in range(self.steps)
        ]


class Auxes:
    """The aux of steps as they are taken: of all of them, or of the last one only."""

    def __init__(self, only_last: bool) -> None:
        self._only_last = only_last
        self._parts: list[_Part] = []

    def note(self, aux: Any) -> None:
        """Take the aux of one step. Nobody else holds its arrays."""
        if aux is not None:
            leaves, structure = tree.flatten(aux)
            self._add(_Part(1, structure, [np.asarray(x)[None] for x in leaves]))

    def most(self, types: Sequence[ArrayType]) -> int:
        """For how many steps to reserve room at once, where each returns arrays of these types."""
        if self._only_last or not types:
            return MANY
        size = sum(math.prod(map(int, t.shape)) * t.dtype.itemsize for t in types)
        return max(1, ROOM // max(1, size))

    def room(self, types: Sequence[ArrayType], steps: int) -> list[Array]:
        """Arrays for steps that Python does not see: a row for each, or one row for all."""
        rows = 1 if self._only_last else steps
        return [np.empty((rows, *t.shape), t.dtype) for t in types]

    def note_many(self, structure: tree.Structure, room: Sequence[Array], steps: int) -> None:
        """Take the aux of this many steps, which machine code has written to that room."""
        if self._only_last:
            self._add(_Part(1, structure, room))
        else:  # what is left of the room is given back
            kept = [x if len(x) == steps else x[:steps].copy() for x in room]
            self._add(_Part(steps, structure, kept))

    def _add(self, part: _Part) -> None:
        if self._only_last:
            self._parts.clear()
        self._parts.append(part)

    def tree(self) -> Any:
        """The aux of the last step; or one tree for all steps, whose leaves have an axis of steps
        in front. A leaf whose shape or dtype is not the same in all of them is a list, and so is
        the whole where the structure is not the same. None where there is none.
        """
        if not self._parts:
            return None
        if self._only_last:
            return self._parts[-1].trees()[-1]
        structure = self._parts[0].structure
        if any(part.structure != structure for part in self._parts):
            return [each for part in self._parts for each in part.trees()]
        rows = zip(*(part.leaves for part in self._parts), strict=True)
        return tree.unflatten(structure, [_stacked(each) for each in rows])


def _stacked(parts: Sequence[Array]) -> Any:
    """The rows of all parts in one array; as a list where they are not alike."""
    if len({(x.shape[1:], x.dtype) for x in parts}) > 1:
        return [x[i, ...] for x in parts for i in range(len(x))]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
