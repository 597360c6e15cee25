"""Attributes that an object has not, refused in words where one is set."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.core.words.foreign_names.nearest import ALIKE, nearest


def no_attribute(name: str, key: str, known: Sequence[str], repair: str = "") -> AttributeError:
    """The refusal to set an attribute by a name that is none: it would change nothing."""
    meant = nearest(key, known, ALIKE)
    repair = repair or (f"Set {meant} instead" if meant else "Set one of these")
    return AttributeError(
        f"{name}: {key} was set; what can be set is {', '.join(known)}. {repair}."
    )
