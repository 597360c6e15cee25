"""Positions: where along an axis the lanes of a vector stand."""

from __future__ import annotations

from dataclasses import dataclass

from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.core.dtypes import int64


@dataclass(frozen=True, slots=True)
class Position:
    """Lane i stands at base + i · step; or, where there is a vector, at base + vector[i]."""

    base: Index
    step: Index = 0
    vector: Vector | None = None

    @property
    def uniform(self) -> bool:
        """Whether all lanes stand at the same place."""
        return self.vector is None and self.step == 0


class Positions:
    """Arithmetic on positions, in one function."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.e = Arithmetic(code, int64)
        # What was computed before: by where it was written, and of what.
        self._scaled: dict[tuple[object, Index, Index], Index] = {}
        self._known: dict[tuple[object, Index, Index], Vector] = {}

    def add(self, x: Position, y: Position) -> Position:
        code = self.code
        base, step = code.add(x.base, y.base), code.add(x.step, y.step)
        vector = x.vector
        if y.vector is not None:
            vector = y.vector if vector is None else self.e.add(vector, y.vector)
        return Position(base, step, vector)

    def scale(self, x: Position, factor: Index) -> Position:
        code = self.code
        vector = x.vector
        if vector is not None and factor != 1:
            vector = self.e.mul(vector, self._splat(factor))
        key = code.here, x.base, factor
        if key not in self._scaled:
            self._scaled[key] = code.mul(x.base, factor)
        return Position(self._scaled[key], code.mul(x.step, factor), vector)

    def shift(self, x: Position, by: Index) -> Position:
        return Position(self.code.add(x.base, by), x.step, x.vector)

    def _splat(self, x: Index) -> Vector:
        if isinstance(x, int):
            return self.code.constant(x, int64)
        return self.code.splat(x, int64)

    def lanes(self, x: Position) -> Vector:
        """The positions as a vector of numbers."""
        if x.vector is not None:
            first = self.lanes(Position(x.base, x.step))
            return self.e.add(first, x.vector)
        key = self.code.here, x.base, x.step
        if key not in self._known:
            self._known[key] = self._lanes(x)
        return self._known[key]

    def _lanes(self, x: Position) -> Vector:
        if x.step == 0:
            return self._splat(x.base)
        if isinstance(x.step, int):
            numbers = self.code.lane_numbers(step=x.step)
        else:
            numbers = self.e.mul(self.code.lane_numbers(), self._splat(x.step))
        return numbers if x.base == 0 else self.e.add(self._splat(x.base), numbers)

    def less(self, x: Position, limit: Index) -> Vector:
        """A mask: whether x < limit."""
        return self.e.lt(self.lanes(x), self._splat(limit))

    def at_least(self, x: Position, limit: Index) -> Vector:
        return self.e.ge(self.lanes(x), self._splat(limit))
