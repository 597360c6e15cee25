"""Rows in order: what goes from row to row, in a run that puts the rows into another order.

Returns by a recurrence, a scan or a cumulative sum along the rows of a batch, a recurrent layer
over one series, and `v[1:]` as the next value of `v[:-1]`, mean that each row follows the one
before it in the data. In a shuffled run it follows any other.

Rows that the loss has sorted are no rows of the data any more, as in risk sets of survival times. A
scan over rows that only adds up, or carries a key, gives each row its own result. And rows may be
paired at random: then what is compared with them is taken from the same places, so that a row of
the data is moved as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from wengert.core.dims import Size
from wengert.core.dtypes import is_float
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.core.words.warn import warn_user
from wengert.errors import ScannedRowsWarning
from wengert.passes.opened_bodies import with_open_bodies
from wengert.train.batch import ROWS
from wengert.train.recorded.rows.followed_rows import REORDERING, FollowedRows
from wengert.train.recorded.rows.no_means import NoMean
from wengert.train.recorded.rows.ordered_carries import depends_on_order
from wengert.train.recorded.rows.scanned_rows import LAYERS
from wengert.train.recorded.step_arrays import OwnArguments

_CUMULATIVE = ("cumsum", "cumprod")


def warn_of_rows_in_order(graph: Graph, own: Collection[str] = OwnArguments._fields) -> None:
    """Warn, once, where the loss that was recorded as this graph, of a run that shuffles its rows,
    has something go along them.
    """
    rows = _Rows(with_open_bodies(graph), own)
    for node, what in rows.in_order():
        warn_user(
            f"{what} goes along axis 0, here the rows of the batch, in a run that shuffles them "
            "(shuffle_seed); each row then follows another one than in the data. Compute it before "
            "the run, from the data in their order, and pass the result as an argument; or leave "
            "out shuffle_seed, which wg.train.fit takes as shuffle_seed=None.",
            ScannedRowsWarning,
            node.line,
        )
        return


def no_means_in_order(graph: Graph, own: Collection[str]) -> Iterator[NoMean]:
    """What goes along the rows of a function that was recorded as this graph, and so gives another
    mean for other batches.
    """
    rows = _Rows(with_open_bodies(graph), own)
    for node, what in rows.in_order(of_batches=True):
        told = what.removesuffix(": it").removesuffix(",")
        repair = "evaluate all rows in one batch: batch_size=len(x)"
        if node.op is op.recurrent_loop and rows.has_batch(node):
            swap = "If axis 0 is the batch, swap the axes: layer(wg.swapaxes(x, 0, 1))"
            repair = f"{swap}; if it is time, {repair}"
        yield NoMean(
            node.line,
            f"goes along the rows of a batch ({told}), and begins anew in each",
            repair[0].upper() + repair[1:],
            in_order=True,
        )


def warn_of_gathered_rows(graph: Graph, own: Collection[str] = OwnArguments._fields) -> None:
    """Warn, once, where the loss of a run that shuffles or cuts its rows looks up rows of the batch
    by numbers of the data: these are numbers of rows of a table, such as states.
    """
    for node, shape, of_model in _Rows(with_open_bodies(graph), own).looked_up():
        given = f"getitem: x[index] was given x of shape ({', '.join(map(str, shape))}) "
        if of_model:
            message = (
                "that the model gives for the rows of the batch, and an index of the data; it "
                "takes whole rows of the batch by these numbers. For one number of each row write "
                "wg.take_along_axis(x, index[:, None], axis=1)[:, 0]. If rows are meant: a run "
                "shuffles and cuts them, so that x[i] is not row i of the data."
            )
        else:
            message = (
                "and an index, both rows of the batch in a run; a run shuffles and cuts the rows "
                "of every argument, so that x[i] is not row i of the data. If x is a table, one "
                "row for each index, give it in another way: in the state= that the step carries, "
                "in a dict of the model's form, as an array that the loss reads from outside, or "
                "as an argument of single calls, step(…)."
            )
        warn_user(given + message, ScannedRowsWarning, node.line)
        return


class _Rows:
    """The forward pass of a loss: which values have the rows of the data, in their order."""

    def __init__(self, graph: Graph, own: Collection[str]) -> None:
        self._graph = graph
        self._ordered: dict[int, Size] = {}  # with how many rows
        self._of_model: set[int] = set()
        self._forward: list[tuple[int, Node]] = []
        for number, node in enumerate(graph.nodes):
            if number in graph.inputs:
                self._enter(number, node, own)
            elif node.line is None or node.line.phase == "forward":
                self._forward.append((number, node))
                self._follow(number, node)

    def _enter(self, number: int, node: Node, own: Collection[str]) -> None:
        shape = _shape(node)
        if str(node.params.get("name", "")).partition(".")[0] in own:
            self._of_model.add(number)
        elif shape and str(shape[0]).startswith(ROWS):
            self._ordered[number] = shape[0]

    def _follow(self, number: int, node: Node) -> None:
        operands = [i for i in node.operands if i is not None]
        if not self._of_model.isdisjoint(operands):
            self._of_model.add(number)
        sizes = [self._ordered[i] for i in operands if i in self._ordered]
        if sizes and node.op.name not in REORDERING and _shape(node)[:1] == (sizes[0],):
            self._ordered[number] = sizes[0]

    def looked_up(self) -> Iterator[tuple[Node, tuple[Size, ...], bool]]:
        """Where rows are looked up by integers of the data, with the shapes of the tables and
        whether the model gives them.
        """
        numbers = {
            i for i in self._ordered if i in self._graph.inputs and self._dtype_of(i).kind in "iu"
        }
        for number, node in self._forward:
            operands = [i for i in node.operands if i is not None]
            if node.op is op.gather and _axis(node) == 0 and len(operands) > 1:
                table, index = operands[:2]
                if table in self._ordered and index in numbers:
                    yield node, _shape(self._graph.nodes[table]), table in self._of_model
            is_number = node.op.kind in ("elementwise", "linear") and _dtype(node) is not None
            if is_number and not numbers.isdisjoint(operands) and _dtype(node).kind in "iu":
                numbers.add(number)

    def _dtype_of(self, number: int) -> Any:
        return _dtype(self._graph.nodes[number])

    def in_order(self, of_batches: bool = False) -> Iterator[tuple[Node, str]]:
        """The nodes that go from row to row, and what they are; `of_batches` with the recurrent
        layers that are given (rows, n, in), which scanned_rows.py tells of in runs.
        """
        arguments = {i: size for i, size in self._ordered.items() if i in self._graph.inputs}
        followed = FollowedRows(self._graph, self._forward, arguments, self._of_model)
        for number, node in self._forward:
            name, operands = node.op.name, [i for i in node.operands if i is not None]
            if not any(map(followed.has_rows, operands)):
                continue
            if name in _CUMULATIVE and _axis(node) == 0 and is_float(_dtype(node)):
                yield node, name + ": it"
            elif name == "recurrence" and _axis(node) == 0:
                yield node, "linear_recurrence: it"
            elif node.op is op.scan and self._carries(number, node, followed):
                yield node, "scan: it"
            elif (
                node.op is op.recurrent_loop
                and self._goes_along_rows(node, followed)
                and (of_batches or not self.has_batch(node))
            ):
                yield node, f"{LAYERS.get(node.params['kind'], 'RNN')}: it"
        yield from followed.nodes()

    def has_batch(self, loop: Node) -> bool:
        """Whether a recurrent layer is given (rows, n, in), and not one series, (rows, in)."""
        xs = loop.operands[0]
        return xs is not None and len(_shape(self._graph.nodes[xs])) > 2

    def _goes_along_rows(self, loop: Node, followed: FollowedRows) -> bool:
        xs = loop.operands[0]
        return xs is not None and followed.has_rows(xs)

    def _carries(self, number: int, node: Node, followed: FollowedRows) -> bool:
        """Whether what a scan over rows gives for each of them depends on floats that it carries
        from row to row, or what it gives in the end on their order.
        """
        params: dict[str, Any] = node.params
        consts, carry, body = params["consts"], params["carry"], params["body"]
        over = [i for i in node.operands[consts + carry :] if i is not None]
        if not any(map(followed.has_rows, over)):
            return False
        carried = body.inputs[consts : consts + carry]
        reached = {i for i in carried if is_float(_dtype(body.nodes[i]))}
        for inner_number, inner in enumerate(body.nodes):
            if not reached.isdisjoint(i for i in inner.operands if i is not None):
                reached.add(inner_number)
        if any(i in reached for i in body.returns[carry:]):
            return True
        return depends_on_order(self._graph, number, [each for _, each in self._forward])


def _shape(node: Node) -> tuple[Size, ...]:
    return node.type.shape if isinstance(node.type, ArrayType) else ()


def _dtype(node: Node) -> Any:
    return node.type.dtype if isinstance(node.type, ArrayType) else None


def _axis(node: Node) -> Any:
    return node.params.get("axis")
