"""Bad input to what is written with ops: losses, norms, loops, branches and trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from meta.planted import planted, unary

import wengert as wg
from wengert.core.define import elementwise
from wengert.core.table import Table, op

line, logits = np.ones(3), np.zeros((2, 3))


def traced(function: Callable[..., Any], *args: Any) -> Any:
    return wg.trace(function, *args)


LEARNING: dict[str, Callable[[], Any]] = {
    "cross_entropy: weights": lambda: wg.cross_entropy(np.eye(3), np.arange(3), weight=np.ones(3)),
    "cross_entropy: targets of another shape": lambda: wg.cross_entropy(logits, np.zeros(3, int)),
    "cross_entropy: targets of another shape, traced": lambda: traced(
        lambda x: wg.cross_entropy(x, np.zeros(3, int)), logits
    ),
    "cross_entropy: logits of one row": lambda: wg.cross_entropy(logits[-1], np.zeros(2, int)),
    "cross_entropy: labels that are floats": lambda: wg.cross_entropy(logits, np.zeros(2)),
    "cross_entropy: classes along axis 1": lambda: wg.cross_entropy(
        np.zeros((4, 3, 5)), np.zeros((4, 5), int)
    ),
    "cross_entropy: bools as targets": lambda: wg.cross_entropy(logits, logits > 0),
    "cross_entropy: a class that does not exist": lambda: wg.cross_entropy(
        logits, np.array([0, 3])
    ),
    "cross_entropy: a negative class": lambda: wg.cross_entropy(logits, np.array([0, -1])),
    "cross_entropy: a class that does not exist, differentiated": lambda: wg.grad(
        lambda x: wg.cross_entropy(x, np.array([0, 3]))
    )(logits),
    "cross_entropy: label_smoothing above 1": lambda: wg.cross_entropy(
        logits, np.zeros(2, int), label_smoothing=1.5
    ),
    "cross_entropy: an unknown reduction": lambda: wg.cross_entropy(
        logits, np.zeros(2, int), reduction="max"
    ),
    "mse: shapes that would broadcast": lambda: wg.mse(np.ones((3, 1)), line),
    "mse: an unknown reduction, traced": lambda: traced(lambda x: wg.mse(x, line, "max"), line),
    "kl_div: torch's batchmean": lambda: wg.kl_div(
        line,
        line,
        reduction="batchmean",  # type: ignore[arg-type]
    ),
    "kl_div: torch's log_target": lambda: wg.kl_div(
        line,
        line,
        log_target=True,  # type: ignore[call-arg]
    ),
    "kl_div: integers": lambda: wg.kl_div(line, np.ones(3, int)),
    "huber: a negative delta": lambda: wg.huber(line, line, delta=-1.0),
    "gelu: an unknown form": lambda: wg.gelu(line, approximate="erf"),
    "gelu: an unknown form, traced": lambda: traced(lambda x: wg.gelu(x, approximate="erf"), line),
    "glu: an odd size": lambda: wg.glu(line),
    "elu: alpha that is not a number": lambda: wg.elu(line, alpha=np.nan),
    "layer_norm: a scale of another size": lambda: wg.layer_norm(logits, np.ones(2)),
    "layer_norm: a scale of integers": lambda: wg.layer_norm(logits, np.ones(3, int)),
    "layer_norm: a negative eps": lambda: wg.layer_norm(logits, eps=-1.0),
    "batch_norm: a shift of another size": lambda: wg.batch_norm(logits, shift=np.ones(2)),
    "dropout: a rate of 1, traced": lambda: traced(lambda x: wg.dropout(x, 1.0), line),
    "dropout: a generator of NumPy": lambda: wg.dropout(line, 0.5, np.random.default_rng(0)),
    "dropout: a rate of 1": lambda: wg.dropout(line, 1.0),
    "dropout: several rates, traced": lambda: traced(
        lambda x: wg.dropout(x, x, wg.random.Generator(wg.random.key(0))), line
    ),
    "var: a correction that is no number": lambda: wg.var(line, correction="one"),
}


def _two_types(x: Any) -> Any:
    return wg.cond(x.sum() > 0, lambda: x, lambda: x.astype(np.float32))


CONTROL: dict[str, Callable[[], Any]] = {
    "cond: a condition per element, traced": lambda: traced(
        lambda x: wg.cond(x > 0, lambda: x, lambda: -x), line
    ),
    "cond: a condition per element": lambda: wg.cond(line > 0, lambda: 1.0, lambda: 2.0),
    "cond: values in place of functions": lambda: wg.cond(True, line, -line),
    "cond: branches that differ, traced": lambda: traced(_two_types, line),
    "cond: a node whose branches differ": lambda: op.cond.type(
        np.True_, then=traced(lambda: line), orelse=traced(lambda: logits)
    ),
    "while_loop: no function": lambda: wg.while_loop(0.0, lambda c: c < 1, lambda c: c + 1),
    "while_loop: a condition per element": lambda: wg.while_loop(
        lambda c: c < 5, lambda c: c + 1, line
    ),
    "while_loop: a condition that is no bool": lambda: wg.while_loop(
        lambda c: c / 2, lambda c: c > 1, 10.0
    ),
    "while_loop: a carry of another structure": lambda: wg.while_loop(
        lambda c: c < 5, lambda c: (c, 1), 0.0
    ),
    "while_loop: a carry of another shape": lambda: wg.while_loop(
        lambda c: c < 5, lambda c: c + line, 0.0
    ),
    "while_loop: a carry that becomes float64": lambda: wg.while_loop(
        lambda c: wg.max(c) < 5, lambda c: c + line, np.zeros(3, np.float32)
    ),
    "while_loop: a carry without arrays": lambda: wg.while_loop(lambda c: True, lambda c: c, {}),
    "while_loop: a bound that is none": lambda: wg.while_loop(
        lambda c: c < 5, lambda c: c + 1, 0.0, max_steps=-1
    ),
    "while_loop: a bound that is too small": lambda: wg.while_loop(
        lambda c: c < 5, lambda c: c + 1, 0.0, max_steps=3
    ),
    "while_loop: backwards without a bound": lambda: wg.grad(
        lambda x: wg.while_loop(lambda c: c < 5, lambda c: c + 1, x)
    )(0.0),
    "while_loop: a node of another form": lambda: op.while_loop.type(
        test=traced(lambda: line),
        body=traced(lambda: line),
        consts=-1,
        carry=0,
        max_steps=None,
        save=False,
    ),
    "while_loop: a node whose condition is no bool": lambda: op.while_loop.type(
        test=traced(lambda: line),
        body=traced(lambda: line),
        consts=0,
        carry=0,
        max_steps=None,
        save=False,
    ),
    "scan: a negative length": lambda: wg.scan(lambda c, x: (c, None), 0.0, None, length=-2),
    "scan: a list of numbers": lambda: wg.scan(lambda c, x: (c, x), 0.0, [1.0, 2.0]),
    "scan: integers that become floats": lambda: wg.scan(
        lambda c, x: (c * x, None), np.ones(2, int), line
    ),
    "scan: one value returned": lambda: wg.scan(lambda c, x: c + x, 0.0, line),
    "scan: a carry of another structure": lambda: wg.scan(lambda c, x: ((c, c), None), 0.0, line),
    "scan: a carry of another shape": lambda: wg.scan(
        lambda c, x: (c + line, None), np.zeros(()), line
    ),
    "scan: xs that differ in length": lambda: wg.scan(
        lambda c, x: (c, None), 0.0, (line, np.ones(4))
    ),
    "scan: no length at all": lambda: wg.scan(lambda c, x: (c, None), 0.0),
    "scan: xs that differ in length, traced": lambda: traced(
        lambda x: wg.scan(lambda c, y: (c, None), 0.0, (x, np.ones(4))), line
    ),
    "tree.map: trees that differ": lambda: wg.tree.map(
        lambda x, y: x + y, {"a": line}, {"b": line}
    ),
}


def _opaque(use: Callable[[Any], Any]) -> Any:
    """Use an op that has no derivative."""
    define = elementwise(numpy=lambda x: np.cbrt(x), opaque="nobody has derived it yet")
    with planted(define, unary) as definition:
        return use(definition)


def _of_two_partials() -> Any:
    """Differentiate an op of one operand that has two derivatives."""
    define = elementwise(numpy=lambda x: np.cbrt(x), partials=lambda out, x: (1.0, 1.0))
    with planted(define, unary) as definition:
        return definition.vjp(np.ones(2), np.ones(2), [np.ones(2)], {}, [True])


def _enter_twice(enter: Callable[[Table], Any]) -> Any:
    table = Table()
    enter(table)
    return enter(table)


def _define(name: str, **fields: Any) -> Any:
    def definition(x: Any, /) -> None:
        """An op of a user."""

    definition.__name__ = name
    return wg.op.elementwise(numpy=lambda x: x, **fields)(definition)


OWN_OPS: dict[str, Callable[[], Any]] = {
    "op: no derivative, reverse": lambda: _opaque(lambda f: wg.grad(lambda x: f(x) * 1.0)(1.0)),
    "op: no derivative, reverse, traced": lambda: _opaque(
        lambda f: traced(lambda x: wg.grad(lambda y: f(y) * 1.0)(x), np.ones(()))
    ),
    "op: no derivative, forward": lambda: _opaque(lambda f: wg.jvp(f, (1.0,), (1.0,))),
    "op: no derivative, forward, traced": lambda: _opaque(
        lambda f: traced(lambda x: wg.jvp(f, (x,), (x,))[1], np.ones(()))
    ),
    "op: a name we have": lambda: _define("add", opaque="no reason"),
    "op: a derivative and none": lambda: _define(
        "doubled", partials=lambda out, x: 2.0, opaque="none"
    ),
    "op: partials without the result": lambda: _define("doubled", partials=lambda x: 2.0),
    "op: partials of another count": lambda: _of_two_partials(),
    "op: neither a derivative nor a reason": lambda: _define("doubled"),
    "op: an unknown name": lambda: wg.op.does_not_exist,
    "op: entered twice": lambda: _enter_twice(lambda table: table.enter_op("twice", None)),
    "op: a function entered twice": lambda: _enter_twice(
        lambda table: table.enter_function("twice", None, "")
    ),
}

CASES = LEARNING | CONTROL | OWN_OPS
