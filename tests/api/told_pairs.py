"""What is said of pairs of rows in a loss."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import wengert as wg
from wengert.api.pairs.pairs_of_rows import warn_of_pairs_in_data
from wengert.errors import PairedRowsWarning


def told(loss: Callable[..., Any], *args: Any) -> list[str]:
    """What is said of a loss of its first argument, with its gradient."""
    graph = wg.trace(wg.value_and_grad(loss), *args)
    own = [str(graph.nodes[graph.inputs[0]].params["name"]).partition(".")[0]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_pairs_in_data(graph, own, "here")
    return [str(each.message) for each in caught if each.category is PairedRowsWarning]
