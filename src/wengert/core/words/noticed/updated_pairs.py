"""What `optimizer.update` returns, the new model and the new state, under one name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

UNPACKED = "Write model, state = optimizer.update(model, grads, state)"


def is_state(x: Any) -> bool:
    """Whether it is the state of an optimizer."""
    return isinstance(x, Mapping) and x.keys() == {"count", "parameters"}


def is_updated_pair(x: Any) -> bool:
    """Whether it is (model, state), as an update returns it."""
    return type(x) is tuple and len(x) == 2 and is_state(x[1])


def note_updated_pair(by: str, args: Sequence[Any], error: Exception) -> None:
    """Say in an error of a function that one of its arguments is such a pair, if one is."""
    if any(map(is_updated_pair, args)):
        error.add_note(
            f"{by}: given a tuple (model, state), as optimizer.update returns it. If the model "
            f"alone is meant: {UNPACKED[0].lower()}{UNPACKED[1:]}."
        )
