"""Convolutional networks: whole training steps, with Adam."""

from __future__ import annotations

from functools import partial

from benchmarks import case as it
from benchmarks.case import OURS, Case, Times
from benchmarks.layers import convnets
from benchmarks.layers.convnets import NETS, ConvNet

GOALS = {"digits": 1.5, "32 × 32": 1.0}


def convnet_case(name: str, net: ConvNet) -> Case:
    return Case(
        f"ConvNet {name}",
        f"training step of a ConvNet, images of {net}",
        {
            OURS: it.ours(partial(convnets.ours, net)),
            "JAX jit": it.jax(partial(convnets.in_jax, net)),
            "torch": it.torch(partial(convnets.in_torch, net)),
            "torch channels last": it.torch(partial(convnets.in_torch, net, True)),
        },
        (Times(GOALS[name]),),
        weight=2,
    )


CASES = tuple(convnet_case(name, net) for name, net in NETS.items())
