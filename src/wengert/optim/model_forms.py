"""The form of a model, and of the networks that it has by name: what has the same form is most
likely other weights of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.dims import Shape
from wengert.core.dtypes import DType


class ModelForm:
    """What a copy of the model looks like: its tree and its shapes; and one of the state that a
    step carries, where copies of it are given beside data.
    """

    def __init__(self, model: Any, state: Any = None) -> None:
        leaves, self._structure = tree.flatten(model)
        self._shapes = [np.shape(x) for x in leaves]
        self._state = None if state is None or tree.is_leaf(state) else _types_in(state)

    def is_form_of(self, x: Any) -> bool:
        """Whether an argument is most likely other weights of the model: a target network. An array
        by itself may be anything.
        """
        if tree.is_leaf(x):
            return False
        leaves, structure = tree.flatten(x)
        return structure.alike(self._structure) and [np.shape(x) for x in leaves] == self._shapes

    def is_form_of_state(self, x: Any) -> bool:
        """Whether an argument is most likely a copy of the state: its tree, shapes and dtypes."""
        if self._state is None or tree.is_leaf(x):
            return False
        (structure, types), (known, known_types) = _types_in(x), self._state
        return structure.alike(known) and types == known_types


def _types_in(x: Any) -> tuple[tree.Structure, list[tuple[Shape, DType]]]:
    leaves, structure = tree.flatten(tree.arrays(x))
    return structure, [(np.shape(leaf), np.asarray(leaf).dtype) for leaf in leaves]


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
