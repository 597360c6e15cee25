"""What becomes of arrays from outside in a loss that is being recorded. A layer that was forgotten
in the model stands between parameters and the loss: what it is given depends on parameters, or what
it gives is multiplied by them, alone or with values of the model that it has met. A target or a
teacher is given data, and its results meet those of the model; a part that is to stay as it is may
have a wg.stop_gradient behind it. A summand of the loss that compares what a layer gives with data,
and has nothing of the model in it, is there to train the layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from wengert.core.graph import Node
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.source import Line
from wengert.interpret.mistakes.widening import place_of
from wengert.interpret.trace import Trace, recorded_constants
from wengert.runtime.outside.watch import owner_of

Array: TypeAlias = np.ndarray[Any, Any]
# Ops whose results have the elements of their operand.
_MOVING = ("slice_axes", "reshape", "astype", "transpose", "expand_dims", "squeeze", "broadcast_to")
# Ops whose results are sums of what their operands are sums of, and multiples by constants.
_SUMMING = ("add", "subtract", "negative", "sum", "mean", "astype", "reshape")
_SCALING = ("multiply", "divide")


@dataclass(frozen=True)
class OutsideUse:
    """An array that has become a constant of the program, and where it stands in it."""

    array: Array  # the one whose memory it is
    line: Line | None
    is_behind: bool  # whether parameters get their gradients through what it is applied to
    is_before: bool  # whether parameters are applied to what is computed with it
    is_joined: bool  # whether they are where that has met values of the model
    is_alone: bool  # whether a summand of the loss compares it with data, and has no parameters


def loss_flow(loss: Value, trained: Sequence[Value], model: Sequence[Value]) -> LossFlow | None:
    """How gradients go in the program that is being recorded, of whose model these are the
    parameters that are trained, and all leaves.
    """
    place = place_of(loss)
    if place is None:
        return None
    level, number = place
    return LossFlow(level, number, _handles(level, trained), _handles(level, model))


def outside_uses(flow: LossFlow) -> list[OutsideUse]:
    """The uses of arrays from outside in the program that is being recorded. Where one is not seen,
    as in the body of a loop, it may be one before parameters.
    """
    level, constants = flow.level, recorded_constants()
    nodes: dict[int, list[int]] = {}
    for x, each in level.constant_arrays():
        nodes.setdefault(id(x), []).append(each)
    uses = []
    for x, line in constants:
        if x.dtype.kind != "f" or not x.shape:
            continue
        seen = nodes.get(id(x))
        behind = seen is not None and any(map(flow.is_behind, seen))
        before = seen is None or any(map(flow.is_before, seen))
        joined = seen is not None and any(map(flow.is_joined, seen))
        alone = seen is not None and any(map(flow.is_alone, seen))
        uses.append(OutsideUse(owner_of(x), line, behind, before, joined, alone))
    return uses


def argument_flow(
    loss: Value, trained: Sequence[Value], model: Sequence[Value], argument: Sequence[Value]
) -> tuple[bool, bool]:
    """Whether parameters get their gradients through what the leaves of an argument are applied to,
    and whether parameters are applied to what is computed with these, a wg.stop_gradient between
    the two or not: it says nothing about which numbers are meant.
    """
    flow = loss_flow(loss, trained, [*model, *argument])  # as weights, which are no data
    if flow is None:
        return False, False
    numbers = _handles(flow.level, argument)
    before = any(flow.is_before(number, flow.users) for number in numbers)
    return any(map(flow.is_behind, numbers)), before


def _handles(level: Trace, values: Iterable[Value]) -> set[int]:
    places = map(place_of, values)
    return {each[1] for each in places if each is not None and each[0] is level}


class LossFlow:
    """How gradients go from a loss to the parameters."""

    def __init__(self, level: Trace, loss: int, trained: set[int], model: set[int]) -> None:
        self.level, self.nodes = level, level.graph.nodes
        self.live = self._differentiated(loss)
        self._trained, self.data = set(trained), set[int]()
        self._loss, self._of_model = loss, set(model)
        for number, node in enumerate(self.nodes[: loss + 1]):
            operands = operands_of(node)
            if number not in model and (
                node.op is op.input or any(i in self.data for i in operands)
            ):
                self.data.add(number)
            if not node.op.flat and any(i in self._trained for i in operands):
                self._trained.add(number)
            if any(i in self._of_model for i in operands):
                self._of_model.add(number)
        self.users: dict[int, list[int]] = {}  # for each node, those that compute with it
        self._using: dict[int, list[int]] = {}  # and of these, those with a gradient
        for number, node in enumerate(self.nodes[: loss + 1]):
            for i in operands_of(node):
                self.users.setdefault(i, []).append(number)
                if number in self.live:
                    self._using.setdefault(i, []).append(number)

    def _differentiated(self, loss: int) -> set[int]:
        """The nodes that the loss is differentiated through."""
        live, pending = {loss}, [loss]
        while pending:
            node = self.nodes[pending.pop()]
            new = [] if node.op.flat else [i for i in operands_of(node) if i not in live]
            live.update(new)
            pending += new
        return live

    def goes_through(self, numbers: Iterable[int]) -> Line | None:
        """The line of the first of these nodes that parameters get their gradients through."""
        found = (i for i in sorted(numbers) if i in self.live and i in self._trained)
        return next((self.nodes[i].line for i in found), None)

    def is_behind(self, number: int) -> bool:
        """Whether a constant is applied to something that parameters have made of data. One that
        parameters themselves are compared with is not.
        """
        return any(
            any(i in self._trained and i in self.data for i in operands_of(self.nodes[each]))
            for part in self._computed_from(number, self._using, with_data=False)
            for each in self._using.get(part, ())
        )

    def is_before(self, number: int, users: dict[int, list[int]] | None = None) -> bool:
        """Whether parameters are applied to something that is computed with a constant: not number
        by number, as where the results of two networks meet. It is followed where gradients go, or
        to these users.
        """
        return any(
            self.nodes[each].op.kind != "elementwise"
            and any(
                i in self._trained and i not in self.data for i in operands_of(self.nodes[each])
            )
            for part in self._computed_from(number, users or self._using, with_data=True)
            for each in self._using.get(part, ())
        )

    def is_joined(self, number: int) -> bool:
        """Whether parameters are applied, not number by number, to values of the model that have
        met what is computed with a constant, as the sum of two embeddings.
        """
        reached, pending = {number}, [number]
        while pending:
            part = pending.pop()
            for each in self._using.get(part, ()):
                others = [i for i in operands_of(self.nodes[each]) if i != part]
                weighed = any(i in self._trained and i not in self.data for i in others)
                if weighed and part in self._trained and self.nodes[each].op.kind != "elementwise":
                    return True
                if each not in reached:
                    reached.add(each)
                    pending.append(each)
        return False

    def is_alone(self, number: int) -> bool:
        """Whether a summand of the loss has no parameters, and compares what is computed with a
        constant with data. The entropy of a teacher is such a summand, and compares nothing.
        """
        if not any(number in each for each in self._lone_summands):
            return False
        made = self._computed_from(number, self.users, with_data=True)
        return any(
            any(i in made and i in self.data for i in operands)
            and any(i not in made and i in self.data for i in operands)
            for each in self._lone_summands
            if number in each
            for operands in (operands_of(self.nodes[i]) for i in each if self._compares(i))
        )

    def _compares(self, number: int) -> bool:
        """Whether a node is a difference, or a loss, that gradients go through."""
        node = self.nodes[number]
        is_difference = node.op.name == "subtract" or "reduction" in node.params
        return number in self.live and is_difference

    @cached_property
    def _lone_summands(self) -> list[set[int]]:
        """For each summand of the loss that has nothing of the model, what it is computed from."""
        found, pending = [], [self._loss]
        while pending:
            number = pending.pop()
            node = self.nodes[number]
            operands = operands_of(node)
            if number not in self._of_model:
                found.append(self._computing(number))
            elif node.op.name in _SUMMING:
                pending += operands
            elif node.op.name in _SCALING:
                varied = [i for i in operands if i in self._of_model or i in self.data]
                pending += varied if len(varied) == 1 else []
        return found

    def _computing(self, number: int) -> set[int]:
        reached, pending = {number}, [number]
        while pending:
            new = [i for i in operands_of(self.nodes[pending.pop()]) if i not in reached]
            reached.update(new)
            pending += new
        return reached

    def masks_data(self, leaf: Value) -> bool:
        """Whether a leaf of the model is used as a mask alone: what is computed of data is
        multiplied by it, or has something added where it is 0, as in (1 - mask) * -1e9.
        """
        place = place_of(leaf)
        if place is None or place[0] is not self.level:
            return False
        pending, turned = [place[1]], set[int]()  # turned: computed with, not moved alone
        uses = 0
        while pending:
            number = pending.pop()
            for each in self._using.get(number, ()):
                node = self.nodes[each]
                if each in self.data:
                    adds = number in turned and node.op.name in ("add", "subtract")
                    if node.op.name != "multiply" and not adds:
                        return False
                    uses += 1
                elif node.op.name in _MOVING or self._is_with_constants(each, number):
                    pending.append(each)
                    if node.op.name not in _MOVING or number in turned:
                        turned.add(each)
                else:
                    return False
        return uses > 0

    def _is_with_constants(self, number: int, operand: int) -> bool:
        node = self.nodes[number]
        others = [i for i in operands_of(node) if i != operand]
        return node.op.kind == "elementwise" and not any(i in self._trained for i in others)

    def _computed_from(self, number: int, users: dict[int, list[int]], with_data: bool) -> set[int]:
        """What is computed with a constant, and without parameters that are trained."""
        reached, pending = {number}, [number]
        while pending:
            for each in users.get(pending.pop(), ()):
                if each in reached or each in self._trained:
                    continue
                if with_data or each not in self.data:
                    reached.add(each)
                    pending.append(each)
        return reached


def operands_of(node: Node) -> list[int]:
    return [i for i in node.operands if i is not None]
