"""What programs consist of: ops of the traced graphs, derivatives inside, nodes."""

from __future__ import annotations

import functools
import re
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import wengert as wg
from wengert.core.graph import Graph
from wengert.core.table import op as table

from .program import Program

_DERIVATIVE = re.compile(r"wg\.(grad|value_and_grad|jvp|vjp|hvp|jacobian|jacfwd)\(")
FEATURES = {
    "with a loop": "wg.scan(",
    "with a loop that ends by itself": "wg.while_loop(",
    "with a recurrence": "wg.linear_recurrence(",
    "with a selective scan": "wg.selective_scan(",
    "with attention": "wg.attention(",
    "with a scan of another function": "wg.associative_scan(",
    "with a transform": "wg.fft.rfft(",
    "with an inverse transform": "wg.fft.irfft(",
    "with a convolution": "wg.conv(",
    "with a transposed convolution": "wg.conv_transpose(",
    "with a pool of largest": "wg.max_pool(",
    "with a pool of means": "wg.mean_pool(",
    "with an adaptive pool": "wg.adaptive_mean_pool(",
    "with sliding windows": "wg.sliding_windows(",
    "with a layer": "wg.nn.",
    "with an RNN": "wg.nn.RNN(",
    "with a GRU": "wg.nn.GRU(",
    "with an LSTM": "wg.nn.LSTM(",
    "with S4D": "wg.nn.S4D(",
    "with Mamba": "wg.nn.Mamba(",
    "with attention of heads": "wg.nn.MultiheadAttention(",
    "with a transformer block": "wg.nn.TransformerBlock(",
    "with a branch": "wg.cond(",
    "with a region": "wg.checkpoint(",
    "with random numbers": "wg.random.",
    "with NumPy's names": " np.",
}
_SOURCES = ("input", "parameter", "constant")


@dataclass
class Coverage:
    """Counts over programs; two of them can be added."""

    ops: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    programs: int = 0
    nodes: int = 0
    fewest: int = 10**9

    def add(self, program: Program) -> None:
        """Count a program: its graph as traced, after gradients and before any pass."""
        found = Counter(_names(traced(program)))
        count = _without_sources(found)
        self.ops += found
        self.programs += 1
        self.nodes += count
        self.fewest = min(self.fewest, count)
        text = program.function_text
        self.features["with a derivative"] += bool(_DERIVATIVE.search(text))
        self.features["with open sizes"] += bool(program.dims)
        for name, sign in FEATURES.items():
            self.features[name] += sign in text

    def merge(self, other: Coverage) -> None:
        self.ops += other.ops
        self.features += other.features
        self.programs += other.programs
        self.nodes += other.nodes
        self.fewest = min(self.fewest, other.fewest)

    def rare(self, least: int, but: Iterable[str]) -> list[str]:
        """The ops that were met less often than that."""
        names = [each.name for each in table if not each.name.startswith("planted_")]
        return [
            f"{name} {self.ops[name]}"
            for name in names
            if self.ops[name] < least and name not in but
        ]

    def share(self, feature: str) -> float:
        return self.features[feature] / max(self.programs, 1)

    def to_dict(self) -> dict[str, Any]:
        return vars(self) | {"ops": dict(self.ops), "features": dict(self.features)}

    @staticmethod
    def from_dict(found: dict[str, Any]) -> Coverage:
        counters = {name: Counter(found[name]) for name in ("ops", "features")}
        return Coverage(**(found | counters))

    def __str__(self) -> str:
        head = [
            f"{self.programs} programs, {self.nodes / max(self.programs, 1):.0f} nodes on average, "
            f"{self.fewest} at least",
            *(f"  {self.share(name):4.0%} {name}" for name in sorted(self.features)),
        ]
        counts = [f"{name} {self.ops[name]}" for name in sorted(each.name for each in table)]
        width = max(map(len, counts)) + 2
        rows = [
            "".join(x.ljust(width) for x in counts[i : i + 5]) for i in range(0, len(counts), 5)
        ]
        return "\n".join([*head, "Nodes by op:", *(f"  {row}".rstrip() for row in rows)])


def count_nodes(program: Program) -> int:
    """Nodes of the program and of bodies inside it that compute something."""
    return _without_sources(Counter(_names(traced(program))))


@functools.lru_cache(maxsize=4)
def traced(program: Program) -> Graph:
    """The graph of a program, with its sizes open."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        arguments = program.arguments(program.sizes[0])
        return wg.trace(program.function(), *arguments, dims=program.dims)


def _without_sources(found: Counter[str]) -> int:
    return sum(count for name, count in found.items() if name not in _SOURCES)


def _names(graph: Graph) -> Iterable[str]:
    for node in graph.nodes:
        yield node.op.name
    for body in graph.subgraphs():
        yield from _names(body)
