"""Training steps of a multilayer perceptron: one call, and many steps in one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks import case as it
from benchmarks.case import OURS, Case, Contestant, Goal, Run, Times
from benchmarks.networks import NETWORKS, Network, data
from benchmarks.peers import jax_library
from benchmarks.training import (
    FIRST,
    by_hand,
    jax_state,
    jax_step,
    our_step,
    ours_step,
    torch_adam,
    torch_lars,
    with_jax,
    with_torch,
)

RUNS = {"tiny": 64, "small": 64, "mnist": 16}  # steps in one call
PRODUCTS = "products alone"
CALLS = "step()"
ONE_THREAD = "one thread"
IGNORE = "nonfinite='ignore'"

STEP_GOALS: Mapping[str, tuple[Goal, ...]] = {
    "tiny": (Times(10, "JAX"), Times(40, "torch")),
    "small": (Times(2),),
    "mnist": (Times(1.35),),
    "large": (Times(1.1), Times(0.9, PRODUCTS)),
}
RUN_GOALS: Mapping[str, tuple[Goal, ...]] = {
    "tiny": (Times(2.5, "JAX"), Times(1.25, CALLS)),
    "small": (Times(2, "JAX"),),
    "mnist": (Times(1.2, "JAX"),),
}


# One call


def products_alone(network: Network) -> Run:
    """The products of a step and nothing else, as one program of ours."""
    import wengert as wg

    parameters, x, _ = data(network)
    weights = parameters[::2]
    rng = np.random.default_rng(1)
    widths, batch = network.sizes[1:], network.batch
    hidden = [x, *(rng.standard_normal((batch, w)).astype(np.float32) for w in widths[:-1])]
    gs = [rng.standard_normal((batch, w)).astype(np.float32) for w in widths]

    def products(ws: Any, hs: Any, gs: Any, room: Any) -> Any:
        forward = [h @ w for h, w in zip(hs, ws, strict=True)]
        by_weights = [h.T @ g for h, g in zip(hs, gs, strict=True)]
        by_inputs = [g @ w.T for g, w in zip(gs[1:], ws[1:], strict=True)]
        return forward, by_weights, by_inputs

    compiled = wg.compile(products, donate="room")
    room = [np.empty_like(x) for x in (*gs, *weights, *hidden[1:])]
    return lambda: compiled(weights, hidden, gs, room)


def step_contestants(network: Network, optimizer: str) -> dict[str, Contestant]:
    contestants = {
        OURS: it.ours(partial(ours_step, network, optimizer)),
        "JAX jit": it.jax(partial(with_jax, network, optimizer)),
    }
    if optimizer == "Adam":
        for way in ("foreach", "fused"):
            make = partial(torch_adam, way=way)
            contestants[f"torch {way}"] = it.torch(partial(with_torch, network, make))
    else:
        contestants["torch foreach"] = it.torch(partial(with_torch, network, torch_lars))
    best = "torch fused" if optimizer == "Adam" else "torch foreach"
    contestants[f"{best} one thread"] = it.one_thread(contestants[best])
    return contestants | {"NumPy by hand": it.numpy(partial(by_hand, network, optimizer))}


def step_cases(optimizer: str) -> Iterator[Case]:
    for name, network in NETWORKS.items():
        contestants = step_contestants(network, optimizer)
        if name == "large":
            contestants[PRODUCTS] = it.yardstick(partial(products_alone, network))
        yield Case(
            f"step {name}, {optimizer}",
            f"training step of {network}: loss, gradient, clipping, {optimizer}",
            contestants,
            STEP_GOALS[name],
            disturbed=optimizer == "Adam",
            weight=3,
        )


# Many steps


def many(network: Network, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The batch of a network, so many times one after the other."""
    _, x, y = data(network)
    return np.concatenate([x] * steps), np.concatenate([y] * steps)


def with_run(network: Network, optimizer: str, steps: int) -> Run:
    step, arrays = our_step(network, optimizer), many(network, steps)
    first = step.run(*arrays, batch_size=network.batch).loss[:FIRST]

    def run() -> Any:
        step.run(*arrays, batch_size=network.batch)
        return first

    return run


def with_calls(network: Network, optimizer: str, steps: int) -> Run:
    step, (_, x, y) = our_step(network, optimizer), data(network)
    first = np.array([step(x, y) for _ in range(steps)][:FIRST])

    def run() -> Any:
        for _ in range(steps):
            step(x, y)
        return first

    return run


def in_one_jit(network: Network, optimizer: str, steps: int) -> Run:
    jax = jax_library()
    parameters, _, _ = jax.device_put(data(network))
    state = jax_state(parameters, optimizer)
    batches = tuple(
        jax.device_put(x.reshape(steps, network.batch, *x.shape[1:])) for x in many(network, steps)
    )
    step = jax_step(optimizer)
    compiled = jax.jit(lambda state, xs: jax.lax.scan(step, state, xs), donate_argnums=0)

    def run() -> Any:
        nonlocal state
        state, losses = jax.block_until_ready(compiled(state, batches))
        return losses

    first = np.asarray(run())[:FIRST]

    def again() -> Any:
        run()
        return first

    return again


def run_cases(optimizer: str) -> Iterator[Case]:
    for name, steps in RUNS.items():
        network = NETWORKS[name]
        yield Case(
            f"run {name}, {optimizer}",
            f"{steps} training steps of {network} in one call, {optimizer}",
            {
                OURS: it.ours(partial(with_run, network, optimizer, steps)),
                CALLS: it.ours(partial(with_calls, network, optimizer, steps)),
                "JAX lax.scan": it.jax(partial(in_one_jit, network, optimizer, steps)),
            },
            RUN_GOALS[name],
            weight=3,
        )


# Beside ourselves: threads, and looking for what is not finite


def threads_case(name: str, limit: float) -> Case:
    network = NETWORKS[name]
    return Case(
        f"threads {name}",
        f"training step of {network}, two threads beside one",
        {
            OURS: it.ours(partial(ours_step, network, threads=2)),
            ONE_THREAD: it.ours(partial(ours_step, network, threads=1)),
        },
        (Times(limit, ONE_THREAD),),
        tolerance=0,
        weight=3,
    )


def nonfinite_case(name: str, most: float) -> Case:
    """`most` is how many times the time without looking it may take."""
    network = NETWORKS[name]
    return Case(
        f"nonfinite {name}",
        f"training step of {network} that looks for numbers that are not finite",
        {
            OURS: it.ours(partial(ours_step, network, nonfinite="raise")),
            "nonfinite='skip'": it.ours(partial(ours_step, network, nonfinite="skip")),
            IGNORE: it.ours(partial(ours_step, network, nonfinite="ignore")),
        },
        (Times(round(1 / most, 3), IGNORE),),
        tolerance=0,
        weight=3,
    )


CASES = (
    *step_cases("Adam"),
    *run_cases("Adam"),
    *step_cases("Lars"),
    *run_cases("Lars"),
    threads_case("tiny", 0.98),
    threads_case("large", 1.7),
    nonfinite_case("tiny", 1.10),
    nonfinite_case("mnist", 1.05),
)
