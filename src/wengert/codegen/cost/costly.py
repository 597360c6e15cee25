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


class _Listener:
    """An `Emit` that only notes which instructions an op asks for."""

    def __init__(self) -> None:
        self.heard: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        def instruction(*operands: Any) -> Any:
            self.heard.add(name)
            return self

        return instruction


@cache
def is_costly(op: Op) -> bool:
    """Whether an elementwise op needs more than a few plain instructions."""
    if not isinstance(op.lower, Elementwise) or op.lower.moves:
        return False
    listener = _Listener()
    op.lower.emit(listener, *[listener] * len(op.call.operands))
    return not listener.heard <= _CHEAP
