"""Forward and backward of `wg.nn.Mlp` on memory of its own, from a given gradient of the output:
one row and a batch, beside the same gradients inside a training step and in other libraries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.harness import OURS, Figure, Run, compare
from benchmarks.networks import NETWORKS, Network
from benchmarks.peers import ALL, chosen, torch_tensors

STEP = "TrainStep"
FIGURES = {"tiny": [Figure(round(1 / 1.2, 3), STEP)]}  # at most 1.2 times its time


def data(network: Network) -> tuple[wg.nn.Mlp, np.ndarray, np.ndarray]:
    """A network, a batch of inputs, and the gradient of a loss by the outputs."""
    rng = np.random.default_rng(0)
    shapes = [(network.batch, size) for size in (network.sizes[0], network.sizes[-1])]
    x, g = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    return wg.nn.Mlp(network.sizes, seed=0), x, g


def ours(network: Network) -> Run:
    mlp, x, g = data(network)
    scratch, grads = mlp.scratch(network.batch), mlp.gradients(network.batch)
    grads.d_output[...] = g
    layers = range(len(network.sizes) - 1)
    found = [view(i) for i in layers for view in (grads.d_weights, grads.d_biases)]

    def run() -> list[np.ndarray]:
        mlp.forward(x, scratch)
        mlp.backward(x, scratch, grads)
        return found

    return run


def with_step(network: Network) -> Run:
    """The same gradients inside a training step, which also updates: by nothing, here."""
    mlp, x, g = data(network)
    step = wg.TrainStep(lambda m, x, g: wg.sum(m(x) * g), mlp, wg.optim.SGD(0.0), threads=1)
    found = wg.tree.leaves(step.gradients)

    def run() -> list[np.ndarray]:
        step(x, g)
        return found

    return run


def loss(tanh: Any, parameters: Sequence[Any], x: Any, g: Any) -> Any:
    """The loss that has this gradient by its outputs, with a library's function."""
    *hidden, last = zip(parameters[::2], parameters[1::2], strict=True)
    for w, b in hidden:
        x = tanh(x @ w.T + b)
    return ((x @ last[0].T + last[1]) * g).sum()


def with_jax(jax: Any, network: Network) -> Run:
    mlp, *batch = data(network)
    parameters, x, g = jax.device_put((wg.tree.leaves(mlp), *batch))
    run = jax.jit(jax.grad(lambda *args: loss(jax.numpy.tanh, *args)))
    return lambda: jax.block_until_ready(run(parameters, x, g))


def with_torch(torch: Any, network: Network) -> Run:
    mlp, *batch = data(network)
    parameters = torch_tensors(torch, wg.tree.leaves(mlp), track=True)
    x, g = torch_tensors(torch, batch)
    return lambda: torch.autograd.grad(loss(torch.tanh, parameters, x, g), parameters)


def by_hand(network: Network) -> Run:
    mlp, x, g = data(network)
    parameters = wg.tree.leaves(mlp)
    depth = len(parameters) // 2

    def run() -> list[np.ndarray]:
        into, d_output = [x], g
        found: list[np.ndarray] = []
        for i in range(depth):
            y = into[-1] @ parameters[2 * i].T + parameters[2 * i + 1]
            into.append(np.tanh(y) if i < depth - 1 else y)
        for i in reversed(range(depth)):
            if i < depth - 1:
                d_output = d_output * (1 - into[i + 1] * into[i + 1])
            found = [d_output.T @ into[i], d_output.sum(0), *found]
            d_output = d_output @ parameters[2 * i]
        return found

    return run


def contestants(network: Network, peers: Sequence[str] = ALL) -> dict[str, Run]:
    found = {OURS: ours(network), STEP: with_step(network)}
    if jax := chosen(peers, "jax"):
        found["JAX jit"] = with_jax(jax, network)
    if torch := chosen(peers, "torch"):
        found["torch eager"] = with_torch(torch, network)
    return found | {"NumPy by hand": by_hand(network)}


def rows() -> Iterator[tuple[str, dict[str, Run], Sequence[Figure]]]:
    for name in ("tiny", "small"):
        network = NETWORKS[name]
        alone = network._replace(batch=1)
        yield f"{name} {alone}", contestants(alone), []
        yield f"{name} {network}", contestants(network), FIGURES.get(name, [])


def main() -> None:
    compare("Forward and backward of an Mlp that allocates nothing", rows(), seconds=1.0)
