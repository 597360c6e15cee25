"""What the model gives for one row of the batch, compared with all rows: `h[-1]` of the last state
of a recurrent layer, which is (layers, batch, hidden) in PyTorch and (batch, hidden) here, `hs[:,
-1]` of states (time, batch, hidden), and `model(x)[0] - y`.

A row may be taken on purpose: an anchor that others are compared with, the value that a rollout
ends with, the first state of one series. So it counts only where nothing else reads what it was
taken from, where data meet it, and where nothing of the model computes with the result. In a call
whose rows may be times, it counts where the difference is reduced as it is. Elsewhere it counts,
too, where classes of all rows are looked up in it, `log_softmax(head(h[-1]))[y]`, or weigh it, as
one-hot targets do.

And what the model gives for the first row, added to all rows that it was computed of: `x +
attention(x)[0]`, as PyTorch writes it, where attention gives a pair. What is subtracted is an
anchor. Rows that may be times, which a single call has, count where sequences stand behind them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from wengert.core.dims import Dim, Size
from wengert.core.graph import Node
from wengert.core.table import op
from wengert.core.words.warn import warn_user
from wengert.errors import FirstRowWarning
from wengert.train.batch import ROWS
from wengert.train.recorded.rows.forward_pass import ForwardPass, operands_of, shape_of

_AS_THEY_ARE = ("input", "astype", "reshape", "negative", "stop_gradient")
_OF_ERRORS = ("square", "power", "abs", "multiply", "divide", "negative", "astype")
_COMPUTING = ("bilinear", "composite")  # kinds of ops that a model computes with
_OVER_CLASSES = ("softmax", "log_softmax", "logsumexp")
_LOOKING_UP = ("gather", "take_along_axis")


def warn_of_one_row_for_all(
    forward: ForwardPass,
    sizes: Mapping[str, int],  # the open ones, in the call that it was recorded for
    shuffled: bool = False,
) -> None:
    """Warn, once, where a loss compares what the model gives for one row with all rows of data, or
    adds it to them. `shuffled` says that axis 0 of the data is no time.
    """
    loss = _Loss(forward, sizes)
    for taken, node in loss.compared(shuffled):
        if taken.axis == 1 and taken.of_layer:
            repair = "Outputs of a recurrent layer are (time, batch, hidden): hs[-1] is the last "
            repair += "time of every row."
        elif taken.of_layer:
            repair = "The last state of a recurrent layer is (batch, hidden), without an axis of "
            repair += f"layers: leave out [{taken.index}]."
        else:
            each = "x[:, 0] is the first number of every row"
            if len(taken.shape) > 2:
                each = f"of (batch, time, size), x[:, {taken.index}] is one time of every row"
            repair = (
                f"Leave out [{taken.index}]; {each}. If one row is meant for all, compute it "
                "alone, as model(x[0])."
            )
        _warn(taken, f"{node.op.name} compares this one with all rows of data. {repair}")
        return
    for taken in loss.added(shuffled):
        _warn(
            taken,
            "add adds this one to all rows that it was computed of. Attention and other layers of "
            "sequences give one array here, where PyTorch's attention gives a pair: leave out [0].",
        )
        return


def _warn(taken: _Taken, then: str) -> None:
    given = f"({', '.join(map(str, taken.shape))}{',' * (len(taken.shape) == 1)})"
    index = ", ".join([":"] * taken.axis + [taken.index])
    warn_user(
        f"getitem: x[{index}] was given x of shape {given}, which the model gives for all rows "
        f"of the batch, and takes one of them; then {then}",
        FirstRowWarning,
        taken.node.line,
    )


@dataclass(frozen=True)
class _Taken:
    """One row that is taken of all."""

    node: Node
    shape: tuple[Size, ...]  # of what it is taken from
    axis: int
    of_layer: bool  # recurrent, whose batch has these rows

    @property
    def rows(self) -> Size:
        return self.shape[self.axis]

    @property
    def index(self) -> str:
        start = self.node.params["start"][self.axis]
        return str(start - self.rows if isinstance(start, Dim) else start)


class _Loss:
    """The forward pass of a loss: what depends on one row of what the model gives."""

    def __init__(self, forward: ForwardPass, sizes: Mapping[str, int]) -> None:
        self._pass, self._sizes = forward, sizes
        self._nodes, self._of_model = self._pass.nodes, self._pass.of_model
        self._of_layer: set[int] = set()  # recurrent, along other axes than the rows
        self._over_classes: set[int] = set()  # of one row, behind a softmax
        for number, node in self._nodes.items():
            operands = operands_of(node)
            if self._goes_along_times(node) or not self._of_layer.isdisjoint(operands):
                self._of_layer.add(number)

    def _goes_along_times(self, node: Node) -> bool:
        if node.op is not op.recurrent_loop:
            return False
        shape = self._pass.shape(operands_of(node)[0])
        return len(shape) == 3 and not self._are_rows(shape[0]) and self._are_rows(shape[1])

    def _are_rows(self, size: Size) -> bool:
        """Whether a size is that of a batch, of more than one row in the recorded call."""
        return str(size).startswith(ROWS) and self._sizes.get(str(size), 0) > 1

    def _has_rows(self, number: int) -> bool:
        return any(map(self._are_rows, self._pass.shape(number)))

    def compared(self, shuffled: bool) -> Iterator[tuple[_Taken, Node]]:
        """One row of what the model gives, and where all rows of data meet it."""
        from_row = dict(self._taken())
        for number, node in self._nodes.items():
            operands = operands_of(node)
            ours = next((i for i in operands if i in from_row), None)
            if ours is None:
                continue
            taken = from_row[ours]
            others = [
                i for i in operands if i not in from_row and taken.rows in self._pass.shape(i)
            ]
            is_batch = taken.of_layer or shuffled
            if not others and (is_batch or taken.rows not in shape_of(node)):
                from_row.setdefault(number, taken)
                if node.op.name in _OVER_CLASSES or not self._over_classes.isdisjoint(operands):
                    self._over_classes.add(number)
            data = bool(others) and self._of_model.isdisjoint(others)
            if data and self._is_a_mistake(number, ours, others, is_batch):
                yield taken, node

    def added(self, shuffled: bool) -> Iterator[_Taken]:
        """The first row of what the model gives, where it is added to all rows that it was computed
        of.
        """
        from_row = {number: taken for number, taken in self._taken() if taken.index == "0"}
        for number, node in self._nodes.items():
            operands = operands_of(node)
            taken = next((from_row[i] for i in operands if i in from_row), None)
            if taken is None or taken.axis != 0:
                continue
            others = [i for i in operands if i not in from_row]
            if not any(taken.rows in self._pass.shape(i) for i in others):
                from_row.setdefault(number, taken)
            elif node.op.infix == "__add__" and self._pass.shape(others[0]) == taken.shape:
                before = self._pass.before(operands_of(taken.node)[0])
                sequences = len(taken.shape) > 2 and not any(map(self._goes_along_rows, before))
                if others[0] in before and (shuffled or sequences):
                    yield taken

    def _goes_along_rows(self, number: int) -> bool:
        """Whether a loop goes along the rows, which may then be times."""
        node = self._nodes[number]
        over = [self._pass.shape(i) for i in operands_of(node)]
        along = node.op in (op.recurrent_loop, op.scan)
        return along and any(bool(shape) and self._are_rows(shape[0]) for shape in over)

    def _taken(self) -> Iterator[tuple[int, _Taken]]:
        """The slices of one row, where all that reads what it is taken from takes one row."""
        forms, slices = self._pass.forms, dict[int, _Taken]()
        others = set[int]()
        for number, node in self._nodes.items():
            taken = self._taken_by(number, node)
            if taken is not None:
                slices[number] = taken
            else:
                others.update(forms[i] for i in operands_of(node))
        for number, taken in slices.items():
            if forms[operands_of(taken.node)[0]] not in others:
                yield number, taken

    def _taken_by(self, number: int, node: Node) -> _Taken | None:
        if node.op is not op.slice_axes or number not in self._of_model:
            return None
        (source,) = operands_of(node)
        shape = self._pass.shape(source)
        for axis, size in enumerate(shape):
            if self._are_rows(size) and str(node.params["size"][axis]) == "1":
                return _Taken(node, shape, axis, source in self._of_layer)
        return None

    def _is_a_mistake(
        self, number: int, ours: int, others: Collection[int], is_batch: bool
    ) -> bool:
        node, after = self._nodes[number], self._pass.after(number)[1:]
        if any(map(self._computes_of_model, after)):
            return False
        if is_batch and self._meets_classes(node, ours, others):
            return True
        differs = node.op is op.subtract and all(map(self._is_argument, others))
        if is_batch:
            is_one = all(str(size) == "1" for size in self._pass.shape(ours))
            return differs or (is_one and node.op.kind == "elementwise")
        of_rows = [self._nodes[i].op.name for i in after if self._has_rows(i)]
        return differs and all(name in _OF_ERRORS for name in of_rows)

    def _meets_classes(self, node: Node, ours: int, others: Collection[int]) -> bool:
        """Whether one row has a number for each class, and data say the classes of all rows."""
        if node.op.name in _LOOKING_UP:
            return node.operands[0] not in others
        if "reduction" in node.params:
            return True  # a loss, which takes one row only if it was repeated for all
        weighs = node.op.kind in ("elementwise", "bilinear")
        return weighs and (ours in self._over_classes or all(map(self._is_one_hot, others)))

    def _is_one_hot(self, number: int) -> bool:
        while self._nodes[number].op is op.astype:
            (number,) = operands_of(self._nodes[number])
        return self._nodes[number].op is op.one_hot

    def _is_argument(self, number: int) -> bool:
        while self._nodes[number].op.name in _AS_THEY_ARE:
            operands = operands_of(self._nodes[number])
            if not operands:
                return True
            (number,) = operands
        return False

    def _computes_of_model(self, number: int) -> bool:
        """Whether an op that layers are made of is given something of the model alone."""
        node = self._nodes[number]
        alone = [i for i in operands_of(node) if i in self._of_model and not self._has_rows(i)]
        return node.op.kind in _COMPUTING and len(node.operands) > 1 and bool(alone)
