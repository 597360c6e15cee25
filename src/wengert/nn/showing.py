"""Layers in words: arrays by dtype and shape, never by their numbers."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from wengert.core import tree
from wengert.core.types import type_of

INDENT = "  "


def shown_layer(layer: Any) -> str:
    """A layer as its class and fields.

    >>> wg.nn.Linear(3, 2)
    Linear(weight=float32[2, 3], bias=float32[2])
    """
    fields = (f"{f.name}={_shown(getattr(layer, f.name))}" for f in dataclasses.fields(layer))
    return f"{type(layer).__name__}({', '.join(fields)})"


def shown_layers(name: str, layers: tuple[Any, ...], named: Mapping[str, Any] | None = None) -> str:
    """Layers below each other, by number, and behind them others that have names.

    >>> wg.nn.Sequential(wg.nn.Linear(3, 2), "relu")
    Sequential(
      0: Linear(weight=float32[2, 3], bias=float32[2])
      1: relu
    )
    """
    every = dict(enumerate(layers)) | dict(named or {})
    if not every:
        return f"{name}()"
    rows = (f"{i}: {_shown(layer)}" for i, layer in every.items())
    inside = "".join(f"{row}\n" for row in rows)
    return f"{name}(\n" + "".join(INDENT + line for line in inside.splitlines(True)) + ")"


def shown_parts(layer: Any) -> str:
    """A layer of layers: its fields below each other.

    >>> wg.nn.Bidirectional(wg.nn.RNN(1, 2), wg.nn.RNN(1, 2))
    Bidirectional(
      forward: RNN(input_weight=float32[2, 1], ..., activation='tanh')
      backward: RNN(input_weight=float32[2, 1], ..., activation='tanh')
    )
    """
    rows = (f"{f.name}: {_shown(getattr(layer, f.name))}\n" for f in dataclasses.fields(layer))
    inside = "".join(INDENT + line for row in rows for line in row.splitlines(True))
    return f"{type(layer).__name__}(\n{inside})"


def _shown(x: Any) -> str:
    if tree.is_leaf(x):
        return str(type_of(x))
    if inspect.isroutine(x) or hasattr(x, "__name__"):
        return str(x.__name__)
    return repr(x)
