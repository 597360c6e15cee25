"""Rules: the updates of a segment as graphs, to be reasoned about.

A flat rule is one graph. A rule that takes norms is one for each kind of parameters: of one shape,
and treated in the same way. What it finds about a whole parameter, a norm or a rate made of norms,
are *scalars* of it. Behind those it is elementwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from wengert.core.graph import Graph
from wengert.core.table import op
from wengert.core.text.show import show
from wengert.core.types import ArrayType, Value
from wengert.functions.clipping import length
from wengert.interpret.splice import spliced
from wengert.interpret.trace import trace_flat
from wengert.passes.dce import dce
from wengert.passes.expand import expand
from wengert.passes.simplify import simplify
from wengert.train.segments import ModelParameter, Segment

Clip: TypeAlias = Callable[[Value], Value]


@dataclass(frozen=True)
class BeforeUpdate:
    """The arrays of one segment, or of one parameter, before an update."""

    weights: Value
    gradients: Value
    states: Mapping[str, Value]


@dataclass
class UpdateRule:
    """A function from (weights, gradients, states, numbers) to new weights and states, as
    a graph.
    """

    graph: Graph
    length: Value | None = None  # the norm of the longest parameter, where the rule takes norms
    # By node: what it is for each parameter.
    scalars: dict[int, list[Value]] = field(default_factory=dict)

    def add(self, length: Value, scalars: Sequence[Value]) -> None:
        """Note what was found about one more parameter."""
        self.length = length if self.length is None else op.maximum(self.length, length)
        for number, x in zip(scalars_of(self.graph), scalars, strict=True):
            self.scalars.setdefault(number, []).append(x)


def rules(
    optimizer: Any, segment: Segment, numbers: Mapping[str, Value], given: BeforeUpdate, clip: Clip
) -> list[UpdateRule]:
    """The rules by which a segment is updated, from these arrays; gradients are clipped first."""
    if optimizer.flat:
        return [UpdateRule(_prepared(_traced(optimizer, segment, (segment.size,), numbers)))]
    known: dict[str, tuple[UpdateRule, Graph]] = {}  # rules, and what computes their scalars
    graphs, texts = RuleGraphs(optimizer, segment, numbers), dict[int, str]()
    for parameter in segment.parameters:
        traced = graphs.of(parameter)
        if id(traced) not in texts:
            texts[id(traced)] = show(traced, lines=False)
        kind = texts[id(traced)]
        if kind not in known:
            graph = _prepared(traced)
            scalars = dce(Graph(graph.nodes, graph.inputs, scalars_of(graph)))
            known[kind] = UpdateRule(graph), scalars
        rule, scalars = known[kind]
        weights, gradients = parameter.view(given.weights), parameter.view(given.gradients)
        states = [parameter.view(x) for x in given.states.values()]
        updated = spliced(scalars, [weights, clip(gradients), *states, *numbers.values()])
        rule.add(length(weights), updated)
    return [rule for rule, _ in known.values()]


class RuleGraphs:
    """An optimizer's rule as graphs: one for each kind of parameters, if it says what is a kind, or
    for each parameter.
    """

    def __init__(self, optimizer: Any, segment: Segment, numbers: Iterable[str]) -> None:
        self.optimizer, self.segment, self.numbers = optimizer, segment, list(numbers)
        # Of the class that has the rule: who writes another rule has other kinds.
        owner = next((each for each in type(optimizer).__mro__ if "rule" in vars(each)), None)
        self._kind: Callable[[Any, str], Any] | None = vars(owner).get("kind_of_path")
        self._known: dict[tuple[tuple[int, ...], Any], Graph] = {}

    @property
    def has_kinds(self) -> bool:
        return self._kind is not None

    def of(self, parameter: ModelParameter) -> Graph:
        """The rule of one parameter; what other parameters of its kind have is the same graph."""
        shape, path = parameter.shape, parameter.path
        key = shape, path if self._kind is None else self._kind(self.optimizer, path)
        if key not in self._known:
            self._known[key] = _traced(self.optimizer, self.segment, shape, self.numbers, path)
        return self._known[key]


def _traced(
    optimizer: Any,
    segment: Segment,
    shape: tuple[int, ...],
    numbers: Iterable[str],
    path: str | None = None,
) -> Graph:
    """An optimizer's rule for weights of a shape."""
    states, names = list(segment.states), list(numbers)

    def rule(weights: Value, gradients: Value, *rest: Value) -> list[Value]:
        state = dict(zip(states, rest, strict=False))
        s = dict(zip(names, rest[len(states) :], strict=True))
        given = () if path is None else (path,)
        new, new_state = optimizer.rule(weights, gradients, state, s, *given)
        return [new, *(new_state[name] for name in states)]

    array, number = ArrayType(shape, segment.dtype), ArrayType((), segment.dtype)
    types = [array] * (2 + len(states)) + [number] * len(names)
    return trace_flat(rule, types, ["weights", "gradients", *states, *names])[0]


def _prepared(graph: Graph) -> Graph:
    return dce(simplify(expand(graph)))  # x**2 becomes x · x


def scalars_of(graph: Graph) -> list[int]:
    """The nodes without axes that were computed from whole arrays and are used for their
    elements.
    """
    about: set[int] = set()
    used: set[int] = set()
    for number, node in enumerate(graph.nodes):
        operands = [i for i in node.operands if i is not None]
        if graph.type(number).shape:
            used.update(operands)
        elif any(graph.type(i).shape or i in about for i in operands):
            about.add(number)
    return sorted(about & used)
