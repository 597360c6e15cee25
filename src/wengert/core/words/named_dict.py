"""NamedDict: a dict that says what it has where it is asked for something else."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from wengert.core.words.foreign_names.nearest import ALIKE, nearest


class NamedDict(dict[str, Any]):
    """A dict of things by name. In a tree it is a dict like any other."""

    def __init__(self, name: str, items: Mapping[str, Any]) -> None:
        super().__init__(items)
        self._name = name  # what messages call it

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedDict, (self._name, dict(self))

    def __missing__(self, key: Any) -> NoReturn:
        raise missing_key(self._name, key, self)


def missing_key(name: str, key: Any, known: Collection[str]) -> KeyError:
    """What is said where something of this name has no such key."""
    meant = nearest(key, known, ALIKE) if isinstance(key, str) else None
    repair = f"Write {meant!r}" if meant else "Choose one of these"
    has = ", ".join(map(repr, known))
    if not has:
        has, repair = "nothing", "Look at the optimizer"
    return KeyError(f"{name}: given {key!r}; there is {has}. {repair}.")
