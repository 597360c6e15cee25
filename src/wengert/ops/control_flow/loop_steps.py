"""One step of a loop, differentiated: what `scan` and `while_loop` have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core.graph import Graph
from wengert.core.types import Value
from wengert.interpret.bodies.body import filled, floats, record, split, spread
from wengert.interpret.derive import jvp_flat, vjp_flat
from wengert.interpret.printing import quiet
from wengert.interpret.replay import replay


class LoopParts:
    """The inputs and outputs of a loop's body by role, and their types. A loop without rows, as
    `while_loop` is, has no xs and no ys.
    """

    def __init__(self, params: dict[str, Any]) -> None:
        self.body: Graph = params["body"]
        self.consts, self.carry = params["consts"], params["carry"]
        types = self.body.input_types()
        self.const_types = types[: self.consts]
        self.carry_types = types[self.consts : self.consts + self.carry]
        self.x_types = types[self.consts + self.carry :]
        self.y_types = self.body.output_types()[self.carry :]

    def operands(self, values: Sequence[Value]) -> tuple[Any, Any, Any]:
        """(constants, first carry, xs)"""
        end = self.consts + self.carry
        return values[: self.consts], values[self.consts : end], values[end : len(self.body.inputs)]


def adjoint_step(p: LoopParts, want: Sequence[bool], used: bool) -> Graph:
    """One step backwards: (consts, g_carry, g_consts, carry, x, g_y[, g_saved]) -> (g_carry,
    g_consts, g_x). `used`: saved carries have cotangents.
    """
    groups = [
        p.const_types,
        floats(p.carry_types),
        [t for t, w in zip(p.const_types, want, strict=True) if w],
        p.carry_types,
        p.x_types,
        floats(p.y_types),
        floats(p.carry_types) if used else [],
    ]
    body = quiet(p.body)

    def run(*values: Value) -> Sequence[Value]:
        consts, g_carry, g_consts, carry, x, g_y, g_saved = split(values, groups)
        _, pullback = vjp_flat(lambda *xs: replay(body, xs), [*consts, *carry, *x])
        gradients = pullback([*spread(g_carry, p.carry_types), *spread(g_y, p.y_types)])
        to_consts, to_carry, to_x = p.operands(gradients)
        summed = [c for c, w in zip(to_consts, want, strict=True) if w]
        g_before = filled(to_carry, p.carry_types)
        return [
            *([a + b for a, b in zip(g_before, g_saved, strict=True)] if used else g_before),
            *(a if b is None else a + b for a, b in zip(g_consts, summed, strict=True)),
            *filled(to_x, p.x_types),
        ]

    return record(run, groups)


def tangent_step(p: LoopParts, save: bool = False) -> Graph:
    """(consts, d_consts, carry, d_carry, x, d_x) -> (carry, d_carry, d_y[, d_carry before the
    step]).
    """
    groups = [
        p.const_types,
        floats(p.const_types),
        p.carry_types,
        floats(p.carry_types),
        p.x_types,
        floats(p.x_types),
    ]
    body = quiet(p.body)

    def run(*values: Value) -> Sequence[Value]:
        consts, d_consts, carry, d_carry, x, d_x = split(values, groups)
        tangents = [
            *spread(d_consts, p.const_types),
            *spread(d_carry, p.carry_types),
            *spread(d_x, p.x_types),
        ]
        out, d_out = jvp_flat(lambda *xs: replay(body, xs), [*consts, *carry, *x], tangents)
        return [
            *out[: p.carry],
            *filled(d_out[: p.carry], p.carry_types),
            *filled(d_out[p.carry :], p.y_types),
            *(d_carry if save else []),
        ]

    return record(run, groups)
