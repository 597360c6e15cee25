"""Small convolutional networks: convolutions of 3 × 3 with ReLU, each halved by a maximum, and a
linear layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.case import Run
from benchmarks.layers.layer_steps import (
    jax_layer_step,
    our_layer_step,
    torch_layer_step,
    torch_parameters,
    weights,
)
from benchmarks.peers import jax_cross_entropy, jax_library, torch_library, torch_tensors

CLASSES = 10


@dataclass(frozen=True)
class ConvNet:
    """Its sizes, and those of a batch."""

    size: int  # of an image, along both axes
    channels: int
    widths: tuple[int, ...]  # of the convolutions
    batch: int

    def __str__(self) -> str:
        shape = f"{self.size} × {self.size} × {self.channels}"
        return f"{shape}, {'-'.join(map(str, self.widths))} channels, batch {self.batch}"

    def arrays(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(0)
        by_name: dict[str, np.ndarray] = {}
        before = self.channels
        for i, width in enumerate(self.widths):
            by_name[f"{3 * i}.weight"] = weights(rng, width, before, 3, 3)
            by_name[f"{3 * i}.bias"] = np.zeros(width, np.float32)
            before = width
        left = self.size >> len(self.widths)
        last = 3 * len(self.widths) + 1  # behind Flatten
        by_name[f"{last}.weight"] = weights(rng, CLASSES, before * left * left)
        by_name[f"{last}.bias"] = np.zeros(CLASSES, np.float32)
        return by_name

    def images(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(1)
        shape = (self.batch, self.channels, self.size, self.size)
        x = rng.standard_normal(shape).astype(np.float32)
        return x, rng.integers(0, CLASSES, self.batch)

    @property
    def places(self) -> range:
        """Of the convolutions, among the layers."""
        return range(0, 3 * len(self.widths), 3)


NETS = {"digits": ConvNet(8, 1, (16, 32), 64), "32 × 32": ConvNet(32, 3, (32, 64, 64), 32)}


def our_model(net: ConvNet) -> Any:
    import wengert as wg

    nn, layers, before = wg.nn, [], net.channels
    for width in net.widths:
        layers += [nn.Conv2d(before, width, 3, padding=1), "relu", nn.MaxPool(2)]
        before = width
    arrays = net.arrays()
    inner = list(arrays.values())[-2].shape[1]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(inner, CLASSES))
    return nn.from_torch_names(model, arrays)


def our_net_loss(model: Any, x: Any, y: Any) -> Any:
    import wengert as wg

    return wg.cross_entropy(model(x), y)


def ours(net: ConvNet) -> Run:
    return our_layer_step(our_net_loss, our_model(net), net.images())


def jax_net_loss(net: ConvNet) -> Any:
    """Of images with channels last, which is the layout that JAX computes convolutions in."""
    jax = jax_library()
    jnp = jax.numpy

    def loss(arrays: Any, x: Any, y: Any) -> Any:
        for i in net.places:
            x = jax.lax.conv_general_dilated(
                x,
                arrays[f"{i}.weight"],
                (1, 1),
                "SAME",
                dimension_numbers=("NHWC", "HWIO", "NHWC"),
            )
            x = jax.nn.relu(x + arrays[f"{i}.bias"])
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        x = jnp.reshape(jnp.transpose(x, (0, 3, 1, 2)), (x.shape[0], -1))
        last = 3 * len(net.widths) + 1
        return jax_cross_entropy(x @ arrays[f"{last}.weight"].T + arrays[f"{last}.bias"], y)

    return loss


def jax_arrays(net: ConvNet) -> dict[str, np.ndarray]:
    """Windows in front of channels."""
    by_name = net.arrays()
    for i in net.places:
        by_name[f"{i}.weight"] = by_name[f"{i}.weight"].transpose(2, 3, 1, 0).copy()
    return by_name


def in_jax(net: ConvNet) -> Run:
    x, y = net.images()
    batch = np.ascontiguousarray(x.transpose(0, 2, 3, 1)), y
    return jax_layer_step(jax_net_loss(net), jax_arrays(net), batch)


def in_torch(net: ConvNet, channels_last: bool = False) -> Run:
    torch = torch_library()
    of = torch.nn.functional
    arrays = torch_parameters(net.arrays())
    x, y = torch_tensors(net.images())
    if channels_last:
        x = x.to(memory_format=torch.channels_last)
        for i in net.places:
            w = arrays[f"{i}.weight"]
            w.data = w.data.to(memory_format=torch.channels_last)

    def loss(x: Any, y: Any) -> Any:
        for i in net.places:
            x = of.relu(of.conv2d(x, arrays[f"{i}.weight"], arrays[f"{i}.bias"], padding=1))
            x = of.max_pool2d(x, 2)
        last = 3 * len(net.widths) + 1
        x = of.linear(x.flatten(1), arrays[f"{last}.weight"], arrays[f"{last}.bias"])
        return of.cross_entropy(x, y)

    return torch_layer_step(loss, list(arrays.values()), (x, y))
