"""What each row has, of which only one row is used. `q.max(1)[0]`, as PyTorch writes it, whose
`max` gives values and indices: here it gives the values, and [0] is the first row. And
`states[lengths - 1][:, 0]`: the times of all rows, taken from the states of the first.
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
    of that alone; and where it takes what each row says from one row.
    """
    _warn_of_gathered_rows(graph)
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


def _warn_of_gathered_rows(graph: Graph) -> None:
    """Warn where an index for each row is applied to all rows, which gives rows times rows, and
    only one of these rows is used.
    """
    using: dict[int | None, list[Node]] = {}
    for node in graph.nodes:
        if not _is_backward(node):
            for operand in node.operands:
                using.setdefault(operand, []).append(node)
    for number, node in enumerate(graph.nodes):
        rows = _other_rows(graph, node)
        if rows is None or _is_backward(node):
            continue
        if number in using and all(_takes_one_row(each, rows) for each in using[number]):
            axis = node.params["axis"]
            own = {axis: "index", rows: "wg.arange(index.shape[0])"}
            places = ", ".join(own.get(k, ":") for k in range(max(own) + 1))
            warn_user(
                "getitem: the index has one number for each row of the batch, and is applied to "
                "what every row has; then one row of that is used, so that all rows read what the "
                f"first one has, or another. Write x[{places}] to read for each row its own.",
                FirstRowWarning,
                node.line,
            )


def _other_rows(graph: Graph, node: Node) -> int | None:
    """The axis of the rows in an array that an index for each row takes something from, along
    another axis.
    """
    if node.op.name != "gather" or not isinstance(node.type, ArrayType):
        return None
    data, index = (None if k is None else graph.nodes[k].type for k in node.operands[:2])
    if not (isinstance(data, ArrayType) and isinstance(index, ArrayType) and index.ndim == 1):
        return None
    size, axis = index.shape[0], node.params["axis"]
    if not str(size).startswith(ROWS) or data.shape[axis] == size or size not in data.shape:
        return None
    return data.shape.index(size)


def _takes_one_row(node: Node, rows: int) -> bool:
    return node.op.name == "slice_axes" and str(node.params["size"][rows]) == "1"


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
