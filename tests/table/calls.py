"""Calls of ops: drawn from samples, written as programs, differentiated on the bare levels."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.core.bind import opened
from wengert.core.op import Op
from wengert.core.op_parts.samples import Exactly
from wengert.core.tensor import Tensor
from wengert.interpret.forward import Forward
from wengert.interpret.tape import Tape

# A function as the checkers see it: float arrays in, a list of float arrays out.
Function = Callable[..., list[Any]]


@dataclass(frozen=True)
class Call:
    """One call of an op, with drawn operands and the parameters as a user writes them."""

    op: Op
    operands: tuple[Any, ...]
    params: dict[str, Any]
    special: bool = False  # the operands are chosen, not drawn: they may lie on a jump

    def __call__(self, *operands: Any) -> Any:
        if self.op.call.variadic:
            return self.op(list(operands), **self.params)
        return self.op(*operands, **self.params)

    @property
    def floats(self) -> tuple[int, ...]:
        """Positions of the operands that can be differentiated."""
        return tuple(i for i, x in enumerate(self.operands) if is_float(x))

    @property
    def primals(self) -> list[Any]:
        return [self.operands[i] for i in self.floats]

    def function(self) -> Function:
        """The call as a function of its float operands, giving its float outputs."""

        def run(*primals: Any) -> list[Any]:
            operands = list(self.operands)
            for i, x in zip(self.floats, primals, strict=True):
                operands[i] = x
            return [y for y in outputs(self(*operands)) if is_float(y)]

        return run

    def replaced(self, change: Callable[[Any], Any]) -> Call:
        """The same call with every operand changed."""
        operands = tuple(change(x) if hasattr(x, "dtype") else x for x in self.operands)
        return replace(self, operands=operands)

    def program(self) -> str:
        """A program that makes this call."""
        names = [f"x{i}" for i in range(len(self.operands))]
        lines = ["import numpy as np", "from numpy import inf, nan", "import wengert"]
        lines += [f"{name} = {written(x)}" for name, x in zip(names, self.operands, strict=True)]
        given = [f"[{', '.join(names)}]"] if self.op.call.variadic else names
        given += [f"{name}={written(value)}" for name, value in self.params.items()]
        call = f"wengert.core.table.op[{self.op.name!r}]({', '.join(given)})"
        return "\n".join([*lines, f"print({call})"])


def written(value: Any) -> str:
    """A value as Python source."""
    if isinstance(value, np.ndarray):
        shape = f".reshape({value.shape})" if value.size == 0 or value.ndim == 0 else ""
        return f"np.array({value.tolist()!r}, {value.dtype.name!r}){shape}"
    if isinstance(value, np.dtype | type):
        return f"np.dtype({np.dtype(value).name!r})"
    return repr(value)


def random_for(op: Op, extra: int = 0) -> np.random.Generator:
    """Numbers that are the same in every run and on every machine."""
    return np.random.default_rng([zlib.crc32(op.name.encode()), extra])


def calls(op: Op, dtype: Any = np.float64) -> list[Call]:
    """The calls an op's samples describe."""
    return [
        Call(
            op,
            tuple(each.draw(random_for(op, number), dtype)),
            each.params,
            special=any(isinstance(spec, Exactly) for spec in each.operands),
        )
        for number, each in enumerate(op.samples)
    ]


# Where logarithms, roots, quotients, powers and gammas, or their derivatives, are not finite.
AWKWARD = (0.0, -0.0, 1.0, -1.0, -2.0, 0.5, np.inf, -np.inf, np.nan)


def awkward(op: Op, dtype: Any = np.float64) -> Call:
    """A call of an elementwise op at every combination of awkward numbers."""
    plain = calls(op, dtype)[0].operands
    rows = np.array(list(itertools.product(AWKWARD, repeat=len(plain)))).T  # (operand, point)
    operands = [
        row.astype(dtype) if is_float(x) else np.resize(x, row.shape)
        for x, row in zip(plain, rows, strict=True)
    ]
    return Call(op, tuple(operands), {}, special=True)


def is_float(x: Any) -> bool:
    return hasattr(x, "dtype") and x.dtype.kind == "f"


def outputs(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


# Derivatives, straight on the levels, so that nothing here depends on the public functions.


def pushforward(f: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """The tangents of f's outputs; a tangent of None is a constant operand."""
    level = Forward()
    with opened(level):
        duals = [
            x if dx is None else level.dual(x, dx) for x, dx in zip(primals, tangents, strict=True)
        ]
        outs = f(*duals)
        return [y.handle if _is_of(y, level) else zeros(y) for y in outs]


def pullback(
    f: Function, primals: Sequence[Any], cotangents: Sequence[Any], wanted: Sequence[int] = ()
) -> list[Any]:
    """The cotangents of f's operands at the wanted positions (all by default); others are held."""
    positions = list(wanted) or range(len(primals))
    tape = Tape()
    with opened(tape):
        watched = [tape.watch(x) if i in positions else x for i, x in enumerate(primals)]
        given: dict[int, Any] = {}
        for y, g in zip(f(*watched), cotangents, strict=True):
            if _is_of(y, tape):
                given[y.handle] = given[y.handle] + g if y.handle in given else g
        found = tape.sweep(given, [watched[i].handle for i in positions])
    return [zeros(primals[i]) if g is None else g for i, g in zip(positions, found, strict=True)]


def _is_of(y: Any, level: Any) -> bool:
    return type(y) is Tensor and y.level is level


def zeros(x: Any) -> Any:
    return np.zeros(x.shape, x.dtype)


def gradient_function(f: Function, count: int) -> Function:
    """(primals, cotangents) -> cotangents of the primals; `count` is the number of primals."""
    return lambda *values: pullback(f, values[:count], values[count:])


def tangent_function(f: Function, count: int) -> Function:
    """(primals, tangents) -> tangents of the outputs."""
    return lambda *values: pushforward(f, values[:count], values[count:])


def random_like(rng: np.random.Generator, values: Sequence[Any]) -> list[Any]:
    """Tangents or cotangents: never ones, so that no error can hide in a plain sum."""
    return [np.asarray(rng.uniform(-1, 1, y.shape), y.dtype) for y in values]
