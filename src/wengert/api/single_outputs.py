"""A softmax along the only output of a linear layer: it is 1 whatever goes in, and trains nothing.
Whoever weighs times by `layer(x)` of shape (batch, time, 1) means another axis.
"""

from __future__ import annotations

from collections.abc import Collection

from wengert.api.pairs.pairing_loss import is_own
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.core.words.warn import warn_user
from wengert.errors import LogitsWarning
from wengert.passes.opened_bodies import with_open_bodies


def warn_of_single_outputs(graph: Graph, own: Collection[str]) -> None:
    """Warn where the function that was recorded as this graph takes a softmax along an axis of one
    element, which a product with the model made. `own` are the names of arguments that are the
    model, or belong to it. An axis of the data, such as that of one time, may be longer elsewhere.
    """
    graph = with_open_bodies(graph)
    for node in graph.nodes:
        if node.op not in (op.softmax, op.log_softmax) or _is_backward(node):
            continue
        (number,) = node.operands
        if number is None:
            continue
        t, axis = graph.nodes[number].type, node.params["axis"]
        if not isinstance(t, ArrayType) or t.shape[axis] != 1 or axis % len(t.shape) == 0:
            continue
        if axis % len(t.shape) == len(t.shape) - 1 and _is_output(graph, number, own):
            constant = "1" if node.op is op.softmax else "0"
            warn_user(
                f"{node.op.name}: given shape {tuple(t.shape)} along axis {axis}, the only output "
                f"of a layer; the {node.op.name} of one number is {constant}, so that it trains "
                f"nothing. Name the axis of what is weighed, as in wg.{node.op.name}(x, axis=1).",
                LogitsWarning,
                node.line,
            )


def _is_output(graph: Graph, number: int, own: Collection[str]) -> bool:
    """Whether a value is a product with the model's weights, maybe with a bias or a scale."""
    node = graph.nodes[number]
    while node.op.kind == "elementwise" and node.operands[0] is not None:
        node = graph.nodes[node.operands[0]]
    weights = node.operands[-1] if node.op.kind == "bilinear" else None
    while weights is not None and graph.nodes[weights].op.kind == "linear":
        weights = graph.nodes[weights].operands[0]
    return weights is not None and is_own(graph.nodes[weights], own)


def _is_backward(node: Node) -> bool:
    return node.line is not None and node.line.phase != "forward"
