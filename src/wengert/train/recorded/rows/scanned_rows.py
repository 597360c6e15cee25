"""Rows that are scanned: a recurrent layer goes along axis 0, and in the loss of a step that axis
is often the batch. Sequences of shape (batch, time, in) run as well, with states that go from row
to row.

A program is known to do so where one time of all outputs is read, `hs[:, -1]`; and where another
argument with these rows has no axis of the size that would then be the batch, unless the last state
is read, `hs[-1]`: there are as many times as rows by chance. In a run that shuffles its rows, axis
0 of the data is no time in any case; one that does not may go through a long series.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.core.words.warn import warn_user
from wengert.errors import ScannedRowsWarning
from wengert.passes.opened_bodies import with_open_bodies
from wengert.train.batch import ROWS
from wengert.train.recorded.step_arrays import OwnArguments

LAYERS = {"gru": "GRU", "lstm": "LSTM"}  # by the kind of their loop
FIRST_STATE = 3  # the operand of a recurrent loop
_Kind = tuple[str, ...]  # a shape in words
_SWAP = (
    "Swap the axes: hs, last = layer(wg.swapaxes(xs, 0, 1)), where hs is (time, batch, hidden), "
    "and hs[-1] its last time."
)
_SWAP_BEFORE = "If axis 0 of the data is time, swap it before the run."
_KEEP_ORDER = (
    "It begins with the state that the step carries: if axis 0 of the data is time, keep the order "
    "of the rows, shuffle_seed=None; each batch then goes on where the one before has ended. If it "
    "is not, swap the axes: layer(wg.swapaxes(xs, 0, 1), state)."
)


def warn_of_scanned_rows(
    graph: Graph,
    own: Collection[str] = OwnArguments._fields,
    where: str = "in the loss of a TrainStep",
    by_reading: bool = False,
    shuffled: bool = False,
) -> bool:
    """Warn where the loss that was recorded as this graph, maybe with its gradient, has recurrent
    layers go along its rows, and return whether it does. `own` are the names of arguments that the
    step itself gives to it; `shuffled` says that a run puts the rows into another order in every
    epoch. What other arguments look like tells nothing where these may be no batch: `by_reading`
    alone.
    """
    graph = with_open_bodies(graph)
    scanned = list(_scanned(graph, own, by_reading, shuffled))
    for node, sequence in scanned:
        repair = _SWAP
        if shuffled:
            goes_on = _begins_with_own(graph, node, own)
            repair = _KEEP_ORDER if goes_on else f"{_SWAP} {_SWAP_BEFORE}"
        warn_user(
            f"{LAYERS.get(node.params['kind'], 'RNN')}: given xs of shape (n, {sequence[1]}, in) "
            f"{where}, n the rows of the batch; a recurrent layer goes along axis 0, here "
            f"from row to row. {repair}",
            ScannedRowsWarning,
            node.line,
        )
    return bool(scanned)


def _begins_with_own(graph: Graph, node: Node, own: Collection[str]) -> bool:
    """Whether a recurrent loop begins with a state that the step carries: batches may go along one
    long series.
    """
    for number in [i for i in node.operands if i is not None][FIRST_STATE:]:
        begin = graph.nodes[number]
        while begin.op.name in ("astype", "stop_gradient") and begin.operands[0] is not None:
            begin = graph.nodes[begin.operands[0]]
        if begin.op is op.input and str(begin.params["name"]).partition(".")[0] in own:
            return True
    return False


def _scanned(
    graph: Graph, own: Collection[str], by_reading: bool, shuffled: bool
) -> Iterator[tuple[Node, _Kind]]:
    for number, node in enumerate(graph.nodes):
        if node.op is not op.recurrent_loop or node.operands[0] is None:
            continue
        sequence = _kind(graph.nodes[node.operands[0]])
        if len(sequence) != 3 or not sequence[0].startswith(ROWS):
            continue
        outputs = _Outputs(graph, number)
        other = not by_reading and _has_no_batch(graph, own, sequence)
        if shuffled or outputs.one_time_is_read or (other and not outputs.last_is_read):
            yield node, sequence


def _has_no_batch(graph: Graph, own: Collection[str], sequence: _Kind) -> bool:
    """Whether an argument has the rows of the sequence, and behind them not what comes there."""
    for number in graph.inputs:
        node = graph.nodes[number]
        name, kind = str(node.params.get("name", "")).partition(".")[0], _kind(node)
        if name not in own and kind[:1] == sequence[:1] and kind[1:2] != sequence[1:2]:
            return True
    return False


class _Outputs:
    """How the forward pass reads the outputs of a recurrent loop: those of all times and the last
    states.
    """

    def __init__(self, graph: Graph, loop: int) -> None:
        self.one_time_is_read = self.last_is_read = False
        picks = {
            number: node.params["index"]
            for number, node in enumerate(graph.nodes)
            if node.op is op.pick and node.operands[0] == loop
        }
        whole = {number for number, index in picks.items() if index == 0}
        last = {n for n, index in picks.items() if len(_kind(graph.nodes[n])) == 2 and index}
        for node in graph.nodes:
            if node.line is not None and node.line.phase != "forward":
                continue
            if last.intersection(node.operands):
                self.last_is_read = True
            if node.op is op.slice_axes and whole.intersection(node.operands):
                before, after = _kind(graph.nodes[node.operands[0] or 0]), _kind(node)
                self.last_is_read |= before[0] != after[0]
                self.one_time_is_read |= before[0] == after[0] and before[1] != after[1] == "1"


def _kind(node: Node) -> _Kind:
    return tuple(map(str, node.type.shape)) if isinstance(node.type, ArrayType) else ()
