"""The form of a model, and of the networks that it has by name: what has the same form is most
likely other weights of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from wengert.core import tree


class ModelForm:
    """What a copy of the model looks like: its tree and its shapes."""

    def __init__(self, model: Any) -> None:
        leaves, self._structure = tree.flatten(model)
        self._shapes = [np.shape(x) for x in leaves]

    def is_form_of(self, x: Any) -> bool:
        """Whether an argument is most likely other weights of the model: a target network. An array
        by itself may be anything.
        """
        if tree.is_leaf(x):
            return False
        leaves, structure = tree.flatten(x)
        return structure.alike(self._structure) and [np.shape(x) for x in leaves] == self._shapes


def named_networks(model: Any) -> Iterator[Any]:
    """A model, and the networks that it has by name."""
    yield model
    if isinstance(model, dict):
        yield from model.values()
    elif is_dataclass(model) and not callable(model):
        yield from (getattr(model, field.name) for field in fields(model))


def networks_in(x: Any) -> Iterator[Any]:
    """The networks in a tree, such as a copied actor: data come in arrays and containers, and are
    not called.
    """
    if is_dataclass(x) and not isinstance(x, type):
        if callable(x):
            yield x
        else:
            yield from networks_in([getattr(x, field.name, None) for field in fields(x)])
    elif isinstance(x, dict | list | tuple):
        for each in x.values() if isinstance(x, dict) else x:
            yield from networks_in(each)
