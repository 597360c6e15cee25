"""Updates of many tensors: `wg.compile(optimizer.update)` on donated arrays beside PyTorch's
`optimizer.step()` and JAX's compiled update.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks import case as it
from benchmarks.case import OURS, Case, Contestant, Run, Times
from benchmarks.peers import jax_library, torch_library, torch_tensors
from benchmarks.training import (
    JAX_UPDATES,
    MOMENTUM,
    RATE,
    State,
    jax_state,
    our_optimizer,
    torch_adam,
    torch_lars,
)
from benchmarks.worker import numbers

COUNT, SHAPE = 100, (256, 256)
FIRST = 3  # updates that contestants are compared by
SGD = "our SGD with momentum"

Tensors = list[np.ndarray]


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
    kept = weights()
    first = [x.copy() for x in numbers([kept[0], kept[-1]])]

    def run() -> Tensors:
        update()
        return first

    return run


def ours(optimizer: str, count: int) -> Run:
    import wengert as wg

    sgd = optimizer == "SGD"
    rule = wg.optim.SGD(RATE, momentum=MOMENTUM) if sgd else our_optimizer(optimizer)
    model, gradients = data(count)
    state = rule.init(model)
    update = wg.compile(rule.update, donate=("model", "state"))
    table = [wg.tree.arrays(rule.scalars(i)) for i in range(1, FIRST + 2)]
    number = 0

    def step() -> None:
        nonlocal number
        update(model, gradients, state, table[number])
        number = min(number + 1, FIRST)

    return steady(step, lambda: model)


def torch_sgd(weights: Sequence[Any], way: str) -> Callable[[], object]:
    torch = torch_library()
    step: Callable[[], object] = torch.optim.SGD(
        weights, lr=RATE, momentum=MOMENTUM, **{way: True}
    ).step
    return step


def with_torch(make: Callable[[Sequence[Any]], Callable[[], object]], count: int) -> Run:
    arrays, gradients = data(count)
    weights = torch_tensors(arrays, track=True)
    for w, g in zip(weights, torch_tensors(gradients), strict=True):
        w.grad = g
    return steady(make(weights), lambda: weights)


def jax_sgd(state: State, gradients: Sequence[Any]) -> State:
    parameters, velocity = state
    velocity = [MOMENTUM * v + g for v, g in zip(velocity, gradients, strict=True)]
    return [p - RATE * v for p, v in zip(parameters, velocity, strict=True)], velocity


def with_jax(optimizer: str, count: int) -> Run:
    jax = jax_library()
    arrays, gradients = jax.device_put(data(count))
    state = jax_state(arrays, optimizer)
    update = jax.jit({"SGD": jax_sgd, **JAX_UPDATES}[optimizer], donate_argnums=0)

    def step() -> None:
        nonlocal state
        state = jax.block_until_ready(update(state, gradients))

    return steady(step, lambda: state[0])


def optimizer_case(optimizer: str, count: int = COUNT) -> Case:
    makers: dict[str, Contestant] = {OURS: it.ours(partial(ours, optimizer, count))}
    if optimizer == "Lars":
        makers["torch foreach"] = it.torch(partial(with_torch, torch_lars, count))
        makers[SGD] = it.yardstick(partial(ours, "SGD", count))
    else:
        rule = torch_adam if optimizer == "Adam" else torch_sgd
        for way in ("foreach", "fused"):
            make = partial(rule, way=way)
            makers[f"torch {way}"] = it.torch(partial(with_torch, make, count))
    if optimizer == "Adam":
        makers["torch fused one thread"] = it.one_thread(makers["torch fused"])
    makers["JAX jit"] = it.jax(partial(with_jax, optimizer, count))
    goals = (Times(0.8, SGD),) if optimizer == "Lars" else (Times(1.1, "torch"),)
    measures = f"{optimizer}{' with momentum' * (optimizer == 'SGD')} over {count} tensors of "
    measures += " × ".join(map(str, SHAPE))
    name, disturbed = f"optimizer {optimizer}", optimizer == "Adam"
    return Case(name, measures, makers, goals, disturbed=disturbed, weight=5)


CASES = tuple(optimizer_case(each) for each in ("Adam", "SGD", "Lars"))
