"""The run-time numbers of a step: one row of a table per update, computed on the host in float64.

Learning rates, betas, bias corrections and limits stand here and not in the program, so changing
them never compiles anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.optim.optimizer import Optimizer
from wengert.optim.schedules.held_rates import is_known_ahead
from wengert.runtime.outside.watch import SAME_ITEMS, Place
from wengert.train.recorded.faded_rates import FadedRates
from wengert.train.recorded.optimizer_groups import Group

Row = np.ndarray[Any, Any]
Table = np.ndarray[Any, Any]
TRIES = 3
RATE = "lr"  # what every optimizer calls its learning rate among its scalars
AHEAD = 256  # rows that are computed at once, where nothing can change them on the way
MOST_AHEAD = 4096  # the same, for runs that want more of them


@dataclass(frozen=True)
class Columns:
    """Where the numbers of an update stand in a row."""

    of_groups: Mapping[tuple[int, str], int]  # by the number of a group, and by name
    limits: Mapping[str, int]  # clip_norm and clip_value, as far as there are any


class Scalars:
    """Rows of numbers by update, and where each number stands in them."""

    def __init__(
        self,
        groups: Sequence[Group],
        limits: Mapping[str, float],
        fine: Collection[int] = (),  # the numbers of groups with float64 parameters
    ) -> None:
        self._optimizers = [(i, g.trainer) for i, g in enumerate(groups) if not g.frozen]
        self._faded = [FadedRates(optimizer, i in fine) for i, optimizer in self._optimizers]
        self.limits = dict(limits)
        named = [(i, name) for i, optimizer in self._optimizers for name in optimizer.scalars(1)]
        of_groups = {each: column for column, each in enumerate(named)}
        self.columns = Columns(
            of_groups, {name: column for column, name in enumerate(self.limits, len(of_groups))}
        )
        self.settings: list[dict[str, Any]] = []  # of all optimizers: live, and as they were
        self._seen: list[dict[str, Any]] = []
        self._table = np.empty((0, 0))
        self._known = 0  # rows of the table that hold for later updates, too
        self._rows_ahead: list[Row] = []  # the first of these, once somebody asked for them
        self.begin = 0  # the update that the first row is for

    def row(self, count: int) -> Row:
        """The numbers of update `count`, from 1, for the settings as they are now."""
        place = count - self.begin
        known = 0 <= place < self._known and not self._changed()
        numbers: Row = self._table[place] if known else self._compute(count, 1, 1)[0]
        return numbers

    @property
    def rows_ahead(self) -> list[Row]:
        """Rows of the next updates, as far as they are known; always this list, until they are
        computed anew.
        """
        if not self._rows_ahead:
            self._rows_ahead = list(self._table[: min(self._known, AHEAD)])
        return self._rows_ahead

    def rows(self, count: int, wanted: int, soon: int) -> Table:
        """The numbers of updates from `count` on, for the settings as they are now: one at least,
        and as many as are wanted at most; `soon` at most where nobody knows them ahead.
        """
        place = count - self.begin
        if 0 <= place < self._known and not self._changed():
            return self._table[place : place + wanted]
        return self._compute(count, wanted, soon)[:wanted]

    def settings_places(self) -> list[Place]:
        """Where the settings are that rows follow from."""
        return [Place(SAME_ITEMS, each, None, each, "settings") for each in self.settings]

    def seen_settings(self) -> list[dict[str, Any]]:
        """The settings that the known rows follow from, by name. Where one of them is another
        object now, no row may be right any more.
        """
        if not self._changed():  # a setting may be an equal one, but another object
            self._seen = [dict(settings) for settings in self.settings]
        return self._seen

    def forget(self) -> None:
        """Compute the next rows anew."""
        self._known, self._rows_ahead = 0, []

    def _changed(self) -> bool:
        """Whether a setting is another than when the rows were computed."""
        return self.settings != self._seen

    def _compute(self, count: int, wanted: int, soon: int) -> Table:
        known = [part for _, optimizer in self._optimizers for part in _parts(optimizer)]
        ahead = all(is_known_ahead(part.lr) for part in known)
        size = min(max(wanted, AHEAD), MOST_AHEAD) if ahead else min(soon, AHEAD)
        self.forget()
        self.settings = [part.__dict__ for part in known]
        for _ in range(TRIES):  # a setting may change meanwhile, by another thread or a signal
            self._seen = [dict(settings) for settings in self.settings]
            try:
                table = self._filled(count, size)
            except Exception:  # whatever a schedule raises, it does so when its update comes
                if size == 1:
                    raise
                table = self._filled(count, 1)
            if not self._changed():
                break
        table = table[: self._ready(count, table, ahead)]
        self.begin, self._table = count, table
        if ahead:
            self._known = len(table)
        return table

    def _ready(self, count: int, table: Table, ahead: bool) -> int:
        """How many rows come before one whose learning rate needs a warning when it is used."""
        columns = [self.columns.of_groups[i, RATE] for i, _ in self._optimizers]
        pairs = zip(self._faded, columns, strict=True)
        return min(faded.ready(count, table[:, column], ahead) for faded, column in pairs)

    def _filled(self, count: int, size: int) -> Table:
        first = len(self.columns.of_groups)
        table = np.empty((size, first + len(self.limits)))
        for i, optimizer in self._optimizers:
            for name, numbers in optimizer.numbers(np.arange(count, count + size)).items():
                table[:, self.columns.of_groups[i, name]] = numbers
        table[:, first:] = list(self.limits.values())
        return table


def _parts(optimizer: Optimizer) -> Iterator[Optimizer]:
    """An optimizer and those inside it."""
    yield optimizer
    for x in vars(optimizer).values():
        if isinstance(x, Optimizer):
            yield from _parts(x)
