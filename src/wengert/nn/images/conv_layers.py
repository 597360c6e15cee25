"""Conv1d, Conv2d, Conv3d and their transposes: `wg.conv` with a weight and a bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.functions.drawn_weights import note_drawn
from wengert.nn.init import Initialiser, initialise
from wengert.nn.layer_arguments import require_float, require_size
from wengert.nn.seeding import Seed
from wengert.nn.showing import shown_layer
from wengert.ops.windows.window_arguments import each_axis, pads_of


def _require_divisible(by: str, groups: int, **sizes: int) -> None:
    for name, size in sizes.items():
        if size % groups:
            raise ValueError(
                f"{by}: {name}={size} with groups={groups} was given; it must divide by groups. "
                "Choose another."
            )


def _bias(y: Value, bias: Value) -> Value:
    """y plus a number for each channel, which is axis 1."""
    return y + op.reshape(bias, (*bias.shape, *(1,) * (len(y.shape) - 2)))


@dataclass(init=False, eq=False, repr=False)
class _Conv(Explained):
    """What convolutions along one, two and three axes have in common."""

    weight: Any  # (out, in / groups, *window)
    bias: Any  # (out,)
    stride: tuple[int, ...]
    padding: Any
    dilation: tuple[int, ...]
    groups: int

    axes: ClassVar[int]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        window: Any,
        *,
        stride: Any = 1,
        padding: Any = "valid",
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        init: str | Initialiser = "he_uniform",
        seed: Seed = None,
        dtype: Any = np.float32,
    ) -> None:
        by, axes = type(self).__name__, self.axes
        given = require_size(by, "in_channels", in_channels)
        outs = require_size(by, "out_channels", out_channels)
        self.groups = require_size(by, "groups", groups)
        _require_divisible(by, self.groups, in_channels=given, out_channels=outs)
        sizes, float_dtype = each_axis(by, "window", window, axes), require_float(by, dtype)
        self.stride = each_axis(by, "stride", stride, axes)
        self.dilation = each_axis(by, "dilation", dilation, axes)
        pads_of(by, padding, sizes, sizes, self.stride, self.dilation)
        self.padding = tuple(padding) if isinstance(padding, list) else padding
        shape = (outs, given // self.groups, *sizes)
        self.weight = initialise(by, init, shape, seed, float_dtype)
        self.bias = np.zeros(outs, float_dtype) if bias else None

    def __call__(self, x: Value) -> Value:
        y = op.conv(x, self.weight, self.stride, self.padding, self.dilation, self.groups)
        return y if self.bias is None else _bias(y, self.bias)

    def __repr__(self) -> str:
        return shown_layer(self)


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class Conv1d(_Conv):
    """`wg.conv` along one axis, plus a bias: (batch, in, time) to (batch, out, time).

    >>> layer = wg.nn.Conv1d(3, 8, 5, padding="causal")
    >>> layer(np.ones((2, 3, 20), np.float32)).shape
    (2, 8, 20)
    """

    axes: ClassVar[int] = 1


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class Conv2d(_Conv):
    """`wg.conv` along two axes, plus a bias: (batch, in, height, width) to (batch, out, …).

    `weight` is (out, in / groups, *window), as torch has it. It begins as `init` says, with fan_in
    = in / groups times the elements of the window, and the bias with zeros.

    >>> layer = wg.nn.Conv2d(3, 8, 3, stride=2, padding="same")
    >>> layer(np.ones((2, 3, 9, 9), np.float32)).shape
    (2, 8, 5, 5)
    """

    axes: ClassVar[int] = 2


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class Conv3d(_Conv):
    """`wg.conv` along three axes, plus a bias.

    >>> layer = wg.nn.Conv3d(1, 2, (1, 3, 3))
    >>> layer(np.ones((1, 1, 4, 5, 6), np.float32)).shape
    (1, 2, 4, 3, 4)
    """

    axes: ClassVar[int] = 3


@dataclass(init=False, eq=False, repr=False)
class _ConvTranspose(Explained):
    """What transposed convolutions along one and two axes have in common."""

    weight: Any  # (in, out / groups, *window)
    bias: Any  # (out,)
    stride: tuple[int, ...]
    padding: Any
    output_padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int

    axes: ClassVar[int]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        window: Any,
        *,
        stride: Any = 1,
        padding: Any = "valid",
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        init: str | Initialiser = "he_uniform",
        seed: Seed = None,
        dtype: Any = np.float32,
    ) -> None:
        by, axes = type(self).__name__, self.axes
        given = require_size(by, "in_channels", in_channels)
        outs = require_size(by, "out_channels", out_channels)
        self.groups = require_size(by, "groups", groups)
        _require_divisible(by, self.groups, in_channels=given, out_channels=outs)
        sizes, float_dtype = each_axis(by, "window", window, axes), require_float(by, dtype)
        self.stride = each_axis(by, "stride", stride, axes)
        self.dilation = each_axis(by, "dilation", dilation, axes)
        self.output_padding = each_axis(by, "output_padding", output_padding, axes, 0)
        pads_of(by, padding, sizes, sizes, self.stride, self.dilation)
        self.padding = tuple(padding) if isinstance(padding, list) else padding
        # Drawn as (out, in, *window), for what counts is how many elements go into a sum.
        drawn = initialise(by, init, (outs // self.groups, given, *sizes), seed, float_dtype)
        self.weight = note_drawn(by, np.ascontiguousarray(np.swapaxes(drawn, 0, 1)))
        self.bias = np.zeros(outs, float_dtype) if bias else None

    def __call__(self, x: Value) -> Value:
        y = op.conv_transpose(
            x,
            self.weight,
            self.stride,
            self.padding,
            self.output_padding,
            self.dilation,
            self.groups,
        )
        return y if self.bias is None else _bias(y, self.bias)

    def __repr__(self) -> str:
        return shown_layer(self)


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class ConvTranspose1d(_ConvTranspose):
    """`wg.conv_transpose` along one axis, plus a bias.

    >>> layer = wg.nn.ConvTranspose1d(3, 2, 4, stride=2, padding=1)
    >>> layer(np.ones((1, 3, 10), np.float32)).shape
    (1, 2, 20)
    """

    axes: ClassVar[int] = 1


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class ConvTranspose2d(_ConvTranspose):
    """`wg.conv_transpose` along two axes, plus a bias; `weight` is (in, out / groups, *window).

    >>> layer = wg.nn.ConvTranspose2d(3, 2, 3, stride=2, padding="same")
    >>> layer(np.ones((1, 3, 4, 5), np.float32)).shape
    (1, 2, 8, 10)
    """

    axes: ClassVar[int] = 2


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class ConvTranspose3d(_ConvTranspose):
    """`wg.conv_transpose` along three axes, plus a bias.

    >>> layer = wg.nn.ConvTranspose3d(2, 1, 2, stride=2)
    >>> layer(np.ones((1, 2, 2, 3, 4), np.float32)).shape
    (1, 1, 4, 6, 8)
    """

    axes: ClassVar[int] = 3
