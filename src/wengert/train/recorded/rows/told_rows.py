"""All that is told of rows in the program of a loss, when it is new."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from wengert.core.graph import Graph
from wengert.train.recorded.rows.carried_rows import warn_of_carried_rows
from wengert.train.recorded.rows.first_rows import warn_of_first_rows
from wengert.train.recorded.rows.forward_pass import ForwardPass
from wengert.train.recorded.rows.merged_rows import warn_of_merged_rows
from wengert.train.recorded.rows.one_row_for_all import warn_of_one_row_for_all
from wengert.train.recorded.rows.ordered_masks import warn_of_ordered_masks
from wengert.train.recorded.rows.paired_rows import warn_of_paired_rows
from wengert.train.recorded.rows.pairs_with_times import warn_of_pairs_with_times
from wengert.train.recorded.rows.rows_by_columns import warn_of_rows_by_columns
from wengert.train.recorded.rows.rows_in_order import warn_of_rows_in_order
from wengert.train.recorded.rows.scanned_rows import warn_of_scanned_rows
from wengert.train.recorded.rows.weighed_rows import warn_of_weighed_rows
from wengert.train.recorded.rows.weights_of_a_mean import warn_of_weights_of_a_mean


def warn_of_rows(
    graph: Graph,
    sizes: Mapping[str, int],
    own: Collection[str],
    shuffled: bool,
    arrays: Mapping[str, Any],
) -> None:
    """Warn of rows that meet, or are gone along, otherwise than meant. `sizes` are the open ones in
    the call that the graph was recorded for, and `arrays` the arguments of a single call by name;
    `shuffled` says that it is one of a shuffled run.
    """
    forward = ForwardPass(graph, own)
    warn_of_paired_rows(graph, sizes, own)
    warn_of_pairs_with_times(forward)
    warn_of_merged_rows(forward)
    warn_of_weights_of_a_mean(forward)
    warn_of_scanned_rows(graph, own, shuffled=shuffled)
    warn_of_first_rows(graph)
    warn_of_one_row_for_all(forward, sizes, shuffled)
    warn_of_rows_by_columns(forward, arrays)


def warn_of_shuffled_rows(graph: Graph, own: Collection[str]) -> None:
    """Warn of what depends on the order of rows, in a run that shuffles them."""
    warn_of_rows_in_order(graph, own)
    forward = ForwardPass(graph, own)
    warn_of_carried_rows(forward)
    warn_of_weighed_rows(forward)
    warn_of_ordered_masks(forward)
