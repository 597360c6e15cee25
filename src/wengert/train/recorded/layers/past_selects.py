"""Gradients past selects: which parameters a loss could train if its batches chose otherwise.

A head that no row of a batch chooses has a gradient of exactly 0, and so has a hinge that is met.
Both are trained as soon as other rows come. What cancels stays 0, whatever is chosen: here every
select adds to what it chooses a share of all that it could have chosen.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.api.compiling.eager import eager
from wengert.core.bind import opened
from wengert.core.op import Op
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.interpret.tape import Tape
from wengert.train.recorded.loss_call import leaves_of
from wengert.train.recorded.step_arrays import FixedArrays, LiveArrays
from wengert.train.recorded.step_function import flat_loss
from wengert.train.recorded.step_plan import StepPlan

_BY_ELEMENTS: tuple[Op, ...] = (op.where, op.maximum, op.minimum, op.clip, op.relu)
_ALONG_AXES: tuple[Op, ...] = (op.gather, op.max, op.min)
_SHARE = 0.37  # of what is not chosen: no sum of it is 0 by chance
_GOLDEN = 0.6180339887498949  # its multiples, modulo 1, have no pattern that numbers could share


def gradients_past_selects(
    plan: StepPlan, live: LiveArrays[Any], fixed: FixedArrays, batch: Sequence[Any]
) -> list[Value | None]:
    """The gradient by each trained parameter of the loss whose selects mix what they could choose;
    None where there is none. Calls the loss, op by op.
    """
    leaves = leaves_of(plan.storage, live.weights, fixed)
    loss, _ = flat_loss(plan, live, leaves, fixed, batch)
    tape = _Mixing()
    with eager(), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the step has said it before
        with opened(tape):
            watched = [tape.watch(leaves[p.place]) for p in plan.trained]
            result = loss(*watched)[0]
        if not (type(result) is Tensor and result.level is tape):
            return [None] * len(watched)
        starts: dict[int, Value] = {result.handle: np.ones((), result.dtype)}
        return tape.sweep(starts, [x.handle for x in watched])


class _Mixing(Tape):
    """A tape on which selects mix. What they add depends on their operands alone, so that what
    cancels still does.
    """

    def process(self, op: Op, operands: Sequence[Value], params: dict[str, Any]) -> Value:
        out: Any = super().process(op, operands, params)
        is_own = type(out) is Tensor and out.level is self
        if not (is_own and _may_choose(op, operands)):
            return out
        for x in operands:
            if type(x) is Tensor and x.level is self and np.isfinite(x._value).all():
                out = out + _SHARE * (x if op in _BY_ELEMENTS else _some_of(x)).astype(out.dtype)
        return out


def _some_of(x: Tensor) -> Any:
    """A number that depends on all elements."""
    weights = (0.5 + np.arange(1, x.size + 1) * _GOLDEN % 1.0).reshape(x.shape)
    return op.mean(x * weights.astype(x.dtype))


def _may_choose(op_: Op, operands: Sequence[Value]) -> bool:
    if op_ is op.multiply or op_.kind == "bilinear":
        return any(map(_is_mask, operands))
    return op_ in _BY_ELEMENTS or op_ in _ALONG_AXES


def _is_mask(x: Value) -> bool:
    """Whether an operand chooses by zeros and ones."""
    if not isinstance(x, np.ndarray) or x.size < 2:
        return False
    zeros = x == 0
    return bool(zeros.any() and (zeros | (x == 1)).all())
