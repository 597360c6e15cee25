"""The multilayer perceptrons that benchmarks share: sizes, data, and the loss in each library.

Three layers, tanh between them, softmax cross-entropy, float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np


class Network(NamedTuple):
    """The width of each layer, and how many examples a batch has."""

    sizes: tuple[int, ...]
    batch: int

    def __str__(self) -> str:
        return f"{'-'.join(map(str, self.sizes))}, batch {self.batch}"


NETWORKS = {
    "tiny": Network((4, 64, 64, 2), 32),
    "small": Network((64, 256, 256, 10), 64),
    "mnist": Network((784, 512, 256, 10), 128),
    "large": Network((1024, 1024, 1024, 1024), 512),
}


def data(network: Network) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Parameters (weights and biases in turns), a batch of inputs, and their labels."""
    rng = np.random.default_rng(0)
    parameters: list[np.ndarray] = []
    for i, o in pairwise(network.sizes):
        parameters.append((rng.standard_normal((i, o)) / np.sqrt(i)).astype(np.float32))
        parameters.append(np.zeros(o, np.float32))
    x = rng.standard_normal((network.batch, network.sizes[0])).astype(np.float32)
    return parameters, x, rng.integers(0, network.sizes[-1], network.batch)


def loss_with(tanh: Callable[..., Any], cross_entropy: Callable[..., Any]) -> Callable[..., Any]:
    """The loss, written with a library's functions."""

    def loss(parameters: Sequence[Any], x: Any, y: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = parameters
        x = tanh(x @ w1 + b1)
        x = tanh(x @ w2 + b2)
        return cross_entropy(x @ w3 + b3, y)

    return loss


def jax_loss(jax: Any) -> Callable[..., Any]:
    def cross_entropy(logits: Any, y: Any) -> Any:
        log_p = jax.nn.log_softmax(logits)
        return -jax.numpy.mean(jax.numpy.take_along_axis(log_p, y[:, None], axis=1))

    return loss_with(jax.numpy.tanh, cross_entropy)


def numpy_value_and_grad(
    parameters: Sequence[np.ndarray], x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Forward and backward, written out by hand."""
    w1, b1, w2, b2, w3, b3 = parameters
    h1 = np.tanh(x @ w1 + b1)
    h2 = np.tanh(h1 @ w2 + b2)
    logits = h2 @ w3 + b3
    logits -= logits.max(axis=1, keepdims=True)
    rows = np.arange(len(y))
    g = np.exp(logits)  # in the end, the logits' cotangent
    total = g.sum(axis=1, keepdims=True)
    value = np.mean(np.log(total[:, 0]) - logits[rows, y])
    g /= total
    g[rows, y] -= 1
    g /= np.float32(len(y))
    g2 = (g @ w3.T) * (1 - h2 * h2)
    g1 = (g2 @ w2.T) * (1 - h1 * h1)
    return value, [x.T @ g1, g1.sum(0), h1.T @ g2, g2.sum(0), h2.T @ g, g.sum(0)]
