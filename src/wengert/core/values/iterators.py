"""Where an iterator stands: whether somebody has taken items from it since."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import count
from operator import length_hint
from types import GeneratorType
from typing import Any


def position(x: Any) -> Any:
    """Where an iterator stands, as far as Python tells."""
    if isinstance(x, GeneratorType):
        frame = x.gi_frame
        held = {} if frame is None else frame.f_locals
        return frame and frame.f_lasti, {name: id(value) for name, value in held.items()}
    if isinstance(x, count):
        return repr(x)
    if hasattr(x, "__length_hint__"):
        return length_hint(x)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _mark(x.__reduce__()[1:])
    except Exception:  # it does not say
        return None


def _mark(x: Any) -> Any:
    """What stands for a part of an iterator: numbers by value, and others by what they are."""
    if isinstance(x, tuple):
        return tuple(map(_mark, x))
    if isinstance(x, Iterator):
        return position(x)
    return x if isinstance(x, int | None) else id(x)
