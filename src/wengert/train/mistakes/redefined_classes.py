"""Classes of a model that were defined anew after a step was made with it, as a notebook does where
its cell is run again.
"""

from __future__ import annotations

from typing import Any

from wengert.core import tree
from wengert.core.process.ending import ending
from wengert.errors import ShapeError


def require_known_classes(what: str, given: tree.Structure, known: tree.Structure) -> None:
    """Refuse objects of a class that is another one of the same name: trees of both read alike."""
    name = _namesake(given.spec, known.spec)
    if name is not None:
        raise ShapeError(
            f"TrainStep: the {what} was assigned {given}, in which the class {name} is another one "
            f"than in step.{what}, defined anew since; a step computes with the classes that it "
            "was made with. Make a new TrainStep with it."
        )


@ending.whole
def _namesake(given: Any, known: Any) -> str | None:
    """The name of two classes that trees have at the same place, where these are not one."""
    if ending.near:
        ending.pass_or_stay()
    pending = [(given, known)]
    while pending:
        one, other = pending.pop()
        a, b = one.type, other.type
        if a is b:
            pending += zip(one.children(), other.children(), strict=False)
        elif a is not None and b is not None and _name(a) == _name(b):
            return str(a.__name__)
    return None


def _name(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__
