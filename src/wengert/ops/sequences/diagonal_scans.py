"""The loop of a diagonal state-space model with complex numbers, and its way back, as ops with
kernels of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.define import primitive
from wengert.core.dtypes import is_float
from wengert.core.lowering import Params, Shapes, SpecialKernel
from wengert.core.op_parts.samples import Real, sample
from wengert.core.table import op
from wengert.core.types import ArrayType, Value, type_of
from wengert.errors import ShapeError
from wengert.interpret.bodies.body import filled
from wengert.interpret.derive import vjp_flat
from wengert.ops.sequences.by_steps import jvp_by_steps, vjp_by_steps


def _require_types(u: Any, *others: Any) -> None:
    """Refuse what S4D does not give."""
    (batch, channels, _), pairs = u.shape, others[0].shape[-1]
    states = (batch, channels, pairs)
    wanted = [(channels, pairs)] * 4 + [states] * 2 + [tuple(u.shape), states, states]
    given, wanted = [tuple(x.shape) for x in others], wanted[: len(others)]
    floats = all(x.dtype == u.dtype and is_float(x.dtype) for x in (u, *others))
    if given != wanted or not floats:
        raise ShapeError(
            f"diagonal_scan: given shapes {given} beside {tuple(u.shape)} of "
            f"{[str(x.dtype) for x in (u, *others)]}; they must be {wanted}, of one dtype of "
            "floats. Use wg.nn.S4D."
        )


def _scan_type(*operands: Any) -> tuple[ArrayType, ...]:
    _require_types(*operands)
    u, real = operands[0], operands[5]
    return tuple(ArrayType(x.shape, u.dtype) for x in (u, real, real))


def _pullback_type(*operands: Any) -> tuple[ArrayType, ...]:
    _require_types(*operands)
    u, real = operands[0], operands[5]
    return tuple(ArrayType(x.shape, u.dtype) for x in (u, *[real] * 6))


def _in_numpy(
    u: Any, a: Any, b: Any, c: Any, d: Any, real: Any, imag: Any
) -> tuple[Any, list[Any], list[Any]]:
    """y, and the parts of the states before each time and after the last."""
    reals, imags, y = [real], [imag], np.empty_like(u)
    for t in range(u.shape[2]):
        reals.append(a * real - b * imag + u[..., t, None])
        imags.append(a * imag + b * real)
        real, imag = reals[-1], imags[-1]
        y[..., t] = np.sum(c * real - d * imag, axis=-1)
    return y, reals, imags


def _scan_numpy(*operands: Any) -> tuple[Any, ...]:
    _require_types(*operands)
    y, reals, imags = _in_numpy(*operands)
    return y, reals[-1].copy(), imags[-1].copy()


def _pullback_numpy(*operands: Any) -> tuple[Any, ...]:
    _require_types(*operands)
    u, a, b, c, d, _real, _imag, gy, gr, gi = operands
    _, reals, imags = _in_numpy(*operands[:7])
    gu, (ga, gb, gc, gd) = np.empty_like(u), np.zeros((4, *gr.shape), u.dtype)
    for t in reversed(range(u.shape[2])):
        g = gy[..., t, None]
        gr, gi = gr + g * c, gi - g * d
        gc, gd = gc + g * reals[t + 1], gd - g * imags[t + 1]
        gu[..., t] = np.sum(gr, axis=-1)
        ga, gb = ga + gr * reals[t] + gi * imags[t], gb + gi * reals[t] - gr * imags[t]
        gr, gi = a * gr + b * gi, a * gi - b * gr
    return gu, ga, gb, gc, gd, gr.copy(), gi.copy()


def scan_by_steps(u: Any, a: Any, b: Any, c: Any, d: Any, real: Any, imag: Any) -> Sequence[Any]:
    """The same as a scan; numbers of channels may come for each of the batch."""

    def step(h: Any, x: Any) -> tuple[Any, Any]:
        (real, imag), x = h, op.expand_dims(x, axis=-1)
        real, imag = a * real - b * imag + x, a * imag + b * real
        return (real, imag), op.sum(c * real - d * imag, axis=-1)

    (real, imag), ys = op.scan(step, (real, imag), op.permute_dims(u, (2, 0, 1)))
    return [op.permute_dims(ys, (1, 2, 0)), real, imag]


def _pullback_by_steps(*operands: Any) -> Sequence[Any]:
    u, *numbers, real, imag, gy, gr, gi = operands
    shape = tuple(real.shape)
    given = (u, *(op.broadcast_to(x, shape) for x in numbers), real, imag)
    gradients = vjp_flat(scan_by_steps, given)[1]([gy, gr, gi])
    return [op.zeros_like(x) if g is None else g for x, g in zip(given, gradients, strict=True)]


def _scan_vjp(
    g: Any, out: Any, operands: Sequence[Value], params: Any, wanted: Sequence[bool]
) -> Sequence[Value]:
    u, *_, real, imag = operands
    gs = filled(g, [type_of(x) for x in (u, real, imag)])
    gu, *numbers, gr, gi = diagonal_pullback.rebind([*operands, *gs], {})
    gradients = (gu, *(op.sum(x, axis=0) for x in numbers), gr, gi)
    return [x if want else None for x, want in zip(gradients, wanted, strict=True)]


def _flops(each: int) -> Any:
    def flops(operands: Shapes, _results: Shapes, _params: Params) -> int:
        batch, channels, time = operands[0]
        return int(each * batch * channels * time * max(operands[1][1], 16))

    return flops


def _arrays(time: int) -> tuple[Any, ...]:
    numbers = [Real((2, 3), -0.7, 0.7)] * 4
    return Real((2, 2, time), -1, 1), *numbers, *[Real((2, 2, 3), -1, 1)] * 2


@primitive(
    numpy=_scan_numpy,
    type=_scan_type,
    vjp_flat=_scan_vjp,
    jvp_flat=jvp_by_steps(scan_by_steps),
    samples=(sample(*_arrays(3)), sample(*_arrays(1))),
    space="hidden",
    lower=SpecialKernel("diagonal_scan", flops=_flops(8)),
)
def diagonal_scan(u: Any, a: Any, b: Any, c: Any, d: Any, real: Any, imag: Any, /) -> None:
    """The loop of `S4D`: h' = (a + ib) h + u, y = sum of Re((c + id) h').

    It gives y and the parts of the last state.
    """


@primitive(
    numpy=_pullback_numpy,
    type=_pullback_type,
    vjp_flat=vjp_by_steps(_pullback_by_steps),
    jvp_flat=jvp_by_steps(_pullback_by_steps),
    samples=(sample(*_arrays(3), Real((2, 2, 3), -1, 1), *[Real((2, 2, 3), -1, 1)] * 2),),
    space="hidden",
    lower=SpecialKernel("diagonal_pullback", flops=_flops(30)),
)
def diagonal_pullback(
    u: Any,
    a: Any,
    b: Any,
    c: Any,
    d: Any,
    real: Any,
    imag: Any,
    gy: Any,
    greal: Any,
    gimag: Any,
    /,
) -> None:
    """The way back through `diagonal_scan`.

    It gives cotangents of its operands, those of numbers of channels for each of the batch.
    """
