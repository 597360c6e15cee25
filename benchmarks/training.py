"""The training step that benchmarks share, in each library: tanh, softmax cross-entropy, the global
norm of the gradients clipped, Adam; float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.harness import Run
from benchmarks.networks import Network, data, jax_loss, loss_with, numpy_value_and_grad
from benchmarks.peers import torch_tensors
from wengert.runtime.executable import Executable

RATE, BETA1, BETA2, EPS = 1e-3, 0.9, 0.999, 1e-8
CLIP = 1.0
FIRST = 5  # steps that contestants are compared by

Batch = tuple[Any, Any]
JaxState = tuple[list[Any], list[Any], list[Any], Any]  # parameters, both averages, count


def steady(step: Callable[[], Any]) -> Run:
    """A step that changes its model each time, as a contestant: it returns the losses of its first
    steps, whenever it is called.
    """
    first = [float(step()) for _ in range(FIRST)]

    def run() -> list[float]:
        step()
        return first

    return run


# Ours


def our_step(network: Network, **options: Any) -> wg.TrainStep:
    parameters, _, _ = data(network)
    loss = loss_with(wg.tanh, wg.cross_entropy)
    adam = wg.optim.Adam(RATE, betas=(BETA1, BETA2), eps=EPS)
    return wg.TrainStep(loss, parameters, adam, clip_norm=CLIP, **options)


def ours(network: Network, **options: Any) -> Run:
    step = our_step(network, **options)
    _, x, y = data(network)
    return steady(lambda: step(x, y))


def executable_of(step: wg.TrainStep, *batch: Any) -> Executable:
    """The program that a step runs for a batch, to look into: `profile`, `explain`, `memory`."""
    engine = step._engine
    own = engine.own_arguments()
    return engine.programs[True].executable(own, batch)


# JAX


def jax_state(jax: Any, network: Network) -> tuple[JaxState, Batch]:
    parameters, x, y = jax.device_put(data(network))
    zeros = [[jax.numpy.zeros_like(p) for p in parameters] for _ in range(2)]
    return (parameters, zeros[0], zeros[1], jax.numpy.float32(0)), (x, y)


def jax_adam(jax: Any, state: JaxState, gradients: Sequence[Any]) -> JaxState:
    parameters, means, squares, count = state
    count = count + 1
    means = [BETA1 * m + (1 - BETA1) * g for m, g in zip(means, gradients, strict=True)]
    squares = [BETA2 * v + (1 - BETA2) * g * g for v, g in zip(squares, gradients, strict=True)]
    rate, root = RATE / (1 - BETA1**count), jax.numpy.sqrt(1 - BETA2**count)
    parameters = [
        p - rate * m / (jax.numpy.sqrt(v) / root + EPS)
        for p, m, v in zip(parameters, means, squares, strict=True)
    ]
    return parameters, means, squares, count


def jax_step(jax: Any) -> Callable[[JaxState, Batch], tuple[JaxState, Any]]:
    """(state, batch) -> (state, loss): not yet compiled."""
    value_and_grad = jax.value_and_grad(jax_loss(jax))

    def step(state: JaxState, batch: Batch) -> tuple[JaxState, Any]:
        value, gradients = value_and_grad(state[0], *batch)
        norm = jax.numpy.sqrt(sum(jax.numpy.sum(g * g) for g in gradients))
        scale = jax.numpy.minimum(1.0, CLIP / norm)
        return jax_adam(jax, state, [scale * g for g in gradients]), value

    return step


def with_jax(jax: Any, network: Network) -> Run:
    state, batch = jax_state(jax, network)
    compiled = jax.jit(jax_step(jax), donate_argnums=0)

    def step() -> Any:
        nonlocal state
        state, value = jax.block_until_ready(compiled(state, batch))
        return value

    return steady(step)


# PyTorch


def with_torch(torch: Any, network: Network, fused: bool) -> Run:
    arrays, *batch = data(network)
    parameters = torch_tensors(torch, arrays, track=True)
    x, y = torch_tensors(torch, batch)
    loss = loss_with(torch.tanh, torch.nn.functional.cross_entropy)
    adam = torch.optim.Adam(parameters, RATE, betas=(BETA1, BETA2), eps=EPS, fused=fused)

    def step() -> Any:
        adam.zero_grad()
        value = loss(parameters, x, y)
        value.backward()
        torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        adam.step()
        return value.detach()

    return steady(step)


# NumPy


def by_hand(network: Network) -> Run:
    parameters, x, y = data(network)
    means, squares = ([np.zeros_like(p) for p in parameters] for _ in range(2))
    count = 0

    def step() -> Any:
        nonlocal count
        count += 1
        value, gradients = numpy_value_and_grad(parameters, x, y)
        norm = np.sqrt(sum(float(np.vdot(g, g)) for g in gradients))
        scale = np.float32(min(1.0, CLIP / norm))
        rate, root = RATE / (1 - BETA1**count), np.sqrt(1 - BETA2**count)
        for p, m, v, g in zip(parameters, means, squares, gradients, strict=True):
            g *= scale
            m *= BETA1
            m += (1 - BETA1) * g
            v *= BETA2
            g *= g
            v += (1 - BETA2) * g
            p -= np.float32(rate) * m / (np.sqrt(v) / np.float32(root) + EPS)
        return value

    return steady(step)
