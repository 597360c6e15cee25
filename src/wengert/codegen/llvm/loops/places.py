"""Places: what ops that find elements by position are written with, as code of one evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wengert.codegen.llvm.text.positions import Position
from wengert.codegen.llvm.text.vectors import Vector
from wengert.core.dims import Shape, Size
from wengert.core.dtypes import DType, int64
from wengert.core.graph import Node
from wengert.core.types import ArrayType

if TYPE_CHECKING:
    from wengert.codegen.llvm.loops.members import Evaluator


class LanePlaces:
    """`core.lowering.Places`, with one lane of a vector for each element."""

    def __init__(self, evaluator: Evaluator, node: Node) -> None:
        assert isinstance(node.type, ArrayType)
        self._evaluator, self._node = evaluator, node
        self._operands = [i for i in node.operands if i is not None]
        self.e: Any = evaluator.at.e
        self.types: Sequence[ArrayType] = [evaluator.program.graph.type(i) for i in self._operands]
        self.out = node.type
        self.params = node.params
        self.own: Sequence[Any] = evaluator.own_positions(node.type.shape)

    def here(self, operand: int) -> Vector:
        return self._evaluator.operand(self._operands[operand], self.out.shape)

    def read(
        self, operand: int, places: Sequence[Position], inside: Vector | None = None
    ) -> Vector:
        return self._evaluator.read_at(self._operands[operand], places, inside)

    def number(self, value: float, dtype: DType) -> Vector:
        return self._evaluator.code.constant(value, dtype)

    def cast(self, x: Vector, dtype: DType) -> Vector:
        return self._evaluator.cast(x, dtype)

    def fixed(self, size: Size) -> Position:
        return Position(self._evaluator.frame.size(size))

    def shift(self, place: Position, by: Size) -> Position:
        return self._evaluator.at.shift(place, self._evaluator.frame.size(by))

    def scale(self, place: Position, by: Size) -> Position:
        return self._evaluator.at.scale(place, self._evaluator.frame.size(by))

    def add(self, x: Position, y: Position) -> Position:
        return self._evaluator.at.add(x, y)

    def divide(self, place: Position, by: Size) -> tuple[Position, Vector]:
        e, code = self.e, self._evaluator.code
        lanes, divisor = self.whole(place), self.whole(self.fixed(by))
        # A step that is open may be 0, for an axis of one element.
        safe = e.select(e.eq(divisor, code.constant(0, int64)), code.constant(1, int64), divisor)
        quotient = code.each("sdiv {t} {0}, {1}", lanes, safe)
        return Position(0, 0, quotient), e.eq(e.mul(quotient, safe), lanes)

    def unravel(self, place: Position, shape: Shape) -> list[Position]:
        return self._evaluator.unravel(place, self._evaluator.frame.shape(shape))

    def whole(self, place: Position) -> Vector:
        return self._evaluator.at.lanes(place)

    def at_least(self, place: Position, limit: Size) -> Vector:
        return self._evaluator.at.at_least(place, self._evaluator.frame.size(limit))

    def below(self, place: Position, limit: Size) -> Vector:
        return self._evaluator.at.less(place, self._evaluator.frame.size(limit))

    def index(
        self, operand: int, places: Sequence[Position], size: Size
    ) -> tuple[Position, Vector]:
        e = self.e
        index = self.read(operand, places)
        limit, zero = self.whole(self.fixed(size)), self.number(0, int64)
        counts_back = index.dtype.kind == "i"  # an unsigned one of 2**63 or more is just too large
        index = self.cast(index, int64)
        wrapped = e.select(e.lt(index, zero), e.add(index, limit), index) if counts_back else index
        bad: Vector = e.or_(e.lt(wrapped, zero), e.ge(wrapped, limit))
        self._evaluator.fail(bad, self._node, self.own[0] if self.own else Position(0))
        safe = e.select(bad, zero, wrapped)
        if all(place.uniform for place in places):
            return Position(self._evaluator.code.lane(safe, 0)), bad
        return Position(0, 0, safe), bad
