"""What can be set of a training step while it trains, and where all else is set."""

from __future__ import annotations

import inspect

from wengert.core.words.attributes import no_attribute

RATES = ("lr", "learning_rate")


def require_settable(kind: type, name: str) -> None:
    """Refuse to set what is no attribute of a step, or one that shows what it has."""
    attribute = getattr(kind, name, None)
    if attribute is not None and not (isinstance(attribute, property) and attribute.fset is None):
        return
    members = {key: each for base in kind.__mro__ for key, each in vars(base).items()}
    properties = {key: each for key, each in members.items() if isinstance(each, property)}
    settable = [key for key, each in properties.items() if each.fset is not None]
    repair = ""
    if name in RATES:
        repair = "Set step.optimizer.learning_rate, or that of an optimizer in the dict of them"
    elif name == "optimizer":
        repair = "Set its settings, as in step.optimizer.learning_rate = 1e-4, or make a new step"
    elif name in inspect.signature(kind).parameters:
        repair = f"Make a new step with another {name}"
    elif attribute is not None:
        repair = "Read it; the step itself writes it"
    raise no_attribute(kind.__name__, name, settable, repair)
