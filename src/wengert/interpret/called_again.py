"""Functions that are recorded once and called again and again: what is constant in them is the same
in every call.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LOSS, _BOUND = "the loss of a TrainStep", "a function that TrainStep.bind was given"


class _Place(threading.local):
    name: str = ""  # of what is called again and again, and draws anew in each call


_place = _Place()


@contextmanager
def _set_place(name: str) -> Iterator[None]:
    before, _place.name = _place.name, name
    try:
        yield
    finally:
        _place.name = before


def in_loss() -> Any:
    """What runs meanwhile is the loss of a training step."""
    return _set_place(_LOSS)


def in_bound_function() -> Any:
    """What runs meanwhile is a function of the model that a training step binds."""
    return _set_place(_BOUND)


def called_again() -> str:
    """What is called again and again and runs now, in words; nothing in one draw."""
    return _place.name


def is_in_loss() -> bool:
    """Whether the loss of a training step is what runs."""
    return _place.name == _LOSS


def looked_at() -> Any:
    """What runs meanwhile is one draw, whose key has been looked at."""
    return _set_place("")
