"""The data of a run, as each member is given them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core import tree
from wengert.train.engine import Engine
from wengert.train.ensemble.each import Each, of_member, require_rows_of_each
from wengert.train.runs.data import Data


class RunData:
    """The arguments of a run: the same for all members, or `each`."""

    def __init__(
        self,
        by: str,
        names: Sequence[str],
        arguments: Sequence[Any],
        size: Any,
        engine: Engine,  # of the first member
    ) -> None:
        self._by, self._names, self._size = by, names, size
        self._model = engine.model_form
        require_rows_of_each(by, names, arguments)
        self.first = engine.training_data(by, of_member(arguments, 0), size)
        self._others = {0: self.first}
        self.differs = any(isinstance(x, Each) for x in arguments)
        # Frames are looked at once, for all members.
        self._arguments = [x if isinstance(x, Each) else tree.with_numpy(x) for x in arguments]
        self.steps_apart: list[int] = [  # bytes from the array of a member to that of the next
            leaf.strides[0] if isinstance(x, Each) else 0
            for x in self._arguments
            for leaf in tree.leaves(x.tree if isinstance(x, Each) else x)
        ]

    def of(self, member: int) -> Data:
        """The data of one member."""
        if not self.differs:
            return self.first
        if member not in self._others:
            given = of_member(self._arguments, member)
            self._others[member] = Data(self._by, self._names, given, self._size, model=self._model)
        return self._others[member]
