"""What identifies a train function, so that a folder can tell that it has changed.

That is its code, the code of all functions and classes of the user's that it calls, and what any of
them reads from outside. Libraries are not looked at.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

from wengert.sweeping.value_identity import Parts, digest

CHANGING = ""  # in the place of a digest: train itself changes it, so that it says nothing


def train_identity(train: Any) -> dict[str, str]:
    """A short digest of each part of a train function, by its name in the program."""
    parts = Parts(getattr(train, "__module__", None))
    parts.take(getattr(train, "__name__", "train"), train)
    python = ".".join(platform.python_version_tuple()[:2])
    return {"Python": python} | {name: digest(text) for name, text in parts.texts.items()}


def what_differs(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names of the parts that differ, in order."""
    return [
        name
        for name in {**before, **now}
        if before.get(name) != now.get(name) and before.get(name) != CHANGING
    ]


def with_changing(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """The parts as they were, but for those that calls of train have changed: a count, a log."""
    differ = set(what_differs(before, after))
    return {
        name: CHANGING if name in differ else text for name, text in {**after, **before}.items()
    }
