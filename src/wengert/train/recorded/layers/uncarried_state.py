"""Uncarried state: a loss computes a new value for what it carries, of the old one and of the
batch, and returns the old one. No call changes the state then, as in `hs, _ = rnn(x, h); return
value, h`, or where a running mean is updated under another name.

What is merely read, and a constant in a state, looks otherwise: data are compared with it, or
multiplied by it, number by number. A new value is one that nothing reads, what a loop ends with
that begins with the state, the sum of a part of the state and of something of the batch, or what a
cell makes of both. Where something like it is returned elsewhere, somebody carries it on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from wengert.core.dtypes import is_float
from wengert.core.graph import Node
from wengert.core.table import op
from wengert.core.types import ArrayType, Value
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import FrozenValueWarning
from wengert.functions.batch_statistics import BatchStatistics
from wengert.interpret.mistakes.widening import place_of
from wengert.interpret.trace import Trace
from wengert.optim.parameters import leaf_name, leaves_in
from wengert.train.recorded.layers.outside_uses import operands_of
from wengert.train.recorded.rows.carried_rows import given_to_loop

# Ops whose results are their operand, or a part of it.
_MOVING = ("astype", "stop_gradient", "reshape", "slice_axes")
_SUMS, _MULTIPLES = ("add", "subtract"), ("multiply", "divide")


def warn_of_uncarried_state(
    paths: Sequence[str],
    before: Sequence[Value],
    returned: Any,
    batch: Any,
    normalizing: Sequence[BatchStatistics],
) -> None:
    """Warn, once, of a leaf of the state that a loss returns as it came, and computes a new value
    for. Of the state of a BatchNorm it is told elsewhere.
    """
    if not isinstance(returned, tuple) or len(returned) < 2:  # what is wrong is said there
        return
    after, aux = leaves_in(returned[1]), leaves_in(returned[2:])
    if len(after) != len(before):
        return
    of_norms = [x for each in normalizing for x in (each.before, each.before_var)]
    for path, old, new in zip(paths, before, after, strict=True):
        place = place_of(old)
        if place is None or not old.shape or not is_float(old.dtype):
            continue
        if not _is_same(new, old) or any(_is_same(x, old) for x in of_norms):
            continue
        found = _NewValues(*place, _numbers(place[0], leaves_in(batch)))
        if not found.has_like(_numbers(place[0], [*after, *aux])):
            line = next(found.lines(), None)
            if line is not None:
                _warn(leaf_name(path, "state"), line)
                return


def _is_same(x: Value, old: Value) -> bool:
    place, wanted = place_of(x), place_of(old)
    return place is not None and wanted is not None and _origin(*place) == wanted[1]


def _origin(level: Trace, number: int) -> int:
    """What a value is, maybe converted."""
    node = level.graph.nodes[number]
    while node.op.name in ("astype", "stop_gradient"):
        number = operands_of(node)[0]
        node = level.graph.nodes[number]
    return number


def _numbers(level: Trace, values: Sequence[Value]) -> set[int]:
    places = map(place_of, values)
    return {each[1] for each in places if each is not None and each[0] is level}


class _NewValues:
    """What a program computes of a leaf of the state and of the batch, and has the leaf's form."""

    def __init__(self, level: Trace, leaf: int, batch: set[int]) -> None:
        self._nodes, self._leaf = level.graph.nodes, leaf
        self._data = self._followed(batch, reads=True)
        self._of_leaf = self._followed({leaf}, reads=False)
        self._moved = {leaf}  # the leaf, and parts of it
        for number, node in enumerate(self._nodes):
            if node.op.name in _MOVING and operands_of(node)[0] in self._moved:
                self._moved.add(number)

    def has_like(self, numbers: set[int]) -> bool:
        """Whether one of these values could be a new one."""
        return any(map(self._may_be_new, numbers))

    def lines(self) -> Iterator[Line | None]:
        """Where new values are computed."""
        numbers = [i for i in range(len(self._nodes)) if self._may_be_new(i)]
        for number in numbers:
            if self._is_last_of_loop(number) or self._is_sum(number):
                yield self._nodes[number].line
        for number in numbers:
            if self._is_dropped(number) or number in self._of_cells:
                yield self._nodes[number].line

    def _may_be_new(self, number: int) -> bool:
        return (
            number in self._of_leaf
            and number in self._data
            and self._nodes[number].type == self._nodes[self._leaf].type
        )

    def _followed(self, begin: set[int], reads: bool) -> set[int]:
        """What is computed of these; unless it `reads`, the body of a loop counts where it goes on
        from one of them, or along it.
        """
        reached = set(begin)
        for number, node in enumerate(self._nodes):
            begins, sequences = given_to_loop(node)
            operands = operands_of(node) if reads or not begins else [*begins, *sequences]
            if any(i in reached for i in operands):
                reached.add(number)
        return reached

    @cached_property
    def _read(self) -> set[int]:
        return {i for node in self._nodes for i in operands_of(node)}

    def _is_dropped(self, number: int) -> bool:
        """Whether nothing computes with a value. Loops have results for their derivatives, too."""
        return number not in self._read and self._nodes[number].op is not op.pick

    def _is_last_of_loop(self, number: int) -> bool:
        """Whether a value is what a loop ends with that begins with the leaf, or a part of it."""
        node = self._nodes[number]
        if node.op is not op.pick:
            return False
        loop = self._nodes[operands_of(node)[0]]
        begins, _ = given_to_loop(loop)
        place = node.params["index"] - (loop.op is op.recurrent_loop)  # behind all outputs
        return 0 <= place < len(begins) and begins[place] in self._moved

    def _is_sum(self, number: int) -> bool:
        """Whether a multiple of the leaf and something of the batch are added, or the leaf itself
        and what is computed of both: 0.9 * mean + 0.1 * new, mean + 0.1 * (new - mean).
        """
        node = self._nodes[number]
        operands = operands_of(node)
        if node.op.name not in _SUMS or len(operands) != 2:
            return False
        pairs = (operands, operands[::-1])
        return any(
            b in self._data and (self._is_multiple(a) or (a in self._moved and b in self._of_leaf))
            for a, b in pairs
        )

    def _is_multiple(self, number: int) -> bool:
        node = self._nodes[number]
        if node.op.name not in _MULTIPLES:
            return False
        operands = operands_of(node)
        others = [i for i in operands if i not in self._moved]
        return len(others) < len(operands) and all(_is_scalar(self._nodes[i]) for i in others)

    @cached_property
    def _of_cells(self) -> set[int]:
        """What is computed of sums of data and of products with the leaf, as h @ u + x @ w."""
        products: set[int] = set()
        sums: set[int] = set()
        for number, node in enumerate(self._nodes):
            operands = operands_of(node)
            if node.op.kind == "bilinear" and any(i in self._moved for i in operands):
                products.update({number} - self._data)
            elif any(i in sums for i in operands):
                sums.add(number)
            elif any(i in products for i in operands):
                is_sum = node.op.name in _SUMS and number in self._data
                (sums if is_sum else products).add(number)
        return sums


def _is_scalar(node: Node) -> bool:
    return isinstance(node.type, ArrayType) and not node.type.shape


def _warn(name: str, line: Line) -> None:
    warn_user(
        f"TrainStep: the loss computes a new value for {name}, of the old one and of the batch, "
        "and returns the old one; the state is the same in every call. Return the new one: return "
        "value, new_state. What is to stay as it is may be read from outside. "
        f"({line})",
        FrozenValueWarning,
        line,
    )
