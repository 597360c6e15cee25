"""The way back from an element that is not finite to where that began: from node to operand, into
the bodies of loops, branches and regions, and out of them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from wengert.core.graph import Graph, Node
from wengert.core.lowering import View
from wengert.core.table import op
from wengert.core.words.source import Line
from wengert.runtime.given_arrays import readable
from wengert.runtime.origins.provenance_reading import ArrayPosition, Question, culprit, kind_of
from wengert.runtime.origins.provenance_values import LIMIT, Checked, Scope

Array: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Origin:
    """Where it began: an element of a node that had finite operands, in a run of its graph."""

    scope: Scope
    number: int  # of the node
    output: int  # of the node's, where it has several
    element: ArrayPosition
    kind: str  # nan, inf or -inf

    @property
    def node(self) -> Node:
        return self.scope.graph.nodes[self.number]


@dataclass(frozen=True)
class Entered:
    """A number that was not finite before it came into a graph or a node: the element of the input
    or operand.
    """

    position: int
    element: ArrayPosition
    turned: Origin | None  # the node that made a nan of infinities on the way, if one did


def walk(
    scope: Scope, number: int, element: ArrayPosition, turned: Origin | None = None
) -> Origin | Entered:
    """The place where an element of a node, which is not finite, first became so."""
    graph = scope.graph
    choice: Origin | None = None  # what has put NaN there
    while number not in scope.checked.positions:
        node, output = graph.nodes[number], 0
        kind = kind_of(scope.value(number)[element])
        if node.op is op.constant:
            return turned or choice or Origin(scope, number, output, element, kind)
        if is_choice(node):
            parameter = _operand(node, 1)
            if kind_of(scope.value(parameter)[element]):  # it was none before
                number = parameter
                continue
            choice = Origin(scope, number, output, element, kind)
        elif not isinstance(node.op.lower, View):
            choice = None
        if node.op is op.pick:
            number, output = _operand(node, 0), node.params["index"]
            node = graph.nodes[number]
        if node.op in _BODIES:
            origin = _BODIES[node.op](scope, node, output, element, turned)
        else:
            origin = _one_back(Origin(scope, number, output, element, kind), turned)
        if isinstance(origin, Origin):
            return origin
        number, element, turned = _operand(node, origin.position), origin.element, origin.turned
    return Entered(scope.checked.positions[number], element, turned)


def is_choice(node: Node) -> bool:
    """Whether a node puts NaN in the place of a parameter that is none, as `Normal.sample(std)`."""
    return len(node.operands) > 1 and is_of_choice(node.line)


def is_of_choice(line: Line | None) -> bool:
    """Whether such a node has this line, and the constant that it chooses."""
    return line is not None and line.inside.endswith(")") and not line.of


def _one_back(here: Origin, turned: Origin | None) -> Origin | Entered:
    """From an element of a node to one of its operands, if that is where it comes from."""
    node, scope = here.node, here.scope
    operands = scope.operands(node)
    asked = Question(node, scope.checked.params(node), operands, here.output, here.element)
    source = culprit(asked, here.kind)
    if source is None:
        return here
    position, element = source
    x = operands[position]
    assert x is not None
    if here.kind == "nan" and kind_of(x[element]) != "nan":
        turned = here
    return Entered(position, element, turned)


def _operand(node: Node, position: int) -> int:
    number = node.operands[position]
    assert number is not None
    return number


# Bodies. A node that has one is left through an operand.


def _in_region(
    scope: Scope, node: Node, output: int, element: ArrayPosition, turned: Origin | None
) -> Origin | Entered:
    body: Graph = node.params["body"]
    inner = Scope(scope.checked.body(body), scope.operands(node), scope.names(node), scope.steps)
    return walk(inner, body.returns[output], element, turned)


def _in_branch(
    scope: Scope, node: Node, output: int, element: ArrayPosition, turned: Origin | None
) -> Origin | Entered:
    condition, *operands = scope.operands(node)
    body: Graph = node.params["then" if condition else "orelse"]
    inner = Scope(scope.checked.body(body), operands, scope.names(node)[1:], scope.steps)
    origin = walk(inner, body.returns[output], element, turned)
    return replace(origin, position=origin.position + 1) if isinstance(origin, Entered) else origin


def _in_loop(
    scope: Scope, node: Node, output: int, element: ArrayPosition, turned: Origin | None
) -> Origin | Entered:
    loop = _While(scope, node) if node.op is op.while_loop else _SteppedLoop(scope, node)
    returned, count = loop.returned, loop.count
    if count <= output < returned:  # collected in one step
        turn, element = loop.time(element[0]), element[1:]
    else:  # a carry: the last one, or one that was saved before a step
        turn = loop.length
        if output >= returned:
            turn, element = loop.time(element[0]), element[1:]
            output -= returned
        turn = loop.since(turn, output, element) - 1
    while turn >= 0:
        origin = walk(loop.scope(turn), loop.body.returns[output], element, turned)
        if isinstance(origin, Origin):
            return origin
        output, element, turned = origin.position - loop.consts, origin.element, origin.turned
        if output < 0:
            return origin
        if output >= count:
            return replace(origin, element=(loop.time(turn), *element))
        turn = loop.since(turn, output, element) - 1
    return Entered(loop.consts + output, element, turned)


class _SteppedLoop:
    """A loop run step by step, whose carry is known before each step. Where all carries need too
    much memory some of them are kept, and the others computed again from these.
    """

    def __init__(self, scope: Scope, node: Node) -> None:
        params = scope.checked.params(node)
        self.outer, self.names = scope, scope.names(node)
        self.body: Graph = node.params["body"]
        self.checked: Checked = scope.checked.body(self.body)
        self.consts, self.count = params["consts"], params["carry"]
        self.reverse = params.get("reverse", False)
        operands = [x for x in scope.operands(node) if x is not None]
        end = self.consts + self.count
        self.fixed, first, self.xs = (
            operands[: self.consts],
            operands[self.consts : end],
            operands[end : len(self.body.inputs)],
        )
        self.returned = len(self.body.returns)  # outputs before the saved carries
        self.length = self.steps(first, params, operands[len(self.body.inputs) :])
        self.stride = 1 + sum(x.nbytes for x in first) * self.length // LIMIT
        self.kept = {0: first}  # carries by how many steps come before
        for name in range(self.consts, end):
            self.names[name] = ""  # the first carry has it, the others do not

    def steps(self, first: Sequence[Array], params: dict[str, Any], taken: Sequence[Array]) -> int:
        """How many steps are taken; an operand behind the others may say it."""
        return int(taken[0]) if taken else int(params["length"])

    def time(self, turn: int) -> int:
        """The place along the first axis of the step that has so many before it, and the other way
        round.
        """
        return self.length - 1 - turn if self.reverse else turn

    def inputs(self, turn: int, carry: Sequence[Array]) -> list[Array]:
        return [*self.fixed, *carry, *(x[self.time(turn)] for x in self.xs)]

    def scope(self, turn: int) -> Scope:
        steps = (*self.outer.steps, self.time(turn))
        return Scope(self.checked, self.inputs(turn, self.carry(turn)), self.names, steps)

    def carry(self, turn: int) -> Sequence[Array]:
        """The carry before a step."""
        last = turn
        while last not in self.kept:
            last -= 1
        carry = self.kept[last]
        returns = tuple(self.body.returns[: self.count])
        for before in range(last, turn):
            inputs = [readable(np.asarray(x)) for x in self.inputs(before, carry)]
            carry = self.checked.compute(returns, inputs)
            if (before + 1) % self.stride == 0:
                self.kept[before + 1] = carry
        return carry

    def since(self, turn: int, position: int, element: ArrayPosition) -> int:
        """From how many steps on, up to this one, all carries have the same kind of number that is
        not finite there.
        """
        kind = kind_of(self.carry(turn)[position][element])
        while turn > 0 and kind_of(self.carry(turn - 1)[position][element]) == kind:
            turn -= 1
        return turn


class _While(_SteppedLoop):
    """A loop that ends by itself: first it is run to its end, to see how long that is."""

    def steps(self, first: Sequence[Array], params: dict[str, Any], taken: Sequence[Array]) -> int:
        self.returned = self.count + 1  # behind the carry stands the number of steps
        test: Graph = params["test"]
        asked = self.outer.checked.body(test)
        count, carry = 0, first
        while asked.compute(tuple(test.returns), self.inputs(count, carry))[0]:
            carry = self.checked.compute(tuple(self.body.returns), self.inputs(count, carry))
            count += 1
        return count

    def inputs(self, turn: int, carry: Sequence[Array]) -> list[Array]:
        return [readable(x) for x in (*self.fixed, *carry)]


_BODIES = {
    op.scan: _in_loop,
    op.while_loop: _in_loop,
    op.cond: _in_branch,
    op.region: _in_region,
}
