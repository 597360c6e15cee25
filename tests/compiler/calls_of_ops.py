"""All calls of an op as one program, so that one executable serves them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from table.calls import Call, is_float, outputs, random_for, random_like

import wengert as wg

Group = list[Any]  # the arrays of one call


class Values:
    """Calls as a function: a group of operands per call in, the outputs of each call out."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.calls = calls
        self.__name__ = f"values_of_{calls[0].op.name}"

    def __call__(self, *groups: Group) -> list[list[Any]]:
        return [self.outputs(call, group) for call, group in zip(self.calls, groups, strict=True)]

    def outputs(self, call: Call, group: Group) -> list[Any]:
        return list(outputs(call(*_operands(call, group))))

    def arguments(self) -> list[Group]:
        return [[np.asarray(x) for x in call.operands if x is not None] for call in self.calls]


class Gradients(Values):
    """Calls as a function that returns what their backward passes return; each group ends with the
    cotangents.
    """

    def outputs(self, call: Call, group: Group) -> list[Any]:
        count = sum(x is not None for x in call.operands)
        operands, cotangents = _operands(call, group[:count]), group[count:]

        def function(*primals: Any) -> list[Any]:
            given = list(operands)
            for i, x in zip(call.floats, primals, strict=True):
                given[i] = x
            return [y for y in outputs(call(*given)) if is_float(y)]

        _, pullback = wg.vjp(function, *(operands[i] for i in call.floats))
        return wg.tree.leaves(pullback(cotangents))

    def arguments(self) -> list[Group]:
        groups = super().arguments()
        for call, group in zip(self.calls, groups, strict=True):
            with np.errstate(all="ignore"):
                group += random_like(random_for(call.op, 1), call.function()(*call.primals))
        return groups


def _operands(call: Call, group: Group) -> list[Any]:
    rest = iter(group)
    return [None if x is None else next(rest) for x in call.operands]
