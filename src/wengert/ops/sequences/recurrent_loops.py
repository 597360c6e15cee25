"""The loop of a recurrent layer as one op with a derivative of its own.

The way back through a `scan` computes each step again, with its product of matrices, and adds to
the cotangent of the weights in every step. Here the gates are kept, and the cotangents of all steps
meet the states of all steps in one product behind the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from wengert.core.define import composite
from wengert.core.op_parts.samples import Real, sample
from wengert.core.table import op
from wengert.core.types import Value, type_of
from wengert.interpret.bodies.body import filled
from wengert.ops.sequences.by_steps import BySteps, jvp_by_steps, vjp_by_steps
from wengert.ops.sequences.recurrent_cells import CELLS, Cell


def from_states(h: Any, weight: Any, bias: Any) -> Any:
    """What h adds to the gates."""
    return op.matmul(h, op.matrix_transpose(weight)) + bias


def _run(kind: str, save: bool, projected: Any, weight: Any, bias: Any, *states: Any) -> Any:
    cell = CELLS[kind]

    def step(before: Sequence[Any], from_x: Any) -> tuple[Any, Any]:
        after, kept = cell.step(from_x, from_states(before[0], weight, bias), before)
        return tuple(after), (*after, *kept) if save else (after[0],)

    last, ys = op.scan(step, tuple(states), projected)
    return (ys[0], *last, *ys[1:])


@cache
def _by_steps(kind: str, save: bool) -> BySteps:
    return lambda *operands: _run(kind, save, *operands)


def _loop_jvp(
    tangents: Sequence[Value], out: Any, operands: Sequence[Value], params: dict[str, Any]
) -> Sequence[Value]:
    run = _by_steps(params["kind"], params["save"])
    d_outs: Sequence[Value] = jvp_by_steps(run)(tangents, out, operands, {})
    return d_outs


def _loop_vjp(
    g: Any, out: Any, operands: Sequence[Value], params: dict[str, Any], wanted: Sequence[bool]
) -> Sequence[Value]:
    cell = CELLS[params["kind"]]
    shown = 1 + cell.states
    if any(each is not None for each in g[shown:]):  # what this rule has read is differentiated
        again = vjp_by_steps(_by_steps(params["kind"], True))
        gradients: Sequence[Value] = again(g, out, operands, {}, wanted)
        return gradients
    g_hs, *g_last = filled(g[:shown], [type_of(x) for x in out[:shown]])
    gradients = _backwards(cell, g_hs, g_last, out, operands)
    return [x if want else None for x, want in zip(gradients, wanted, strict=True)]


def _backwards(
    cell: Cell, g_hs: Any, g_last: Sequence[Any], out: Sequence[Any], operands: Sequence[Any]
) -> list[Any]:
    _, weight, _, *first = operands
    hs, kept = out[0], out[1 + cell.states :]
    after = [hs, *kept[: cell.states - 1]]
    before = after  # where there are no times
    if hs.shape[0] != 0:
        before = [
            op.concat([op.expand_dims(x, axis=0), rows[:-1]], axis=0)
            for x, rows in zip(first, after, strict=True)
        ]
    per_step = {"g": g_hs, "before": before, "after": after, "kept": list(kept[cell.states - 1 :])}

    def step(gs: Any, at: Any) -> tuple[Any, Any]:
        gs = (gs[0] + at["g"], *gs[1:])
        to_x, to_h, direct = cell.back(at["kept"], at["before"], at["after"], gs)
        back = op.matmul(to_h, weight)
        back = back if direct[0] is None else back + direct[0]
        return (back, *direct[1:]), (to_x,) if to_h is to_x else (to_x, to_h)

    g_first, stacked = op.scan(step, tuple(g_last), per_step, reverse=True)
    to_x, to_h = stacked[0], stacked[-1]
    rows, inner = (op.reshape(x, (-1, x.shape[-1])) for x in (to_h, before[0]))
    g_weight = op.matmul(op.matrix_transpose(rows), inner)
    return [to_x, g_weight, op.sum(rows, axis=0), *g_first]


def _sample(kind: str, time: int, batch: tuple[int, ...]) -> Any:
    cell, width = CELLS[kind], 2
    rows = cell.gates * width
    arrays = [(time, *batch, rows), (rows, width), (rows,), *[(*batch, width)] * cell.states]
    return sample(*(Real(shape, -1, 1) for shape in arrays), kind=kind)


@composite(
    vjp_flat=_loop_vjp,
    jvp_flat=_loop_jvp,
    saving=lambda params: params | {"save": True},
    asked=lambda params: 1 + CELLS[params["kind"]].states,
    samples=(
        _sample("lstm", 3, (2,)),
        _sample("gru", 3, (2,)),
        _sample("tanh", 2, ()),
        _sample("relu", 1, (2,)),
    ),
    space="hidden",
)
def recurrent_loop(*operands: Any, kind: str, save: bool = False) -> Any:
    """The loop of a recurrent layer over time.

    Operands are what x adds to the gates at each time, (time, …, gates), weights and biases of h,
    and the first states. It gives the outputs of all times and the last states; with `save`, what
    the way back reads follows.
    """
    return _run(kind, save, *operands)
