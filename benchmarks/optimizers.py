"""Updates of many tensors: our optimizers beside PyTorch's.

In two ways: the update alone, `wg.compile(optimizer.update)` on donated arrays beside PyTorch's
`optimizer.step()`; and a whole training step whose loss is cheap, a sum of products with constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.harness import OURS, Figure, Run, compare, numbers
from benchmarks.peers import ALL, chosen, torch_tensors
from benchmarks.training import jax_adam

COUNT, SHAPE = 100, (256, 256)
FIRST = 3  # updates that contestants are compared by
RATE, MOMENTUM, DECAY = 1e-3, 0.9, 1e-4
LIMIT = 1.3  # how many times the time of SGD with momentum Lars may take

Tensors = list[np.ndarray]


def adam() -> wg.optim.Optimizer:
    return wg.optim.Adam(RATE)


def momentum() -> wg.optim.Optimizer:
    return wg.optim.SGD(RATE, momentum=MOMENTUM)


def lars() -> wg.optim.Optimizer:
    return wg.optim.Lars(RATE, momentum=MOMENTUM, weight_decay=DECAY)


def data(count: int) -> tuple[Tensors, Tensors]:
    """Weights, and gradients for them."""
    rng = np.random.default_rng(0)
    weights, gradients = (
        [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(count)] for _ in range(2)
    )
    return weights, gradients


def steady(update: Callable[[], object], weights: Callable[[], Sequence[Any]]) -> Run:
    """An update in place as a contestant: it returns some weights after its first updates,
    whenever it is called.
    """
    for _ in range(FIRST):
        update()
    found = weights()
    first = [x.copy() for x in numbers([found[0], found[-1]])]

    def run() -> Tensors:
        update()
        return first

    return run


# The update alone


def our_update(optimizer: wg.optim.Optimizer, count: int) -> Run:
    model, gradients = data(count)
    state = optimizer.init(model)
    update = wg.compile(optimizer.update, donate=("model", "state"))
    table = [wg.tree.arrays(optimizer.scalars(i)) for i in range(1, FIRST + 2)]
    number = 0

    def step() -> None:
        nonlocal number
        update(model, gradients, state, table[number])
        number = min(number + 1, FIRST)

    return steady(step, lambda: model)


def torch_update(torch: Any, make: Callable[[list[Any]], Any], count: int) -> Run:
    arrays, gradients = data(count)
    weights = torch_tensors(torch, arrays, track=True)
    for w, g in zip(weights, torch_tensors(torch, gradients), strict=True):
        w.grad = g
    return steady(make(weights).step, lambda: weights)


def jax_update(jax: Any, count: int) -> Run:
    arrays, gradients = jax.device_put(data(count))
    zeros = [[jax.numpy.zeros_like(x) for x in arrays] for _ in range(2)]
    state = arrays, zeros[0], zeros[1], jax.numpy.float32(0)
    update = jax.jit(lambda state, gradients: jax_adam(jax, state, gradients), donate_argnums=0)

    def step() -> None:
        nonlocal state
        state = jax.block_until_ready(update(state, gradients))

    return steady(step, lambda: state[0])


# In a training step


def loss(weights: Sequence[Any], constants: Sequence[Any]) -> Any:
    """Its gradient is the constants."""
    return sum((w * c).sum() for w, c in zip(weights, constants, strict=True))


def our_step(optimizer: wg.optim.Optimizer, count: int) -> Run:
    model, gradients = data(count)
    step = wg.TrainStep(loss, model, optimizer)
    return steady(lambda: step(gradients), lambda: step.model)


def torch_step(torch: Any, make: Callable[[list[Any]], Any], count: int) -> Run:
    arrays, gradients = data(count)
    weights = torch_tensors(torch, arrays, track=True)
    constants, optimizer = torch_tensors(torch, gradients), make(weights)

    def step() -> None:
        optimizer.zero_grad()
        loss(weights, constants).backward()
        optimizer.step()

    return steady(step, lambda: weights)


# Tables


def torch_ways(
    torch: Any, make: Callable[..., Any], **settings: Any
) -> dict[str, Callable[[list[Any]], Any]]:
    """Makers of an optimizer of PyTorch's, by how it goes through its tensors."""
    return {
        f"torch {way}": partial(make, lr=RATE, **settings, **{way: True})
        for way in ("foreach", "fused")
    }


def of_adam(in_step: bool, count: int = COUNT, peers: Sequence[str] = ALL) -> dict[str, Run]:
    found = {OURS: (our_step if in_step else our_update)(adam(), count)}
    if torch := chosen(peers, "torch"):
        ways = torch_ways(torch, torch.optim.Adam)
        run = torch_step if in_step else torch_update
        found |= {name: run(torch, make, count) for name, make in ways.items()}
    jax = chosen(peers, "jax")
    if jax and not in_step:
        found["JAX jit"] = jax_update(jax, count)
    return found


def of_momentum(in_step: bool, count: int = COUNT, peers: Sequence[str] = ALL) -> dict[str, Run]:
    found = {OURS: (our_step if in_step else our_update)(momentum(), count)}
    if torch := chosen(peers, "torch"):
        ways = torch_ways(torch, torch.optim.SGD, momentum=MOMENTUM)
        run = torch_step if in_step else torch_update
        found |= {name: run(torch, make, count) for name, make in ways.items()}
    return found


def of_lars(in_step: bool, count: int = COUNT) -> dict[str, Run]:
    """Beside SGD with momentum, ours, which does other work: nothing can agree."""
    run = our_step if in_step else our_update
    return {OURS: run(momentum(), count), "Lars": run(lars(), count)}


def rows() -> Iterator[tuple[str, dict[str, Run], Sequence[Figure]]]:
    for in_step, way in ((False, "update alone"), (True, "training step")):
        yield f"Adam, {way}", of_adam(in_step), [Figure(1, "torch fused")]
        yield f"SGD with momentum, {way}", of_momentum(in_step), [Figure(1, "torch foreach")]


def rows_of_lars() -> Iterator[tuple[str, dict[str, Run], Sequence[Figure]]]:
    for in_step, way in ((False, "update alone"), (True, "training step")):
        yield f"Lars, {way}", of_lars(in_step), [Figure(LIMIT, "Lars", at_most=True)]


def main() -> None:
    tensors = f"{COUNT} tensors of {' × '.join(map(str, SHAPE))}"
    compare(f"Optimizers over {tensors}", rows(), seconds=3.0)
    title = f"Lars over {tensors}: our SGD with momentum, and how many times that"
    compare(title, rows_of_lars(), seconds=3.0, tolerance=None)
