"""Costly: which ops cost more than reading their result from cache again."""

from __future__ import annotations

from functools import cache
from typing import Any

from wengert.core.lowering import Elementwise
from wengert.core.op import Op

_CHEAP = {
    *("const", "add", "sub", "mul", "div", "fma", "neg", "abs", "copysign", "sqrt", "min", "max"),
    "nextafter",
    *("floor", "ceil", "trunc", "round_even", "eq", "ne", "lt", "le", "gt", "ge", "select"),
    *("and_", "or_", "xor", "not_"),
}
_SLOW = {"div", "sqrt"}


class _Listener:
    """An `Emit` that only notes which instructions an op asks for."""

    def __init__(self) -> None:
        self.heard: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        def instruction(*operands: Any) -> Any:
            self.heard.add(name)
            return self

        return instruction


def is_costly(op: Op) -> bool:
    """Whether an elementwise op needs more than a few plain instructions."""
    return not _instructions(op) <= _CHEAP


def is_slow(op: Op) -> bool:
    """Whether an elementwise op takes longer than writing its result to cache and reading it: it is
    costly, or has an instruction that no processor begins in each cycle.
    """
    return is_costly(op) or not _instructions(op).isdisjoint(_SLOW)


@cache
def _instructions(op: Op) -> frozenset[str]:
    """What an elementwise op asks for; nothing of one that only moves numbers."""
    if not isinstance(op.lower, Elementwise) or op.lower.moves:
        return frozenset()
    listener = _Listener()
    op.lower.emit(listener, *[listener] * len(op.call.operands))
    return frozenset(listener.heard)
