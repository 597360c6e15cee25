"""Every op of the table is compiled: its values and gradients are the eager ones, without NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from table.calls import Call, awkward, calls
from table.ops import OPS, differentiable, elementwise, has_samples, of_ops
from table.reporting import Fault, reporting

import wengert as wg
from compiler.calls_of_ops import Gradients, Values
from compiler.running import no_numpy, require_near, run_alone, widened
from wengert.core.graph import Graph
from wengert.core.op import Op
from wengert.core.op_parts.samples import uniform
from wengert.core.table import op as table

# What no call of an op alone makes: they appear in programs.
IN_PROGRAMS = {
    *(
        "input",
        "parameter",
        "constant",
        "size",
        "pick",
        "region",
        "cond",
        "scan",
        "while_loop",
        "debug",
    ),
}


def both_floats(op: Op) -> list[Call]:
    return [call for dtype in (np.float64, np.float32) for call in calls(op, dtype)]


def check(program: type[Values], given: Sequence[Call]) -> None:
    """Compiled together, the calls give what each gives eagerly."""
    if not given:
        return
    function = program(given)
    arguments = function.arguments()
    with np.errstate(all="ignore"), reporting(given[0], "compiling"):
        found = run_alone(function, *arguments)
    for call, group, ours in zip(given, arguments, found, strict=True):
        with reporting(call, program.__name__):
            expected = function.outputs(call, group)
            precise = function.outputs(call, [widened(x) for x in group])
            assert len(ours) == len(expected)
            whole = call.op.kind != "elementwise"
            for i, row in enumerate(zip(ours, expected, precise, strict=True)):
                require_near(*row, call.op.tolerance, whole, f"output {i}")


def with_gradients(given: Sequence[Call]) -> list[Call]:
    """The calls in which a float depends on a float."""
    with np.errstate(all="ignore"):
        return [call for call in given if call.floats and call.function()(*call.primals)]


@of_ops(has_samples)
def test_values(op):
    check(Values, both_floats(op))


@of_ops(differentiable)
def test_gradients(op):
    check(Gradients, with_gradients(both_floats(op)))


@of_ops(lambda op: elementwise(op) and has_samples(op))
def test_awkward_values(op):
    """Zeros, infinities, NaNs and poles."""
    check(Values, [awkward(op), awkward(op, np.float32)])


@of_ops(lambda op: elementwise(op) and differentiable(op))
def test_awkward_gradients(op):
    check(Gradients, with_gradients([awkward(op), awkward(op, np.float32)]))


def test_every_op_is_here():
    """An op is called by a test above, or by the program below."""
    assert {op.name for op in OPS if not op.samples} == IN_PROGRAMS


def of_everything(x: Any, flag: Any) -> Any:
    """A program with all the ops that no call makes."""
    scaled = wg.debug(wg.checkpoint(lambda x: wg.tanh(x) * 2.0)(x), "scaled")
    chosen = wg.cond(flag, lambda y: y * x, lambda y: y - x, scaled)
    last, partial = wg.scan(lambda c, row: (c + row, c * row), chosen[0], chosen)
    last = wg.while_loop(lambda c: wg.sum(c * c) > 4.0, lambda c: c / 2.0, last)
    low, high = wg.cond(wg.sum(last) > 0, lambda: (last, x[0]), lambda: (x[0], last))
    return last, partial, low - high + np.arange(3.0), wg.sum(x) / x.shape[0]


def test_ops_of_programs():
    x = np.random.default_rng(1).uniform(-1, 1, (4, 3))
    dims = {"x": {0: wg.Dim("n")}}
    graph = wg.trace(of_everything, x, np.array(True), dims=dims)
    # A parameter is an input whose array a wg.Graph holds; a traced function has inputs only.
    assert names_in(graph) >= IN_PROGRAMS - {"parameter"}
    for flag in (np.array(True), np.array(False)):
        found = run_alone(of_everything, x, flag, dims=dims)
        for i, (ours, theirs) in enumerate(zip(found, of_everything(x, flag), strict=True)):
            require_near(ours, theirs, theirs, 1e-12, True, f"output {i}")


def names_in(graph: Graph) -> set[str]:
    found = {node.op.name for node in graph.nodes}
    return found.union(*(names_in(body) for body in graph.subgraphs()))


@contextmanager
def users_op(**fields: Any) -> Iterator[Op]:
    """An op of a user's, for a while."""

    def planted_in_compile(x, /):
        """An op of a user's."""

    yield wg.op.elementwise(space="hidden", samples=uniform((0.5, 2)), **fields)(planted_in_compile)
    table._ops.pop("planted_in_compile")
    del table.planted_in_compile


def test_users_ops_compile_too():
    with users_op(
        numpy=lambda x: x * x + 1,
        partials=lambda _out, x: 2 * x,
        emit=lambda e, x: e.fma(x, x, e.const(1)),
    ) as op:
        check(Values, both_floats(op))
        check(Gradients, with_gradients(both_floats(op)))


def test_a_wrong_value_is_found():
    """These tests can fail: code that is a little off, or whose derivative is."""
    with users_op(
        numpy=lambda x: x + x,
        partials=lambda _out, _x: 2,
        emit=lambda e, x: e.add(x, e.mul(x, e.const(1 + 1e-9))),
    ) as op:
        with pytest.raises(Fault, match="output 0 differs"):
            check(Values, calls(op))
        check(Gradients, with_gradients(calls(op)))


def test_a_call_of_numpy_is_found():
    with pytest.raises(AssertionError, match="tanh: was computed by NumPy"), no_numpy():
        wg.tanh(np.ones(3))
    assert wg.tanh(np.zeros(3)).tolist() == [0, 0, 0]
