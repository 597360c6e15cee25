"""Elements at positions: padding, joining, shifting, masking, gathering and casts, as code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from wengert.codegen.llvm.code import Index, Vector
from wengert.codegen.llvm.position import Position
from wengert.core.dims import product
from wengert.core.dtypes import int64
from wengert.core.graph import Node
from wengert.core.op import Op
from wengert.core.table import op
from wengert.core.types import ArrayType

if TYPE_CHECKING:
    from wengert.codegen.llvm.evaluate import Evaluator

# (evaluator, node, its number) -> its value at the place where the loops are
ElementCode = Callable[["Evaluator", Node, int], Vector]


def _type(node: Node) -> ArrayType:
    assert isinstance(node.type, ArrayType)
    return node.type


def _source(node: Node) -> int:
    found = node.operands[0]
    assert found is not None
    return found


def _here(v: Evaluator, node: Node) -> list[Position]:
    return v.own_positions(_type(node).shape)


def _cast(v: Evaluator, node: Node, _number: int) -> Vector:
    return v.cast(v.operand(_source(node), _type(node).shape), _type(node).dtype)


def _chosen(v: Evaluator, node: Node, inside: Vector | None, value: Vector, rest: float) -> Vector:
    if inside is None:
        return value
    return v.at.e.select(inside, value, v.code.constant(rest, _type(node).dtype))


def _and(v: Evaluator, masks: list[Vector]) -> Vector | None:
    found: Vector | None = None
    for mask in masks:
        found = mask if found is None else v.at.e.and_(found, mask)
    return found


def _pad(v: Evaluator, node: Node, _number: int) -> Vector:
    shape = v.program.graph.type(_source(node)).shape
    positions, masks = [], []
    for p, size, (before, after) in zip(
        _here(v, node), shape, node.params["pad_width"], strict=True
    ):
        moved = v.at.shift(p, v.code.sub(0, v.frame.size(before)))
        if before != 0:
            masks.append(v.at.at_least(moved, 0))
        if after != 0:
            masks.append(v.at.less(moved, v.frame.size(size)))
        positions.append(moved)
    inside = _and(v, masks)
    value = v.read_at(_source(node), positions, inside)
    return _chosen(v, node, inside, value, node.params["constant_values"])


def _place(v: Evaluator, node: Node, _number: int) -> Vector:
    """out[start + i · step] = x[i], else 0."""
    shape = v.program.graph.type(_source(node)).shape
    positions, masks = [], []
    e = v.at.e
    for p, size, whole, start, step in zip(
        _here(v, node),
        shape,
        _type(node).shape,
        node.params["start"],
        node.params["step"],
        strict=True,
    ):
        if start == 0 and step == 1 and size == whole:
            positions.append(p)
            continue
        count, by = v.frame.size(size), v.frame.size(step)
        moved = v.at.shift(p, v.code.sub(0, v.frame.size(start)))
        if step == -1:
            moved = v.at.scale(moved, -1)
        elif step != 1:
            lanes = v.at.lanes(moved)
            divisor = v.at.lanes(Position(by))
            one = v.code.constant(1, int64)
            safe = e.select(e.eq(divisor, v.code.constant(0, int64)), one, divisor)
            quotient = v.code.each("sdiv {t} {0}, {1}", lanes, safe)
            masks.append(e.eq(e.mul(quotient, safe), lanes))
            moved = Position(0, 0, quotient)
        masks += [v.at.at_least(moved, 0), v.at.less(moved, count)]
        positions.append(moved)
    inside = _and(v, masks)
    return _chosen(v, node, inside, v.read_at(_source(node), positions, inside), 0)


def _shift(v: Evaluator, node: Node, _number: int) -> Vector:
    positions, axis = _here(v, node), node.params["axis"]
    size = v.frame.size(_type(node).shape[axis])
    moved = v.at.shift(positions[axis], -node.params["step"])
    masks = [v.at.at_least(moved, 0), v.at.less(moved, size)]
    inside = _and(v, masks)
    value = v.read_at(_source(node), [*positions[:axis], moved, *positions[axis + 1 :]], inside)
    return _chosen(v, node, inside, value, node.params["fill"])


def _band(keep: str) -> ElementCode:
    def element(v: Evaluator, node: Node, _number: int) -> Vector:
        *_, row, column = _here(v, node)
        difference = v.at.add(column, v.at.scale(row, -1))
        edge = v.code.constant(node.params["k"], int64)
        lanes = v.at.lanes(difference)
        kept = v.at.e.le(lanes, edge) if keep == "lower" else v.at.e.ge(lanes, edge)
        value = v.operand(_source(node), _type(node).shape)
        return _chosen(v, node, kept, value, 0)

    return element


def _concat(v: Evaluator, node: Node, _number: int) -> Vector:
    positions, axis = _here(v, node), node.params["axis"]
    graph, dtype = v.program.graph, _type(node).dtype
    found: Vector | None = None
    begin: Index = 0
    for operand in node.operands:
        assert operand is not None
        shape = graph.type(operand).shape
        size = v.frame.size(product(shape) if axis is None else shape[axis])
        along = positions[0] if axis is None else positions[axis]
        moved = v.at.shift(along, v.code.sub(0, begin))
        begin = v.code.add(begin, size)
        inside = v.at.e.and_(v.at.at_least(moved, 0), v.at.less(moved, size))
        if axis is None:
            places = v.unravel(moved, [v.frame.size(n) for n in shape])
        else:
            places = [*positions[:axis], moved, *positions[axis + 1 :]]
        value = v.cast(v.read_at(operand, places, inside), dtype)
        found = value if found is None else v.at.e.select(inside, value, found)
    assert found is not None
    return found


def _gather(v: Evaluator, node: Node, _number: int) -> Vector:
    source, *indices = [i for i in node.operands if i is not None]
    graph, axis = v.program.graph, node.params["axis"]
    shape, positions = graph.type(source).shape, _here(v, node)
    rank = max(graph.type(i).ndim for i in indices)
    block = positions[axis : axis + rank]
    found = [*positions[:axis]]
    masks: list[Vector] = []
    for i, size in zip(indices, shape[axis:], strict=False):
        own = graph.type(i).shape
        places = [
            Position(0) if n == 1 else p for p, n in zip(block[rank - len(own) :], own, strict=True)
        ]
        index = v.read_at(i, places)
        place, bad = _checked(v, node, index, v.frame.size(size), positions, places)
        found.append(place)
        if not isinstance(size, int):  # an open axis may be empty: then no element can be read
            masks.append(v.at.e.not_(bad))
    found += positions[axis + rank :]
    empty = 0 in shape
    return (
        v.code.constant(0, _type(node).dtype) if empty else v.read_at(source, found, _and(v, masks))
    )


def _checked(
    v: Evaluator,
    node: Node,
    index: Vector,
    size: Index,
    positions: list[Position],
    places: list[Position],
) -> tuple[Position, Vector]:
    """An index that is inside, and where it was not: negative ones count from the end, wrong ones
    are noted.
    """
    e = v.at.e
    limit, zero = v.at.lanes(Position(size)), v.code.constant(0, int64)
    counts_back = index.dtype.kind == "i"  # an unsigned one of 2**63 or more is just too large
    index = v.cast(index, int64)
    wrapped = e.select(e.lt(index, zero), e.add(index, limit), index) if counts_back else index
    bad = e.or_(e.lt(wrapped, zero), e.ge(wrapped, limit))
    v.fail(bad, node, positions[0] if positions else Position(0))
    safe = e.select(bad, zero, wrapped)
    if all(p.uniform for p in places):
        return Position(v.code.lane(safe, 0)), bad
    return Position(0, 0, safe), bad


ELEMENT_CODE: dict[Op, ElementCode] = {
    op.astype: _cast,
    op.pad: _pad,
    op.place: _place,
    op.shift: _shift,
    op.tril: _band("lower"),
    op.triu: _band("upper"),
    op.concat: _concat,
    op.gather: _gather,
}
