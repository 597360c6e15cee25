"""Memory: the arena of our programs beside JAX's temporaries, and beside what is possible.

Both are what a program needs besides its arguments and results. While an output is not written yet,
other arrays may lie in it (`in outputs`), which takes no memory of its own. Behind our arena lies
the workspace in which contractions pack their operands; JAX's libraries allocate theirs when they
run and do not report it, so it stands apart here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.harness import Figure, print_table
from benchmarks.networks import NETWORKS, Network, data, jax_loss, loss_with
from benchmarks.peers import ALL, chosen
from wengert.codegen.explain.arena import ArenaMap, arena_map
from wengert.runtime.executable import Executable

BOUND = Figure(1.1, "bound", at_most=True)
FIGURES = {name: Figure(0.8, "JAX", at_most=True) for name in ("mnist", "large")}
LAYERS, REGION, WIDTH, BATCH = 32, 6, 128, 64
CHECKPOINTED = Figure(0.45, "activations", at_most=True)


def map_of(executable: Executable) -> ArenaMap:
    return arena_map(executable.program, executable.layout, executable.sizes)


def lent(found: ArenaMap) -> int:
    """Bytes of outputs in which other arrays lie before those are written."""
    ends: dict[str, int] = {}
    for guest in found.guests:
        ends[guest.host] = max(ends.get(guest.host, 0), guest.offset + guest.size)
    return sum(ends.values())


def our_arena(network: Network) -> ArenaMap:
    step = wg.compile(wg.value_and_grad(loss_with(np.tanh, wg.cross_entropy)))
    return map_of(step.executable(*data(network)))


def jax_temporaries(jax: Any, network: Network) -> int:
    lowered = jax.jit(jax.value_and_grad(jax_loss(jax))).lower(*data(network))
    return int(lowered.compile().memory_analysis().temp_size_in_bytes)


def network_row(name: str, network: Network, peers: Sequence[str] = ALL) -> list[str]:
    ours, jax = our_arena(network), chosen(peers, "jax")
    theirs = jax_temporaries(jax, network) if jax else None
    ratio = ours.size / theirs if theirs else None
    bound = ours.size / max(ours.lowest, 1)
    verdicts = [BOUND.verdict(bound)]
    if name in FIGURES:
        verdicts.append(FIGURES[name].verdict(ratio))
    return [
        f"{name} {network}",
        f"{ours.size:,}",
        f"{ours.lowest:,}",
        f"{bound:.3f}",
        f"{lent(ours):,}",
        f"{ours.workspace:,}",
        "–" if theirs is None else f"{theirs:,}",
        "–" if ratio is None else f"{ratio:.2f}",
        ", ".join(verdicts),
    ]


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


def main() -> None:
    print("\nArena of value and gradient of an MLP, bytes")
    head = ["", "arena", "bound", "× bound", "in outputs", "workspace", "JAX temporaries"]
    head += ["× JAX", ""]
    print_table(head, [network_row(name, network) for name, network in NETWORKS.items()])
    ours, activations = checkpointed(), LAYERS * BATCH * WIDTH * 4
    ratio = ours.size / activations
    print(f"\nArena of {LAYERS} layers, checkpointed in regions of {REGION}, bytes")
    row = [f"{n:,}" for n in (ours.size, lent(ours), ours.workspace, activations)]
    head = ["", "arena", "in outputs", "workspace", "activations", "× activations", ""]
    print_table(head, [["", *row, f"{ratio:.3f}", CHECKPOINTED.verdict(ratio)]])
