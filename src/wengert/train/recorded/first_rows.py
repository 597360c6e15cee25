"""Maxima of each row of which only those of the first row are used: `q.max(1)[0]`, as PyTorch
writes it, whose `max` gives values and indices. Here it gives the values, and [0] is the first row.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from wengert.core.graph import Graph, Node
from wengert.core.types import ArrayType
from wengert.core.words.warn import warn_user
from wengert.errors import FirstRowWarning
from wengert.train.batch import ROWS


def warn_of_first_rows(graph: Graph) -> None:
    """Warn where a loss takes the largest or smallest of each row of its batch, and the first row
    of that alone.
    """
    for node, using in _extremes(graph):
        if using and all(map(_takes_first_row, using)):
            name = node.op.name
            warn_user(
                f"{name}: x.{name}(axis)[0] takes the first row of the batch out of what was found "
                f"for each row; {name} gives values alone, where PyTorch's gives values and "
                f"indices. Leave out [0], or write x[0].{name}() for the first row.",
                FirstRowWarning,
                node.line,
            )


def _extremes(graph: Graph) -> Iterator[tuple[Node, list[Node]]]:
    """The largest or smallest of each row of one array, however often they are computed, with the
    nodes that read them.
    """
    alike: dict[int, tuple[Node, list[Node]]] = {}
    first: dict[Hashable, tuple[Node, list[Node]]] = {}
    for number, node in enumerate(graph.nodes):
        if _is_backward(node):
            continue
        for operand in alike.keys() & set(node.operands):
            alike[operand][1].append(node)
        if node.op.name in ("max", "min") and _begins_with_rows(node):
            key = node.op.name, node.operands, str(node.params)
            alike[number] = first.setdefault(key, (node, []))
    return iter(first.values())


def _begins_with_rows(node: Node) -> bool:
    shape = node.type.shape if isinstance(node.type, ArrayType) else ()
    return bool(shape) and str(shape[0]).startswith(ROWS)


def _takes_first_row(node: Node) -> bool:
    return (
        node.op.name == "slice_axes"
        and node.params["start"][0] == 0
        and str(node.params["size"][0]) == "1"
    )


def _is_backward(node: Node) -> bool:
    return node.line is not None and node.line.phase != "forward"
