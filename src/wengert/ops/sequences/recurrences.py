"""Linear recurrences that begin with a state, and the public function of both kinds."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.define import function, primitive
from wengert.core.lowering import SpecialKernel
from wengert.core.op_parts.broadcast import broadcast_shapes, canonical_axis
from wengert.core.op_parts.samples import Exactly, sample
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import DTypeError, ShapeError


def _recurrence_from(a: Any, b: Any, h0: Any, axis: int) -> Any:
    out = np.empty(b.shape, np.result_type(a, b, h0))
    factors, terms, rows = (np.moveaxis(each, axis, 0) for each in (a, b, out))
    before = h0
    for t in range(len(rows)):
        rows[t] = before = factors[t] * before + terms[t]
    return out


def _without(shape: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _recurrence_from_type(a: Any, b: Any, h0: Any, axis: int) -> ArrayType:
    wanted = _without(b.shape, axis)
    if a.shape != b.shape or h0.shape != wanted:
        raise ShapeError(
            f"recurrence_from: factors have shape {a.shape}, terms {b.shape} and the state "
            f"{h0.shape}; factors must have the shape of terms, and the state that shape without "
            f"axis {axis}, which is {wanted}. Broadcast them first."
        )
    return ArrayType(b.shape, dtypes.promote(a, b, h0))


def _earlier(out: Any, h0: Any, axis: int) -> Any:
    """The state before each step."""
    first = op.expand_dims(h0, axis=axis)
    if out.shape[axis] == 1:
        return first
    before = (slice(None),) * axis
    return op.concat([first, out[(*before, slice(None, -1))]], axis=axis)


def _recurrence_from_vjp(g: Any, out: Any, a: Any, _b: Any, h0: Any, axis: int) -> Any:
    # h_t = a_t h_{t-1} + b_t read backwards: s_t = g_t + a_{t+1} s_{t+1}
    if isinstance(out.shape[axis], int) and out.shape[axis] == 0:
        return op.zeros_like(a), op.zeros_like(out), op.zeros_like(h0)
    later = op.shift(op.flip(a, axis=axis), axis=axis)
    gb = op.flip(op.recurrence(later, op.flip(g, axis=axis), axis=axis), axis=axis)
    first = (*(slice(None),) * axis, 0)
    return op.pull(gb, _earlier(out, h0, axis)), gb, op.pull(gb[first], a[first])


def _recurrence_from_jvp(d: Any, out: Any, a: Any, b: Any, h0: Any, axis: int) -> Any:
    da, db, dh0 = d
    if isinstance(out.shape[axis], int) and out.shape[axis] == 0:
        return op.zeros_like(out)
    terms = [] if da is None else [op.pull(da, _earlier(out, h0, axis))]
    terms += [] if db is None else [db]
    total = op.zeros_like(out) if not terms else terms[0]
    total = terms[0] + terms[1] if len(terms) == 2 else total
    if dh0 is None:
        return op.recurrence(a, total, axis=axis)
    return op.recurrence_from(a, total, dh0, axis=axis)


@primitive(
    numpy=_recurrence_from,
    type=_recurrence_from_type,
    canonical=lambda a, b, h0, axis: {"axis": canonical_axis("recurrence_from", axis, b.ndim)},
    vjp=_recurrence_from_vjp,
    jvp=_recurrence_from_jvp,
    samples=(
        sample((3, 4), (3, 4), (3,), axis=-1),
        sample((3, 2), (3, 2), (2,), axis=0),
        sample((1,), (1,), (), axis=0),
        sample((2, 0), (2, 0), (2,), axis=1),
        sample(Exactly([1.0, 0.0, 2.0, 0.0]), (4,), (), axis=0),
    ),
    space="hidden",
    lower=SpecialKernel("recurrence_from", one_dtype=True),
)
def recurrence_from(a: Any, b: Any, h0: Any, /, axis: int) -> None:
    """The linear recurrence h_t = a_t h_{t-1} + b_t along the axis, from a given state h0."""


def _require_floats(name: str, **arrays: Any) -> None:
    for what, x in arrays.items():
        if x is not None and not dtypes.is_float(x.dtype):
            raise DTypeError(
                f"{name}: {what} has dtype {x.dtype}; it must be float32 or float64. Convert it "
                "with astype."
            )


@function()
def linear_recurrence(a: Any, b: Any, h0: Any = None, reverse: bool = False, axis: int = 0) -> Any:
    """h_t = a_t h_{t-1} + b_t along the axis: all of h. It begins with `h0`, or with zeros.

    `a` and `b` broadcast, `h0` has their shape without the axis. With `reverse` it runs from the
    last element to the first. Each step is one fma, in order: parts of a sequence, each begun with
    the last state of the part before, have the bits of the whole in compiled code.

    >>> wg.linear_recurrence(np.array([0.5, 0.5, 0.5]), np.ones(3))
    array([1.  , 1.5 , 1.75])
    >>> wg.linear_recurrence(0.5, np.ones(3), h0=4.0, reverse=True)
    array([2.25, 2.5 , 3.  ])
    """
    b = op.asarray(b)
    a, h0 = (x if x is None else _beside(b, x) for x in (a, h0))
    _require_floats("linear_recurrence", a=a, b=b, h0=h0)
    shape = broadcast_shapes("linear_recurrence", [tuple(a.shape), tuple(b.shape)])
    axis = canonical_axis("linear_recurrence", axis, len(shape))
    a, b = (op.broadcast_to(x, shape) for x in (a, b))
    if reverse:
        a, b = op.flip(a, axis=axis), op.flip(b, axis=axis)
    if h0 is None:
        out = op.recurrence(a, b, axis=axis)
    else:
        wanted = _without(shape, axis)
        if broadcast_shapes("linear_recurrence", [tuple(h0.shape), wanted]) != wanted:
            raise ShapeError(
                f"linear_recurrence: h0 has shape {tuple(h0.shape)} and the sequence {shape}; h0 "
                f"must broadcast to the shape without axis {axis}, which is {wanted}. Leave out "
                "the axis of time."
            )
        out = op.recurrence_from(a, b, op.broadcast_to(h0, wanted), axis=axis)
    return op.flip(out, axis=axis) if reverse else out


def _beside(b: Any, x: Any) -> Any:
    """An array; a Python number takes the dtype of b."""
    if isinstance(x, bool | int | float):
        return np.asarray(x, np.result_type(b.dtype, x))
    return op.asarray(x)
