"""What is given as an operand and is no array: a model, or a generator in the place of a key."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.core.table import op
from wengert.core.values.spectrum import Spectrum, spectrum_as_array
from wengert.core.words.articles import a_kind
from wengert.errors import DTypeError


def require_array(name: str, x: Any) -> None:
    """Refuse an object that holds arrays, or makes them, and say what takes it. Lists of arrays are
    joined to one array, but not where there is such an object in them.
    """
    if type(x) is Spectrum:
        raise spectrum_as_array(name)
    if isinstance(x, list | tuple):
        for each in x:
            require_array(name, each)
        return
    if hasattr(type(x), "next_key"):
        raise DTypeError(
            f"{name}: given {a_kind(x)} as an operand; a key is needed. Write "
            "rng.next_key(), which is another one in every call."
        )
    if isinstance(x, Mapping) or dataclasses.is_dataclass(x):
        if callable(x):
            raise DTypeError(
                f"{name}: given {a_kind(x)} as an operand, a network; an operand is one "
                "array. Call it, net(x); or look whether the arguments of the function are given "
                "in its order."
            )
        numbers = isinstance(x, Mapping) and all(np.ndim(each) == 0 for each in x.values())
        raise DTypeError(
            f"{name}: given {a_kind(x)} as an operand, which holds {'numbers' if numbers else ''}"
            f"{'' if numbers else 'arrays'}; an operand is one array. {_of_many(name, x, numbers)}."
        )


def _of_many(name: str, x: Any, numbers: bool) -> str:
    """How to compute with what holds many: a row of numbers by the names of columns, or arrays."""
    if numbers:
        return "Write np.array(list(row.values())), in the order of the columns"
    public = op.public("")
    if name in public and len(public[name].call.operands) > 1 and isinstance(x, Mapping):
        key = next(iter(x), "name")
        return f"Take one of them, x[{key!r}], or join them: wg.stack(list(x.values()), axis=-1)"
    return f"Write wg.tree.map({f'wg.{name}' if name in public else name}, tree) for all of them"
