"""Order: every sum, product or extremum over axes gets the one order in which it is computed.

`lanes` for folds over the last axes: element r of a row goes to lane r mod 16; each lane adds its
elements in order, the lanes of a block join in a fixed tree, block sums are added in order. `rows`
for folds over other axes: elements in order, in blocks. `k-blocks` for contractions. A fold over
both the last and other axes becomes two; `vecdot` is a fold of products. The order depends on shape
and axes, never on layout or machine.

>>> from wengert.core.text.show import read, show
>>> graph = read('''
... graph(%0: float32[2, 3, 4] "x") {
...   %1: float32[3] = sum(%0, axes=(0, 2), keepdims=False)     # model.py:5
...   return %1
... }''')
>>> print(show(order(graph)))
graph(%0: float32[2, 3, 4] "x") {
  %1: float32[2, 3] = sum(%0, axes=(2,), keepdims=False)    # model.py:5
  %2: float32[3] = sum(%1, axes=(0,), keepdims=False)       # model.py:5
  return %2
}
>>> [node.order for node in order(graph).nodes]
[None, 'lanes', 'rows']
"""

from __future__ import annotations

from dataclasses import replace

from wengert.core.dtypes import accumulated, bool_
from wengert.core.graph import Graph, Node
from wengert.core.lowering import Fold
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.interpret.trace import node_type
from wengert.passes.rebuild import PlacedNode, append_broadcast, rebuild, single, with_bodies


def order(graph: Graph) -> Graph:
    """The graph with an order on every node that adds up, its bodies too."""
    return rebuild(graph, _place)


def _place(out: Graph, node: Node) -> PlacedNode:
    node = with_bodies(node, order)
    if node.op is op.vecdot:
        return _place_vecdot(out, node)
    if node.op.kind == "bilinear":
        return out.append(replace(node, order="k-blocks"))
    if "axes" not in node.params or "keepdims" not in node.params:
        return out.append(node)
    (source,) = node.operands
    assert source is not None
    rank, axes = out.type(source).ndim, node.params["axes"]
    last = _last_block(rank, axes)
    others = tuple(axis for axis in axes if axis not in last)
    if not last or not others:
        return out.append(replace(node, order="lanes" if last else "rows"))
    first = _appended(out, node, source, last, "lanes")
    other = node.op.lower.again if isinstance(node.op.lower, Fold) else None
    again = node if other is None else replace(node, op=op[other])
    second = _appended(out, again, first, others, "rows")
    if out.type(second) == node.type:
        return second
    assert isinstance(node.type, ArrayType)
    shape = {"shape": node.type.shape}
    return out.append(Node(op.reshape, (second,), shape, node.type, node.line))


def _appended(out: Graph, node: Node, source: int, axes: tuple[int, ...], how: str) -> int:
    params = {"axes": axes, "keepdims": False}
    fold_type = node_type(node.op, [out.type(source)], params)
    return out.append(Node(node.op, (source,), params, fold_type, node.line, how))


def _last_block(rank: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Those of the axes that are the last ones, without a gap."""
    block = []
    for axis in reversed(range(rank)):
        if axis not in axes:
            break
        block.append(axis)
    return tuple(reversed(block))


def _place_vecdot(out: Graph, node: Node) -> PlacedNode:
    """A sum of products along one axis, which is a fold like others."""
    left, right = (i for i in node.operands if i is not None)
    array_type, axis = node.type, node.params["axis"]
    assert isinstance(array_type, ArrayType)
    shape = list(array_type.shape)
    shape.insert(axis, out.type(left).shape[axis - len(array_type.shape) - 1])
    wide = array_type.with_shape(tuple(shape))
    pair = tuple(append_broadcast(out, i, wide, node.line) for i in (left, right))
    products = out.append(Node(op.multiply, pair, {}, wide, node.line))
    total = op.any if array_type.dtype == bool_ else op.sum
    params = {"axes": (axis,), "keepdims": False}
    counted = (
        array_type.with_dtype(accumulated(array_type.dtype)) if total is op.sum else array_type
    )
    number = single(_place(out, Node(total, (products,), params, counted, node.line)))
    if counted == array_type:
        return number
    cast = {"dtype": array_type.dtype}  # wrapped around in the end, as it would be on the way
    return out.append(Node(op.astype, (number,), cast, array_type, node.line))
