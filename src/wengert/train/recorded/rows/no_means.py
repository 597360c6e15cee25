"""Results that are no means over the rows of a batch, where a mean of them is taken over batches: a
root or a logarithm of a mean, a quotient of two, the largest of all rows.

Only what is computed last counts. A mean of roots, of quotients or of logarithms of each row is a
mean. Whether such a result depends on how large the batches are is tried on the data, for weights
that are all the same give a mean after all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.graph import Graph, Node
from wengert.core.types import ArrayType
from wengert.core.words.source import Line
from wengert.train.batch import ROWS

_KEEPING = ("add", "subtract", "negative", "reshape", "permute_dims", "astype", "sum", "mean")
_FUNCTIONS = ("sqrt", "exp", "log", "log2", "log10", "log1p", "power", "square", "reciprocal")
_EXTREMES = ("max", "min")
_OF_ALL_ROWS = (*_EXTREMES, "std", "var", "vector_norm", "logsumexp", "prod")
_NEAR = 1e-3  # how far apart two results may be by rounding
_BY_ALL = (
    "Return means, and compute the rest from what evaluate gives; or call step.bind(f) with all "
    "rows"
)


class NoMean(NamedTuple):
    """What a function returns that is no mean over rows, in words, and the repair."""

    line: Line | None
    what: str
    repair: str
    in_order: bool = False  # whether only rows that follow each other can show it


class Difference(NamedTuple):
    """One number for a batch, and the mean of those for its halves."""

    whole: float
    halves: float


def no_means_over_rows(graph: Graph) -> Iterator[NoMean]:
    """The results of a function that no mean over its rows gives."""
    nodes = graph.nodes
    rows = [any(ROWS in str(size) for size in _shape(node)) for node in nodes]
    of_rows: list[bool] = []  # whether numbers of rows are behind a value
    for number, node in enumerate(nodes):
        of_rows.append(rows[number] or any(of_rows[i] for i in _operands(node)))
    pending, seen = [*graph.returns], set[int]()
    while pending:
        number = pending.pop()
        if number in seen or rows[number] or not of_rows[number]:
            continue
        seen.add(number)
        node, operands = nodes[number], _operands(nodes[number])
        name, behind = node.op.name, [i for i in operands if of_rows[i]]
        if any(rows[i] for i in operands):
            if name in _OF_ALL_ROWS:
                yield _reduced(node)
        elif name in _FUNCTIONS:
            yield _applied(node)
        elif name == "divide" and operands[1] in behind:
            yield _divided(node)
        elif name in _KEEPING or (name in ("multiply", "divide") and len(behind) == 1):
            pending += behind


def _reduced(node: Node) -> NoMean:
    if node.op.name in _EXTREMES:
        what = f"takes the {node.op.name} over the rows of a batch"
        return NoMean(node.line, what, "Call step.bind(f) with all rows instead")
    return NoMean(node.line, f"takes {node.op.name} over the rows of a batch", _BY_ALL)


def _applied(node: Node) -> NoMean:
    name = node.op.name
    what = f"computes {name} of a mean or a sum over the rows of a batch"
    repair = f"Return the mean, and compute {name} of what evaluate gives"
    return NoMean(node.line, what, repair)


def _divided(node: Node) -> NoMean:
    what = "divides by a sum or a mean over the rows of a batch"
    repair = (
        'Return both as means, as {"sum": wg.mean(w * e), "count": wg.mean(w)}, and divide what '
        "evaluate gives; or call step.bind(f) with all rows"
    )
    return NoMean(node.line, what, repair)


def difference(
    call: Callable[[Sequence[Any]], Sequence[Any]], parts: Callable[[int, int], Any], rows: int
) -> Difference | None:
    """Where a function gives another number for a batch of so many rows than in the mean for its
    two halves. `parts(begin, end)` are rows of it.
    """
    half = rows // 2
    whole, first, second = (
        [np.array(x, np.float64) for x in call(parts(*each))]
        for each in ((0, rows), (0, half), (half, rows))
    )
    for a, b, c in zip(whole, first, second, strict=True):
        mean = (b * half + c * (rows - half)) / rows
        for x, y in zip(a.flat, mean.flat, strict=True):
            if not np.isclose(x, y, rtol=_NEAR, atol=1e-6, equal_nan=True):
                return Difference(float(x), float(y))
    return None


def _shape(node: Node) -> tuple[object, ...]:
    return tuple(node.type.shape) if isinstance(node.type, ArrayType) else ()


def _operands(node: Node) -> list[int]:
    return [i for i in node.operands if i is not None]
