"""A policy asked for one row, on the live parameters of a training step: `step.bind`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.harness import OURS, Figure, Run
from benchmarks.networks import NETWORKS, Network, data
from benchmarks.peers import ALL, chosen, torch_tensors
from benchmarks.training import our_step

TINY = NETWORKS["tiny"]
FIGURES = [Figure(5, "JAX jit"), Figure(20, "torch")]


def outputs(tanh: Any, parameters: Sequence[Any], x: Any) -> Any:
    """What the network says to an input, with a library's function."""
    w1, b1, w2, b2, w3, b3 = parameters
    return tanh(tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3


def row_of(network: Network) -> np.ndarray:
    _, x, _ = data(network)
    return x[:1].copy()


def ours(network: Network) -> Run:
    step, x = our_step(network), row_of(network)
    act = step.bind(lambda parameters, x: outputs(wg.tanh, parameters, x))
    return lambda: act(x)


def with_jax(jax: Any, network: Network, from_numpy: bool) -> Run:
    parameters = jax.device_put(data(network)[0])
    x = row_of(network)
    act = jax.jit(lambda parameters, x: outputs(jax.numpy.tanh, parameters, x))
    if from_numpy:
        return lambda: np.asarray(act(parameters, x))
    given = jax.device_put(x)
    return lambda: jax.block_until_ready(act(parameters, given))


def with_torch(torch: Any, network: Network, from_numpy: bool) -> Run:
    """With functions, on parameters that are not differentiated: the least it can do."""
    parameters = torch_tensors(torch, data(network)[0])
    x = row_of(network)
    if from_numpy:
        return lambda: outputs(torch.tanh, parameters, torch.from_numpy(x)).numpy()
    (given,) = torch_tensors(torch, [x])
    return lambda: outputs(torch.tanh, parameters, given)


def with_module(torch: Any, network: Network) -> Run:
    """As most people write it: layers, asked without gradients, from NumPy to NumPy."""
    arrays, *_ = data(network)
    layers: list[Any] = []
    for i, o in pairwise(network.sizes):
        w, b = arrays[len(layers) : len(layers) + 2]
        linear = torch.nn.Linear(i, o)
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(w.T))
            linear.bias.copy_(torch.tensor(b))
        layers += [linear, torch.nn.Tanh()]
    net, x = torch.nn.Sequential(*layers[:-1]), row_of(network)

    def run() -> object:
        with torch.no_grad():
            return net(torch.from_numpy(x)).numpy()

    return run


def contestants(network: Network, from_numpy: bool, peers: Sequence[str] = ALL) -> dict[str, Run]:
    found = {OURS: ours(network)}
    if jax := chosen(peers, "jax"):
        found["JAX jit"] = with_jax(jax, network, from_numpy)
    if torch := chosen(peers, "torch"):
        found["torch"] = with_torch(torch, network, from_numpy)
        if from_numpy:
            found["torch nn.Module"] = with_module(torch, network)
    return found


def rows() -> Iterator[tuple[str, dict[str, Run], Sequence[Figure]]]:
    name = "-".join(map(str, TINY.sizes))
    yield f"{name}, each library's own arrays", contestants(TINY, from_numpy=False), FIGURES
    yield f"{name}, from NumPy to NumPy", contestants(TINY, from_numpy=True), FIGURES
