"""The ops under test, as parameters of tests; a test carries the name of its op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import wengert  # noqa: F401  (fills the table)
from wengert.core.lowering import Elementwise
from wengert.core.op import Op
from wengert.core.table import op as table

OPS = [each for each in table if not each.name.startswith("planted_")]


def of_ops(choose: Callable[[Op], Any] = lambda op: True) -> Any:
    """Run a test once for each op that is chosen."""
    chosen = [each for each in OPS if choose(each)]
    return pytest.mark.parametrize("op", chosen, ids=[each.name for each in chosen])


def has_samples(op: Op) -> bool:
    return bool(op.samples)


def differentiable(op: Op) -> bool:
    return bool(op.samples) and op.differentiable


def elementwise(op: Op) -> bool:
    return op.kind == "elementwise"


def emitted(op: Op) -> bool:
    """Whether the op is elementwise, and written in scalar instructions."""
    return elementwise(op) and isinstance(op.lower, Elementwise)


def emit(op: Op, *args: Any, **params: Any) -> Any:
    """One element, in the instructions that are the first argument."""
    assert isinstance(op.lower, Elementwise)
    return op.lower.emit(*args, **params)
