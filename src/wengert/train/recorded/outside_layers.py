"""Layers from outside: a loss calls a layer that is no part of the model. Its arrays are constants
of the program, and are never trained.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.words.warn import warn_user
from wengert.errors import UntrainedWarning
from wengert.runtime.outside.watch import Watch, owner_of
from wengert.train.batch import ModelForm


def warn_of_outside_layers(watch: Watch, model: Any, given: Collection[Any]) -> None:
    """Warn where a program has float arrays of a layer that is not in the model, a dataclass that
    can be called.

    A network of the form of the model, or of one that it has, is another one on purpose: a target.
    What the model was made with, `given`, is told of where no gradient reaches it.
    """
    forms = [ModelForm(part) for part in _parts(model)]
    for place in watch.places:
        layer = place.value
        if not is_dataclass(layer) or isinstance(layer, type) or not callable(layer):
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
            kind, name = type(layer).__name__, place.label
            where = "" if used[0].line is None else f" ({used[0].line})"
            warn_user(
                f"TrainStep: the loss calls {name}, a {kind} from outside of the model; its "
                f"{len(leaves)} array{'s are' if len(leaves) > 1 else ' is'} part of the program, "
                f"and not trained. Put it into the model, as in {{{name.split('.')[-1]!r}: …, "
                "'rest': …}; if it is to stay as it is, do the same and give its paths no "
                f"optimizer: {{{name.split('.')[-1] + '.*'!r}: None, '*': …}}.{where}",
                UntrainedWarning,
                used[0].line,
            )
            return


def _parts(model: Any) -> Iterator[Any]:
    """A model, and the networks that it has by name."""
    yield model
    if isinstance(model, dict):
        yield from model.values()
    elif is_dataclass(model) and not callable(model):
        yield from (getattr(model, field.name) for field in fields(model))
