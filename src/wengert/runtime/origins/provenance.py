"""Provenance: which op turned finite numbers into one that is not, for a result that is not finite.

A program that checks its results says that one of them is not finite, not why. `locate` computes
the values inside the program again and walks back from the first element that is not finite to
the earliest node that had finite operands. Only what this element was computed from is looked at,
and of that only what made it so: the -inf of a mask that a softmax turns into zeros is never
blamed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wengert.core.dims import Size
from wengert.core.graph import Graph
from wengert.core.table import op
from wengert.core.types import ArrayType, Type
from wengert.core.words.source import Line
from wengert.errors import NonFiniteError
from wengert.interpret.printing import quiet
from wengert.passes.pipeline import PIPELINE, run
from wengert.passes.sink import sink
from wengert.runtime.origins.provenance_reading import ArrayPosition, first_bad, kind_of
from wengert.runtime.origins.provenance_values import Checked, Failed, Scope
from wengert.runtime.origins.provenance_walk import Origin, is_choice, is_of_choice, walk

Array: TypeAlias = np.ndarray[Any, Any]

# Loops as the user wrote them: what `sink` moves into one happens before it.
PASSES = tuple(each for each in PIPELINE if each is not sink)


class Range(NamedTuple):
    """The numbers an operand has, least and largest."""

    operand: str  # as the op calls it
    name: str  # as the user does, where it is an argument; else empty
    low: float
    high: float
    here: float | None  # the one number that was read, where it was one

    def __str__(self) -> str:
        called = f"{self.operand} ({self.name!r})" if self.name else self.operand
        if self.low == self.high:
            return f"{called} is {self.low:.6g}"
        whole = f"[{self.low:.6g}, {self.high:.6g}]"
        if self.here is None:
            return f"{called} lies in {whole}"
        return f"{called} is {self.here:.6g} (range {whole})"


@dataclass(frozen=True)
class Cause:
    """Why a result is not finite."""

    op: str  # that made it of finite numbers; "input" where an argument was not finite
    value: str  # what it made: nan, inf or -inf
    index: ArrayPosition  # the element of what the op returned
    line: Line | None  # of the user's; with its phase
    steps: tuple[int, ...]  # of the loops around it, the outermost first
    ranges: tuple[Range, ...]  # of the op's operands
    argument: str | None  # the argument that was not finite
    position: int  # of the result among the outputs
    result_index: ArrayPosition  # its first element that is not finite
    leading: Size | None = None  # of what the op returned, or of the argument: the first axis
    column: str | None = None  # of the argument, where it is a frame

    @property
    def phase(self) -> str:
        """forward, backward or update"""
        return "forward" if self.line is None else self.line.phase


def locate(
    graph: Graph,
    arrays: Sequence[Any],
    names: Sequence[str],
    sizes: Mapping[str, int],
    output: int | Sequence[int] | None = None,
) -> Cause | None:
    """Why an output of the graph is not finite for these arrays: the first that is not, among all
    or among those that are given.

    `names` are the arguments' paths, `sizes` those of its Dims. None where all outputs are finite,
    or where they cannot be computed again.
    """
    ready = run(quiet(graph), PASSES)
    scope = Scope(Checked(ready, sizes), arrays, names)
    every = range(len(ready.returns))
    positions = every if output is None else (output,) if isinstance(output, int) else output
    try:
        scope.value(max((ready.returns[i] for i in positions), default=0))  # and those before it
        for position in positions:
            cause = _located(scope, ready.returns[position], position)
            if cause is not None:
                return cause
    except Failed:
        pass
    return None


def _located(scope: Scope, number: int, position: int) -> Cause | None:
    element = first_bad(scope.value(number))
    if element is None:
        return None
    origin = walk(scope, number, element)
    if isinstance(origin, Origin):
        line, steps = origin.node.line, origin.scope.steps
        return Cause(
            origin.node.op.name,
            origin.kind,
            origin.element,
            line,
            steps,
            tuple(_ranges(origin)),
            None,
            position,
            element,
            None if steps else _leading(origin.node.type),
        )
    value = kind_of(scope.inputs[origin.position][origin.element])
    argument = scope.input_names[origin.position]
    leading = _leading(scope.graph.type(scope.graph.inputs[origin.position]))
    return Cause("input", value, origin.element, None, (), (), argument, position, element, leading)


def _leading(t: Type) -> Size | None:
    return t.shape[0] if isinstance(t, ArrayType) and t.shape else None


def _ranges(origin: Origin) -> Iterator[Range]:
    node, scope = origin.node, origin.scope
    single = node.op.kind == "elementwise"
    for i, (x, name) in enumerate(zip(scope.operands(node), scope.names(node), strict=True)):
        if x is None or not x.size or x.dtype.kind == "b":
            continue
        numbers = x[~np.isnan(x)] if x.dtype.kind == "f" else x
        low, high = (numbers.min(), numbers.max()) if numbers.size else (np.nan, np.nan)
        operand = f"operand {i}" if node.op.call.variadic else node.op.call.operands[i]
        here = float(x[origin.element]) if single else None
        if is_choice(node):
            if math.isnan(low):
                continue  # what was put in the place of the parameter
            operand = _chosen_for(node.line)[1]
        yield Range(operand, name, float(low), float(high), here)


# Words.


def _chosen_for(line: Line | None) -> tuple[str, str]:
    """The function that has a parameter of its own looked at, and the parameter."""
    assert line is not None
    function, _, parameter = line.inside.removesuffix(")").partition("(")
    return function, parameter


def describe(cause: Cause, result: str, by: str = "compile") -> str:
    """The message: what the op was given and gave, which result must be finite, and what to do."""
    place = f" ({cause.line})" if cause.line is not None else ""
    repair = "or pass nonfinite='ignore'."
    needed = f"{result} must be finite"
    if cause.result_index:
        needed += f", and is not at index {cause.result_index}"
    if cause.argument is not None:
        given = f"argument {cause.argument!r} is {cause.value}{_at(cause.index)}"
        if cause.column is not None:
            repair = "Fill or drop the missing values before, in all arguments alike."
            return f"{by}: {given}, in the column {cause.column!r}; {needed}. {repair}"
        if cause.value == "nan" and cause.argument.isidentifier():
            chosen = f"wg.where(mask, {cause.argument}, 0)"
            repair = f"leave masked NaN out with {chosen}, as 0 * nan is nan, {repair}"
        return f"{by}: {given}; {needed}. Correct the argument, {repair}"
    if cause.op == op.constant.name:
        given = f"the program has {cause.value}{_at(cause.index)} of a constant"
        outside = (
            "In a log_prob it stands for a value outside of the support: scale it into that, an "
            "action of TanhNormal into (-1, 1). Elsewhere use"
        )
        use = outside if cause.value == "-inf" else "Use"
        return f"{by}: {given}; {needed}. {use} a finite constant, {repair}{place}"
    if is_of_choice(cause.line) and cause.ranges:
        (given_range,) = cause.ranges
        given = f"{given_range}{_at(cause.index)}"
        return (
            f"{_chosen_for(cause.line)[0]}: {given}; it must be above 0, as {needed}. Change what "
            f"goes in, by exp or softplus, {repair}{place}"
        )
    given = ", ".join([f"{_what(cause)}{_at(cause.index)}", *_where(cause)])
    return f"{_name(cause)}: {given}; {needed}. Change what goes in, {repair}{place}"


def _name(cause: Cause) -> str:
    """What the user called: a backward step belongs to the op of the forward pass."""
    return cause.op if cause.line is None or not cause.line.of else cause.line.of


def _what(cause: Cause) -> str:
    if _name(cause) != cause.op:
        return f"its backward step gave {cause.value}"
    during = "the update" if cause.phase == "update" else f"the {cause.phase} pass"
    return f"gave {cause.value} in {during}"


def _at(index: ArrayPosition) -> str:
    return f" at index {index}" if index else ""


def _where(cause: Cause) -> list[str]:
    phrases = []
    if cause.line is not None and cause.line.inside:
        phrases.append(f"inside {cause.line.inside}")
    if len(cause.steps) == 1:
        phrases.append(f"in step {cause.steps[0]} of a loop")
    elif cause.steps:
        phrases.append(f"in steps {', '.join(map(str, cause.steps))} of nested loops")
    if cause.ranges:
        ranges = " and ".join(map(str, cause.ranges))
        part = f"in {cause.op}, " if _name(cause) != cause.op else ""
        phrases.append(f"{part}where {ranges}")
    return phrases


def explained(
    graph: Graph,
    arrays: Sequence[Any],
    names: Sequence[str],  # of the arguments
    sizes: Mapping[str, int],
    results: Sequence[str],  # what messages call the outputs
    written: Mapping[int, int],  # outputs that go to the memory of an argument
    position: int,  # of an output that is not finite
    by: str = "compile",
) -> NonFiniteError:
    """The error for a program one of whose outputs is not finite."""
    cause = locate(graph, arrays, names, sizes)
    if cause is None:
        return NonFiniteError(
            f"{by}: {results[position]} is not finite; nonfinite='raise' refuses that. "
            "Check the arguments, or pass nonfinite='ignore'."
        )
    if cause.position in written:
        parameter: str | None = names[written[cause.position]]
    else:
        number = parameter_of(graph, cause.position)
        parameter = None if number is None else names[graph.inputs.index(number)]
    return error_of(cause, results[cause.position], parameter, by)


def error_of(
    cause: Cause, result: str, parameter: str | None = None, by: str = "compile"
) -> NonFiniteError:
    """The error to raise. `parameter` is the path of the one that the result belongs to: that it is
    the gradient or the new value of.
    """
    if parameter is not None:
        result = f"{result} (for {parameter!r})"
    line = cause.line
    return NonFiniteError(
        describe(cause, result, by),
        op=cause.op,
        phase=cause.phase,
        value=cause.value,
        index=cause.index,
        steps=cause.steps,
        ranges=tuple((x.name or x.operand, x.low, x.high) for x in cause.ranges),
        file=None if line is None else line.file,
        line=None if line is None else line.number,
        of=None if line is None else line.of or None,
        inside=None if line is None else line.inside or None,
        parameter=parameter if cause.argument is None else cause.argument,
        result_index=cause.result_index,
    )


def parameter_of(graph: Graph, position: int) -> int | None:
    """The input whose gradient an output is, as far as the recording of the gradient noted it."""
    number = graph.returns[position]
    noted = [i for i in graph.gradient_of.get(number, []) if i in graph.inputs]
    before = graph.returns[:position].count(number)  # two inputs may share one cotangent
    return noted[min(before, len(noted) - 1)] if noted else None
