"""Turned products: the transpose of a matrix product is the product of the transposes, in turned
order. A contraction reads its operands in any order, and writes its result where it goes.

>>> from wengert.core.text.show import read, show
>>> graph = read('''
... graph(%0: float32[2, 3] "x", %1: float32[3, 4] "y") {
...   %2: float32[2, 4] = matmul(%0, %1)
...   %3: float32[4, 2] = permute_dims(%2, axes=(1, 0))
...   return %3
... }''')
>>> print(show(turn_products(graph)))
graph(%0: float32[2, 3] "x", %1: float32[3, 4] "y") {
  %2: float32[2, 4] = matmul(%0, %1)
  %3: float32[3, 2] = permute_dims(%0, axes=(1, 0))
  %4: float32[4, 3] = permute_dims(%1, axes=(1, 0))
  %5: float32[4, 2] = matmul(%4, %3)
  return %5
}

Each element is the same sum of the same products in the same order. The first product has no reader
left, and goes with `dce`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.passes.rebuild import PlacedNode, has_bodies, rebuild, with_bodies


def turn_products(graph: Graph) -> Graph:
    """The graph without transposes of products that nothing else reads, its bodies too."""
    reads = Counter(i for node in graph.nodes for i in node.operands)
    reads.update(graph.returns)
    alone = {id(graph.nodes[i]) for i, count in reads.items() if i is not None and count == 1}
    # Nodes keep their operands' numbers only until they are placed: look at the originals.
    products = {
        number
        for number, node in enumerate(graph.nodes)
        if _is_transpose(node)
        and id(graph.nodes[_source(node)]) in alone
        and _is_product_of_matrices(graph, graph.nodes[_source(node)])
    }
    if not products and not has_bodies(graph):
        return graph
    count = iter(range(len(graph.nodes)))

    def place(out: Graph, node: Node) -> PlacedNode:
        if next(count) not in products:
            return out.append(with_bodies(node, turn_products))
        left, right = (_transposed(out, i, node) for i in out.nodes[_source(node)].operands)
        return out.append(replace(node, op=op.matmul, operands=(right, left), params={}))

    return rebuild(graph, place)


def _source(node: Node) -> int:
    (source,) = node.operands
    assert source is not None
    return source


def _is_transpose(node: Node) -> bool:
    if node.op is op.matrix_transpose:
        return True
    if node.op is not op.permute_dims:
        return False
    axes = tuple(node.params["axes"])
    rank = len(axes)
    return rank >= 2 and axes == (*range(rank - 2), rank - 1, rank - 2)


def _is_product_of_matrices(graph: Graph, node: Node) -> bool:
    return node.op is op.matmul and all(
        i is not None and graph.type(i).ndim >= 2 for i in node.operands
    )


def _transposed(out: Graph, number: int | None, node: Node) -> int:
    assert number is not None
    array_type = out.type(number)
    rank = array_type.ndim
    axes = (*range(rank - 2), rank - 1, rank - 2)
    shape = tuple(array_type.shape[axis] for axis in axes)
    kind = ArrayType(shape, array_type.dtype)
    return out.append(Node(op.permute_dims, (number,), {"axes": axes}, kind, node.line))
