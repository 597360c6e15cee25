"""Many members at once: steps of a whole ensemble, each member with a learning rate of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import case as it
from benchmarks.case import OURS, Case, Goal, Run, Times
from benchmarks.networks import NETWORKS, Network, data, loss_with
from benchmarks.peers import jax_library
from benchmarks.training import BETA1, BETA2, CLIP, EPS, FIRST, jax_state, jax_step

if TYPE_CHECKING:
    import wengert as wg

MEMBERS = {"tiny": 64, "small": 16}
STEPS = 64  # in one call
ONE_THREAD = "one thread"
GOALS: Mapping[str, tuple[Goal, ...]] = {
    "tiny": (Times(2.5, "JAX"), Times(1.9, ONE_THREAD)),
    "small": (Times(2, "JAX"),),
}


def rates_of(members: int) -> np.ndarray:
    return np.logspace(-4, -3, members)


def batches(network: Network, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The batch of a network, so many times one after the other."""
    _, x, y = data(network)
    return np.concatenate([x] * steps), np.concatenate([y] * steps)


def ensemble(network: Network, members: int, **options: Any) -> wg.Ensemble:
    import wengert as wg

    parameters, _, _ = data(network)
    optimizer = wg.optim.Adam(rates_of(members), betas=(BETA1, BETA2), eps=EPS)
    loss = loss_with(wg.tanh, wg.cross_entropy)
    return wg.Ensemble(loss, [parameters] * members, optimizer, clip_norm=CLIP, **options)


def ours(network: Network, members: int, **options: Any) -> Run:
    made, arrays = ensemble(network, members, **options), batches(network, STEPS)
    first = made.run(*arrays, batch_size=network.batch).loss[:, :FIRST]

    def run() -> Any:
        made.run(*arrays, batch_size=network.batch)
        return first

    return run


def with_vmap(network: Network, members: int) -> Run:
    """JAX's own way: a step of all members by vmap, in a loop inside jit."""
    jax = jax_library()
    parameters, _, _ = data(network)
    one = jax_state([jax.numpy.asarray(p) for p in parameters], "Adam")
    state = jax.tree.map(lambda x: jax.numpy.stack([x] * members), one)
    rates = jax.numpy.asarray(rates_of(members), jax.numpy.float32)
    given = tuple(
        jax.device_put(x.reshape(STEPS, network.batch, *x.shape[1:]))
        for x in batches(network, STEPS)
    )
    step = jax.vmap(jax_step("Adam"), in_axes=(0, None, 0))

    def many(state: Any, xs: Any) -> Any:
        return jax.lax.scan(lambda state, batch: step(state, batch, rates), state, xs)

    compiled = jax.jit(many, donate_argnums=0)

    def run() -> Any:
        nonlocal state
        state, losses = jax.block_until_ready(compiled(state, given))
        return losses

    first = np.asarray(run())[:FIRST].T

    def again() -> Any:
        run()
        return first

    return again


def ensemble_cases() -> Iterator[Case]:
    for name, members in MEMBERS.items():
        network = NETWORKS[name]
        yield Case(
            f"ensemble {name}",
            f"{STEPS} training steps of {members} members, {network}, Adam, a learning rate each",
            {
                OURS: it.ours(partial(ours, network, members)),
                ONE_THREAD: it.ours(partial(ours, network, members, threads=1)),
                "JAX vmap": it.jax(partial(with_vmap, network, members)),
            },
            GOALS[name],
            weight=3,
        )


CASES = (*ensemble_cases(),)
