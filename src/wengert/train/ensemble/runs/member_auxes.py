"""Auxes: what the losses of members return beside their values, kept over the steps of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.types import ArrayType
from wengert.train.runs.auxes import MANY, ROOM
from wengert.train.storage import Array


class MemberAuxes:
    """The aux of steps as they are taken, with axes of members and steps in front of each array: of
    all steps, or of the last one only, without the second axis.
    """

    def __init__(self, only_last: bool, members: int) -> None:
        self._only_last, self._members = only_last, members
        self._parts: list[tuple[tree.Structure, list[Array]]] = []
        self._by_python: dict[int, Any] = {}  # of one step, by member

    def most(self, types: Sequence[ArrayType], members: int) -> int:
        """For how many steps to reserve room at once."""
        if self._only_last or not types:
            return MANY
        size = sum(math.prod(map(int, t.shape)) * t.dtype.itemsize for t in types)
        return max(1, ROOM // max(1, size * members))

    def room(self, types: Sequence[ArrayType], steps: int) -> list[Array]:
        """Arrays for steps that Python does not see."""
        rows = 1 if self._only_last else steps
        return [np.empty((self._members, rows, *t.shape), t.dtype) for t in types]

    def note_one(self, member: int, step: int, kept: Sequence[Array], aux: Any) -> None:
        """Take the aux of a step that Python has taken, beside others or alone."""
        if not kept:
            self._by_python[member] = aux
        for into, x in zip(kept, tree.leaves(tree.arrays(aux)) if kept else (), strict=True):
            into[member, 0 if self._only_last else step] = x

    def note(self, structure: tree.Structure | None, kept: Sequence[Array]) -> None:
        """Take what was written to that room, or what Python has noted of one step."""
        if structure is None:
            auxes = [tree.arrays(x) for x in self._by_python.values() if x is not None]
            self._by_python = {}
            if len(auxes) < self._members:  # there is none, or a member has failed
                return
            pairs = [tree.flatten(aux) for aux in auxes]
            structure = pairs[0][1]
            rows = zip(*(leaves for leaves, _ in pairs), strict=True)
            kept = [np.stack(row)[:, None] for row in rows]
        if self._only_last:
            self._parts.clear()
        self._parts.append((structure, [*kept]))

    def tree(self) -> Any:
        """One tree for all members and steps, or for the last step; None where there is none."""
        if not self._parts:
            return None
        structure = self._parts[0][0]
        rows = zip(*(leaves for _, leaves in self._parts), strict=True)
        joined = [parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1) for parts in rows]
        shown = [x[:, -1, ...] for x in joined] if self._only_last else joined
        return tree.unflatten(structure, shown)
