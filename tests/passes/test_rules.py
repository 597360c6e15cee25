"""Every rule of simplify, on every awkward number; and a wrong rule is noticed."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from table.calls import AWKWARD

from passes.checking import bits, check_pass, meaning, recorded, require_same_bits
from wengert.core.op import Op
from wengert.core.table import op
from wengert.core.text.show import read, show
from wengert.passes.cse import cse
from wengert.passes.fold import fold
from wengert.passes.simplify import RULES, Apply, SimplifyRule, simplify

DTYPES = ["float32", "float64", "int64", "uint8", "bool"]
NUMBERS = [*AWKWARD, 3.0, 5e-324, 1e-45, 1.7e308, -3.3]


def awkward_values(names: list[str], dtype: str) -> list[Any]:
    """Arrays that hold every combination of awkward numbers."""
    numbers = NUMBERS if dtype.startswith("float") else [0, 1, 2, 255, 3]
    with np.errstate(all="ignore"):
        rows = np.array(list(itertools.product(numbers, repeat=len(names)))).T
        dtypes = ["bool" if name == "condition" else dtype for name in names]
        return [row.astype(each) for row, each in zip(rows, dtypes, strict=True)]


def names_of(term: Any) -> list[str]:
    if isinstance(term, Apply):
        found = [name for each in term.operands for name in names_of(each)]
        return list(dict.fromkeys(found))
    return [term] if isinstance(term, str) else []


def evaluated(term: Any, given: dict[str, Any], dtype: str) -> Any:
    """A pattern as calls; numbers enter in the dtype of the values."""
    if isinstance(term, str):
        return given[term]
    if isinstance(term, bool) or not isinstance(term, Apply):
        return np.array(term, "bool" if isinstance(term, bool) else dtype)
    called = op[term.op]
    operands = [evaluated(each, given, dtype) for each in term.operands]
    return called.rebind(operands, {})


def without_params(rule: SimplifyRule) -> bool:
    return not any(op[name].call.params for name in re.findall(r"(\w+)\(", rule.pattern))


ARITHMETIC = [rule for rule in RULES if without_params(rule) and "transpose" not in rule.pattern]


@pytest.mark.parametrize("rule", ARITHMETIC, ids=lambda rule: rule.pattern)
def test_rule_of_elements(rule):
    applied = 0
    pattern, _ = rule.terms
    names = names_of(pattern)
    for dtype in DTYPES:
        for c in [None] if "c" not in names else [2.0, 0.25, -8.0, 3.0, 0.0, 2.0**-126, np.inf]:
            values = awkward_values([n for n in names if n != "c"], dtype)

            def run(*xs: Any, c: Any = c, dtype: str = dtype) -> Any:
                rest = iter(xs)
                given = {n: np.array(c, dtype) if n == "c" else next(rest) for n in names}
                return [evaluated(pattern, given, dtype)]

            try:
                graph = recorded(run, values)
                expected = meaning(graph, values)
            except (TypeError, OverflowError, ValueError):
                continue  # no such call in this dtype
            found = check_pass(lambda g: simplify(g, [rule]), graph, values, expected)
            applied += show(found) != show(graph)
    assert applied, "no graph was rewritten"


VIEWS = {
    "reshape(x)": lambda x: op.reshape(x, (2, 3, 1)),
    "reshape(reshape(x))": lambda x: op.reshape(op.reshape(x, (6,)), (3, 2)),
    "matrix_transpose(x)": lambda x: op.matrix_transpose(op.exp(x)),
    "permute_dims(permute_dims(x))": lambda x: op.permute_dims(
        op.permute_dims(x, (2, 0, 1)), (2, 0, 1)
    ),
    "permute_dims(x)": lambda x: op.permute_dims(x, (2, 0, 1)),
    "broadcast_to(x)": lambda x: op.broadcast_to(x, (2, 3, 1)),
    "broadcast_to(broadcast_to(x))": lambda x: op.broadcast_to(
        op.broadcast_to(x, (2, 3, 4)), (5, 2, 3, 4)
    ),
    "broadcast_to(reshape(x))": lambda x: op.broadcast_to(
        op.reshape(x, (1, 2, 3, 1)), (4, 2, 3, 1)
    ),
    "reshape(broadcast_to(x))": lambda x: op.reshape(op.broadcast_to(op.sum(x), (2, 3)), (3, 2)),
    "permute_dims(broadcast_to(x))": lambda x: op.permute_dims(
        op.broadcast_to(op.sum(x), (2, 3)), (1, 0)
    ),
    "astype(x)": lambda x: op.astype.rebind([x], {"dtype": np.dtype("float64")}),
    "astype(astype(x))": lambda x: op.astype(op.astype(x > 0, "int8"), "float32"),
}


@pytest.mark.parametrize("rule", [r for r in RULES if r not in ARITHMETIC], ids=lambda r: r.pattern)
def test_rule_of_views(rule):
    """A size of 1 counts: moving it is no permutation."""
    x = np.random.default_rng(3).standard_normal((2, 3, 1))
    graph = recorded(lambda x: [VIEWS[rule.pattern](x)], [x])
    check_pass(lambda g: simplify(g, [rule]), graph, [x], meaning(graph, [x]))
    assert show(simplify(graph, [rule])) != show(graph)


CASTS = ["bool", "int8", "uint8", "int32", "uint32", "int64", "uint64", "float32", "float64"]


@pytest.mark.parametrize("given", CASTS)
def test_casts_that_lose_nothing(given):
    numbers = [0, 1, 2, 255, 256, 2**24 + 1, 2**31 + 1, 2**53 + 1, 0.1, -1.5, -3.0]
    with np.errstate(all="ignore"):
        x = np.array(numbers)
        x = np.where(x < 0, 0, x).astype(given) if given[0] == "u" else x.astype(given)
        for first, last in itertools.product(CASTS, repeat=2):
            graph = recorded(lambda x, a=first, b=last: [op.astype(op.astype(x, a), b)], [x])
            found = simplify(graph)
            require_same_bits(meaning(found, [x]), meaning(graph, [x]), f"{first} {last}")
            if np.dtype(first).itemsize > np.dtype(given).itemsize and given[0] in "bf":
                assert len(found) < len(graph) or "astype(%0" in show(found)


WRONG = {
    "a sum with zero": SimplifyRule("add(x, 0.0)", "x"),
    "a difference with -0.0": SimplifyRule("subtract(x, -0.0)", "x"),
    "a product with zero": SimplifyRule(
        "multiply(x, y)",
        "broadcast_to(y)",
        lambda m: m.number("y") == 0,
        params=lambda m: {"shape": m.out.shape},
    ),
    "a difference turned": SimplifyRule("negative(subtract(x, y))", "subtract(y, x)"),
    "a quotient as a product": SimplifyRule(
        "divide(x, c)",
        "multiply(x, inverse)",
        lambda m: m.number("c") is not None,
        numbers=lambda m: {"inverse": 1 / m.number("c")},
    ),
    "an order of axes": SimplifyRule(
        "permute_dims(x)", "reshape(x)", params=lambda m: {"shape": m.out.shape}
    ),
    "a cast that loses": SimplifyRule(
        "astype(astype(x))", "astype(x)", params=lambda m: {"dtype": m.out.dtype}
    ),
}
PROGRAMS = {
    "a sum with zero": lambda x: x + np.array(0.0),
    "a difference with -0.0": lambda x: x - np.array(-0.0),
    "a product with zero": lambda x: x * np.zeros(()),
    "a difference turned": lambda x: -(x - x),
    "a quotient as a product": lambda x: x / np.array(3.0),
    "an order of axes": lambda x: op.permute_dims(op.reshape(x, (2, -1)), (1, 0)),
    "a cast that loses": lambda x: op.astype(op.astype(x, "float32"), "float64"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_planted_rule_is_caught(name):
    (x,) = awkward_values(["x"], "float64")
    graph = recorded(lambda x: [PROGRAMS[name](x)], [x])
    check_pass(simplify, graph, [x], meaning(graph, [x]))
    with pytest.raises(AssertionError, match="output 0 is"):
        check_pass(lambda g: simplify(g, [WRONG[name]]), graph, [x], meaning(graph, [x]))


def plant(monkeypatch: Any, each: Op, **fields: Any) -> None:
    for name, value in fields.items():
        monkeypatch.setattr(each, name, value)


def test_swapping_operands_of_maximum_is_caught(monkeypatch):
    """Which zero is the larger depends on their order, so maximum is not exact."""
    x, y = np.array([0.0, -0.0] * 4), np.array([-0.0, 0.0] * 4)
    graph = recorded(lambda x, y: [op.maximum(x, y), op.maximum(y, x)], [x, y])
    expected = meaning(graph, [x, y])
    assert bits(expected[0]) != bits(expected[1])
    check_pass(cse, graph, [x, y], expected)
    plant(monkeypatch, op.maximum, exact=True)
    with pytest.raises(AssertionError, match="output 1 is"):
        check_pass(cse, graph, [x, y], expected)


def test_an_op_that_is_not_exact_is_not_folded(monkeypatch):
    graph = read("""
        graph() {
          %0: float64[] = constant(2.0)
          %1: float64[] = sqrt(%0)
          %2: float64[] = tanh(%0)
          return %1, %2
        }""")
    assert [node.op.name for node in fold(graph).nodes] == ["constant", "constant", "tanh"]
    plant(monkeypatch, op.sqrt, exact=False)
    assert show(fold(graph)) == show(graph)


def test_a_rule_never_changes_a_type():
    """x * ones((2, 3)) is not x where that is a row."""
    graph = read("""
        graph(%0: float64[3] "x") {
          %1: float64[] = constant(1.0)
          %2: float64[2, 3] = broadcast_to(%1, shape=(2, 3))
          %3: float64[2, 3] = multiply(%0, %2)
          return %3
        }""")
    assert show(simplify(graph)) == show(graph)
