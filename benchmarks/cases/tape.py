"""Forward and backward of the tiny MLP, op by op: our eager tape beside eager PyTorch."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from benchmarks import case as it
from benchmarks.case import OURS, Case, Run, Times
from benchmarks.cases.mlp import with_torch
from benchmarks.networks import NETWORKS, Network, data, loss_with
from benchmarks.peers import torch_library, torch_tensors


def ours(network: Network) -> Run:
    import wengert as wg

    parameters, x, y = data(network)
    step = wg.value_and_grad(loss_with(wg.tanh, wg.cross_entropy))
    return lambda: step(parameters, x, y)


def context_manager(network: Network) -> Run:
    import wengert as wg

    parameters, x, y = data(network)
    loss = loss_with(wg.tanh, wg.cross_entropy)

    def step() -> object:
        with wg.GradientTape() as tape:
            watched = tape.watch(parameters)
            out = loss(watched, x, y)
            value = wg.stop_gradient(out)  # the loss as a number
        return value, tape.gradient(out, watched)

    return step


def with_module(network: Network) -> Run:
    """As most people write it: layers that hold their parameters and gradients."""
    torch = torch_library()
    arrays, *batch = data(network)
    x, y = torch_tensors(batch)
    layers = [torch.nn.Linear(i, o) for i, o in pairwise(network.sizes)]
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


def tape_case(network: Network) -> Case:
    return Case(
        "tape tiny",
        f"value and gradient of {network}, op by op",
        {
            OURS: it.ours(partial(ours, network)),
            "GradientTape": it.ours(partial(context_manager, network)),
            "torch autograd.grad": it.torch(partial(with_torch, network)),
            "torch nn.Module": it.torch(partial(with_module, network)),
        },
        (Times(1.0, "torch"),),
    )


CASES = (tape_case(NETWORKS["tiny"]),)
