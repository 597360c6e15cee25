"""SettingsWalk: the settings of objects that note it when they are read."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from wengert.runtime.outside.attribute_walk import AttributeWalk
from wengert.runtime.outside.class_members import attributes_of
from wengert.runtime.outside.noted_reads import NotesReads, Read
from wengert.runtime.outside.unnamed_reads import ComputedName
from wengert.runtime.outside.watch import ITEM


class SettingsWalk(AttributeWalk):
    """A walk over containers, attributes and such settings, and what it has found so far."""

    def __init__(self, without: Set[Read] = frozenset()) -> None:
        super().__init__()
        self._without = without  # settings that are known not to be read
        self._noting: dict[Read, str] = {}  # those that were found, and what the user calls them
        # Around objects, by their ids: the outermost one, and what the user calls that.
        self._outermost: dict[int, tuple[NotesReads, str]] = {}

    def unread(self, read: Set[Read]) -> set[Read]:
        """The settings that were not read while these were. Code that looks into the dict of an
        object may read all of them, and what it names there: nobody notes that.
        """
        if ComputedName(None, ()) in self._computed:
            return set()
        hidden = {key for key, called in self._noting.items() if called != key[1]}
        by_name = {key for key in hidden if key[1] in self._names}
        return self._noting.keys() - read - by_name

    def _instance(self, x: Any, label: str) -> None:
        if isinstance(x, NotesReads):
            self._settings(x, label)
        super()._instance(x, label)

    def _settings(self, x: NotesReads, label: str) -> None:
        """Follow the settings of an object, whoever has written its class, and such objects in it,
        as an optimizer in another one.
        """
        outer, called = self._outermost.get(id(x), (x, label))
        held, noted = attributes_of(x), x.noted_names()
        for name, value in list(held.items()):
            if (id(held), name) in self._without:
                continue
            if name in noted:
                self._noting[id(held), name] = noted[name]
                repair = outer.without_programs(called)
                self._place(ITEM, held, name, value, f"{label}.{noted[name]}", repair=repair)
            if isinstance(value, NotesReads):
                self._outermost[id(value)] = outer, called
            if name in noted or isinstance(value, NotesReads):
                self._attribute(x, name, f"{label}.{noted.get(name, name)}")

    def _attribute(self, x: Any, name: str, label: str) -> None:
        if (id(attributes_of(x)), name) not in self._without:
            super()._attribute(x, name, label)
