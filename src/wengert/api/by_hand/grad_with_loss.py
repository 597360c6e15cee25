"""grad_with_loss: from a graph to the graph that computes its loss and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wengert.api.by_hand.graph import Graph
from wengert.core.dtypes import is_float
from wengert.core.words.arguments import worded
from wengert.errors import DTypeError, MissingGradient
from wengert.passes.gradient import gradient, prepare


@dataclass(frozen=True, slots=True)
class GradWithLossOptions:
    """What to do about a wrt node that no gradient reaches: raise (STRICT) or give zeros
    (TRAINING).

    >>> wg.GradWithLossOptions.TRAINING.zero_missing_wrt
    True
    """

    zero_missing_wrt: bool = False

    STRICT: ClassVar[GradWithLossOptions]
    TRAINING: ClassVar[GradWithLossOptions]


GradWithLossOptions.STRICT = GradWithLossOptions(zero_missing_wrt=False)
GradWithLossOptions.TRAINING = GradWithLossOptions(zero_missing_wrt=True)


@worded
def grad_with_loss(
    graph: Graph, wrt: Sequence[Any], options: GradWithLossOptions = GradWithLossOptions.STRICT
) -> Graph:
    """A graph with outputs [loss, aux…, gradient of each wrt node…] and an input named `d_output`.

    The first output of `graph` is the loss; the others are carried over and no gradient flows
    through them. `d_output` is the cotangent of the loss, one by default where the loss is a
    scalar. Nodes of `graph` keep their numbers, so its handles, also those of intermediates, are
    valid in the result.

    >>> g = Graph()
    >>> w = g.parameter(np.array([1.0, 2.0]), name="w")
    >>> g.set_outputs(g.sum(g.mul(w, w)))
    >>> grad_with_loss(g, [w]).run()[1]
    array([2., 4.])
    """
    if not graph.returns:
        raise ValueError(
            "grad_with_loss: the graph has no outputs; the first output is the loss. Call "
            "g.set_outputs first."
        )
    if not isinstance(wrt, list | tuple):
        raise TypeError(
            f"grad_with_loss: wrt is {type(wrt).__name__}; a list of nodes is needed. Write [node]."
        )
    numbers = [graph.number(node) for node in wrt]
    for number in numbers:
        if not is_float(graph.type(number).dtype):
            raise DTypeError(
                f"grad_with_loss: wrt node {number} has dtype {graph.type(number).dtype}; only "
                "floats have a gradient. Leave it out of wrt."
            )
    loss = graph.returns[0]
    t = graph.type(loss)
    if not is_float(t.dtype):
        raise DTypeError(
            f"grad_with_loss: the loss has dtype {t.dtype}; only floats are differentiated. "
            "Convert it with astype."
        )
    out = Graph.of(graph)
    out.nodes[:] = prepare(graph)
    default = None if t.shape else np.ones((), t.dtype)
    g = out.input(default, shape=t.shape, name=_free_name(graph), dtype=t.dtype)
    cotangents = gradient(out.level, graph, loss, g, numbers)
    missing = [n for n, gx in zip(numbers, cotangents, strict=True) if gx is None]
    if missing and not options.zero_missing_wrt:
        names = " and ".join(f"{graph.name(n)!r} (node {n})" for n in missing)
        raise MissingGradient(
            f"grad_with_loss: no gradient reaches {names}; every wrt node must influence the loss. "
            "Remove it from wrt, or pass GradWithLossOptions.TRAINING to get zeros."
        )
    out.returns.extend(
        out.append_zeros(graph.type(n)) if gx is None else out.append_value(gx)
        for n, gx in zip(numbers, cotangents, strict=True)
    )
    return out


def _free_name(graph: Graph) -> str:
    """`d_output`; where the graph is itself a gradient and has one, `d_output2` and so on."""
    taken = {graph.name(number).split(".")[0] for number in graph.inputs}
    names = ["d_output", *(f"d_output{i}" for i in range(2, len(taken) + 3))]
    return next(name for name in names if name not in taken)
