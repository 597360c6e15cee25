"""Simplify: rewrites that keep every bit of every value, as a table of rules.

>>> from wengert.core.text.show import read, show
>>> graph = read('''
... graph(%0: float32[2, 3] "x") {
...   %1: float32[] = constant(1.0)
...   %2: float32[2, 3] = multiply(%1, %0)                      # model.py:5
...   %3: float32[3, 2] = permute_dims(%2, axes=(1, 0))         # model.py:6
...   %4: float32[2, 3] = permute_dims(%3, axes=(1, 0))         # model.py:6
...   %5: float32[] = constant(0.0)
...   %6: float32[2, 3] = add(%4, %5)                           # model.py:7
...   return %6
... }''')
>>> print(show(simplify(graph)))
graph(%0: float32[2, 3] "x") {
  %1: float32[] = constant(1.0)
  %2: float32[3, 2] = permute_dims(%0, axes=(1, 0))         # model.py:6
  %3: float32[] = constant(0.0)
  %4: float32[2, 3] = add(%0, %3)                           # model.py:7
  return %4
}

The sum stays: x + 0.0 turns -0.0 into 0.0. Neither is x * 0 a zero, as x may be infinite. The sign
and payload of a NaN are not promised. Nodes that a rule leaves without a reader are left to `dce`.

Derivatives have been taken before, so `stop_gradient` has done its work and goes, too.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from wengert.core.dtypes import DType, bool_, is_float
from wengert.core.graph import Graph, Node
from wengert.core.once import once
from wengert.core.table import op
from wengert.core.types import ArrayType, type_of
from wengert.interpret.trace import node_type
from wengert.passes.rebuild import (
    PlacedNode,
    append_broadcast,
    append_constant,
    rebuild,
    single,
    with_bodies,
)

NUMBERS = frozenset(["constant", "broadcast_to"])  # ops that may be the same number everywhere


@dataclass(frozen=True)
class Apply:
    """A call in a pattern, whatever its parameters."""

    op: str
    operands: tuple[Term, ...]


Term: TypeAlias = Apply | str | float  # a call, the name of any value, or a number


@dataclass(frozen=True)
class Match:
    """Where a pattern was found: the calls of the pattern from left to right, and the values."""

    graph: Graph
    calls: tuple[Node, ...]
    values: dict[str, int]

    @property
    def out(self) -> ArrayType:
        array_type = self.calls[0].type
        assert isinstance(array_type, ArrayType)
        return array_type

    def type(self, name: str) -> ArrayType:
        return self.graph.type(self.values[name])

    def number(self, name: str) -> Any:
        """The one number that fills an array, as a 0-d array; None if there is no such number."""
        return repeated(self.graph, self.values[name])


@dataclass(frozen=True)
class SimplifyRule:
    """A pattern, what takes its place, and when.

    Operands of commutative ops are tried in both orders. A name that occurs twice is one value. The
    result must have the type of the node it replaces, which is always checked: `reshape(x)` may
    become `x` only where nothing changes. `params` gives the parameters of the call in the result,
    `numbers` the constants that it names.
    """

    pattern: str
    result: str
    when: Callable[[Match], bool] = lambda match: True
    params: Callable[[Match], dict[str, Any]] = lambda match: {}
    numbers: Callable[[Match], dict[str, Any]] = lambda match: {}

    @once
    def terms(self) -> tuple[Apply, Term]:
        pattern = _term(ast.parse(self.pattern, mode="eval").body)
        assert isinstance(pattern, Apply)
        return pattern, _term(ast.parse(self.result, mode="eval").body)

    @once
    def needs(self) -> tuple[frozenset[str], ...]:
        """For each operand of the pattern that cannot be any value, the ops that may compute it.
        This is a quick test that rules out most rules.
        """
        return tuple(
            frozenset([each.op]) if isinstance(each, Apply) else NUMBERS
            for each in self.terms[0].operands
            if not isinstance(each, str)
        )


def _term(tree: ast.expr) -> Term:
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        return Apply(tree.func.id, tuple(map(_term, tree.args)))
    if isinstance(tree, ast.Name):
        return tree.id
    number: float = ast.literal_eval(tree)
    return number


# Conditions and parameters of the rules.


def _out_shape(match: Match) -> dict[str, Any]:
    return {"shape": match.out.shape}


def _composed(match: Match) -> dict[str, Any]:
    outer, inner = (call.params["axes"] for call in match.calls)
    return {"axes": tuple(inner[axis] for axis in outer)}


def _last_two_swapped(match: Match) -> dict[str, Any]:
    rank = match.out.ndim
    return {"axes": (*range(rank - 2), rank - 1, rank - 2)}


def _keeps_order(match: Match) -> bool:
    """Whether only axes of size 1 change their places."""
    shape = match.type("x").shape
    axes = [axis for axis in match.calls[0].params["axes"] if shape[axis] != 1]
    return axes == sorted(axes)


def _only_adds_axes(match: Match) -> bool:
    """Whether an inner reshape does what broadcasting does anyway: new axes of size 1 in front."""
    inner, shape = match.calls[1].params["shape"], match.type("x").shape
    extra = len(inner) - len(shape)
    return extra >= 0 and inner == (1,) * extra + shape


def _is_scalar(match: Match) -> bool:
    return match.type("x").ndim == 0


def _on_floats(match: Match) -> bool:
    return is_float(match.out.dtype)


def _first_cast_keeps_all(match: Match) -> bool:
    """Whether the dtype in the middle holds every x, and going on from there changes nothing.

    An integer that is cast to a smaller one wraps; a float, even a whole one, does not.
    """
    first, last = match.calls[1].params["dtype"], match.out.dtype
    given = match.type("x").dtype
    if is_float(first) and not is_float(given) and not is_float(last):
        return _holds(first, given) and (_holds(last, given) or last == bool_)
    return _holds(first, given)


def _holds(wide: DType, narrow: DType) -> bool:
    """Whether every number of one dtype is a number of the other."""
    if wide == narrow or narrow == bool_:
        return True
    if is_float(wide) and not is_float(narrow):
        return np.iinfo(narrow).bits <= np.finfo(wide).nmant + 1
    return bool(wide != bool_ and np.can_cast(narrow, wide, "safe"))


def _is_power_of_two(match: Match) -> bool:
    """Whether 1 / c is as exact as c, and neither is subnormal."""
    c = match.number("c")
    if c is None or not is_float(c.dtype) or not math.isfinite(c):
        return False
    tiny = float(np.finfo(c.dtype).tiny)
    return abs(math.frexp(c)[0]) == 0.5 and tiny <= abs(float(c)) <= 1 / tiny


RULES = (
    # Neutral elements. Only these are: -0.0 + 0.0 is 0.0.
    SimplifyRule("multiply(x, 1)", "x"),
    SimplifyRule("divide(x, 1)", "x"),
    SimplifyRule("add(x, -0.0)", "x"),
    SimplifyRule("subtract(x, 0.0)", "x"),
    SimplifyRule("power(x, 1)", "x"),
    SimplifyRule("logical_and(x, True)", "x"),
    SimplifyRule("logical_or(x, False)", "x"),
    # A cotangent or partial of one. `pull` gives g itself where g is 0, so its sign stays.
    SimplifyRule("pull(g, 1)", "g"),
    SimplifyRule("pull(1, p)", "p"),
    # Signs. IEEE defines x - y as x + (-y), and rounding treats both signs alike.
    SimplifyRule("positive(x)", "x"),
    SimplifyRule("negative(negative(x))", "x"),
    SimplifyRule("multiply(x, -1)", "negative(x)"),
    SimplifyRule("multiply(negative(x), negative(y))", "multiply(x, y)"),
    SimplifyRule("divide(negative(x), negative(y))", "divide(x, y)"),
    SimplifyRule("add(x, negative(y))", "subtract(x, y)"),
    SimplifyRule("subtract(x, negative(y))", "add(x, y)"),
    SimplifyRule("square(negative(x))", "square(x)"),
    SimplifyRule(
        "abs(negative(x))", "abs(x)", _on_floats
    ),  # the negative of an unsigned integer wraps
    SimplifyRule("abs(abs(x))", "abs(x)"),
    # The quotient by a power of two and the product with its inverse are one number, rounded once.
    SimplifyRule(
        "divide(x, c)",
        "multiply(x, inverse)",
        _is_power_of_two,
        numbers=lambda match: {"inverse": 1 / match.number("c")},
    ),
    # x ** 2 means x * x: eager calls compute it so, and it is the one power rounded correctly.
    SimplifyRule("power(x, 2)", "multiply(x, x)"),
    # Logic and choices.
    SimplifyRule("logical_not(logical_not(x))", "x"),
    SimplifyRule("bitwise_invert(bitwise_invert(x))", "x"),
    SimplifyRule("where(True, x, y)", "x"),
    SimplifyRule("where(False, x, y)", "y"),
    SimplifyRule("where(condition, x, x)", "x"),
    SimplifyRule("where(logical_not(condition), x, y)", "where(condition, y, x)"),
    # The same value.
    SimplifyRule("stop_gradient(x)", "x"),
    SimplifyRule("astype(x)", "x"),
    SimplifyRule(
        "astype(astype(x))",
        "astype(x)",
        _first_cast_keeps_all,
        params=lambda match: {"dtype": match.out.dtype},
    ),
    # The same elements. A transpose of the last two axes is a permutation like any other.
    SimplifyRule("reshape(x)", "x"),
    SimplifyRule("reshape(reshape(x))", "reshape(x)", params=_out_shape),
    SimplifyRule("matrix_transpose(x)", "permute_dims(x)", params=_last_two_swapped),
    SimplifyRule("permute_dims(permute_dims(x))", "permute_dims(x)", params=_composed),
    SimplifyRule("permute_dims(x)", "reshape(x)", _keeps_order, params=_out_shape),
    SimplifyRule("broadcast_to(x)", "x"),
    SimplifyRule("broadcast_to(broadcast_to(x))", "broadcast_to(x)", params=_out_shape),
    SimplifyRule("broadcast_to(reshape(x))", "broadcast_to(x)", _only_adds_axes, params=_out_shape),
    # A repeated number has no order.
    SimplifyRule("reshape(broadcast_to(x))", "broadcast_to(x)", _is_scalar, params=_out_shape),
    SimplifyRule("permute_dims(broadcast_to(x))", "broadcast_to(x)", _is_scalar, params=_out_shape),
)


def simplify(graph: Graph, rules: Sequence[SimplifyRule] = RULES) -> Graph:
    """The graph with every rule applied until none is left to apply, in its bodies too."""
    by_op: dict[str, list[SimplifyRule]] = {}
    for rule in rules:
        by_op.setdefault(rule.terms[0].op, []).append(rule)

    def place(out: Graph, node: Node) -> PlacedNode:
        known = by_op.get(node.op.name, ())
        if known:
            ops = {out.nodes[i].op.name for i in node.operands if i is not None}
            for rule in known:
                if any(map(ops.isdisjoint, rule.needs)):
                    continue
                number = _rewritten(out, node, rule, place)
                if number is not None:
                    return number
        return out.append(with_bodies(node, lambda body: simplify(body, rules)))

    return rebuild(graph, place)


def _rewritten(
    out: Graph, node: Node, rule: SimplifyRule, place: Callable[[Graph, Node], PlacedNode]
) -> int | None:
    """What stands for a node after the rule, or None where the rule does not apply."""
    pattern, result = rule.terms
    for calls, values in _matches(out, node, pattern, {}):
        match = Match(out, calls, values)
        if not rule.when(match):
            continue
        if isinstance(result, str):
            if out.nodes[values[result]].type == node.type:
                return values[result]
            continue
        assert isinstance(result, Apply)
        numbers = rule.numbers(match)
        types = [_type(match, numbers, each) for each in result.operands]
        new = replace(node, op=op[result.op], operands=(), params=rule.params(match))
        if node_type(new.op, types, new.params) != node.type:
            continue
        operands = tuple(
            _constant(match, numbers[each], node) if each in numbers else values[str(each)]
            for each in result.operands
        )
        return single(place(out, replace(new, operands=operands)))
    return None


def _type(match: Match, numbers: dict[str, Any], name: Any) -> ArrayType:
    return (
        type_of(numbers[name]).with_shape(match.out.shape) if name in numbers else match.type(name)
    )


def _constant(match: Match, value: Any, node: Node) -> int:
    number = append_constant(match.graph, value, node.line)
    return append_broadcast(match.graph, number, match.out, node.line)


def _matches(
    graph: Graph, node: Node, pattern: Apply, values: dict[str, int]
) -> Iterator[tuple[tuple[Node, ...], dict[str, int]]]:
    """Every way in which a node is the pattern: the calls of the pattern, and its values."""
    if node.op.name != pattern.op or None in node.operands:
        return
    operands = [i for i in node.operands if i is not None]
    for order in (operands, operands[::-1]) if node.op.commutative else (operands,):
        for calls, known in _match_all(graph, order, pattern.operands, values):
            yield (node, *calls), known


def _match_all(
    graph: Graph, numbers: Sequence[int], terms: Sequence[Term], values: dict[str, int]
) -> Iterator[tuple[tuple[Node, ...], dict[str, int]]]:
    if not terms:
        yield (), values
        return
    number, term = numbers[0], terms[0]
    matches: Iterator[tuple[tuple[Node, ...], dict[str, int]]] = iter(())
    if isinstance(term, Apply):
        matches = _matches(graph, graph.nodes[number], term, values)
    elif isinstance(term, str):
        if values.get(term, number) == number:
            matches = iter([((), values | {term: number})])
    elif _is_number(repeated(graph, number), term):
        matches = iter([((), values)])
    for calls, known in matches:
        for others, all_known in _match_all(graph, numbers[1:], terms[1:], known):
            yield (*calls, *others), all_known


def repeated(graph: Graph, number: int) -> Any:
    """The number that a constant or broadcast constant repeats, as a 0-d array, or None."""
    node = graph.nodes[number]
    if node.op is op.broadcast_to and node.operands[0] is not None:
        node = graph.nodes[node.operands[0]]
    value = node.params["value"] if node.op is op.constant else None
    return value if value is not None and value.ndim == 0 else None


def _is_number(value: Any, wanted: float) -> bool:
    """Whether a 0-d array is this number, in its own dtype, with the sign of a zero."""
    if value is None or value != wanted:
        return False
    return not is_float(value.dtype) or math.copysign(1, value) == math.copysign(1, wanted)
