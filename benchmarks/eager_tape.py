"""Forward and backward of the tiny MLP, op by op: our eager tape beside eager PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import wengert as wg
from benchmarks.harness import OURS, Run, compare
from benchmarks.mlp import with_torch
from benchmarks.networks import NETWORKS, data, loss_with
from benchmarks.peers import ALL, chosen, torch_tensors

TINY = NETWORKS["tiny"]
loss = loss_with(wg.tanh, wg.cross_entropy)


def ours() -> Run:
    parameters, x, y = data(TINY)
    step = wg.value_and_grad(loss)
    return lambda: step(parameters, x, y)


def context_manager() -> Run:
    parameters, x, y = data(TINY)

    def step() -> object:
        with wg.GradientTape() as tape:
            watched = tape.watch(parameters)
            out = loss(watched, x, y)
            value = wg.stop_gradient(out)  # the loss as a number
        return value, tape.gradient(out, watched)

    return step


def with_module(torch: Any) -> Run:
    """As most people write it: layers that hold their parameters and gradients."""
    arrays, *batch = data(TINY)
    x, y = torch_tensors(torch, batch)
    layers = [torch.nn.Linear(i, o) for i, o in pairwise(TINY.sizes)]
    with torch.no_grad():
        for layer, w, b in zip(layers, arrays[::2], arrays[1::2], strict=True):
            layer.weight.copy_(torch.tensor(w.T))
            layer.bias.copy_(torch.tensor(b))
    net = torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1], torch.nn.Tanh(), layers[2])

    def step() -> object:
        net.zero_grad()
        value = torch.nn.functional.cross_entropy(net(x), y)
        value.backward()
        return value, [g for each in layers for g in (each.weight.grad.T, each.bias.grad)]

    return step


def contestants(peers: Sequence[str] = ALL) -> dict[str, Run]:
    found = {OURS: ours(), "GradientTape": context_manager()}
    if torch := chosen(peers, "torch"):
        found["torch autograd.grad"] = with_torch(torch, TINY)
        found["torch nn.Module"] = with_module(torch)
    return found


def main() -> None:
    compare("Eager value and gradient of an MLP", [(f"tiny {TINY}", contestants(), [])])
