"""Functions that are recorded once and called again and again: what is constant in them is the same
in every call.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from wengert.core.process.meanwhile import Meanwhile

_LOSS, _BOUND = "the loss of a TrainStep", "a function that TrainStep.bind was given"

# What is called again and again, and draws anew in each call.
_place = Meanwhile[str]()


def in_loss() -> AbstractContextManager[str]:
    """What runs meanwhile is the loss of a training step."""
    return _place.said(_LOSS)


def in_bound_function() -> AbstractContextManager[str]:
    """What runs meanwhile is a function of the model that a training step binds."""
    return _place.said(_BOUND)


def called_again() -> str:
    """What is called again and again and runs now, in words; nothing in one draw."""
    return _place.value or ""


def is_in_loss() -> bool:
    """Whether the loss of a training step is what runs."""
    return _place.value == _LOSS


def looked_at() -> AbstractContextManager[str]:
    """What runs meanwhile is one draw, whose key has been looked at."""
    return _place.said("")
