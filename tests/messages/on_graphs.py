"""Bad input to graphs built by hand and to the tape."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import wengert as wg

line, numbers = np.ones(3), np.arange(3)
OTHER = wg.Graph().parameter(line, name="theirs")


def small() -> Any:
    """A graph with an input, a parameter of its own, a tree of two and a loss."""
    g = wg.Graph()
    x, w = g.input(line, name="x"), g.parameter(line, name="w")
    pair = g.parameter({"a": line, "b": line}, name="pair")
    loss = g.sum(g.mul(x, w))
    g.set_outputs(loss)
    return SimpleNamespace(g=g, x=x, w=w, pair=pair, loss=loss)


def using(use: Callable[[Any], Any]) -> Any:
    return use(small())


def without_outputs() -> wg.Graph:
    g = wg.Graph()
    g.parameter(line, name="w")
    return g


def sliced_from_behind() -> wg.Graph:
    return wg.trace(lambda x: wg.tile(x, 2)[-x.shape[0] :], line, dims={"x": {0: wg.Dim("n")}})


def of_integers() -> wg.Graph:
    """A graph whose loss is an integer."""
    g = wg.Graph()
    g.parameter(line, name="w")
    g.set_outputs(g.sum(g.input(numbers, name="x")))
    return g


SQUARE = 'graph(%0: float64[2, 2] "x", %1: float64[3, 3] "y") {{ {} return %2 }}'
REGION = "%2: (float64[2, 2],) = region({}) {{ body = graph({}) {{ return %0 }} }}"


def from_text(node: str) -> wg.Graph:
    """A graph with one node beside two inputs."""
    return wg.Graph.from_text(SQUARE.format(node))


GRAPHS: dict[str, Callable[[], Any]] = {
    "Graph.from_text: a reshape to another count": lambda: from_text(
        "%2: float64[5] = reshape(%0, shape=(5,))"
    ),
    "Graph.from_text: matrices that differ": lambda: from_text(
        "%2: float64[2, 2] = cofactors_tangent(%0, %1)"
    ),
    "Graph.from_text: no index": lambda: from_text("%2: float64[2, 2] = gather(%0, axis=0)"),
    "Graph.from_text: rows for a region": lambda: from_text(
        REGION.format("%0, body=@body", '%0: float64[2] "x"')
    ),
    "Graph.from_text: a loop of a negative length": lambda: from_text(
        REGION.format(
            "%0, body=@body, consts=0, carry=1, length=-1, reverse=False, save=False",
            '%0: float64[2, 2] "x"',
        ).replace("region", "scan")
    ),
    "Graph.value: an unknown node": lambda: small().g.value(99),
    "Graph.value: something that is no node": lambda: small().g.value("x"),
    "Graph.value: a node of another graph": lambda: small().g.value(OTHER),
    "Graph.value: a shape but no value": lambda: using(
        lambda s: s.g.value(s.g.input(shape=(2,), name="y"))
    ),
    "Graph.add: a node of another graph": lambda: using(lambda s: s.g.add(s.x, OTHER)),
    "Graph.add: an operator with a node of another graph": lambda: using(lambda s: s.x + OTHER),
    "Graph.add: shapes that do not broadcast": lambda: using(lambda s: s.g.add(s.x, np.ones(4))),
    "Graph.add: an operand too many": lambda: using(lambda s: s.g.add(s.x, s.x, s.x)),
    "Graph.add: a tree": lambda: using(lambda s: s.g.add(s.x, s.pair)),
    "Graph.sum: an axis that does not exist": lambda: using(lambda s: s.g.sum(s.x, axis=1)),
    "Graph.cat: an axis that does not exist": lambda: using(lambda s: s.g.cat([s.x, s.x], axis=1)),
    "Graph.gather: a position outside": lambda: using(lambda s: s.g.gather(s.x, [0, 7])),
    "Graph.input: nothing": lambda: wg.Graph().input(),
    "Graph.input: no arrays": lambda: wg.Graph().input({"a": "text"}),
    "Graph.add: None": lambda: using(lambda s: s.g.add(s.x, None)),
    "Graph.input: complex numbers": lambda: wg.Graph().input(np.ones(2, complex)),
    "Graph.input: a name that is taken": lambda: small().g.input(line, name="x"),
    "Graph.parameter: integers": lambda: wg.Graph().parameter(numbers, name="w"),
    "Graph.struct_field: no tree": lambda: using(lambda s: s.g.struct_field(s.x, "a")),
    "Graph.map_lookup: an unknown key": lambda: using(lambda s: s.g.map_lookup(s.pair, "c")),
    "Graph.set: a node that is computed": lambda: using(lambda s: s.g.set(s.loss, 1.0)),
    "Graph.set: another dtype": lambda: using(lambda s: s.g.set(s.x, np.ones(3, complex))),
    "Graph.set: another shape": lambda: using(lambda s: s.g.set(s.x, np.ones(4))),
    "Graph.set: another tree": lambda: using(lambda s: s.g.set(s.pair, {"a": line})),
    "Graph.run: an unknown input": lambda: small().g.run(y=line),
    "Graph.run: minus no rows": lambda: sliced_from_behind().run(x=np.ones(0)),
    "Graph.run: no outputs": lambda: without_outputs().run(),
    "Graph.backward: a vector": lambda: using(lambda s: s.g.backward(s.w)),
    "Graph.backward: an integer": lambda: using(
        lambda s: s.g.backward(s.g.sum(s.g.input(numbers)))
    ),
    "Graph.backward: a seed of another shape": lambda: using(
        lambda s: s.g.backward(s.w, seed=np.ones(4))
    ),
    "Graph.backward: a seed that is a text": lambda: using(lambda s: s.g.backward(s.w, seed="one")),
    "Graph.gradient: before backward": lambda: using(lambda s: s.g.gradient(s.w)),
    "Graph.gradient: a node that is computed": lambda: using(lambda s: s.g.gradient(s.loss)),
    "Graph.gradient: a tree of inputs": lambda: using(
        lambda s: s.g.gradient(s.g.input({"a": line}, name="given"))
    ),
    "grad_with_loss: no outputs": lambda: wg.grad_with_loss(without_outputs(), [0]),
    "grad_with_loss: wrt one node": lambda: using(lambda s: wg.grad_with_loss(s.g, s.w)),
    "grad_with_loss: wrt an unknown node": lambda: wg.grad_with_loss(small().g, [99]),
    "grad_with_loss: wrt a node of another graph": lambda: wg.grad_with_loss(small().g, [OTHER]),
    "grad_with_loss: wrt not reached": lambda: using(
        lambda s: wg.grad_with_loss(s.g, [s.w, s.pair.tree["a"], s.pair.tree["b"]])
    ),
    "grad_with_loss: wrt integers": lambda: wg.grad_with_loss(of_integers(), [1]),
    "grad_with_loss: a loss of integers": lambda: wg.grad_with_loss(of_integers(), [0]),
}


def taped(use: Callable[[Any, Any], Any]) -> Any:
    """Use a tape and a value that it watches."""
    with wg.GradientTape() as tape:
        return use(tape, tape.watch(line))


def _entered_twice() -> None:
    tape = wg.GradientTape()
    with tape, tape:
        pass


def _overflow(tape: Any, x: Any) -> Any:
    """Two finite terms whose sum is not."""
    loss = wg.sum(x * 1e308) + wg.sum(x * 1e308)
    return tape.gradient(loss, x)


def recorded(use: Callable[[Any], Any]) -> Any:
    """Use a tape on which a square is recorded: slots 0 and 1, and 2, which has no value."""
    tape = wg.GradientTape()
    tape.record_mul(tape.input(np.array([1.0, 2.0])), None, 0, None)
    tape.input(shape=2)
    return use(tape)


def _backward_of_root() -> None:
    tape = wg.GradientTape()
    root = tape.input(np.array([1e200, 1.0]))
    out = tape.record_mul(root, None, root, None)
    tape.backward(np.array([1e200, 1.0]), [np.zeros(2) for _ in range(out + 1)])


TAPES: dict[str, Callable[[], Any]] = {
    "GradientTape: entered twice": _entered_twice,
    "GradientTape.watch: outside": lambda: wg.GradientTape().watch(line),
    "GradientTape.watch: integers": lambda: taped(lambda tape, x: tape.watch(numbers)),
    "GradientTape.gradient: a vector": lambda: taped(lambda tape, x: tape.gradient(x * x, x)),
    "GradientTape.gradient: a source it does not watch": lambda: taped(
        lambda tape, x: tape.gradient(wg.sum(x), line)
    ),
    "GradientTape.gradient: an integer": lambda: taped(
        lambda tape, x: tape.gradient(wg.sum(x > 0), x)
    ),
    "GradientTape.gradient: a seed of another shape": lambda: taped(
        lambda tape, x: tape.gradient(x * x, x, seed=np.ones(4))
    ),
    "GradientTape.gradient: infinite": lambda: taped(
        lambda tape, x: tape.gradient(wg.sum(wg.sqrt(x - 1.0)), x)
    ),
    "GradientTape.gradient: a sum that overflows": lambda: taped(_overflow),
    "GradientTape.input: nothing": lambda: wg.GradientTape().input(),
    "GradientTape.input: a value and a shape": lambda: wg.GradientTape().input(line, shape=3),
    "GradientTape.value: a shape but no value": lambda: recorded(lambda tape: tape.value(2)),
    "GradientTape.value: no slot": lambda: recorded(lambda tape: tape.value(line)),
    "GradientTape.value: a slot that does not exist": lambda: recorded(lambda tape: tape.value(9)),
    "GradientTape.record_silu: a slot without a value": lambda: recorded(
        lambda tape: tape.record_silu(2)
    ),
    "GradientTape.record_silu: data of another shape": lambda: recorded(
        lambda tape: tape.record_silu(0, np.ones(5))
    ),
    "GradientTape.record_matmul: sizes that differ": lambda: recorded(
        lambda tape: tape.record_matmul(tape.input(np.ones((2, 3))), None, 0, None)
    ),
    "GradientTape.record_layer_norm: another mean": lambda: recorded(
        lambda tape: tape.record_layer_norm(0, mean=7.0)
    ),
    "GradientTape.backward: nothing recorded": lambda: wg.GradientTape().backward(1.0, []),
    "GradientTape.backward: a buffer too few": lambda: recorded(
        lambda tape: tape.backward(np.ones(2), [np.zeros(2)])
    ),
    "GradientTape.backward: a buffer of another size": lambda: recorded(
        lambda tape: tape.backward(np.ones(2), [np.zeros(2), np.zeros(5), np.zeros(2)])
    ),
    "GradientTape.backward: a buffer of integers": lambda: recorded(
        lambda tape: tape.backward(np.ones(2), [np.zeros(2, int)] * 3)
    ),
    "GradientTape.backward: a gradient of another shape": lambda: recorded(
        lambda tape: tape.backward(np.ones(5), [np.zeros(2)] * 3)
    ),
    "GradientTape.backward: infinite": _backward_of_root,
}

CASES = GRAPHS | TAPES
