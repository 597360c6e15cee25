"""Sums that a condition of their row or column makes idle: the loop is left out where it fails.

A sum of `where(condition, x, 0)` is 0 where the condition holds nowhere, and where the condition is
one number for all that is summed this is known before the loop. So what is needed for unusual
numbers only, such as squares that are scaled because plain ones overflow, costs a comparison.
"""

from __future__ import annotations

from wengert.codegen.kernel import Kernel, Program
from wengert.core.dims import Shape
from wengert.core.graph import Node
from wengert.core.lowering import Elementwise, Fold, View
from wengert.core.table import op
from wengert.core.types import ArrayType


def conditions(program: Program, kernel: Kernel, folds: list[int]) -> list[int] | None:
    """The conditions under which sums have anything to add, one for each; None where not all have
    one.
    """
    numbers = [_condition(program, kernel, number) for number in folds]
    return [number for number in numbers if number is not None] if None not in numbers else None


def _condition(program: Program, kernel: Kernel, fold: int) -> int | None:
    """The condition of one, if it is the same for all that is summed."""
    node = program.node(fold)
    (source,) = node.operands
    lower = node.op.lower
    if not isinstance(lower, Fold) or not lower.adds or source is None or fold in program.rerouted:
        return None
    view = program.views.get(source)
    if view is None or view.root != (source, 0) or source not in kernel.members:
        return None
    chosen = program.node(source)
    if not isinstance(chosen.op.lower, Elementwise) or not chosen.op.lower.chooses:
        return None
    condition, _, other = chosen.operands
    if condition is None or other is None or not _is_zero(program, other):
        return None
    return condition if _is_same(program, kernel, condition) else None


def _is_zero(program: Program, number: int) -> bool:
    """Whether a node that needs no memory is 0 everywhere."""
    node = program.node(number)
    if number not in program.inline:
        return False
    if node.op is op.constant:
        return bool((node.params["value"] == 0).all())
    source = node.operands[0] if node.operands else None
    return isinstance(node.op.lower, View) and source is not None and _is_zero(program, source)


def _is_same(program: Program, kernel: Kernel, number: int) -> bool:
    """Whether an operand is one number along the folded axes."""
    view = program.views.get(number)
    if view is None or _shape(program.node(number)) != kernel.domain:
        return False
    along = [view.strides[axis] for axis in kernel.folded if kernel.domain[axis] != 1]
    return all(stride == 0 for stride in along)


def _shape(node: Node) -> Shape | None:
    return node.type.shape if isinstance(node.type, ArrayType) else None
