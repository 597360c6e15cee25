"""Layers in words: arrays by dtype and shape, never by their numbers."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from wengert.core import tree
from wengert.core.dtypes import is_float
from wengert.core.types import type_of
from wengert.errors import TraceError

INDENT = "  "


def shown_layer(layer: Any) -> str:
    """A layer as its class and fields.

    >>> wg.nn.Linear(3, 2)
    Linear(weight=float32[2, 3], bias=float32[2])
    """
    fields = (f"{f.name}={_shown(getattr(layer, f.name))}" for f in dataclasses.fields(layer))
    return f"{type(layer).__name__}({', '.join(fields)})"


def shown_layers(name: str, layers: tuple[Any, ...], named: Mapping[str, Any] | None = None) -> str:
    """Layers below each other, by number, and behind them others that have names; with counts.

    >>> wg.nn.Sequential(wg.nn.Linear(3, 2), "relu", wg.nn.Linear(2, 1))
    Sequential(
      0: Linear(weight=float32[2, 3], bias=float32[2])  # 8 parameters
      1: relu
      2: Linear(weight=float32[1, 2], bias=float32[1])  # 3 parameters
    )  # 11 parameters
    """
    return _below_each_other(name, dict(enumerate(layers)) | dict(named or {}))


def shown_parts(layer: Any) -> str:
    """A layer of layers: its fields below each other.

    >>> wg.nn.Bidirectional(wg.nn.RNN(1, 2), wg.nn.RNN(1, 2))
    Bidirectional(
      forward: RNN(input_weight=float32[2, 1], ..., activation='tanh')  # 10 parameters
      backward: RNN(input_weight=float32[2, 1], ..., activation='tanh')  # 10 parameters
    )  # 20 parameters
    """
    parts = {f.name: getattr(layer, f.name) for f in dataclasses.fields(layer)}
    return _below_each_other(type(layer).__name__, parts)


def _below_each_other(name: str, parts: Mapping[Any, Any]) -> str:
    if not parts:
        return f"{name}()"
    rows = (f"{key}: {_counted(part)}\n" for key, part in parts.items())
    inside = "".join(INDENT + line for row in rows for line in row.splitlines(True))
    return f"{name}(\n{inside}){_count_text(list(parts.values()))}"


def _counted(part: Any) -> str:
    """A part with how many parameters it has, unless it is an array or says so itself."""
    text = _shown(part)
    return text if tree.is_leaf(part) or "parameter" in text else text + _count_text(part)


def _count_text(parts: Any) -> str:
    """The number of parameters, as a comment; an array at two places counts once."""
    try:
        arrays = {id(x): x for x in tree.leaves(parts) if is_float(x.dtype)}
    except TraceError:  # not a tree: training will say so, looking at it does not
        return ""
    count = sum(x.size for x in arrays.values())
    return f"  # {count:,} parameter{'s' * (count != 1)}" if count else ""


def _shown(x: Any) -> str:
    if tree.is_leaf(x):
        return str(type_of(x))
    if inspect.isroutine(x) or hasattr(x, "__name__"):
        return str(x.__name__)
    return repr(x)
