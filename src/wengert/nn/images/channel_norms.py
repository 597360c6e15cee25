"""GroupNorm and InstanceNorm: mean 0 and variance 1 of the channels of each image alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wengert.core.bind import located
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.errors import ShapeError
from wengert.functions.parameter import canonical_number
from wengert.nn.layer_arguments import require_float, require_size
from wengert.nn.showing import shown_layer


def _eps(by: str, eps: Any) -> float:
    return canonical_number(by, "eps", eps, lambda number: number >= 0, "a number >= 0")


def _normed(by: str, x: Any, groups: int, scale: Value, shift: Value, eps: float) -> Value:
    """Each group of channels of each image at mean 0 and variance 1, then scaled per channel."""
    x = op.asarray(x)
    shape, channels = tuple(x.shape), scale.shape[0]
    if len(shape) < 2 or shape[1] != channels:
        error = ShapeError(
            f"{by}: x has shape {shape}; axis 1 must be the {channels} channels: (batch, channels, "
            "*space). Move it there with wg.moveaxis."
        )
        raise located(error, [x])
    if channels == groups and all(n == 1 for n in shape[2:]):
        error = ShapeError(
            f"{by}: x has shape {shape} for {groups} groups, one number in each; it is its own "
            "mean, so that the result does not depend on x. Normalize before the means over space "
            "are taken, or write nn.LayerNorm(channels)."
        )
        raise located(error, [x])
    parts = op.reshape(x, (shape[0], groups, channels // groups, *shape[2:]))
    axes = tuple(range(2, len(shape) + 1))
    y = op.reshape(op.standardize(parts, axes, eps), shape)
    each = (channels, *(1,) * (len(shape) - 2))
    return y * op.reshape(scale, each) + op.reshape(shift, each)


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class GroupNorm(Explained):
    """Channels in groups, each brought to mean 0 and variance 1 in each image, then times `scale`
    plus `shift` of its channel. x is (batch, channels, *space).

    >>> norm = wg.nn.GroupNorm(2, 4, eps=0.0, dtype=np.float64)
    >>> norm(np.array([[[1.0], [3.0], [5.0], [9.0]]])).ravel()
    array([-1.,  1., -1.,  1.])
    """

    scale: Any  # (channels,), ones at first
    shift: Any  # (channels,), zeros at first
    groups: int
    eps: float

    torch_names: ClassVar[dict[str, str]] = {"scale": "weight", "shift": "bias"}

    def __init__(
        self, groups: int, channels: int, *, eps: float = 1e-5, dtype: Any = np.float32
    ) -> None:
        self.groups = require_size("GroupNorm", "groups", groups)
        count = require_size("GroupNorm", "channels", channels)
        if count % self.groups:
            raise ValueError(
                f"GroupNorm: channels={count} with groups={self.groups} was given; channels must "
                "divide by groups. Choose another."
            )
        float_dtype = require_float("GroupNorm", dtype)
        self.scale, self.shift = np.ones(count, float_dtype), np.zeros(count, float_dtype)
        self.eps = _eps("GroupNorm", eps)

    def __call__(self, x: Value) -> Value:
        return _normed("GroupNorm", x, self.groups, self.scale, self.shift, self.eps)

    def __repr__(self) -> str:
        return shown_layer(self)


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class InstanceNorm(Explained):
    """Every channel of each image brought to mean 0 and variance 1, then times `scale` plus
    `shift`. x is (batch, channels, *space).

    >>> norm = wg.nn.InstanceNorm(1, eps=0.0, dtype=np.float64)
    >>> norm(np.array([[[1.0, 3.0]]]))
    array([[[-1.,  1.]]])
    """

    scale: Any  # (channels,), ones at first
    shift: Any  # (channels,), zeros at first
    eps: float

    torch_names: ClassVar[dict[str, str]] = {"scale": "weight", "shift": "bias"}

    def __init__(self, channels: int, *, eps: float = 1e-5, dtype: Any = np.float32) -> None:
        count = require_size("InstanceNorm", "channels", channels)
        float_dtype = require_float("InstanceNorm", dtype)
        self.scale, self.shift = np.ones(count, float_dtype), np.zeros(count, float_dtype)
        self.eps = _eps("InstanceNorm", eps)

    def __call__(self, x: Value) -> Value:
        count = self.scale.shape[0]
        return _normed("InstanceNorm", x, count, self.scale, self.shift, self.eps)

    def __repr__(self) -> str:
        return shown_layer(self)
