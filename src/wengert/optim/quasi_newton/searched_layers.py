"""Layers from outside: a function calls a layer that is no part of what it is given to train. Its
arrays are constants of the program.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import is_dataclass
from typing import Any, NamedTuple

import numpy as np

from wengert.core import tree
from wengert.core.words.source import Line
from wengert.optim.model_forms import ModelForm, named_networks
from wengert.runtime.outside.watch import Watch, owner_of


class OutsideLayer(NamedTuple):
    """A layer that a program has as constants."""

    label: str  # what the function calls it
    kind: str
    arrays: int  # how many it has
    line: Line | None  # that uses one of them

    @property
    def said(self) -> str:
        """What becomes of its arrays, in words."""
        are = "arrays are" if self.arrays > 1 else "array is"
        return f"its {self.arrays} {are} part of the program, and not trained"

    @property
    def name(self) -> str:
        """What it could be called as a part of a model."""
        return self.label.split(".")[-1]


def outside_layer(watch: Watch, model: Any, given: Collection[Any] = ()) -> OutsideLayer | None:
    """A layer, which is a dataclass that can be called, whose float arrays a program has and that
    is not in the model.

    A network of the form of the model, or of one that it has, is another one on purpose: a target.
    Nor does one count with an array among `given`.
    """
    forms = [ModelForm(part) for part in named_networks(model)]
    for place in watch.places:
        layer = place.value
        if not is_layer(layer):
            continue
        leaves = [
            x for x in tree.leaves(layer) if isinstance(x, np.ndarray) and x.dtype.kind == "f"
        ]
        owners = [owner_of(x) for x in leaves]
        if any(x is y for x in owners for y in given):
            continue
        if any(form.is_form_of(layer) for form in forms):
            continue
        used = [each for each in watch.arrays if each.certain and each.is_part_of(owners)]
        if used:
            return OutsideLayer(place.label, type(layer).__name__, len(leaves), used[0].line)
    return None


def is_layer(x: Any) -> bool:
    """Whether an object is a dataclass that can be called."""
    return is_dataclass(x) and not isinstance(x, type) and callable(x)
