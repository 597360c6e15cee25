"""Throw-away ops: how they come into the table and leave it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from table.calls import Call

import wengert  # noqa: F401  (fills the table)
from wengert.core.define import elementwise
from wengert.core.op import Op
from wengert.core.table import op
from wengert.core.types import ArrayType


def unary(x: Any, /) -> None:
    """A planted op of one operand."""


def binary(x: Any, y: Any, /) -> None:
    """A planted op of two operands."""


@contextmanager
def planted(define: Callable[[Any], Op], signature: Callable[..., Any]) -> Iterator[Op]:
    """Define an op for a while. Its meaning must not be a bare ufunc: NumPy's would become ours."""

    def planted_op(*args: Any) -> Any:
        return signature(*args)

    planted_op.__doc__ = signature.__doc__
    planted_op.__wrapped__ = signature  # type: ignore[attr-defined]  # gives its signature
    before = set(op._ops)
    try:
        yield define(planted_op)
    finally:
        for name in set(op._ops) - before:
            del op._ops[name]
            delattr(op, name)


def same_type(x: Any) -> ArrayType:
    return ArrayType(tuple(x.shape), x.dtype)


X = np.array([[0.3, -1.2, 0.7], [1.6, 0.4, -0.9]])
POSITIVE = np.abs(X)
Y = np.array([0.5, 1.5, -0.8])  # broadcasts against X
MASK = np.array([[True, True, True], [False, False, False]])
MASKED = np.where(MASK, POSITIVE, 0.0)  # log is not finite where the mask is false


@dataclass(frozen=True)
class Plant:
    """How an op is wrong, an example call, and the checker that must notice."""

    define: Callable[[Any], Op]
    operands: tuple[Any, ...]
    check: Callable[[Call], None]
    says: str  # part of the report
    passes: tuple[Callable[[Call], None], ...] = ()  # checkers that cannot see this fault

    @property
    def signature(self) -> Callable[..., Any]:
        return binary if len(self.operands) == 2 else unary


def square_with(**fields: Any) -> Callable[[Any], Op]:
    return elementwise(
        **{"numpy": lambda x: np.square(x), "emit": lambda e, x: e.mul(x, x)} | fields
    )
