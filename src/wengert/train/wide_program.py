"""A program with float32 read as float64: the same calls, in which nothing is rounded to float32.

A cast to float32 is one to float64 there, and so are zeros, draws and constants of float32.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from wengert.core.dtypes import float32, float64
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.interpret.trace import node_type
from wengert.passes.rebuild import rebuild


def in_float64(graph: Graph) -> Graph:
    """The program, and the bodies in it, with float32 read as float64. What an op makes of other
    dtypes, as a square root of bools, and what a function with rules of its own casts inside stay
    as they are; the result is float64, too.

    >>> from wengert.core.text.show import read, show
    >>> halves = '%1: float32[3] = astype(%0, dtype=float32)'
    >>> graph = read('graph(%0: int64[3] "x") { ' + halves + ' return %1 }')
    >>> print(show(in_float64(graph)))
    graph(%0: int64[3] "x") {
      %1: float64[3] = astype(%0, dtype=float64)
      return %1
    }
    """
    return rebuild(graph, _placed)


def _placed(out: Graph, node: Node) -> int:
    params = {name: _wide(value) for name, value in node.params.items()}
    types: list[Any] = [None if i is None else out.nodes[i].type for i in node.operands]
    t = node_type(node.op, types, params)
    number = out.append(replace(node, params=params, type=t))
    if not isinstance(t, ArrayType) or t.dtype != float32:
        return number
    cast = Node(op.astype, (number,), {"dtype": float64}, ArrayType(t.shape, float64), node.line)
    return out.append(cast)


def _wide(value: Any) -> Any:
    """A parameter of a call."""
    if isinstance(value, Graph):
        return in_float64(value)
    if isinstance(value, ArrayType):
        return ArrayType(value.shape, _wide(value.dtype))
    if isinstance(value, np.ndarray):
        return value.astype(float64) if value.dtype == float32 else value
    if isinstance(value, np.dtype):
        return float64 if value == float32 else value
    return tuple(map(_wide, value)) if type(value) is tuple else value
