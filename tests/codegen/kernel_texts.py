"""Whether two programs of kernels are the same, and whether one survives being written and read."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from graph_texts import same_graph

from wengert.codegen.kernel import ConstantArray, Kernel, Layout, Lowered, Program
from wengert.codegen.kernel_text.kernel_show import read, show
from wengert.core.graph import Graph, Node


def difference(a: Any, b: Any, where: str = "it") -> str | None:
    """What two values differ in, the first found; None if they are equal."""
    if type(a) is not type(b):
        return f"{where}: {a!r} and {b!r}"
    if isinstance(a, Lowered | Program | Kernel | Layout | ConstantArray):
        return _first(
            difference(getattr(a, each.name), getattr(b, each.name), f"{where}.{each.name}")
            for each in fields(a)
        )
    if isinstance(a, Graph):
        orders = [(x.order, y.order) for x, y in zip(a.nodes, b.nodes, strict=False)]
        bodies = zip(a.subgraphs(), b.subgraphs(), strict=False)
        same = same_graph(a, b) and all(x == y for x, y in orders)
        found = None if same else f"{where}: {a} and {b}"
        return found or _first(difference(x, y, f"{where}.body") for x, y in bodies)
    if isinstance(a, Node):
        return None if same_graph(Graph([a]), Graph([b])) else f"{where}: {a} and {b}"
    if isinstance(a, np.ndarray):
        return None if a.tobytes() == b.tobytes() and a.dtype == b.dtype else where
    if isinstance(a, tuple):
        if len(a) != len(b):
            return f"{where}: {a} and {b}"
        pairs = enumerate(zip(a, b, strict=True))
        return _first(difference(x, y, f"{where}[{i}]") for i, (x, y) in pairs)
    return None if a == b else f"{where}: {a!r} and {b!r}"


def _first(found: Any) -> str | None:
    return next(filter(None, found), None)


def require_round_trip(made: Program | Lowered) -> Any:
    """The value that its text reads back as, which is an equal one."""
    text = show(made)
    again = read(text)
    found = difference(made, again)
    assert found is None, f"{found}\n{text}"
    assert show(again) == text
    return again
