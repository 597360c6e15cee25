"""Jets: the instructions on truncated power series, which carry derivatives through an algorithm.

A number is the tuple of the coefficients of 1, t, t² … up to the order; zeros at the end may be
left out, so that a constant costs what it cost before. Comparisons look at the value, the first.
An algorithm that is run on the series a + t returns that of its result, and coefficient n times n!
is the n-th derivative by a. Jets of jets have derivatives by two operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Series: TypeAlias = tuple[Any, ...]


class Jets:
    """The instructions that algorithms with derivatives use, on series up to an order."""

    def __init__(self, e: Any, order: int) -> None:
        self.e = e
        self.order = order

    def const(self, value: float) -> Series:
        return (self.e.const(value),)

    def variable(self, x: Any) -> Series:
        """What is differentiated by: x + t."""
        return (x, self.e.const(1))

    def derivative(self, x: Series) -> Any:
        """The highest derivative that a series has."""
        if len(x) <= self.order:
            return self.e.const(0)
        return self.e.mul(x[self.order], self.e.const(math.factorial(self.order)))

    def _padded(self, x: Series, length: int) -> Series:
        return x + (self.e.const(0),) * (length - len(x))

    def _sum(self, terms: Sequence[Any]) -> Any:
        total = terms[0]
        for term in terms[1:]:
            total = self.e.add(total, term)
        return total

    # Arithmetic.

    def add(self, x: Series, y: Series) -> Series:
        if len(x) < len(y):
            x, y = y, x
        return (*(self.e.add(a, b) for a, b in zip(x, y, strict=False)), *x[len(y) :])

    def neg(self, x: Series) -> Series:
        return tuple(self.e.neg(each) for each in x)

    def sub(self, x: Series, y: Series) -> Series:
        if len(x) < len(y):
            return self.add(x, self.neg(y))
        return (*(self.e.sub(a, b) for a, b in zip(x, y, strict=False)), *x[len(y) :])

    def mul(self, x: Series, y: Series) -> Series:
        length = min(len(x) + len(y) - 1, self.order + 1)
        return tuple(
            self._sum(
                [
                    self.e.mul(x[i], y[k - i])
                    for i in range(max(0, k - len(y) + 1), min(k + 1, len(x)))
                ]
            )
            for k in range(length)
        )

    def fma(self, x: Series, y: Series, z: Series) -> Series:
        if len(x) == len(y) == len(z) == 1:
            return (self.e.fma(x[0], y[0], z[0]),)
        return self.add(self.mul(x, y), z)

    def div(self, x: Series, y: Series) -> Series:
        if len(y) == 1:
            return tuple(self.e.div(each, y[0]) for each in x)
        quotient: list[Any] = []
        for k, top in enumerate(self._padded(x, self.order + 1)):
            for j in range(1, min(k, len(y) - 1) + 1):
                top = self.e.sub(top, self.e.mul(y[j], quotient[k - j]))
            quotient.append(self.e.div(top, y[0]))
        return tuple(quotient)

    def abs(self, x: Series) -> Series:
        return self.select(self.lt(x, self.const(0)), self.neg(x), x)

    # Of equal values min takes x and max takes y, so that both together are the pair itself: a
    # symmetric algorithm that sorts its operands keeps the derivative by each.

    def min(self, x: Series, y: Series) -> Series:
        return self.select(self.lt(y, x), y, x)

    def max(self, x: Series, y: Series) -> Series:
        return self.select(self.lt(y, x), x, y)

    # Comparisons of the values, and choice.

    def eq(self, x: Series, y: Series) -> Any:
        return self.e.eq(x[0], y[0])

    def lt(self, x: Series, y: Series) -> Any:
        return self.e.lt(x[0], y[0])

    def le(self, x: Series, y: Series) -> Any:
        return self.e.le(x[0], y[0])

    def gt(self, x: Series, y: Series) -> Any:
        return self.e.gt(x[0], y[0])

    def ge(self, x: Series, y: Series) -> Any:
        return self.e.ge(x[0], y[0])

    def and_(self, x: Any, y: Any) -> Any:
        return self.e.and_(x, y)

    def or_(self, x: Any, y: Any) -> Any:
        return self.e.or_(x, y)

    def not_(self, x: Any) -> Any:
        return self.e.not_(x)

    def select(self, condition: Any, x: Series, y: Series) -> Series:
        length = max(len(x), len(y))
        pairs = zip(self._padded(x, length), self._padded(y, length), strict=True)
        return tuple(self.e.select(condition, a, b) for a, b in pairs)

    # Functions. Each solves y' = f(x) · x' coefficient by coefficient.

    def _solved(self, value: Any, slope: Callable[[int, list[Any]], Any], x: Series) -> Series:
        """y from its value and from `slope(k, y so far)`, which is f(x) · x' at tᵏ⁻¹."""
        y = [value]
        if len(x) > 1:
            for k in range(1, self.order + 1):
                y.append(self.e.mul(slope(k, y), self.e.const(1 / k)))
        return tuple(y)

    def _weighted(self, x: Series, y: Sequence[Any], k: int) -> Any:
        """Σ j · x[j] · y[k - j] over j = 1 … k."""
        terms = [
            self.e.mul(self.e.mul(self.e.const(j), x[j]), y[k - j])
            for j in range(1, min(k, len(x) - 1) + 1)
            if k - j < len(y)
        ]
        return self._sum(terms) if terms else self.e.const(0)

    def exp(self, x: Series) -> Series:
        return self._solved(self.e.exp(x[0]), lambda k, y: self._weighted(x, y, k), x)

    def expm1(self, x: Series) -> Series:
        return (self.e.expm1(x[0]), *self.exp(x)[1:])

    def log(self, x: Series) -> Series:
        return self._quotient(self.e.log(x[0]), x, x)

    def log1p(self, x: Series) -> Series:
        return self._quotient(self.e.log1p(x[0]), x, self.add(x, self.const(1)))

    def _quotient(self, value: Any, x: Series, below: Series) -> Series:
        """y with y' = x' / below."""
        if len(x) == 1:
            return (value,)
        slope = self.div(tuple(self.e.mul(self.e.const(j), x[j]) for j in range(1, len(x))), below)
        return self._solved(value, lambda k, _: slope[k - 1], x)

    def sqrt(self, x: Series) -> Series:
        root = self.e.sqrt(x[0])
        y = [root]
        if len(x) > 1:
            double = self.e.add(root, root)
            for k, top in enumerate(self._padded(x, self.order + 1)[1:], 1):
                for j in range(1, k):
                    top = self.e.sub(top, self.e.mul(y[j], y[k - j]))
                y.append(self.e.div(top, double))
        return tuple(y)

    def erfc(self, x: Series) -> Series:
        gauss = self.exp(self.neg(self.mul(x, x)))
        slope = self.mul(gauss, self.const(-2 / math.sqrt(math.pi)))
        return self._solved(self.e.erfc(x[0]), lambda k, _: self._weighted(x, slope, k), x)

    # Loops.

    def iterate(
        self, limit: int, step: Callable[..., Any], carried: Sequence[Series], results: int = 1
    ) -> list[Series]:
        width = self.order + 1

        def series(values: Sequence[Any]) -> list[Series]:
            return [tuple(values[i : i + width]) for i in range(0, len(values), width)]

        def flat(numbers: Sequence[Series]) -> list[Any]:
            return [each for x in numbers for each in self._padded(x, width)]

        last = self.e.iterate(
            limit, lambda *values: flat(step(*series(values))), flat(carried), results * width
        )
        return series(last)
