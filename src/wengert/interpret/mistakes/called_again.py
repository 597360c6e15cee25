"""Functions that are recorded once and called again and again: what is constant in them is the same
in every call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from wengert.core.process.meanwhile import Meanwhile

_LOSS, _BOUND = "the loss of a TrainStep", "a function that TrainStep.bind was given"

# What is called again and again, and draws anew in each call.
_place = Meanwhile[str]()
_loss = Meanwhile[bool]()  # whether that is a loss, inside of a draw, too


@contextmanager
def in_loss() -> Iterator[None]:
    """What runs meanwhile is the loss of a training step."""
    with _place.said(_LOSS), _loss.said(True):
        yield


@contextmanager
def in_bound_function() -> Iterator[None]:
    """What runs meanwhile is a function of the model that a training step binds."""
    with _place.said(_BOUND), _loss.said(False):
        yield


def called_again() -> str:
    """What is called again and again and runs now, in words; nothing in one draw."""
    return _place.value or ""


def is_in_loss() -> bool:
    """Whether the loss of a training step is what runs."""
    return bool(_loss.value)


def looked_at() -> AbstractContextManager[str]:
    """What runs meanwhile is one draw, whose key has been looked at."""
    return _place.said("")
