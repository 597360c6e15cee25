"""Calls of ops for many examples: drawn from samples, each operand mapped or the same for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from wengert.core.op import Op

from .calls import (
    Call,
    calls,
    is_float,
    outputs,
    pullback,
    pushforward,
    random_for,
    random_like,
)
from .closeness import require_close, require_types
from .reporting import checker

EXAMPLES = 3


@dataclass(frozen=True)
class BatchOfCalls:
    """One call of an op for several examples: operands that differ have them along axis 0."""

    call: Call
    operands: tuple[Any, ...]
    mapped: tuple[bool, ...]

    def at_once(self, *operands: Any) -> tuple[Any, ...]:
        """By vmap, of operands in the place of its own."""
        axes = tuple(0 if mapped else None for mapped in self.mapped)
        return wg.vmap(lambda *xs: outputs(self.call(*xs)), in_axes=axes)(*operands)

    def alone(self, operands: Any, number: int) -> tuple[Any, ...]:
        """One example, without vmap."""
        pairs = zip(operands, self.mapped, strict=True)
        return outputs(self.call(*(x[number] if m else x for x, m in pairs)))

    def one_by_one(self, *operands: Any) -> tuple[Any, ...]:
        """In a Python loop."""
        rows = [self.alone(operands, number) for number in range(EXAMPLES)]
        return tuple(np.stack(list(map(np.asarray, column))) for column in zip(*rows, strict=True))

    def derivatives(self, rng: np.random.Generator) -> Iterator[tuple[list[Any], list[Any]]]:
        """Pairs that must be equal: derivatives of vmap, and derivatives under vmap, against those
        of the examples alone, summed where an operand is the same for all of them.
        """
        where = [i for i, x in enumerate(self.operands) if is_float(x)]
        primals = [self.operands[i] for i in where]
        mapped = [self.mapped[i] for i in where]

        def put(xs: Any, operands: Any) -> list[Any]:
            found = dict(zip(where, xs, strict=True))
            return [found.get(i, x) for i, x in enumerate(operands)]

        def at_once(*xs: Any) -> list[Any]:
            return [y for y in self.at_once(*put(xs, self.operands)) if is_float(y)]

        outs = at_once(*primals)
        if not where or not outs:
            return
        gs, ds = random_like(rng, outs), random_like(rng, primals)

        def backward(number: int) -> list[Any]:
            operands = [
                x[number] if m else x for x, m in zip(self.operands, self.mapped, strict=True)
            ]

            def f(*xs: Any) -> list[Any]:
                return [y for y in outputs(self.call(*put(xs, operands))) if is_float(y)]

            chosen = [x[number] if m else x for x, m in zip(primals, mapped, strict=True)]
            moved = [d[number] if m else d for d, m in zip(ds, mapped, strict=True)]
            return [
                *pullback(f, chosen, [g[number] for g in gs]),
                *pushforward(f, chosen, moved),
            ]

        rows = zip(*map(backward, range(EXAMPLES)), strict=True)
        alone = [np.stack(list(map(np.asarray, column))) for column in rows]
        back, forth = alone[: len(primals)], alone[len(primals) :]
        summed = [g if m else g.sum(axis=0) for g, m in zip(back, mapped, strict=True)]
        yield [*pullback(at_once, primals, gs)], summed
        yield [*pushforward(at_once, primals, ds)], forth
        yield self._under_vmap(where, gs, ds), [*back, *forth]

    def _under_vmap(self, where: list[int], gs: Any, ds: Any) -> list[Any]:
        def both(operands: Any, g: Any, d: Any) -> list[Any]:
            def f(*xs: Any) -> list[Any]:
                put = dict(zip(where, xs, strict=True))
                found = self.call(*(put.get(i, x) for i, x in enumerate(operands)))
                return [y for y in outputs(found) if is_float(y)]

            primals = [operands[i] for i in where]
            return [*pullback(f, primals, g), *pushforward(f, primals, d)]

        axes = tuple(0 if mapped else None for mapped in self.mapped)
        moved = [0 if self.mapped[i] else None for i in where]
        return wg.vmap(both, in_axes=(axes, 0, moved))(tuple(self.operands), gs, ds)


def batches(op: Op, dtype: Any = np.float64) -> Iterator[BatchOfCalls]:
    """The calls of an op's samples, for several examples."""
    for call in calls(op, dtype):
        yield from batches_of(call)


def batches_of(call: Call) -> Iterator[BatchOfCalls]:
    """A call with all operands mapped, and with each of them alone."""
    count = sum(x is not None for x in call.operands)
    for which in [None, *range(len(call.operands))] if count > 1 else [None]:
        mapped = tuple(x is not None and which in (None, i) for i, x in enumerate(call.operands))
        if any(mapped):
            yield BatchOfCalls(call, _stacked(call.operands, mapped), mapped)


@checker
def check_examples(call: Call) -> None:
    """All examples at once give what a loop over them does."""
    for batch in batches_of(call):
        found, expected = batch.at_once(*batch.operands), batch.one_by_one(*batch.operands)
        require_types(found, expected, f"with {batch.mapped} mapped, output")
        tolerance = 0 if call.op.exact else call.op.tolerance
        require_close(found, expected, tolerance, f"with {batch.mapped} mapped, output")


@checker
def check_derivatives_of_examples(call: Call) -> None:
    """The same of derivatives: of vmap and under vmap, backwards and forwards. Elementwise ops
    share one rule: of these only the last operand is mapped, which broadcasts.
    """
    every = list(batches_of(call))
    for batch in every[-1:] if call.op.kind == "elementwise" else every:
        for found, expected in batch.derivatives(random_for(call.op)):
            require_types(found, expected, f"with {batch.mapped} mapped, derivative")
            require_close(found, expected, 1e-9, f"with {batch.mapped} mapped, derivative")


def _stacked(operands: tuple[Any, ...], mapped: tuple[bool, ...]) -> tuple[Any, ...]:
    pairs = zip(operands, mapped, strict=True)
    return tuple(np.stack([_varied(x, i) for i in range(EXAMPLES)]) if m else x for x, m in pairs)


def _varied(x: np.ndarray, number: int) -> np.ndarray:
    """Another operand of the same kind: floats are scaled a little, which keeps their signs, order
    and symmetry, and integers turned round, which keeps their range.
    """
    if x.dtype.kind == "f":
        return x * x.dtype.type(1 - 0.01 * number)
    return x[::-1] if number % 2 and x.ndim else x
