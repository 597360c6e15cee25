"""Bodies: the graphs inside loops, branches and regions, and their derivatives as graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from wengert.core import tree
from wengert.core.dtypes import is_float
from wengert.core.graph import Graph, Node
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Value, type_of
from wengert.core.words.noticed.lost_writes import below_arguments, require_unwritten
from wengert.errors import ShapeError
from wengert.interpret.derive import jvp_flat, vjp_flat
from wengert.interpret.printing import quiet
from wengert.interpret.replay import replay
from wengert.interpret.trace import trace_flat

_derived: WeakKeyDictionary[Graph, dict[Any, Graph]] = WeakKeyDictionary()


def derive(body: Graph, key: Any, make: Callable[[], Graph]) -> Graph:
    """A graph made from `body`, remembered as long as the body lives."""
    known = _derived.setdefault(body, {})
    if key not in known:
        known[key] = make()
    return known[key]


def zeros(x: Any) -> Value:
    return op.full(x.shape, 0, dtype=x.dtype)


def filled(values: Sequence[Value | None], types: Sequence[Any]) -> list[Value]:
    """Cotangents or tangents of the floats among `types`, with zeros where there is none."""
    return [
        zeros(t) if v is None else v
        for v, t in zip(values, types, strict=True)
        if is_float(t.dtype)
    ]


def spread(values: Sequence[Value], types: Sequence[Any]) -> list[Value | None]:
    """The inverse of `filled`: None where the type is not a float."""
    rest = iter(values)
    return [next(rest) if is_float(t.dtype) else None for t in types]


def _body_gradient(body: Graph, wanted: Sequence[bool]) -> Graph:
    """(operands, cotangents of the float outputs) -> cotangents of the wanted float operands."""
    inputs, outputs = body.input_types(), body.output_types()

    def run(*values: Value) -> Sequence[Value]:
        operands, gs = values[: len(inputs)], values[len(inputs) :]
        _, pullback = vjp_flat(lambda *xs: replay(body, xs), operands)
        gradients = pullback(spread(gs, outputs))
        return [
            zeros(x) if gx is None else gx
            for x, gx, want in zip(operands, gradients, wanted, strict=True)
            if want
        ]

    types = [*inputs, *(t for t in outputs if is_float(t.dtype))]
    return trace_flat(run, types, [f"x{i}" for i in range(len(types))])[0]


def _body_tangent(body: Graph) -> Graph:
    """(operands, tangents of the float operands) -> tangents of the float outputs."""
    inputs = body.input_types()

    def run(*values: Value) -> Sequence[Value]:
        operands, tangents = values[: len(inputs)], spread(values[len(inputs) :], inputs)
        outputs, d_outputs = jvp_flat(lambda *xs: replay(body, xs), operands, tangents)
        return filled(d_outputs, outputs)

    types = [*inputs, *(t for t in inputs if is_float(t.dtype))]
    return trace_flat(run, types, [f"x{i}" for i in range(len(types))])[0]


def gradient_of(body: Graph, want: Sequence[bool]) -> Graph:
    return derive(body, ("vjp", want), lambda: _body_gradient(quiet(body), want))


def tangent_of(body: Graph) -> Graph:
    return derive(body, "jvp", lambda: _body_tangent(quiet(body)))


def float_wanted(types: Sequence[Any], wanted: Sequence[bool]) -> tuple[bool, ...]:
    return tuple(w and is_float(t.dtype) for w, t in zip(wanted, types, strict=True))


def scatter(values: Sequence[Value], wanted: Sequence[bool]) -> list[Value | None]:
    rest = iter(values)
    return [next(rest) if want else None for want in wanted]


def close(
    by: str,
    function: Callable[..., Any],
    structure: tree.Structure,
    types: Sequence[ArrayType],
    whole: bool = False,
    places: Sequence[int] | None = None,
    given: Sequence[Value] = (),
) -> tuple[Graph, tree.Structure, list[Tensor]]:
    """Record `function` of a tree: its graph, the structure it returns and the outer Tensors it
    uses; errors begin with `by`. As a `whole`, nothing it does happens outside. Where leaves are
    tied, `places` says which of the types each is of. `given` are the values of the leaves, as in
    `trace_flat`.
    """
    results: list[tree.Structure] = []

    def run(*values: Value) -> Sequence[Value]:
        given = values if places is None else [values[i] for i in places]
        made = tree.unflatten(structure, given)
        returned = function(*made)
        require_unwritten(by, below_arguments, structure, given, made, returned)
        out, shape = tree.flatten(tree.arrays(returned))
        results.append(shape)
        return out

    names = [f"x{i}" for i in range(len(types))]

    def record(whole: bool) -> tuple[Graph, list[Tensor]]:
        return trace_flat(run, types, names, whole=whole, given=given)

    noted = _noting.value
    with _noting.said([]):  # bodies inside of this one are its own affair
        graph, captured = record(whole)
    if noted is not None:
        noted.append(partial(record, True))
    return graph, results[-1], captured


# What records a body once more, as a whole, so that nothing is left in programs around it: its
# graph, and the outer Tensors that it uses.
RecordAgain: TypeAlias = Callable[[], tuple[Graph, list[Tensor]]]
_noting = Meanwhile[list[RecordAgain]]()  # where `close` notes what it has recorded


def noted_bodies() -> AbstractContextManager[list[RecordAgain]]:
    """The bodies that are recorded meanwhile, but those inside of them."""
    return _noting.said([])


def with_captured(graph: Graph, used: Sequence[Tensor], captured: Sequence[Tensor]) -> Graph:
    """The graph with an input for every captured Tensor, also for those it does not use."""
    numbers = dict(zip(map(id, used), graph.inputs, strict=False))
    arguments = graph.inputs[len(used) :]
    for i, x in enumerate(captured):
        if id(x) not in numbers:
            params = {"name": f"unused{i}", "type": type_of(x)}
            numbers[id(x)] = graph.append(Node(op.input, (), params, type_of(x)))
    graph.inputs[:] = [*(numbers[id(x)] for x in captured), *arguments]
    return graph


def require_given(name: str, operands: Sequence[Any], wanted: Sequence[ArrayType]) -> None:
    """Refuse operands that are not what bodies were recorded for."""
    given = [type_of(x) for x in operands]
    if given != list(wanted):
        raise ShapeError(
            f"{name}: operands are {given}; its bodies take {list(wanted)}. "
            "Record the bodies for these operands."
        )


def split(values: Sequence[Value], groups: Sequence[Sequence[Any]]) -> list[Sequence[Value]]:
    rest, out = values, []
    for group in groups:
        out.append(rest[: len(group)])
        rest = rest[len(group) :]
    return out


def record(run: Callable[..., Sequence[Value]], groups: Sequence[Sequence[ArrayType]]) -> Graph:
    types = [t for group in groups for t in group]
    return trace_flat(run, types, [f"x{i}" for i in range(len(types))])[0]


def floats(types: Sequence[ArrayType]) -> list[ArrayType]:
    return [t for t in types if is_float(t.dtype)]
