"""MaxPool, MeanPool, AdaptiveMeanPool and Flatten: layers without parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wengert.core.dims import product
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.nn.showing import shown_layer


@worded_methods("__init__", "__call__")
@dataclass(repr=False, eq=False)
class MaxPool(Explained):
    """`wg.max_pool`: the largest element of each window of (batch, channels, *space).

    >>> wg.nn.MaxPool(2)(np.ones((1, 3, 8, 6))).shape
    (1, 3, 4, 3)
    """

    window: Any
    stride: Any = None  # the window
    padding: Any = 0
    dilation: Any = 1

    def __call__(self, x: Value) -> Value:
        return op.max_pool(x, self.window, self.stride, self.padding, self.dilation)

    def __repr__(self) -> str:
        return shown_layer(self)


@worded_methods("__init__", "__call__")
@dataclass(repr=False, eq=False)
class MeanPool(Explained):
    """`wg.mean_pool`: the mean of each window of (batch, channels, *space).

    >>> wg.nn.MeanPool(3, stride=1, padding="same")(np.ones((1, 3, 8, 6))).shape
    (1, 3, 8, 6)
    """

    window: Any
    stride: Any = None  # the window
    padding: Any = 0
    include_padding: bool = True

    def __call__(self, x: Value) -> Value:
        return op.mean_pool(x, self.window, self.stride, self.padding, self.include_padding)

    def __repr__(self) -> str:
        return shown_layer(self)


@worded_methods("__init__", "__call__")
@dataclass(repr=False, eq=False)
class AdaptiveMeanPool(Explained):
    """`wg.adaptive_mean_pool`: as many means along each axis of space as `size` says.

    >>> wg.nn.AdaptiveMeanPool(1)(np.ones((1, 3, 8, 6))).shape
    (1, 3, 1, 1)
    """

    size: Any

    def __call__(self, x: Value) -> Value:
        return op.adaptive_mean_pool(x, self.size)

    def __repr__(self) -> str:
        return shown_layer(self)


@worded_methods("__init__", "__call__")
@dataclass(repr=False, eq=False)
class Flatten(Explained):
    """Everything behind the batch as one axis: (batch, channels, *space) to (batch, features).

    >>> wg.nn.Flatten()(np.ones((2, 3, 4, 4))).shape
    (2, 48)
    """

    def __call__(self, x: Value) -> Value:
        x = op.asarray(x)
        return op.reshape(x, (x.shape[0], product(tuple(x.shape[1:]))))

    def __repr__(self) -> str:
        return shown_layer(self)
