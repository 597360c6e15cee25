"""The way of a graph through the passes: what it is after each of them, and what changed."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from wengert.core.graph import Graph, Node
from wengert.core.text.show import show
from wengert.passes.pipeline import PIPELINE

LISTED = 8  # ops that came or went


@dataclass(frozen=True)
class PassResult:
    """A graph on its way to kernels: as it was recorded, or after a pass."""

    name: str  # of the pass; "traced" before the first
    what: str  # the pass does, in one sentence
    graph: Graph
    change: str  # what became different, in one line; empty where nothing did
    text: str  # the graph; empty where it reads as before


def graph_text(graph: Graph) -> str:
    """The graph, without the bytes of larger constants."""
    return show(graph).partition("\ndata {\n")[0]


def pass_results(graph: Graph) -> list[PassResult]:
    """The graph as it was recorded, and after each pass."""
    what = "The program as it was recorded."
    results = [PassResult("traced", what, graph, _size(graph), graph_text(graph))]
    for each in PIPELINE:
        before, graph = graph, each(graph)
        what = (inspect.getdoc(each) or "").partition("\n\n")[0].replace("\n", " ")
        results.append(_result(each.__name__, what, before, graph))
    return results


def _result(name: str, what: str, before: Graph, after: Graph) -> PassResult:
    text = graph_text(after)
    same = text == graph_text(before)
    change = _change(before, after)
    if not same and not change:
        change = "the same nodes, with other operands or in another order"
    return PassResult(name, what, after, change, "" if same else text)


def _size(graph: Graph) -> str:
    count = sum(1 for _ in _nodes(graph))
    return f"{count} node{'s' * (count != 1)}"


def _change(before: Graph, after: Graph) -> str:
    """How many nodes of which ops came and went."""
    old, new = (list(_nodes(graph)) for graph in (before, after))
    changes = [f"{len(old)} → {len(new)} nodes"] if len(old) != len(new) else []
    counts = Counter(node.op.name for node in new)
    counts.subtract(Counter(node.op.name for node in old))
    moved = sorted(counts.items(), key=lambda item: (-abs(item[1]), item[0]))
    moves = [f"{n:+d} {name}" for name, n in moved if n]
    if len(moves) > LISTED:
        moves = [*moves[: LISTED - 1], f"and {len(moves) - LISTED + 1} more"]
    changes += [", ".join(moves)] if moves else []
    orders = Counter(node.order for node in new if node.order)
    if orders != Counter(node.order for node in old if node.order):
        changes.append("sums by " + ", ".join(f"{how} ({n})" for how, n in sorted(orders.items())))
    return "; ".join(changes)


def _nodes(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of the graphs inside it."""
    yield from graph.nodes
    for body in graph.subgraphs():
        yield from _nodes(body)
