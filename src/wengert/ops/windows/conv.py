"""conv and conv_transpose: convolutions as users call them."""

from __future__ import annotations

from typing import Any

from wengert.core import promotion
from wengert.core.define import function
from wengert.core.dims import product
from wengert.core.dtypes import float64
from wengert.core.table import op
from wengert.errors import ShapeError
from wengert.interpret.mistakes.widening import note_promotion
from wengert.ops.windows.convolution import span, spread_convolution
from wengert.ops.windows.window_arguments import Pads, each_axis, pads_of, require_fit


def _as_floats(by: str, x: Any, w: Any) -> tuple[Any, Any]:
    x, w = op.asarray(x), op.asarray(w)
    dtype = promotion.inexact(by, (x, w))[1]
    if dtype == float64 and x.dtype != w.dtype:
        note_promotion(by, (x, w))
    return tuple(each if each.dtype == dtype else op.astype(each, dtype) for each in (x, w))


def _require_ranks(by: str, x: Any, w: Any, first: str) -> int:
    """How many axes of space there are."""
    axes = len(w.shape) - 2
    if not 1 <= axes <= 3:
        raise ShapeError(
            f"{by}: w has shape {tuple(w.shape)}; it is {first} with one to three axes of space. "
            "Reshape it."
        )
    if len(x.shape) != axes + 2:
        one = "Write x[np.newaxis] for one image alone." if len(x.shape) == axes + 1 else ""
        raise ShapeError(
            f"{by}: x has shape {tuple(x.shape)} and w {tuple(w.shape)}; x must be (batch, "
            f"channels, *space) with as many axes as w, {axes + 2}. {one or 'Reshape one of them.'}"
        )
    return axes


def _repair(x: Any, channels: int, otherwise: str) -> str:
    """What to do about channels that do not fit: they may stand last."""
    return "Put channels first: wg.moveaxis(x, -1, 1)." if x.shape[-1] == channels else otherwise


def _require_groups(by: str, groups: Any) -> int:
    return each_axis(by, "groups", groups, 1)[0]


@function()
def conv(
    x: Any,
    w: Any,
    stride: Any = 1,
    padding: Any = "valid",
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Sums of products of w with the windows of x, along one to three axes.

    x is (batch, channels, *space) and w (out, channels / groups, *window); the result is (batch,
    out, *positions). Windows are not turned around: position t meets w[k] with x[t · stride + k ·
    dilation]. `padding` is a number of zeros on both sides, a pair (before, after) for each axis,
    "valid" for none, "same" for as many positions as elements divided by the stride, or "causal"
    for zeros before only, so that no position reads what lies behind it. With `groups`, channels
    and outputs are cut into as many parts, each on its own; with as many as channels, every channel
    has windows of its own.

    >>> x = np.arange(6.0).reshape(1, 1, 6)
    >>> wg.conv(x, np.array([[[1.0, 0.0, -1.0]]]), padding="same")
    array([[[-1., -2., -2., -2., -2.,  4.]]])
    """
    x, w = _as_floats("conv", x, w)
    axes = _require_ranks("conv", x, w, "(out, channels / groups, *window)")
    groups = _require_groups("conv", groups)
    channels, outs, held = x.shape[1], w.shape[0], w.shape[1]
    if channels != held * groups or outs % groups:
        raise ShapeError(
            f"conv: x has {channels} channels and w has shape {tuple(w.shape)} with "
            f"groups={groups}; x needs groups times as many channels as axis 1 of w, and axis 0 "
            "of w must divide by groups. "
            + _repair(x, held * groups, "Pass a w of shape (out, channels / groups, *window).")
        )
    space, window = tuple(x.shape[2:]), tuple(w.shape[2:])
    stride = each_axis("conv", "stride", stride, axes)
    dilation = each_axis("conv", "dilation", dilation, axes)
    pads = pads_of("conv", padding, space, window, stride, dilation)
    require_fit("conv", space, window, pads, dilation)
    split = op.reshape(x, (x.shape[0], groups, held, *space))
    if all(k == 1 for k in window) and all(s == 1 for s in stride) and _no_pads(pads):
        return _product(split, w)
    y = op.convolution(
        split,
        op.reshape(w, (groups, outs // groups, held, *window)),
        stride=stride,
        padding=pads,
        dilation=dilation,
        spread=(1,) * axes,
    )
    return op.reshape(y, (x.shape[0], outs, *y.shape[3:]))


def _no_pads(pads: Pads) -> bool:
    return all(pair == (0, 0) for pair in pads)


def _product(x: Any, w: Any) -> Any:
    """Windows of one element: a product of matrices, where images lie already."""
    batch, groups, held = x.shape[:3]
    space = tuple(x.shape[3:])
    flat = op.reshape(x, (batch, groups, held, product(space)))
    y = op.matmul(op.reshape(w, (groups, w.shape[0] // groups, held)), flat)
    return op.reshape(y, (batch, w.shape[0], *space))


@function()
def conv_transpose(
    x: Any,
    w: Any,
    stride: Any = 1,
    padding: Any = "valid",
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """The transpose of `conv`: each element of x adds w, times itself, to the result.

    x is (batch, channels, *space) and w (channels, out / groups, *window), as torch has it. The
    result is what the gradient of `conv` with these options is, for its x: along an axis (size - 1)
    · stride + window long, less the padding, which is cut off here. `output_padding` adds as many
    positions behind; with "same" the result is stride times as long as x.

    >>> wg.conv_transpose(np.array([[[1.0, 2.0]]]), np.array([[[1.0, 1.0, 1.0]]]), stride=2)
    array([[[1., 1., 3., 2., 2.]]])
    """
    by = "conv_transpose"
    x, w = _as_floats(by, x, w)
    axes = _require_ranks(by, x, w, "(channels, out / groups, *window)")
    groups = _require_groups(by, groups)
    channels, outs = x.shape[1], w.shape[1]
    if channels != w.shape[0] or channels % groups:
        raise ShapeError(
            f"{by}: x has {channels} channels and w has shape {tuple(w.shape)} with "
            f"groups={groups}; axis 0 of w must be the channels, which must divide by groups. "
            + _repair(x, w.shape[0], "Pass a w of shape (channels, out / groups, *window).")
        )
    space, window = tuple(x.shape[2:]), tuple(w.shape[2:])
    stride = each_axis(by, "stride", stride, axes)
    dilation = each_axis(by, "dilation", dilation, axes)
    extra = each_axis(by, "output_padding", output_padding, axes, 0)
    ends = _cut_off(padding, window, stride, dilation)
    if ends is None:
        ends = pads_of(by, padding, space, window, stride, dilation)
    pads = []
    for k, d, (before, after), more in zip(window, dilation, ends, extra, strict=True):
        reach = span(k, d) - 1
        pads.append((reach - before, reach - after + more))
    if any(n < 1 for n in _sizes(space, stride, window, dilation, pads)):
        raise ShapeError(
            f"{by}: space {space} with stride {stride}, a window {window} and padding {padding!r} "
            "leaves no elements; at least one is needed. Pad less."
        )
    held = channels // groups
    turned = op.flip(op.reshape(w, (groups, held, outs, *window)), axis=tuple(range(3, 3 + axes)))
    y = spread_convolution(
        op.reshape(x, (x.shape[0], groups, held, *space)),
        op.permute_dims(turned, (0, 2, 1, *range(3, 3 + axes))),
        tuple(pads),
        dilation,
        spread=stride,
        stride=(1,) * axes,
    )
    return op.reshape(y, (x.shape[0], groups * outs, *y.shape[3:]))


def _cut_off(padding: Any, window: Any, stride: Any, dilation: Any) -> Pads | None:
    """What "same" cuts off, so that the result is stride times as long; may be below 0."""
    if padding != "same":
        return None
    totals = [span(k, d) - s for k, d, s in zip(window, dilation, stride, strict=True)]
    pairs = ((max(n, 0) // 2, n - max(n, 0) // 2) for n in totals)
    return tuple(pairs)


def _sizes(space: Any, stride: Any, window: Any, dilation: Any, pads: Any) -> list[Any]:
    """Positions along each axis whose size is known."""
    axes = zip(space, stride, window, dilation, pads, strict=True)
    sizes = [span(n, s) + sum(pad) - span(k, d) + 1 for n, s, k, d, pad in axes]
    return [n for n in sizes if isinstance(n, int)]
