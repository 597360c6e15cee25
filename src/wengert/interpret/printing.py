"""Looking into programs: how `wg.debug` prints, and how a program is kept from printing twice."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.core.graph import Graph, Node
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.table import op

_steps = Meanwhile[tuple[int, ...]]()  # where the loops around have got to, the outermost first


def at_step(number: int) -> AbstractContextManager[tuple[int, ...]]:
    """While one step of a loop runs."""
    return _steps.said((*(_steps.value or ()), number))


def print_value(name: str, x: Any, steps: Sequence[int] | None = None) -> None:
    """Print an array with its name, its type and the steps of the loops around.

    >>> print_value("h", np.eye(2), steps=[3])
    h (step 3): float64[2, 2] = [[1. 0.]
                                 [0. 1.]]
    """
    array = np.asarray(x)
    numbers = (_steps.value or ()) if steps is None else steps
    place = f" (step {', '.join(map(str, numbers))})" if numbers else ""
    sizes = ", ".join(map(str, array.shape))
    head = f"{name}{place}: {array.dtype.name}[{sizes}] = "
    # One write: lines of several threads do not mix.
    print(f"{head}{np.array2string(array, prefix=head)}\n", end="", flush=True)


def prints(node: Node) -> bool:
    """Whether a node prints, or a body inside it does: it is kept though nobody reads it, and runs
    where it stands.
    """
    if not node.params:
        return False
    return node.op is op.debug or any(map(any_prints, _bodies(node)))


def any_prints(graph: Graph) -> bool:
    return any(map(prints, graph.nodes))


def quiet(graph: Graph) -> Graph:
    """The graph without what prints: for bodies that run again, to be differentiated."""
    if not any_prints(graph):
        return graph
    out = Graph()
    numbers: dict[int, int] = {}
    for number, node in enumerate(graph.nodes):
        if node.op is op.debug:
            continue
        params = {k: quiet(v) if isinstance(v, Graph) else v for k, v in node.params.items()}
        operands = tuple(None if i is None else numbers[i] for i in node.operands)
        numbers[number] = out.append(replace(node, operands=operands, params=params))
    out.inputs[:] = [numbers[i] for i in graph.inputs]
    out.returns[:] = [numbers[i] for i in graph.returns]
    return out


def _bodies(node: Node) -> list[Graph]:
    return [value for value in node.params.values() if isinstance(value, Graph)]
