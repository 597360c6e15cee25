"""Bad input to convolutions, pools, their layers, and to what reads weights of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.core.table import op

nn = wg.nn
image = np.ones((1, 3, 8, 8))
signal = np.ones((1, 2, 4))


def convolution(x: Any, w: Any, **others: Any) -> Any:
    """The op itself, along one axis."""
    given = {"stride": (1,), "padding": ((0, 0),), "dilation": (1,), "spread": (1,)}
    return op.convolution(x, w, **given | others)


OPS: dict[str, Callable[[], Any]] = {
    "conv: an image without a batch": lambda: wg.conv(image[0], np.ones((4, 3, 3, 3))),
    "conv: channels last": lambda: wg.conv(np.ones((1, 8, 8, 3)), np.ones((4, 3, 3, 3))),
    "conv: other channels": lambda: wg.conv(signal, np.ones((4, 3, 3))),
    "conv: other channels, traced": lambda: wg.compile(lambda x: wg.conv(x, np.ones((4, 3, 3))))(
        signal
    ),
    "conv: too few axes": lambda: wg.conv(signal, np.ones((4, 3))),
    "conv: as many axes": lambda: wg.conv(signal, np.ones((4, 2, 3, 3))),
    "conv: outputs that do not divide": lambda: wg.conv(signal, np.ones((3, 1, 3)), groups=2),
    "conv: a stride of 0": lambda: wg.conv(signal, np.ones((4, 2, 3)), stride=0),
    "conv: padding in no word": lambda: wg.conv(signal, np.ones((4, 2, 3)), padding="full"),
    "conv: padding for another axis": lambda: wg.conv(signal, np.ones((4, 2, 3)), padding=(1, 2)),
    "conv: a window that does not fit": lambda: wg.conv(signal, np.ones((4, 2, 3)), dilation=2),
    "conv_transpose: other channels": lambda: wg.conv_transpose(signal, np.ones((3, 2, 3))),
    "conv_transpose: nothing left": lambda: wg.conv_transpose(
        np.ones((1, 1, 1)), np.ones((1, 1, 2)), padding=1
    ),
    "convolution: other axes": lambda: convolution(image, np.ones((1, 1, 3))),
    "convolution: other channels": lambda: convolution(
        np.ones((1, 1, 2, 4)), np.ones((1, 1, 3, 2))
    ),
    "convolution: integers": lambda: convolution(
        np.ones((1, 1, 2, 4), int), np.ones((1, 1, 2, 2), int)
    ),
    "convolution: a window that does not fit": lambda: convolution(
        np.ones((1, 1, 2, 4)), np.ones((1, 1, 2, 5))
    ),
    "convolution: no stride": lambda: convolution(
        np.ones((1, 1, 2, 4)), np.ones((1, 1, 2, 2)), stride=(0,)
    ),
    "largest_positions: windows of padding": lambda: op.largest_positions(
        np.ones((1, 4)), window=(2,), stride=(1,), padding=((2, 2),), dilation=(1,)
    ),
    "take_from_planes: other planes": lambda: op.take_from_planes(
        np.ones((2, 4)), np.zeros((3, 1), int)
    ),
    "max_pool: an image without a batch": lambda: wg.max_pool(image[0, 0], 2),
    "max_pool: a window of padding": lambda: wg.max_pool(image, 2, padding=2),
    "adaptive_mean_pool: no elements": lambda: wg.adaptive_mean_pool(np.ones((1, 1, 0)), 2),
    "sliding_windows: too many axes": lambda: wg.sliding_windows(np.ones(4), (2, 2)),
}

LAYERS: dict[str, Callable[[], Any]] = {
    "BatchNorm: no axis": lambda: nn.BatchNorm(3, axis=None),  # type: ignore[arg-type]
    "BatchNorm: channels that are not last": lambda: nn.BatchNorm(3)(
        image, nn.BatchNorm(3).initial_state(), training=True
    ),
    "Conv2d: channels that do not divide": lambda: nn.Conv2d(3, 4, 3, groups=2),
    "Conv2d: a name of torch": lambda: nn.Conv2d(3, 4, kernel_size=3),  # type: ignore[call-arg]
    "GroupNorm: channels that do not divide": lambda: nn.GroupNorm(3, 4),
    "InstanceNorm: one number in each channel": lambda: nn.InstanceNorm(3)(np.ones((2, 3))),
    "LayerNorm: of one number": lambda: nn.LayerNorm(1),
    "GroupNorm: other channels": lambda: nn.GroupNorm(2, 4)(image),
    "Residual: another shape": lambda: nn.Residual(nn.Linear(2, 3))(np.ones((1, 2))),
}

WEIGHTS: dict[str, Callable[[], Any]] = {
    "from_torch_names: a list": lambda: nn.from_torch_names(nn.Linear(1, 1), [signal]),  # type: ignore[arg-type]
    "from_torch_names: other names": lambda: nn.from_torch_names(
        nn.Linear(3, 2), {"weigth": np.ones((2, 3)), "bias": np.ones(2)}
    ),
    "from_torch_names: another shape": lambda: nn.from_torch_names(
        nn.Linear(3, 2), {"weight": np.ones((3, 2)), "bias": np.ones(2)}
    ),
    "from_torch_names: a tie that is none": lambda: nn.from_torch_names(
        dict.fromkeys("ab", np.ones(2)), {"a": np.ones(2), "b": np.zeros(2)}
    ),
    "running_statistics: another name": lambda: nn.running_statistics(
        {"a.running_mean": np.zeros(2), "a.running_var": np.ones(2)}, "b"
    ),
}

CASES = OPS | LAYERS | WEIGHTS
