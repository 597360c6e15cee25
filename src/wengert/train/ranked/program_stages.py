"""Stages: the program of a micro-batch in parts, between which sums over all micro-batches are
exchanged.

A loss that uses `over_micro_batches` (the statistics of BatchNorm do) cannot be computed for one
micro-batch after the other. Its graph is cut there, in the backward pass as well: a stage computes
all that depends on as many sums, for each micro-batch, and the sums that the next stage needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.api.compiling.compile import compile
from wengert.core.graph import Graph
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import TraceError
from wengert.interpret.replay import run_node
from wengert.train.storage import Array

Values = dict[int, Any]  # by node


def has_sums(graph: Graph) -> bool:
    """Whether a graph has sums over micro-batches. Inside a loop they are refused."""
    for body in graph.subgraphs():
        if has_sums(body):
            raise TraceError(
                "TrainStep: BatchNorm or wg.parallel.batch_sum is used inside a loop or a branch "
                "of the loss; ranks exchange sums over the whole batch only between parts of the "
                "program. Use it outside, or unroll the loop."
            )
    return any(node.op is op.over_micro_batches for node in graph.nodes)


@dataclass(frozen=True)
class Stage:
    """One part of the program of a micro-batch."""

    reads: tuple[int, ...]  # nodes that were computed before, or are inputs
    gives: tuple[int, ...]  # nodes that later parts read, or that are returned
    sums: dict[int, int]  # nodes that are sums over micro-batches: of which node each is
    function: Any  # compiled: from the values that it reads to those that it gives


def staged(graph: Graph, sizes: Mapping[str, int], threads: int | None) -> list[Stage]:
    """The stages of a graph, for these sizes of its Dims."""
    needed = _needed(graph)
    levels: dict[int, int] = {}
    for number, node in enumerate(graph.nodes):
        above = (levels[i] + _is_sum(graph, i) for i in node.operands if i is not None)
        levels[number] = max(above, default=0)
    read_later: dict[int, int] = {}  # the last level that reads each node
    last = max(levels[i] for i in needed)
    for number in needed:
        for i in graph.nodes[number].operands:
            if i is not None:
                read_later[i] = max(read_later.get(i, 0), levels[number])
    read_later |= dict.fromkeys(graph.returns, last + 1)
    return [
        _stage(graph, dict(sizes), threads, level, levels, sorted(needed), read_later)
        for level in range(last + 1)
    ]


def _stage(
    graph: Graph,
    sizes: dict[str, Any],
    threads: int | None,
    level: int,
    levels: Mapping[int, int],
    needed: Sequence[int],
    read_later: Mapping[int, int],
) -> Stage:
    inputs = set(graph.inputs)
    own = [i for i in needed if levels[i] == level and i not in inputs and not _is_sum(graph, i)]
    sums = {i: _operand(graph, i) for i in needed if levels[i] == level and _is_sum(graph, i)}
    computed = {i for i in own if not _is_constant(graph, i)}
    given = [
        i
        for i in computed
        if isinstance(graph.nodes[i].type, ArrayType)
        and (read_later.get(i, 0) > level or i in sums.values())
    ]
    gives = tuple(sorted({*given, *(i for i in sums.values() if i in computed)}))
    used = {i for n in own for i in graph.nodes[n].operands if i is not None}
    constants = {i for i in used if _is_constant(graph, i)}
    reads = tuple(sorted(used - computed - constants))
    order = sorted(computed | constants)

    def compute(*values: Any) -> list[Any]:
        known: Values = dict(zip(reads, values, strict=True))
        for number in order:
            known[number] = run_node(graph.nodes[number], known, sizes)
        return [known[i] for i in gives]

    return Stage(reads, gives, sums, compile(compute, threads=threads))


def run_stage(stage: Stage, known: Values) -> None:
    """Compute a stage for one micro-batch, whose values are known as far as it reads them."""
    if stage.gives:
        values = stage.function(*(known[i] for i in stage.reads))
        known.update(zip(stage.gives, values, strict=True))


def returned(graph: Graph, known: Values) -> list[Array]:
    """What the graph returns, when all stages are computed."""
    return [
        graph.nodes[i].params["value"] if _is_constant(graph, i) else known[i]
        for i in graph.returns
    ]


def _needed(graph: Graph) -> set[int]:
    """The nodes that what is returned depends on."""
    needed: set[int] = set()
    open_nodes = list(graph.returns)
    while open_nodes:
        number = open_nodes.pop()
        if number not in needed:
            needed.add(number)
            open_nodes += [i for i in graph.nodes[number].operands if i is not None]
    return needed


def _is_sum(graph: Graph, number: int) -> bool:
    return graph.nodes[number].op is op.over_micro_batches


def _is_constant(graph: Graph, number: int) -> bool:
    return graph.nodes[number].op is op.constant


def _operand(graph: Graph, number: int) -> int:
    (operand,) = graph.nodes[number].operands
    assert operand is not None
    return operand
