"""What is given as an operand and is no array: a model, or a generator in the place of a key."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from wengert.core.table import op
from wengert.core.values.spectrum import Spectrum, spectrum_as_array
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
            f"{name}: given a {type(x).__name__} as an operand; a key is needed. Write "
            "rng.next_key(), which is another one in every call."
        )
    if isinstance(x, Mapping) or dataclasses.is_dataclass(x):
        if callable(x):
            raise DTypeError(
                f"{name}: given a {type(x).__name__} as an operand, a network; an operand is one "
                "array. Call it, net(x); or look whether the arguments of the function are given "
                "in its order."
            )
        called = f"wg.{name}" if name in op.public("") else name
        raise DTypeError(
            f"{name}: given a {type(x).__name__} as an operand, which holds arrays; an "
            f"operand is one array. Write wg.tree.map({called}, tree) for all of them."
        )
