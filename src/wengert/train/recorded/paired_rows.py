"""Paired rows in programs of a training step, whose batches have open sizes."""

from __future__ import annotations

from collections.abc import Collection

from wengert.api.pairs_of_rows import is_own, warn_of_pairs
from wengert.core.graph import Graph
from wengert.core.types import ArrayType
from wengert.passes.opened_bodies import with_open_bodies
from wengert.train.batch import ROWS
from wengert.train.recorded.step_arrays import OwnArguments


def warn_of_paired_rows(
    graph: Graph,
    own: Collection[str] = OwnArguments._fields,
    where: str = "in the loss of a TrainStep",
) -> None:
    """Warn where the loss that was recorded as this graph, maybe with its gradient, pairs its rows.
    `own` are the names of arguments that the step itself gives to it.
    """
    graph = with_open_bodies(graph)
    for rows in _sizes_of_batches(graph, own):
        warn_of_pairs(graph, own, rows, where)


def _sizes_of_batches(graph: Graph, own: Collection[str]) -> list[str]:
    """The open sizes that arguments begin with: other weights among them may have the first."""
    nodes = [graph.nodes[number] for number in graph.inputs]
    types = [node.type for node in nodes if not is_own(node, own)]
    sizes = [str(t.shape[0]) for t in types if isinstance(t, ArrayType) and t.shape]
    return [size for size in dict.fromkeys(sizes) if size.startswith(ROWS)]
