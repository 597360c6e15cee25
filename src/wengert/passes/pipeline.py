"""The passes every program goes through before it is lowered, in this order.

They are the same for fused and unfused builds, for every target and number of threads, so what they
decide cannot make their bits differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from wengert.core.check import check as check_graph
from wengert.core.graph import Graph
from wengert.interpret.trace import node_type
from wengert.passes.cse import cse
from wengert.passes.dce import dce
from wengert.passes.expand import expand
from wengert.passes.fold import fold
from wengert.passes.order import order
from wengert.passes.simplify import simplify
from wengert.passes.sink import sink
from wengert.passes.turned_products import turn_products

Pass: TypeAlias = Callable[[Graph], Graph]

# These keep every bit that NumPy computes; `order` then decides how sums are rounded, and
# `turn_products` leaves transposes of transposes and products without readers for those between to
# clean up.
EXACT: tuple[Pass, ...] = (expand, fold, simplify, cse, sink, dce)
PIPELINE: tuple[Pass, ...] = (expand, turn_products, *EXACT[1:], order)


def run(graph: Graph, passes: Sequence[Pass] = PIPELINE, check: bool = False) -> Graph:
    """The graph after these passes; with `check`, each result must keep the rules of graphs.

    >>> from wengert.core.text.show import read, show
    >>> graph = read('''
    ... graph(%0: float32[2] "x") {
    ...   %1: float32[2] = full(shape=(2,), fill_value=1, dtype=float32)
    ...   %2: float32[2] = multiply(%0, %1)
    ...   %3: float32[2] = square(%0)
    ...   %4: float32[2] = square(%2)
    ...   %5: float32[2] = add(%3, %4)
    ...   return %5
    ... }''')
    >>> print(show(run(graph, check=True)))
    graph(%0: float32[2] "x") {
      %1: float32[2] = square(%0)
      %2: float32[2] = add(%1, %1)
      return %2
    }
    """
    for each in passes:
        graph = each(graph)
        if check:
            check_graph(graph, node_type)
    return graph
