"""The training step of an MLP: one call, many steps in one call, and a policy of one row; what a
call takes in time and memory.
"""

from __future__ import annotations

import gc
import re
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks import policy
from benchmarks.harness import OURS, Figure, Run, compare, print_table
from benchmarks.networks import NETWORKS, Network, data
from benchmarks.peers import ALL, chosen
from benchmarks.training import (
    FIRST,
    by_hand,
    executable_of,
    jax_state,
    jax_step,
    our_step,
    ours,
    with_jax,
    with_torch,
)
from wengert.runtime.executable import Executable

FIGURES = {"tiny": [Figure(4, "JAX jit")]}
STEPS = 64  # in one call
BYTES = 400  # that Python may allocate in a call
ALLOCATORS = ("malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "mmap")
CALLS = 1000


# One call


def contestants(network: Network, peers: Sequence[str] = ALL) -> dict[str, Run]:
    found = {OURS: ours(network)}
    if jax := chosen(peers, "jax"):
        found["JAX jit"] = with_jax(jax, network)
    if torch := chosen(peers, "torch"):
        found["torch eager"] = with_torch(torch, network, fused=False)
        found["torch fused"] = with_torch(torch, network, fused=True)
    return found | {"NumPy by hand": by_hand(network)}


def rows() -> Iterator[tuple[str, dict[str, Run], Sequence[Figure]]]:
    for name, network in NETWORKS.items():
        yield f"{name} {network}", contestants(network), FIGURES.get(name, [])


# Many steps


def many(network: Network, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The batch of a network, so many times one after the other."""
    _, x, y = data(network)
    return np.concatenate([x] * steps), np.concatenate([y] * steps)


def with_run(network: Network, steps: int) -> Run:
    step, arrays = our_step(network), many(network, steps)
    first = step.run(*arrays, batch_size=network.batch).loss[:FIRST]

    def run() -> Any:
        step.run(*arrays, batch_size=network.batch)
        return first

    return run


def with_calls(network: Network, steps: int) -> Run:
    step, (_, x, y) = our_step(network), data(network)
    first = np.array([step(x, y) for _ in range(steps)][:FIRST])

    def run() -> Any:
        for _ in range(steps):
            step(x, y)
        return first

    return run


def in_one_jit(jax: Any, network: Network, steps: int) -> Run:
    state, _ = jax_state(jax, network)
    batches = jax.device_put(
        [x.reshape(steps, network.batch, *x.shape[1:]) for x in many(network, steps)]
    )
    step = jax_step(jax)
    compiled = jax.jit(lambda state, xs: jax.lax.scan(step, state, tuple(xs)), donate_argnums=0)

    def run() -> Any:
        nonlocal state
        state, losses = jax.block_until_ready(compiled(state, batches))
        return losses

    first = np.asarray(run())[:FIRST]

    def again() -> Any:
        run()
        return first

    return again


def of_many(network: Network, steps: int, peers: Sequence[str] = ALL) -> dict[str, Run]:
    found = {OURS: with_run(network, steps), "step()": with_calls(network, steps)}
    if jax := chosen(peers, "jax"):
        found["JAX, one jit"] = in_one_jit(jax, network, steps)
    return found


def rows_of_many() -> Iterator[tuple[str, dict[str, Run], Sequence[Figure]]]:
    for name in ("tiny", "small", "mnist"):
        network = NETWORKS[name]
        yield f"{name} {network}", of_many(network, STEPS), [Figure(1, "step()")]


# Memory


def allocated(call: Callable[[], Any]) -> int:
    """The most bytes that Python has allocated at a time during a call, as a minimum of some."""
    for _ in range(3):
        call()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        found = []
        for _ in range(5):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            call()
            found.append(tracemalloc.get_traced_memory()[1] - before)
        return min(found)
    finally:
        tracemalloc.stop()
        gc.enable()


def memory_row(name: str, network: Network, calls: int = CALLS) -> list[str]:
    """Python's bytes, which allocators the program calls, and the arena before and after."""
    step, (_, x, y) = our_step(network), data(network)
    bytes_ = allocated(lambda: step(x, y))
    executable = executable_of(step, x, y)
    declared = re.findall(r"^declare .*@(\w+)\(", executable.text, re.MULTILINE)
    called = [each for each in declared if each in ALLOCATORS]
    before = _arena(executable)
    for _ in range(calls):
        step(x, y)
    kept = _arena(executable) == before
    return [
        f"{name} {network}",
        f"{bytes_}",
        ", ".join(called) or "none",
        f"{before[1]:,}",
        f"≤ {BYTES} bytes: {'yes' if bytes_ <= BYTES else 'NO'}, "
        f"0 in native code: {'yes' if kept and not called else 'NO'}",
    ]


def _arena(executable: Executable) -> tuple[int, int]:
    """Where it lies, and its bytes."""
    assert executable.memory is not None, "it has been called"
    return executable.memory.arena.ctypes.data, executable.memory.arena.nbytes


def main() -> None:
    compare("Training step of an MLP (Adam, global norm clipped)", rows(), seconds=2.0)
    compare(f"{STEPS} steps: TrainStep.run beside calls", rows_of_many(), seconds=2.0)
    compare("step.bind(policy), one row", policy.rows(), seconds=1.0)
    print("\nWhat a call of the training step allocates")
    head = ["", "Python bytes", "allocators called", "arena", ""]
    print_table(head, [memory_row(name, network) for name, network in NETWORKS.items()])
