"""Value and gradient of multilayer perceptrons, from tiny to large, compiled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.harness import OURS, Figure, Run, compare
from benchmarks.networks import (
    NETWORKS,
    Network,
    data,
    jax_loss,
    loss_with,
    numpy_value_and_grad,
)
from benchmarks.peers import ALL, chosen, torch_tensors

FIGURES = {"tiny": [Figure(5, "JAX jit")]}


def ours(network: Network) -> Run:
    parameters, x, y = data(network)
    step = wg.compile(wg.value_and_grad(loss_with(np.tanh, wg.cross_entropy)))
    return lambda: step(parameters, x, y)


def by_hand(network: Network) -> Run:
    parameters, x, y = data(network)
    return lambda: numpy_value_and_grad(parameters, x, y)


def with_jax(jax: Any, network: Network) -> Run:
    parameters, x, y = jax.device_put(data(network))
    step = jax.jit(jax.value_and_grad(jax_loss(jax)))
    return lambda: jax.block_until_ready(step(parameters, x, y))


def with_torch(torch: Any, network: Network) -> Run:
    arrays, *batch = data(network)
    parameters = torch_tensors(torch, arrays, track=True)
    x, y = torch_tensors(torch, batch)
    loss = loss_with(torch.tanh, torch.nn.functional.cross_entropy)

    def step() -> object:
        value = loss(parameters, x, y)
        return value, torch.autograd.grad(value, parameters)

    return step


def contestants(network: Network, peers: Sequence[str] = ALL) -> dict[str, Run]:
    found = {OURS: ours(network)}
    if jax := chosen(peers, "jax"):
        found["JAX jit"] = with_jax(jax, network)
    if torch := chosen(peers, "torch"):
        found["torch eager"] = with_torch(torch, network)
    return found | {"NumPy by hand": by_hand(network)}


def rows() -> Iterator[tuple[str, dict[str, Run], Sequence[Figure]]]:
    for name, network in NETWORKS.items():
        yield f"{name} {network}", contestants(network), FIGURES.get(name, [])


def main() -> None:
    compare("Value and gradient of an MLP", rows(), seconds=2.0)
