"""Derivatives where operands are equal, or whole numbers: where an algorithm that sorts its
operands or ends early can lose one.

Drawn operands never meet such points. There a slope lies between those on both sides: of a smooth
op they are next to each other, and at a kink each convention is one of them or between them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

import wengert as wg
from table.calls import Call, calls
from table.ops import differentiable, elementwise, of_ops

STEP = 1e-5
WHOLE = (1.0, 2.0, 3.0, 10.0)
# Ops that are slopes of another, whose own slopes are looked at here.
SLOPES = {
    "betainc_slope": "betainc",
    "gammainc_slope": "gammainc",
    "ive_slope": "scaled_bessel",
}
# Where all operands are equal, a convention that no point beside it has.
CONVENTIONS = {"clip": "the interval is one point, and x inside it"}


def meeting_points(call: Call) -> Iterator[tuple[Call, tuple[int, ...]]]:
    """The call with two or more of its float operands equal, and which these are."""
    floats = call.floats
    for count in range(2, len(floats) + 1):
        for chosen in itertools.combinations(floats, count):
            for source in chosen:
                operands = list(call.operands)
                for i in chosen:
                    operands[i] = call.operands[source]
                yield Call(call.op, tuple(operands), call.params), chosen


def whole_points(call: Call) -> Iterator[Call]:
    """The call at whole numbers, in each float operand alone, and in all."""
    floats = call.floats
    for chosen in (*((i,) for i in floats), floats):
        for number in WHOLE:
            operands = list(call.operands)
            for i in chosen:
                operands[i] = np.full_like(call.operands[i], number)
            yield Call(call.op, tuple(operands), call.params)


def slopes(f: Any) -> Any:
    def run(*xs: Any) -> list[Any]:
        out, pullback = wg.vjp(lambda *xs: f(*xs), *xs)
        return list(pullback(np.ones(out.shape, out.dtype)))

    return run


def assert_between(f: Any, primals: list[Any], what: str) -> None:
    """Every slope lies between those a step to both sides, up to what a step changes."""
    found = slopes(f)(*primals)
    forward = [
        wg.jvp(f, primals, [np.full_like(x, float(i == j)) for j, x in enumerate(primals)])[1]
        for i in range(len(primals))
    ]
    for moved in range(len(primals)):
        sides = [
            slopes(f)(*(x + step * (i == moved) for i, x in enumerate(primals)))
            for step in (STEP, -STEP, 2 * STEP, -2 * STEP)
        ]
        for by, given in enumerate(found):
            rows = np.array([side[by] for side in sides])
            # A smooth slope changes from one step to the next as much as from here to the first.
            change = np.abs(rows[:2] - rows[2:]).max(0) * 3 + 1e-7 * (1 + np.abs(rows).max(0))
            known = np.isfinite(rows).all(0) & np.isfinite(given)  # else there is a pole
            with np.errstate(invalid="ignore"):
                inside = (given >= rows.min(0) - change) & (given <= rows.max(0) + change)
            assert inside[known].all(), f"{what}: by {by}, {given} beside {rows}"
            np.testing.assert_allclose(forward[by], given, rtol=1e-9, atol=1e-9, err_msg=what)


def plain(op: Any) -> Call:
    call = calls(op)[0]
    shape = np.broadcast_shapes(*(x.shape for x in call.operands if x is not None))
    operands = [None if x is None else np.array(np.broadcast_to(x, shape)) for x in call.operands]
    return Call(op, tuple(operands), call.params)


def slope_by(i: int, call: Call) -> Any:
    return lambda *xs: slopes(in_first(call))(*xs)[i]


def in_first(call: Call) -> Any:
    return lambda *primals: call.function()(*primals)[0]


def meets(op: Any) -> bool:
    several = elementwise(op) and differentiable(op) and len(plain(op).floats) > 1
    return several and op.name not in SLOPES


@of_ops(meets)
def test_where_operands_are_equal(op):
    with np.errstate(all="ignore"):
        for call, which in meeting_points(plain(op)):
            if op.name in CONVENTIONS and which == call.floats:
                continue
            what = f"{op.name} where {which} are equal"
            assert_between(in_first(call), call.primals, what)
            for i in range(len(call.primals)):
                assert_between(slope_by(i, call), call.primals, f"{what}, slope by {i}")


@of_ops(lambda op: elementwise(op) and differentiable(op) and op.name not in SLOPES)
def test_at_whole_numbers(op):
    with np.errstate(all="ignore"):
        for call in whole_points(plain(op)):
            if op.name in CONVENTIONS and len({float(x.flat[0]) for x in call.primals}) == 1:
                continue
            assert_between(in_first(call), call.primals, f"{op.name} at {call.primals}")
