"""The loop of a selective scan and its way back as ops, each with a kernel of its own.

Scans over time define what the kernels compute, and give the other derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.core.define import primitive
from wengert.core.dtypes import is_float
from wengert.core.lowering import Params, Shapes, SpecialKernel
from wengert.core.op_parts.samples import Real, sample
from wengert.core.table import op
from wengert.core.types import ArrayType, Value, type_of
from wengert.errors import DTypeError, ShapeError
from wengert.interpret.bodies.body import filled
from wengert.interpret.derive import vjp_flat
from wengert.ops.sequences.by_steps import jvp_by_steps, vjp_by_steps

MOST_STATES = 64  # of a channel, that kernels have room for
_BLOCK = 16  # channels at most whose matrices' cotangents are added up one after the other


def channels_of_block(share: int) -> int:
    """How many of the channels that share matrices are one block: it divides them."""
    return next(n for n in range(min(share, _BLOCK), 0, -1) if share % n == 0)


def _blocked(u: Any, A: Any, B: Any) -> tuple[Any, ...]:
    """(batch, groups, blocks, channels of a block)"""
    (batch, channels, _), groups = u.shape, B.shape[1]
    size = channels_of_block(channels // groups)
    return batch, groups, channels // groups // size, size


def _require_types(u: Any, delta: Any, A: Any, B: Any, C: Any, h0: Any, *cotangents: Any) -> None:
    """Refuse what `selective_scan` does not give."""
    (batch, channels, time), states = u.shape, A.shape[-1]
    matrix = (batch, B.shape[1], states, time)
    wanted: list[Any] = [u.shape, u.shape, (channels, states), matrix, matrix]
    wanted += [(batch, channels, states), u.shape, (batch, channels, states)]
    arrays = (u, delta, A, B, C, h0, *cotangents)
    given, wanted = [tuple(x.shape) for x in arrays], wanted[: len(arrays)]
    if any(x.dtype != u.dtype or not is_float(x.dtype) for x in arrays):
        raise DTypeError(
            f"state_space_scan: given dtypes {[str(x.dtype) for x in arrays]}; they must be one of "
            "float32 and float64. Call wg.selective_scan."
        )
    if given != wanted or states > MOST_STATES or channels % B.shape[1]:
        raise ShapeError(
            f"state_space_scan: given shapes {given}; they must be {wanted}, with groups that "
            f"divide the channels and at most {MOST_STATES} states. Call wg.selective_scan."
        )


def _scan_type(u: Any, delta: Any, A: Any, B: Any, C: Any, h0: Any) -> tuple[ArrayType, ...]:
    _require_types(u, delta, A, B, C, h0)
    return ArrayType(u.shape, u.dtype), ArrayType(h0.shape, u.dtype)


def _pullback_type(
    u: Any, delta: Any, A: Any, B: Any, C: Any, h0: Any, gy: Any, glast: Any
) -> tuple[ArrayType, ...]:
    _require_types(u, delta, A, B, C, h0, gy, glast)
    batch, groups, blocks, _ = _blocked(u, A, B)
    own = (batch, groups, blocks, u.shape[2], A.shape[1])
    shapes = (u.shape, u.shape, h0.shape, own, own, h0.shape)
    return tuple(ArrayType(shape, u.dtype) for shape in shapes)


# In NumPy: all channels at once, one time after the other.


def _in_numpy(u: Any, delta: Any, A: Any, B: Any, C: Any, h0: Any) -> Any:
    """y, and the states before each time and after the last."""
    share = u.shape[1] // B.shape[1]
    b, c = (np.repeat(x, share, axis=1) for x in (B, C))
    hs, y = [h0], np.empty_like(u)
    for t in range(u.shape[2]):
        d = delta[..., t, None]
        hs.append(np.exp(d * A) * hs[-1] + d * u[..., t, None] * b[..., t])
        y[..., t] = np.sum(hs[-1] * c[..., t], axis=-1)
    return y, hs


def _scan_numpy(*operands: Any) -> tuple[Any, Any]:
    _require_types(*operands)
    y, hs = _in_numpy(*operands)
    return y, hs[-1].copy()


def _pullback_numpy(
    u: Any, delta: Any, A: Any, B: Any, C: Any, h0: Any, gy: Any, glast: Any
) -> tuple[Any, ...]:
    _require_types(u, delta, A, B, C, h0)
    _, hs = _in_numpy(u, delta, A, B, C, h0)
    share = u.shape[1] // B.shape[1]
    b, c = (np.repeat(x, share, axis=1) for x in (B, C))
    gu, gdelta, ga, gh = np.empty_like(u), np.empty_like(u), np.zeros_like(h0), glast
    sizes = _blocked(u, A, B)
    gb, gc = np.empty((2, *sizes[:3], u.shape[2], A.shape[1]), u.dtype)
    for t in reversed(range(u.shape[2])):
        d, x, g = delta[..., t, None], u[..., t, None], gy[..., t, None]
        gh = gh + g * c[..., t]
        gc[..., t, :] = np.sum((g * hs[t + 1]).reshape(*sizes, -1), axis=3)
        gb[..., t, :] = np.sum((gh * (d * x)).reshape(*sizes, -1), axis=3)
        through = np.sum(gh * b[..., t], axis=-1)
        a = np.exp(d * A)
        inside = gh * hs[t] * a
        ga += inside * d
        gu[..., t] = through * delta[..., t]
        gdelta[..., t] = through * u[..., t] + np.sum(inside * A, axis=-1)
        gh = gh * a
    return gu, gdelta, ga, gb, gc, gh.copy()


# As scans, which have derivatives of any order.


def _looped(u: Any, delta: Any, A: Any, B: Any, C: Any, h0: Any, sizes: Any) -> tuple[Any, Any]:
    """The scan, with A for each of the batch, (batch, channels, states), and B and C for each
    block, (batch, groups, blocks, time, states).
    """
    states = A.shape[-1]
    A = op.reshape(A, (*sizes, states))
    rows = [op.reshape(op.permute_dims(x, (2, 0, 1)), (-1, *sizes, 1)) for x in (u, delta)]
    rows += [op.expand_dims(op.moveaxis(x, 3, 0), axis=4) for x in (B, C)]

    def step(h: Any, x: Any) -> tuple[Any, Any]:
        u, delta, b, c = x
        h = op.exp(delta * A) * h + delta * u * b
        return h, op.sum(h * c, axis=-1)

    last, ys = op.scan(step, op.reshape(h0, (*sizes, states)), tuple(rows))
    y = op.permute_dims(op.reshape(ys, (-1, *u.shape[:2])), (1, 2, 0))
    return y, op.reshape(last, h0.shape)


def _spread_out(u: Any, A: Any, B: Any, C: Any, h0: Any) -> tuple[Any, Any, Any, Any]:
    """A, B and C as `_looped` takes them, and the sizes of blocks."""
    sizes = _blocked(u, A, B)
    matrices = []
    for x in (B, C):
        x = op.expand_dims(op.swapaxes(x, 2, 3), axis=2)
        matrices.append(op.broadcast_to(x, (*sizes[:3], *x.shape[3:])))
    return op.broadcast_to(A, tuple(h0.shape)), *matrices, sizes


def _scan_by_steps(u: Any, delta: Any, A: Any, B: Any, C: Any, h0: Any) -> tuple[Any, Any]:
    A, B, C, sizes = _spread_out(u, A, B, C, h0)
    return _looped(u, delta, A, B, C, h0, sizes)


def _pullback_by_steps(
    u: Any, delta: Any, A: Any, B: Any, C: Any, h0: Any, gy: Any, glast: Any
) -> Sequence[Any]:
    A, B, C, sizes = _spread_out(u, A, B, C, h0)
    operands = (u, delta, A, B, C, h0)
    _, pullback = vjp_flat(partial(_looped, sizes=sizes), operands)
    return [
        op.zeros_like(x) if g is None else g
        for x, g in zip(operands, pullback([gy, glast]), strict=True)
    ]


def _scan_vjp(
    g: Any, out: Any, operands: Sequence[Value], params: Any, wanted: Sequence[bool]
) -> Sequence[Value]:
    u, *_, h0 = operands
    gs = filled(g, [type_of(u), type_of(h0)])
    gu, gdelta, ga, gb, gc, gh0 = state_space_pullback.rebind([*operands, *gs], {})
    matrices = (op.swapaxes(op.sum(x, axis=2), 2, 3) for x in (gb, gc))
    gradients = (gu, gdelta, op.sum(ga, axis=0), *matrices, gh0)
    return [x if want else None for x, want in zip(gradients, wanted, strict=True)]


def _flops(each: int) -> Any:
    def flops(operands: Shapes, _results: Shapes, _params: Params) -> int:
        batch, channels, time = operands[0]
        return int(each * batch * channels * time * max(operands[2][1], 16))

    return flops


def _arrays(time: int, groups: int) -> tuple[Any, ...]:
    u, matrix = Real((2, 4, time), -1, 1), Real((2, groups, 3, time), -1, 1)
    width = Real((2, 4, time), 0.1, 1)
    return u, width, Real((4, 3), -1, -0.1), matrix, matrix, Real((2, 4, 3), -1, 1)


@primitive(
    numpy=_scan_numpy,
    type=_scan_type,
    vjp_flat=_scan_vjp,
    jvp_flat=jvp_by_steps(_scan_by_steps),
    samples=(sample(*_arrays(3, 2)), sample(*_arrays(1, 1))),
    space="hidden",
    lower=SpecialKernel("state_space_scan", flops=_flops(10)),
)
def state_space_scan(u: Any, delta: Any, A: Any, B: Any, C: Any, h0: Any, /) -> None:
    """The loop of `selective_scan`, for matrices (batch, groups, states, time).

    It gives y and the last state.
    """


@primitive(
    numpy=_pullback_numpy,
    type=_pullback_type,
    vjp_flat=vjp_by_steps(_pullback_by_steps),
    jvp_flat=jvp_by_steps(_pullback_by_steps),
    samples=tuple(
        sample(*_arrays(time, groups), Real((2, 4, time), -1, 1), Real((2, 4, 3), -1, 1))
        for time, groups in ((3, 2), (1, 1))
    ),
    space="hidden",
    lower=SpecialKernel("state_space_pullback", flops=_flops(40)),
)
def state_space_pullback(
    u: Any, delta: Any, A: Any, B: Any, C: Any, h0: Any, gy: Any, glast: Any, /
) -> None:
    """The way back through `state_space_scan`.

    It gives cotangents of its operands: that of A for each of the batch, those of B and C for each
    block of channels, with time before states.
    """
