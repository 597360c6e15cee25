"""Weights of rows that meet the mean of all rows: `wg.mean(wg.cross_entropy(z, y) * w)`, where
`reduction="none"` was forgotten. The loss is a single number already, every weight meets every row,
and all that is left of the weights is their own mean.

That is known where a mean over rows of what the model gives, which may have been added to and
scaled, is multiplied by an array of data alone with these rows, and the products are averaged or
summed as they are. `wg.mean(w) * loss` has no such products.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from wengert.core.graph import Node
from wengert.core.table import op
from wengert.core.words.warn import warn_user
from wengert.errors import PairedRowsWarning
from wengert.train.batch import ROWS
from wengert.train.recorded.rows.forward_pass import ForwardPass, operands_of, shape_of

_OF_NUMBERS = ("add", "subtract", "multiply", "divide", "negative", "astype")
_SCALING = ("multiply", "divide", "negative", "astype")


class _Weighed(NamedTuple):
    node: Node  # the product
    mean: Node
    weights: Node


def warn_of_weights_of_a_mean(forward: ForwardPass) -> None:
    """Warn, once, where weights of rows are multiplied by a mean of all rows."""
    for node, mean, weights in _weighed(forward):
        shape = ", ".join(["n", *map(str, shape_of(weights)[1:])])
        loss = mean.op.name if "reduction" in mean.params else ""
        repair = f'write {loss}(…, reduction="none")' if loss else "leave out the mean"
        warn_user(
            f"{node.op.name}: given a mean over the rows of the batch, of shape (), and data of "
            f"shape ({shape}{',' * (shape == 'n')}) in the loss of a TrainStep; as the products "
            "are reduced, every weight meets every row, and the weights only scale the loss. For "
            f"a weight of each row, {repair}; to scale the loss, multiply it by wg.mean(weights).",
            PairedRowsWarning,
            node.line,
        )
        return


def _weighed(forward: ForwardPass) -> Iterator[_Weighed]:
    means: dict[int, Node] = {}  # single numbers by the mean that they are made of
    for number, node in forward.nodes.items():
        operands = operands_of(node)
        known = next((means[i] for i in operands if i in means), None)
        if number in forward.of_model and not shape_of(node):
            if _is_mean_of_rows(forward, node):
                means[number] = node
            elif known is not None and node.op.name in _OF_NUMBERS:
                means[number] = known
        elif known is not None and node.op is op.multiply:
            weights = next(i for i in operands if i not in means)
            if _is_data(forward, weights) and _is_reduced(forward, number):
                yield _Weighed(node, known, forward.nodes[weights])


def _is_mean_of_rows(forward: ForwardPass, node: Node) -> bool:
    averages = node.op.name == "mean" or node.params.get("reduction") == "mean"
    return averages and any(_has_rows(forward, i) for i in operands_of(node))


def _has_rows(forward: ForwardPass, number: int) -> bool:
    return any(str(size).startswith(ROWS) for size in forward.shape(number)[:1])


def _is_data(forward: ForwardPass, number: int) -> bool:
    is_data = number in forward.of_data and number not in forward.of_model
    return is_data and _has_rows(forward, number)


def _is_reduced(forward: ForwardPass, number: int) -> bool:
    """Whether products end in single numbers, with nothing but factors and a sign on the way."""
    readers = forward.readers.get(number, ())
    return bool(readers) and all(
        not forward.shape(i)
        if forward.nodes[i].op.name in ("mean", "sum")
        else _is_scaled(forward, i, number) and _is_reduced(forward, i)
        for i in readers
    )


def _is_scaled(forward: ForwardPass, number: int, product: int) -> bool:
    node = forward.nodes[number]
    first, *others = operands_of(node)
    if node.op.name == "multiply" and first != product:
        first, others = others[0], [first]
    return node.op.name in _SCALING and first == product and not any(map(forward.shape, others))
