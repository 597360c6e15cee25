"""One step of a recurrent layer, and the way back through it, written out.

A cell takes what x and h add to its gates and the states before the step. It gives the states after
it, of which the first is the output, and what the way back needs besides: all else of the step that
costs a product of matrices or a function to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wengert.core.table import op

States = Sequence[Any]


class Cell(NamedTuple):
    """A kind of recurrent layer."""

    gates: int  # blocks of rows that its weights have
    states: int
    # (from_x, from_h, states) -> (states, kept)
    step: Callable[[Any, Any, States], tuple[States, Sequence[Any]]]
    # (kept, states before, states after, their cotangents) -> (cotangents of from_x, of from_h, and
    # of the states before where they are read without weights; None for none)
    back: Callable[[Sequence[Any], States, States, States], tuple[Any, Any, Sequence[Any]]]


def _blocks(x: Any, count: int) -> list[Any]:
    size = x.shape[-1] // count
    return [x[..., n * size : (n + 1) * size] for n in range(count)]


def _sigmoid_back(g: Any, y: Any) -> Any:
    return op.pull(g, y * (1 - y))


def _tanh_back(g: Any, y: Any) -> Any:
    return op.pull(g, 1 - y * y)


def _lstm_step(from_x: Any, from_h: Any, states: States) -> tuple[States, Sequence[Any]]:
    _, memory = states
    i, f, g, o = (x + h for x, h in zip(_blocks(from_x, 4), _blocks(from_h, 4), strict=True))
    forget, take, new, show = op.sigmoid(f), op.sigmoid(i), op.tanh(g), op.sigmoid(o)
    memory = forget * memory + take * new
    shown = op.tanh(memory)
    return (show * shown, memory), (take, forget, new, show, shown)


def _lstm_back(
    kept: Sequence[Any], before: States, after: States, gs: States
) -> tuple[Any, Any, Sequence[Any]]:
    (take, forget, new, show, shown), (gh, gm) = kept, gs
    gm = gm + _tanh_back(op.pull(gh, show), shown)
    gates = (
        _sigmoid_back(op.pull(gm, new), take),
        _sigmoid_back(op.pull(gm, before[1]), forget),
        _tanh_back(op.pull(gm, take), new),
        _sigmoid_back(op.pull(gh, shown), show),
    )
    total = op.concat(gates, axis=-1)
    return total, total, (None, op.pull(gm, forget))


def _gru_step(from_x: Any, from_h: Any, states: States) -> tuple[States, Sequence[Any]]:
    (h,) = states
    (xr, xz, xn), (hr, hz, hn) = _blocks(from_x, 3), _blocks(from_h, 3)
    z, r = op.sigmoid(xz + hz), op.sigmoid(xr + hr)
    n = op.tanh(xn + r * hn)
    return ((1 - z) * n + z * h,), (r, z, n, hn)


def _gru_back(
    kept: Sequence[Any], before: States, after: States, gs: States
) -> tuple[Any, Any, Sequence[Any]]:
    (r, z, n, hn), (h,), (gh,) = kept, before, gs
    to_n = _tanh_back(op.pull(gh, 1 - z), n)
    to_z = _sigmoid_back(op.pull(gh, h - n), z)
    to_r = _sigmoid_back(op.pull(to_n, hn), r)
    from_x = op.concat([to_r, to_z, to_n], axis=-1)
    from_h = op.concat([to_r, to_z, op.pull(to_n, r)], axis=-1)
    return from_x, from_h, (op.pull(gh, z),)


def _tanh_step(from_x: Any, from_h: Any, states: States) -> tuple[States, Sequence[Any]]:
    return (op.tanh(from_x + from_h),), ()


def _relu_step(from_x: Any, from_h: Any, states: States) -> tuple[States, Sequence[Any]]:
    return (op.relu(from_x + from_h),), ()


def _plain_back(derivative: Callable[[Any, Any], Any]) -> Any:
    def back(
        kept: Sequence[Any], before: States, after: States, gs: States
    ) -> tuple[Any, Any, Sequence[Any]]:
        total = derivative(gs[0], after[0])
        return total, total, (None,)

    return back


def _relu_back(g: Any, y: Any) -> Any:
    return op.where(y > 0, g, 0)


CELLS = {
    "lstm": Cell(4, 2, _lstm_step, _lstm_back),
    "gru": Cell(3, 1, _gru_step, _gru_back),
    "tanh": Cell(1, 1, _tanh_step, _plain_back(_tanh_back)),
    "relu": Cell(1, 1, _relu_step, _plain_back(_relu_back)),
}
