"""A program in which checkpoints and branches are written out, for inspecting what it computes:
both branches are computed, and the results of one are chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.passes.rebuild import PlacedNode, copy_into, has_bodies, rebuild, single


def with_open_bodies(graph: Graph) -> Graph:
    """The graph with the nodes of its checkpoints and branches in their places; the backward pass
    is left as it is.
    """
    return rebuild(graph, _placed) if has_bodies(graph) else graph


def _placed(out: Graph, node: Node) -> PlacedNode:
    if node.line is not None and node.line.phase != "forward":
        return out.append(node)
    if node.op is op.region:
        return _copied(out, node.params["body"], node.operands)
    if node.op is op.cond:
        condition, *operands = node.operands
        branches = [_copied(out, node.params[name], operands) for name in ("then", "orelse")]
        return tuple(
            out.append(Node(op.where, (condition, *pair), {}, out.type(pair[0]), node.line))
            for pair in zip(*branches, strict=True)
        )
    return out.append(node)


def _copied(out: Graph, body: Graph, operands: Sequence[int | None]) -> tuple[int, ...]:
    given = {number: i for number, i in zip(body.inputs, operands, strict=True) if i is not None}
    numbers = copy_into(out, body, given, _placed)
    return tuple(single(numbers[i]) for i in body.returns)
