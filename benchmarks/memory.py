"""Memory: `python -m benchmarks memory`. What a call of a training step allocates, and the arena of
our programs beside JAX's temporaries and beside what is possible.

An arena is what a program needs besides its arguments and results. While an output is not written
yet, other arrays may lie in it (`in outputs`), which takes no memory of its own. Behind our arena
lies the workspace in which contractions pack their operands; JAX's libraries allocate theirs when
they run and do not report it, so it stands apart here.
"""

from __future__ import annotations

import gc
import re
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.layers.state_spaces import Selective, jax_scan_loss, our_scan_loss
from benchmarks.networks import NETWORKS, Network, data, jax_loss, loss_with
from benchmarks.peers import jax_library
from benchmarks.stepping import executable_of
from benchmarks.table import NONE, aligned
from benchmarks.training import our_step
from wengert.codegen.explain.arena import ArenaMap, arena_map
from wengert.runtime.executable import Executable

BOUND = 1.1  # how many times the least possible an arena may take
OF_JAX = {"mnist": 0.8, "large": 0.8}  # of JAX's temporaries
LAYERS, REGION, WIDTH, BATCH = 32, 6, 128, 64
OF_SCANS = 0.5  # of JAX's temporaries in the gradient of a selective scan
OF_ACTIVATIONS = 0.45  # of a checkpointed network
BYTES = 400  # that Python may allocate in a call
ALLOCATORS = ("malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "mmap")
CALLS = 1000


def at_most(limit: float, whose: str, ratio: float | None) -> str:
    """A verdict in words.

    >>> at_most(0.8, "JAX", 0.7)
    '≤ 0.8 × JAX: yes'
    """
    if ratio is None:
        return f"≤ {limit:g} × {whose}: not measured"
    return f"≤ {limit:g} × {whose}: {'yes' if ratio <= limit else 'NO'}"


# Arenas


def map_of(executable: Executable) -> ArenaMap:
    return arena_map(executable.program, executable.layout, executable.sizes)


def lent(arena: ArenaMap) -> int:
    """Bytes of outputs in which other arrays lie before those are written."""
    ends: dict[str, int] = {}
    for guest in arena.guests:
        ends[guest.host] = max(ends.get(guest.host, 0), guest.offset + guest.size)
    return sum(ends.values())


def our_arena(network: Network) -> ArenaMap:
    step = wg.compile(wg.value_and_grad(loss_with(np.tanh, wg.cross_entropy)))
    return map_of(step.executable(*data(network)))


def jax_temporaries(network: Network) -> int | None:
    """None where JAX is not installed."""
    try:
        jax = jax_library()
    except ImportError:
        return None
    lowered = jax.jit(jax.value_and_grad(jax_loss(jax))).lower(*data(network))
    return int(lowered.compile().memory_analysis().temp_size_in_bytes)


def arena_row(name: str, network: Network, theirs: int | None) -> list[str]:
    ours = our_arena(network)
    ratio = ours.size / theirs if theirs else None
    bound = ours.size / max(ours.lowest, 1)
    verdicts = [at_most(BOUND, "bound", bound)]
    if name in OF_JAX:
        verdicts.append(at_most(OF_JAX[name], "JAX", ratio))
    return [
        f"{name} {network}",
        f"{ours.size:,}",
        f"{ours.lowest:,}",
        f"{bound:.3f}",
        f"{lent(ours):,}",
        f"{ours.workspace:,}",
        NONE if theirs is None else f"{theirs:,}",
        NONE if ratio is None else f"{ratio:.2f}",
        ", ".join(verdicts),
    ]


def scan_row(sizes: Selective) -> list[str]:
    """Value and gradient of a selective scan beside JAX's `lax.scan` of it."""
    arrays = sizes.arrays()
    ours = map_of(wg.compile(wg.value_and_grad(our_scan_loss)).executable(arrays))
    theirs = jax_scan_temporaries(sizes)
    taken = ours.size + ours.workspace
    ratio = taken / theirs if theirs else None
    return [
        f"selective scan {sizes}",
        f"{ours.size:,}",
        f"{lent(ours):,}",
        f"{ours.workspace:,}",
        NONE if theirs is None else f"{theirs:,}",
        NONE if ratio is None else f"{ratio:.2f}",
        at_most(OF_SCANS, "JAX", ratio),
    ]


def jax_scan_temporaries(sizes: Selective) -> int | None:
    """None where JAX is not installed."""
    try:
        jax = jax_library()
    except ImportError:
        return None
    lowered = jax.jit(jax.value_and_grad(jax_scan_loss(associative=False))).lower(sizes.arrays())
    return int(lowered.compile().memory_analysis().temp_size_in_bytes)


def checkpointed(layers: int = LAYERS, region: int = REGION, width: int = WIDTH) -> ArenaMap:
    """Value and gradient of a deep network in regions whose activations are computed twice."""
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((width, width)).astype(np.float32) for _ in range(layers)]
    x = rng.standard_normal((BATCH, width)).astype(np.float32)

    @wg.checkpoint
    def block(h: Any, *weights: Any) -> Any:
        for w in weights:
            h = np.tanh(h @ w)
        return h

    def loss(weights: Sequence[Any], x: Any) -> Any:
        for i in range(0, layers, region):
            x = block(x, *weights[i : i + region])
        return np.sum(x * x)

    return map_of(wg.compile(wg.value_and_grad(loss)).executable(weights, x))


# What a call allocates


def allocated(call: Callable[[], Any]) -> int:
    """The most bytes that Python has allocated at a time during a call, as a minimum of some."""
    for _ in range(3):
        call()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        bytes_used = []
        for _ in range(5):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            call()
            bytes_used.append(tracemalloc.get_traced_memory()[1] - before)
        return min(bytes_used)
    finally:
        tracemalloc.stop()
        gc.enable()


def call_row(name: str, network: Network, calls: int = CALLS) -> list[str]:
    """Python's bytes, which allocators the program calls, and the arena before and after."""
    step, (_, x, y) = our_step(network), data(network)
    bytes_ = allocated(lambda: step(x, y))
    executable, _ = executable_of(step, x, y)
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
    print("Arena of value and gradient of an MLP, bytes")
    head = ["", "arena", "bound", "× bound", "in outputs", "workspace", "JAX temporaries"]
    rows = [arena_row(name, each, jax_temporaries(each)) for name, each in NETWORKS.items()]
    print(aligned([[*head, "× JAX", ""], *rows]))
    print("\nArena of value and gradient of a selective scan, bytes")
    head = ["", "arena", "in outputs", "workspace", "JAX temporaries", "× JAX", ""]
    print(aligned([head, scan_row(Selective())]))
    ours, activations = checkpointed(), LAYERS * BATCH * WIDTH * 4
    ratio = ours.size / activations
    print(f"\nArena of {LAYERS} layers, checkpointed in regions of {REGION}, bytes")
    head = ["", "arena", "in outputs", "workspace", "activations", "× activations", ""]
    row = [f"{n:,}" for n in (ours.size, lent(ours), ours.workspace, activations)]
    verdict = at_most(OF_ACTIVATIONS, "activations", ratio)
    print(aligned([head, ["", *row, f"{ratio:.3f}", verdict]]))
    print("\nWhat a call of the training step allocates")
    head = ["", "Python bytes", "allocators called", "arena", ""]
    print(aligned([head, *(call_row(name, network) for name, network in NETWORKS.items())]))
