"""A state that a step carries with an entry for each row of the batch, in a run that shuffles rows:
the memory of a recurrent layer, with which each row of the next batch begins.

A program with such a state is for batches of its size. The memory of one sequence is then that of
another, unless row i of a batch goes on where row i of the batch before has ended.
"""

from __future__ import annotations

from collections.abc import Iterator

from wengert.core.graph import Node
from wengert.core.table import op
from wengert.core.words.warn import warn_user
from wengert.errors import ScannedRowsWarning
from wengert.train.recorded.rows.forward_pass import ForwardPass, operands_of
from wengert.train.recorded.rows.scanned_rows import FIRST_STATE, LAYERS


def warn_of_carried_rows(forward: ForwardPass) -> None:
    """Warn, once, where the loss of a run that shuffles its rows carries the memory of each row to
    the next batch.
    """
    for node, state in _carried(forward):
        name = "scan" if node.op is op.scan else LAYERS.get(node.params["kind"], "RNN")
        warn_user(
            f"{name}: begins with a state of shape {forward.shape(state)} that the step carries, "
            "an entry for each row of the batch, in a run that shuffles rows (shuffle_seed); each "
            "row then goes on with the memory of another. Begin every sequence without one; or "
            "leave out shuffle_seed, which wg.train.fit takes as shuffle_seed=None, and order the "
            "rows so that row i of a batch goes on with row i of the batch before.",
            ScannedRowsWarning,
            node.line,
        )
        return


def _carried(forward: ForwardPass) -> Iterator[tuple[Node, int]]:
    """Loops along times that begin with what the step carries, and what that is."""
    for number, node in forward.nodes.items():
        first, sequences = given_to_loop(node)
        after = set(forward.after(number))
        for begin in first:
            state = _origin(forward, begin)
            shape = () if state is None else forward.shape(state)
            if state is None or len(shape) < 2 or state not in forward.of_model:
                continue
            has_rows = any(
                each in forward.of_data and forward.shape(each)[1:2] == shape[:1]
                for each in sequences
            )
            kept = any(i in after and forward.shape(i) == shape for i in forward.returns)
            if has_rows and kept and _are_rows_of_data(forward, shape[0]):
                yield node, state


def given_to_loop(node: Node) -> tuple[list[int], list[int]]:
    """What a loop begins with, and what it goes along."""
    operands = operands_of(node)
    if node.op is op.recurrent_loop:
        return operands[FIRST_STATE:], operands[:1]
    if node.op is op.scan:
        consts, last = node.params["consts"], node.params["consts"] + node.params["carry"]
        return operands[consts:last], operands[last:]
    return [], []


def _origin(forward: ForwardPass, number: int) -> int | None:
    """The argument that a value is, maybe converted."""
    node = forward.nodes[number]
    if node.op.name in ("astype", "stop_gradient"):
        return _origin(forward, operands_of(node)[0])
    return number if node.op.name == "input" else None


def _are_rows_of_data(forward: ForwardPass, size: object) -> bool:
    arguments = [i for i in forward.of_data if forward.nodes[i].op.name == "input"]
    return bool(arguments) and all(forward.shape(i)[:1] == (size,) for i in arguments)
