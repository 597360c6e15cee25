"""What a fit was asked to measure, and refusals of what it cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import Any

from wengert.core.words.foreign_names.nearest import ALIKE, nearest
from wengert.train.fitting.fit_data import BY

WEIGHING = (
    "To weigh the loss, make the weights an argument of it, loss(model, x, y, w), and pass "
    "data=(x, y, w)"
)


@dataclass(frozen=True)
class Asked:
    """What a fit was asked to measure."""

    metrics: Any = None
    predict: Callable[..., Any] | None = None
    target: str | None = None
    weight: str | None = None
    validation_loss: Callable[..., Any] | bool | None = None


def require_known(asked: Asked, names: Sequence[str]) -> None:
    """Refuse a prediction that is no function, and targets and weights that are no arguments of
    the loss, which have these names.
    """
    if asked.predict is not None:
        require_function("predict", asked.predict)
    for called in ("target", "weight"):
        given = getattr(asked, called)
        if given is not None and not isinstance(given, str):
            weighing = f". {WEIGHING}, and weight='w' for metrics" if called == "weight" else ""
            raise TypeError(
                f"{BY}: {called} is {type(given).__name__}; it is the name of an argument of the "
                f"loss, one of {', '.join(names)}. Pass the array in data, and its name here"
                f"{weighing}."
            )
        if given is not None and given not in names:
            meant = nearest(given, list(names), ALIKE)
            repair = f"Write {called}={meant!r}" if meant else "Use one of these names"
            raise ValueError(
                f"{BY}: {called}={given!r} was given; the loss has the arguments "
                f"{', '.join(names)}. {repair}."
            )


def require_effect(asked: Asked, validates: bool) -> None:
    """Refuse what is for validation data where there are none, and what is for metrics where none
    are measured.
    """
    for name in ("metrics", "predict", "target", "weight", "validation_loss"):
        if getattr(asked, name) is not None and not validates:
            raise ValueError(
                f"{BY}: {name} was given without validation; metrics are measured on validation "
                "data. Pass validation=(x, y), or validation=0.1 for a share of the rows"
                f"{_but_weigh(name)}."
            )
    if not (asked.metrics is None or (isinstance(asked.metrics, Sized) and not len(asked.metrics))):
        return
    for name in ("predict", "target", "weight"):
        if getattr(asked, name) is not None:
            raise ValueError(
                f"{BY}: {name} was given without metrics; it is for these, and has no effect on "
                f'the loss. Pass metrics=["mae"], or leave it out{_but_weigh(name)}.'
            )


def _but_weigh(name: str) -> str:
    """What to do where a weight was to weigh the loss."""
    return f". {WEIGHING}" if name == "weight" else ""


def require_function(called: str, f: Any) -> None:
    """Refuse what cannot be called."""
    if not callable(f):
        raise TypeError(
            f"{BY}: {called} is {type(f).__name__}; it is a function. Pass the function itself."
        )
