"""NotedSettings: the learning rate and the settings of an optimizer, as compiled code reads them.

A compiled update depends on the settings that were read while it was recorded. One that is given
the numbers of the update as an argument reads none of them, so that they may change at no cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wengert.optim.lifecycle.constructors import Rate
from wengert.optim.lifecycle.saving import OTHER_NAME
from wengert.optim.settings import not_negative, settings_of
from wengert.runtime.outside.noted_reads import NotesReads, note_all, note_read, noting


class NotedSettings(NotesReads):
    """The part of an optimizer that says what was read of it."""

    rate_name = "lr"  # what the constructor calls the learning rate

    @property
    def lr(self) -> Rate:
        """The learning rate as it was given: a number, or a schedule."""
        if noting:  # a function is being recorded
            note_read(self, "_rate")
        return self._rate

    @lr.setter
    def lr(self, value: Any) -> None:
        name = type(self).__name__
        self._rate = value if callable(value) else not_negative(name, self.rate_name, value)

    @classmethod
    def noted_names(cls) -> Mapping[str, str]:
        """The settings, and the learning rate, unless a class has an `lr` of its own."""
        rate = {"_rate": OTHER_NAME} if cls.lr is NotedSettings.lr else {}
        return rate | {name: name for name in settings_of(cls)}

    @classmethod
    def without_programs(cls, label: str) -> str:
        """What to write where compiled code has a program for each value of a setting."""
        name = "optimizer" if label == cls.__name__ else label
        return (
            f"Pass wg.tree.arrays({name}.scalars(count)) into the function, and on as the fourth "
            f"argument of {name}.update, or use a wg.TrainStep"
        )

    def __getstate__(self) -> Any:
        """All that it has, for a copy: the settings are not asked for one by one."""
        note_all(self)
        return super().__getstate__()
