"""Loops step by step: how they run in eager mode, where their functions see values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.dtypes import DType
from wengert.core.table import op
from wengert.core.types import ArrayType, Value, type_of
from wengert.errors import TraceError
from wengert.interpret.printing import at_step

TRIES = 4  # of the first step, for carries that began as Python numbers

Step = Callable[[Any, Any], tuple[Any, Any]]  # (carry, x) -> (carry, y), as trees
Settle = Callable[[Sequence[DType]], list[DType]]  # dtypes returned -> those to begin with
Require = Callable[[Sequence[ArrayType], Sequence[ArrayType]], None]  # of the carry, in and out


def run_steps(
    step: Step, carry: Any, xs: Any, times: Sequence[int], settle: Settle, require: Require
) -> tuple[Any, Any]:
    """The last carry and the stacked ys of a loop with at least one step.

    The first step is taken again where the carry must begin with other dtypes than it did.
    """
    collected: dict[int, list[Value]] = {}
    returned: tree.Structure | None = None
    for n, t in enumerate(times):
        with at_step(t):
            x = tree.map(lambda x, t=t: _array(x[t]), xs)

            def with_x(carry: Any, x: Any = x) -> tuple[Any, Any]:
                return step(carry, x)

            carry, y = _taken(with_x, carry, n == 0, settle, require)
        collected[t], form = tree.flatten(tree.arrays(y))
        if returned not in (None, form):
            raise TraceError(
                f"scan: the function returned y as {returned} and then as {form}; all steps must "
                "return trees of one form. Choose with wg.where or wg.cond."
            )
        returned = form
    assert returned is not None
    columns = zip(*(collected[t] for t in sorted(collected)), strict=True)
    return carry, tree.unflatten(returned, [op.stack(list(column)) for column in columns])


def run_while(
    test: Callable[[Any], Any],
    step: Callable[[Any], Any],
    carry: Any,
    settle: Settle,
    require: Require,
    require_below: Callable[[int], None],
) -> Any:
    """The last carry of a loop whose condition holds at first.

    The first step is taken again where the carry must begin with other dtypes than it did.
    """
    taken = 0
    while True:
        with at_step(taken):
            if taken and not test(carry):
                return carry
            require_below(taken)
            carry, _ = _taken(lambda carry: (step(carry), None), carry, taken == 0, settle, require)
        taken += 1


def _taken(
    step: Callable[[Any], tuple[Any, Any]],
    carry: Any,
    first: bool,
    settle: Settle,
    require: Require,
) -> tuple[Any, Any]:
    """The carry after a step, and what else it returned."""
    for _ in range(TRIES if first else 1):
        returned, y = step(carry)
        before, structure = tree.flatten(carry)
        after = list(map(_array, tree.leaves(tree.arrays(returned))))
        wanted = settle([x.dtype for x in after])
        if not first or wanted == [x.dtype for x in before]:
            break
        recast = [op.astype(x, dtype) for x, dtype in zip(before, wanted, strict=True)]
        carry = tree.unflatten(structure, recast)
    require([type_of(x) for x in before], [type_of(x) for x in after])
    return tree.unflatten(structure, after), y


def _array(x: Value) -> Value:
    """A value that is no bare number: in a recorded loop there are none."""
    return np.asarray(x) if isinstance(x, np.generic) else x
