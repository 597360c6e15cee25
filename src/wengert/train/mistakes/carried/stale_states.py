"""StaleStates: functions that are bound or evaluated and have a state from before training. A step
carries a copy of the state that it was made with: `start` in `step.bind(lambda m, x: net(m, start,
x))`, or in `predict(start, x)`, stays what it was, where `step.state` is meant. So does the state
that a BatchNorm begins with, if the function makes it anew.

Before training that is right, so such a function is looked at until the state has changed. A state
from which the function itself goes on is another thing: sequences begin with the first memory of a
recurrent layer. A function that is given the step's own state as well compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import BatchNormWarning, CopiedWarning
from wengert.functions.batch_statistics import KeptStatistics, is_first
from wengert.interpret.mistakes.widening import place_of
from wengert.interpret.trace import Trace
from wengert.optim.parameters import leaves_in
from wengert.runtime.outside.live import is_live
from wengert.runtime.outside.watch import owner_of
from wengert.train.engine import Engine
from wengert.train.mistakes.copied.given_trees import GivenArray
from wengert.train.mistakes.copied.read_originals import (
    constants_by_owner,
    line_of,
    parts_of,
    read_from_outside,
)
from wengert.train.mistakes.copied.target_averages import some_numbers
from wengert.train.recorded.layers.outside_uses import operands_of
from wengert.train.recorded.rows.carried_rows import given_to_loop
from wengert.train.recorded.step_arrays import CALLS

Array: TypeAlias = np.ndarray[Any, Any]


class _Read(NamedTuple):
    """An array of the state that the function reads from outside, and where."""

    given: GivenArray
    line: Line | None


class StaleStates:
    """Looks at one function: when it is recorded, and in its calls as long as it `waits`."""

    def __init__(self, by: str, f: Any, engine: Engine) -> None:
        self._by, self._function = by, f
        self._given, self._loss = engine.given, engine.plan.loss
        self._carried, self._counts = engine.carried, engine.counts
        self.waits = False  # whether a later call may be a mistake
        self._is_over = not engine.carried
        self._reads: list[_Read] = []
        self._norms: list[KeptStatistics] = []  # those that have their first statistics
        self._going_on: set[int] = set()  # leaves of the arguments from which the function goes on

    def note(
        self, kept: Sequence[KeptStatistics], results: Sequence[Value], leaves: Sequence[Value]
    ) -> None:
        """Note what the function that is being recorded has made of the leaves of its arguments,
        and of arrays from outside.
        """
        if self._is_over:
            return
        self._norms = [each for each in kept if self._has_first_statistics(each, kept)]
        places = [place_of(x) for x in leaves]
        self._going_on = {
            i for i, each in enumerate(places) if each is not None and _goes_on(*each, results)
        }
        self._reads = list(self._read_from_outside(results))

    def _has_first_statistics(self, norm: KeptStatistics, kept: Sequence[KeptStatistics]) -> bool:
        """Whether a layer of the model has a mean of 0 and a variance of 1 that are constants, and
        the step carries such a mean.
        """
        if type(norm.layer) is not Tensor or not is_first(norm.mean, norm.var):
            return False
        also = [each for each in kept if each.layer is norm.layer and type(each.mean) is Tensor]
        alike = [
            x for x in self._carried if (x.shape, x.dtype) == (norm.mean.shape, norm.mean.dtype)
        ]
        return bool(alike) and not also

    def _read_from_outside(self, results: Sequence[Value]) -> Iterator[_Read]:
        constants = constants_by_owner()
        found = [
            (each, x, uses)
            for each, x in self._given.states()
            if constants and (uses := parts_of(x, constants))
        ]
        compared = read_from_outside(self._loss) if found else set()
        level = next((place[0] for place in map(place_of, results) if place is not None), None)
        for each, x, uses in found:
            parts = {id(part) for part, _ in uses}
            numbers = [] if level is None else level.constant_arrays()
            goes_on = level is not None and any(
                _goes_on(level, number, results) for part, number in numbers if id(part) in parts
            )
            if id(owner_of(x)) not in compared and not goes_on:
                yield _Read(each, uses[0][1])

    def look(self, arguments: Sequence[Any]) -> None:
        """Look at a call; warn, once, where what it has is not what the step carries by now."""
        if self._is_over:
            return
        leaves = leaves_in(tuple(arguments))
        if any(is_live(x) and np.may_share_memory(x, y) for x in leaves for y in self._carried):
            self._is_over, self.waits = True, False
            return
        known = {id(x): each for each, x in self._given.states()}
        given = [(i, known[id(x)]) for i, x in enumerate(leaves) if id(x) in known]
        given = [(i, each) for i, each in given if i not in self._going_on]
        reads = [each for each in self._reads if any(each.given is x for x in known.values())]
        stale_reads = [each for each in reads if _is_stale(each.given)]
        stale = [each for _, each in given if _is_stale(each)]
        self._is_over = True
        if self._norms and self._counts[CALLS]:
            self._warn_of_norm(self._norms[0].line)
        elif stale_reads:
            self._warn_of_read(stale_reads[0])
        elif stale:
            self._warn_of_argument(stale[0])
        else:
            self._is_over = False
        self.waits = not self._is_over and bool(self._norms or reads or given)

    def _warn_of_norm(self, line: Line | None) -> None:
        warn_user(
            f"{self._by}: a BatchNorm in it has training=False and the state that it begins with, "
            "mean 0 and variance 1; the step carries another one by now, and what the layer gives "
            "is not what it was trained for. Give the function a parameter for the state, and pass "
            "step.state.",
            BatchNormWarning,
            line,
        )

    def _warn_of_read(self, read: _Read) -> None:
        where = "" if read.line is None else f" ({read.line})"
        warn_user(
            f"{self._by}: the function reads {read.given.name} that the step was made with, from "
            "outside; the step carries on a copy, and what the function reads is as it was before "
            "training. Give the function a parameter for it, and pass step.state. For the numbers "
            f"before training, read wg.tree.copy(state).{where}",
            CopiedWarning,
            line_of(self._function) or read.line,
        )

    def _warn_of_argument(self, given: GivenArray) -> None:
        warn_user(
            f"{self._by}: called with {given.name} that the step was made with; the step carries "
            "on a copy, and this one is as it was before training. Pass step.state. For the "
            "numbers before training, pass wg.tree.copy(state).",
            CopiedWarning,
        )


def _is_stale(each: GivenArray) -> bool:
    return not np.array_equal(some_numbers(each.live), each.numbers)


def _goes_on(level: Trace, number: int, results: Sequence[Value]) -> bool:
    """Whether a function goes on from a value: a loop begins with it, or one of its results, which
    is of the same form, is computed from it.
    """
    nodes = level.graph.nodes
    reached = {number}
    for i, node in enumerate(nodes):
        operands = operands_of(node)
        if any(each in reached for each in operands):
            reached.add(i)
            if any(each in reached for each in given_to_loop(node)[0]):
                return True
    places = [place for place in map(place_of, results) if place is not None]
    made = [i for each, i in places if each is level and i in reached and i != number]
    return any(nodes[i].type == nodes[number].type for i in made)
