"""convolution: all convolutions as one bilinear op, whose two transposes are convolutions again.

    y[n, g, o, t] = sum over c, k of w[g, o, c, k] · x̂[n, g, c, t · stride + k · dilation - before]

t and k are positions along one to three axes. x̂ is x with `spread` - 1 zeros between neighbours and
zeros all around; `before` and `after` say how many of these a window may reach, and below 0 how
many elements are left out. Groups have an axis of their own, so that a transpose only exchanges
axes, which costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product as all_of
from typing import Any

import numpy as np

from wengert.core.define import bilinear
from wengert.core.dims import Dim, Shape, Size, product
from wengert.core.dtypes import is_float, promote
from wengert.core.lowering import Params, Shapes, SpecialKernel
from wengert.core.op_parts.samples import sample
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import DTypeError, ShapeError

LEADING = 3  # axes of x, w and y before those that windows move along


def span(size: Size, step: Size) -> Size:
    """How many places `size` elements take that lie `step` apart."""
    return (size - 1) * step + 1


def window_count(
    size: Size, window: Size, stride: Size, pad: tuple[Size, Size], dilation: Size, spread: Size
) -> Size:
    """How many positions a window has along an axis; 0 or less where it does not fit."""
    reach = span(size, spread) + pad[0] + pad[1] - span(window, dilation)
    if not isinstance(reach, Dim):
        return reach // stride + 1
    return reach // stride + 1 if stride != 1 else reach + 1


def require_steps(by: str, axes: int, padding: Any, *steps: Any) -> None:
    """Refuse what is no step of at least 1, and no pair, for each axis."""
    fits = all(
        len(each) == axes and all(isinstance(n, int) and n >= 1 for n in each) for each in steps
    )
    if fits and len(padding) == axes and all(len(pair) == 2 for pair in padding):
        return
    raise ShapeError(
        f"{by}: padding {padding} and steps {', '.join(map(str, steps))} were given for {axes} "
        "axes; a pair and whole numbers of at least 1 are needed for each. Write as many."
    )


def _convolution_type(
    x: Any, w: Any, stride: Shape, padding: Any, dilation: Shape, spread: Shape
) -> ArrayType:
    counts = len(x.shape) - LEADING
    require_steps("convolution", counts, padding, stride, dilation, spread)
    if len(w.shape) != len(x.shape) or not 1 <= counts <= 3:
        raise ShapeError(
            f"convolution: given shapes {x.shape} and {w.shape}; they are (batch, groups, "
            "channels, *space) and (groups, out, channels, *window) with one to three axes of "
            "space. Reshape them."
        )
    if x.shape[1] != w.shape[0] or x.shape[2] != w.shape[2]:
        raise ShapeError(
            f"convolution: given shapes {x.shape} and {w.shape}; groups and channels of both must "
            "be equal. Reshape them."
        )
    dtype = promote(x, w)
    if not is_float(dtype):
        raise DTypeError(
            f"convolution: given {x.dtype} and {w.dtype}; floats are needed. Convert them with "
            "astype."
        )
    axes = zip(x.shape[LEADING:], w.shape[LEADING:], stride, padding, dilation, spread, strict=True)
    space = tuple(window_count(*each) for each in axes)
    if any(isinstance(n, int) and n < 1 for n in space) or 0 in w.shape[LEADING:]:
        raise ShapeError(
            f"convolution: a window of shape {w.shape[LEADING:]} does not fit into "
            f"{x.shape[LEADING:]} with padding {padding} and dilation {dilation}; at least one "
            "position is needed. Pad more, or make it smaller."
        )
    return ArrayType((x.shape[0], w.shape[0], w.shape[1], *space), dtype)


def _laid_out(x: Any, sizes: Shape, padding: Any, spread: Shape) -> Any:
    """x̂: the elements among zeros, along axes of these sizes."""
    out = np.zeros((*x.shape[:LEADING], *sizes), x.dtype)
    to: list[Any] = [slice(None)] * LEADING
    given: list[Any] = [slice(None)] * LEADING
    axes = zip(x.shape[LEADING:], sizes, padding, spread, strict=True)
    for count, size, (before, _), step in axes:
        first = max(-(before // step), 0)  # the first element that is inside
        last = min(count - 1, (size - 1 - before) // step)
        begin = before + first * step
        some = last >= first
        given.append(slice(first, last + 1) if some else slice(0, 0))
        to.append(slice(begin, before + last * step + 1, step) if some else slice(0, 0))
    out[tuple(to)] = x[tuple(given)]
    return out


def _convolution_of_arrays(
    x: Any, w: Any, stride: Shape, padding: Any, dilation: Shape, spread: Shape
) -> Any:
    """One product of matrices for each element of the window: w[…, k] with what it meets."""
    out_type = _convolution_type(x, w, stride, padding, dilation, spread)
    space, window = out_type.shape[LEADING:], w.shape[LEADING:]
    sizes = tuple(
        span(t, s) + span(k, d) - 1
        for t, s, k, d in zip(space, stride, window, dilation, strict=True)
    )
    ready = _laid_out(x.astype(out_type.dtype, copy=False), sizes, padding, spread)
    w = w.astype(out_type.dtype, copy=False)
    batch, groups, channels = x.shape[:LEADING]
    positions = product(space)
    if product(window) > positions:
        return _by_position(ready, w, out_type, stride, dilation)
    out = np.zeros((batch, groups, w.shape[1], positions), out_type.dtype)
    for k in all_of(*map(range, window)):
        steps = zip(k, space, stride, dilation, strict=True)
        met = ready[(..., *(slice(i * d, i * d + span(t, s), s) for i, t, s, d in steps))]
        out += w[(..., *k)] @ met.reshape(batch, groups, channels, positions)
    return out.reshape(out_type.shape)


def _by_position(ready: Any, w: Any, out_type: ArrayType, stride: Shape, dilation: Shape) -> Any:
    """One product of matrices for each position of the window, which is the larger of the two."""
    groups, outs, channels = w.shape[:LEADING]
    window, batch = w.shape[LEADING:], ready.shape[0]
    inner = channels * product(window)
    out = np.zeros(out_type.shape, out_type.dtype)
    flat = w.reshape(groups, outs, inner).swapaxes(1, 2)  # (groups, inner, out)
    for t in all_of(*map(range, out_type.shape[LEADING:])):
        steps = zip(t, window, stride, dilation, strict=True)
        met = ready[(..., *(slice(i * s, i * s + span(k, d), d) for i, k, s, d in steps))]
        rows = met.swapaxes(0, 1).reshape(groups, batch, inner)
        place: Any = (..., *t)
        out[place] = (rows @ flat).swapaxes(0, 1)
    return out


def _exchanged(x: Any, order: Sequence[int]) -> Any:
    return op.permute_dims(x, (*order, *range(LEADING, len(x.shape))))


PHASES = 16  # at most: each is a kernel of its own


def spread_convolution(
    x: Any, w: Any, padding: Any, dilation: Shape, spread: Shape, stride: Shape
) -> Any:
    """`convolution` of x with zeros between its elements, which are not multiplied where they can
    be left out: positions that lie `spread` apart meet the same elements of the window, and are
    one convolution of x as it is, with these.
    """
    axes = len(x.shape) - LEADING
    sizes = (*x.shape[LEADING:], *w.shape[LEADING:], *(n for pair in padding for n in pair))
    known = all(isinstance(n, int) for n in sizes) and set(stride) == {1}
    if not known or not 1 < product(spread) <= PHASES:
        return op.convolution(
            x, w, stride=stride, padding=padding, dilation=dilation, spread=spread
        )
    given = zip(x.shape[LEADING:], w.shape[LEADING:], padding, dilation, spread, strict=True)
    counts = tuple(window_count(n, k, 1, pads, d, s) for n, k, pads, d, s in given)
    parts = [
        _phase(x, w, counts, padding, dilation, spread, first)
        for first in all_of(*map(range, spread))
    ]
    rows = op.reshape(op.stack(parts), (*spread, *parts[0].shape))
    order = [*range(axes, axes + LEADING)]  # batch, groups, out; then positions beside their phase
    for axis in range(axes):
        order += [axes + LEADING + axis, axis]
    whole = [n * s for n, s in zip(parts[0].shape[LEADING:], spread, strict=True)]
    y = op.reshape(op.permute_dims(rows, tuple(order)), (*parts[0].shape[:LEADING], *whole))
    return y[(..., *(slice(n) for n in counts))]


def _phase(
    x: Any, w: Any, counts: Shape, padding: Any, dilation: Shape, spread: Shape, first: Shape
) -> Any:
    """Positions from `first` on, `spread` apart, as many as reach behind the last."""
    chosen: list[Any] = [slice(None)] * LEADING
    steps, pads = [], []
    axes = zip(x.shape[LEADING:], w.shape[LEADING:], counts, padding, dilation, spread, strict=True)
    for (size, window, count, (before, _), d, s), r in zip(axes, first, strict=True):
        met = [k for k in range(min(window, s)) if (r + k * d - before) % s == 0][:1]
        if not met:  # these positions meet zeros only
            break
        apart = s // math.gcd(s, d)  # from one element of the window to the next that is met
        reach = (len(range(met[0], window, apart)) - 1) * (apart * d // s)
        lead = (before - r - met[0] * d) // s
        chosen.append(slice(met[0], None, apart))
        steps.append(apart * d // s)
        pads.append((lead, -(-count // s) - size - lead + reach))
    else:
        ones = (1,) * len(steps)
        return op.convolution(
            x,
            w[tuple(chosen)],
            stride=ones,
            padding=tuple(pads),
            dilation=tuple(steps),
            spread=ones,
        )
    sizes = [-(-n // s) for n, s in zip(counts, spread, strict=True)]
    return op.zeros((x.shape[0], w.shape[0], w.shape[1], *sizes), promote(x, w))


def _of_input(
    g: Any, x: Any, w: Any, stride: Shape, padding: Any, dilation: Shape, spread: Shape
) -> Any:
    """Cotangent of x: windows of g, spread by the stride, with w turned around."""
    axes = tuple(range(LEADING, len(w.shape)))
    turned = _exchanged(op.flip(w, axis=axes), (0, 2, 1))
    pads = []
    sizes = zip(
        x.shape[LEADING:],
        w.shape[LEADING:],
        g.shape[LEADING:],
        *(stride, padding, dilation, spread),
        strict=True,
    )
    for size, window, count, s, (before, _), d, step in sizes:
        lead = (window - 1) * d - before
        pads.append((lead, (size - 1) * step - (count - 1) * s + before))
    return spread_convolution(g, turned, tuple(pads), dilation, spread=stride, stride=spread)


def _of_window(
    g: Any, x: Any, w: Any, stride: Shape, padding: Any, dilation: Shape, spread: Shape
) -> Any:
    """Cotangent of w: windows of x as large as g, one for each element of w."""
    pads = []
    sizes = zip(
        x.shape[LEADING:],
        w.shape[LEADING:],
        g.shape[LEADING:],
        *(stride, padding, dilation, spread),
        strict=True,
    )
    for size, window, count, s, (before, _), d, step in sizes:
        after = (window - 1) * d + (count - 1) * s - (size - 1) * step - before
        pads.append((before, after))
    gw = op.convolution(
        _exchanged(x, (2, 1, 0)),  # (channels, groups, batch)
        _exchanged(g, (1, 2, 0)),  # (groups, out, batch)
        stride=dilation,
        padding=tuple(pads),
        dilation=stride,
        spread=spread,
    )
    return _exchanged(gw, (1, 2, 0))


def _flops(operands: Shapes, results: Shapes, _params: Params) -> int:
    (_, w), (y,) = operands, results
    return int(2 * np.prod(y) * np.prod(w[2:]))


def _canonical(
    x: Any, w: Any, stride: Any, padding: Any, dilation: Any, spread: Any
) -> dict[str, Any]:
    """Numbers; only how much is padded behind may depend on sizes that are open."""
    return {
        "stride": tuple(map(int, stride)),
        "padding": tuple(
            (int(before), after if isinstance(after, Dim) else int(after))
            for before, after in padding
        ),
        "dilation": tuple(map(int, dilation)),
        "spread": tuple(map(int, spread)),
    }


def _sample(x: Shape, w: Shape, stride: Shape, padding: Any, dilation: Shape, spread: Shape) -> Any:
    return sample(x, w, stride=stride, padding=padding, dilation=dilation, spread=spread)


@bilinear(
    numpy=_convolution_of_arrays,
    type=_convolution_type,
    canonical=_canonical,
    transposes=(
        lambda g, _x, w, **params: _of_input(g, _x, w, **params),
        lambda g, x, _w, **params: _of_window(g, x, _w, **params),
    ),
    sized=True,
    space="hidden",
    samples=(
        _sample((2, 1, 3, 5, 6), (1, 4, 3, 3, 2), (1, 1), ((1, 1), (0, 1)), (1, 1), (1, 1)),
        _sample((2, 2, 1, 7), (2, 3, 1, 3), (2,), ((2, -1),), (2,), (1,)),
        _sample((1, 1, 2, 4, 3), (1, 2, 2, 2, 1), (3, 1), ((0, 2), (1, 0)), (1, 2), (2, 3)),
        _sample(
            (1, 1, 1, 2, 3, 4), (1, 2, 1, 1, 2, 2), (1, 2, 1), ((0, 0),) * 3, (1,) * 3, (1,) * 3
        ),
        _sample((0, 1, 2, 3), (1, 2, 2, 2), (1,), ((0, 0),), (1,), (1,)),
        _sample((2, 1, 0, 3), (1, 2, 0, 2), (1,), ((0, 0),), (1,), (1,)),
    ),
    lower=SpecialKernel("convolution", _flops, one_dtype=True),
)
def convolution(
    x: Any, w: Any, /, stride: Shape, padding: Any, dilation: Shape, spread: Shape
) -> None:
    """Sums of products under windows that move over x.

    (batch, groups, channels, *space) and (groups, out, channels, *window) become (batch, groups,
    out, *positions).
    """
