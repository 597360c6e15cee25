"""Losses of rows that are summed along their only axis before a mean is taken, which is one of a
single number then: torch's kl_div(…, reduction="none") has an axis of classes to sum.
"""

from __future__ import annotations

from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import SummedRowsWarning
from wengert.interpret.mistakes.called_again import is_in_loss
from wengert.interpret.mistakes.widening import place_of


def note_mean_of_one(x: Value) -> None:
    """Warn where a loss of a training step takes the mean of a sum of the losses of all rows."""
    place = place_of(x) if is_in_loss() else None
    if place is None:
        return
    graph, number = place[0].graph, place[1]
    nodes = graph.nodes
    of = nodes[number].operands[0] if nodes[number].op is op.sum else None
    if of is None or nodes[of].params.get("reduction") != "none":
        return
    if (len(graph.type(number).shape), len(graph.type(of).shape)) != (0, 1):  # as under a vmap
        return
    name = nodes[of].op.name
    gives = "one number for each distribution" if name == "kl_div" else "one number for each row"
    warn_user(
        f"mean: given a single number, the sum of what {name} gives with reduction='none'; that is "
        f"{gives} here, so that rows are summed, and the mean changes nothing. Leave the sum out: "
        f"wg.mean(wg.{name}(…, reduction='none')).",
        SummedRowsWarning,
        user_line(),
    )
