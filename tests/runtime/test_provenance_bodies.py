"""Where a result that is not finite comes from, inside loops, branches and regions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from runtime.test_provenance import line_of, raised
from wengert.errors import NonFiniteError


def roots(start: Any, xs: Any) -> Any:
    def step(total: Any, x: Any) -> Any:
        total = total - x
        root = wg.sqrt(total)
        return total, root

    return wg.scan(step, start, xs)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_step_of_a_scan(dtype):
    found = raised(roots, np.array([9.5, 3.5], dtype), np.ones((6, 2), dtype))
    assert (found.op, found.steps, found.index) == ("sqrt", (3,), (1,))
    assert found.result_index == (3, 1)
    assert found.ranges == (("x", -0.5, 5.5),)
    assert found.line == line_of(roots, "wg.sqrt")
    assert "in step 3 of a loop" in str(found)


def halved_roots(x: Any) -> Any:
    def step(state: Any) -> Any:
        n, total, _ = state
        return n + 1, total - 1.0, wg.sqrt(total)

    return wg.while_loop(lambda state: state[0] < 6, step, (0, x, x), max_steps=9)[2]


BACKWARDS = wg.grad(lambda x: wg.sum(halved_roots(x)))


@pytest.mark.parametrize(("function", "step"), [(halved_roots, 4), (BACKWARDS, 5)])
def test_the_step_of_a_loop_that_ends_by_itself(function, step):
    """The first step from which on it was bad, and the first step backwards."""
    found = raised(function, np.array([9.5, 3.5]))
    assert found.line == line_of(halved_roots, "wg.sqrt")
    assert found.steps == (step,)
    assert found.index == (1,)


def test_a_carry_that_went_bad_long_ago():
    def step(carry: Any, x: Any) -> Any:
        total, count = carry
        return (total + wg.log(x), count + 1.0), total * 0.0 + 1.0

    def last(xs: Any) -> Any:
        return wg.scan(step, (np.zeros(3), 0.0), xs)[0]

    xs = np.ones((500, 3))
    xs[17, 1] = xs[40, 0] = -1.0
    found = raised(last, xs)
    assert found.op == "log"
    assert (found.steps, found.index, found.result_index) == ((40,), (0,), (0,))
    xs[40, 0] = 1.0
    found = raised(last, xs)
    assert (found.steps, found.index, found.result_index) == ((17,), (1,), (1,))
    assert found.ranges == (("xs", -1.0, 1.0),)


def test_from_one_carry_to_another():
    """What begins in one carry comes out of another, steps later."""

    def step(carry: Any, x: Any) -> Any:
        a, b, _ = carry
        return (1.0 / x, a, b), None

    found = raised(lambda xs: wg.scan(step, (1.0, 1.0, 1.0), xs)[0][2], np.array([1, 0.0, 2, 1]))
    assert (found.op, found.steps, found.value) == ("divide", (1,), "inf")


def test_into_a_scan_from_outside():
    def step(total: Any, x: Any) -> Any:
        return total + x, total

    def summed(start: Any, xs: Any, k: Any) -> Any:
        return wg.scan(lambda total, x: step(total, x * k), start + 0.0, xs)[1]

    xs, nan = np.ones((4, 2)), np.nan
    assert raised(summed, np.array([1.0, nan]), xs, 2.0).parameter == "start"
    bad = xs.copy()
    bad[1, 0] = nan
    found = raised(summed, np.ones(2), bad, 2.0)
    assert (found.parameter, found.index, found.result_index) == ("xs", (1, 0), (2, 0))
    assert raised(summed, np.ones(2), xs, np.array(np.inf)).parameter == "k"


def test_what_happens_before_a_loop_has_no_step():
    """Also where the compiler moves it into the loop."""

    def step(total: Any, x: Any) -> Any:
        return total + x, None

    found = raised(lambda xs: wg.scan(step, 0.0, wg.log(xs))[0], np.array([1.0, 2.0, 0.0]))
    assert (found.op, found.steps, found.index) == ("log", (), (2,))


def test_a_loop_without_steps():
    found = raised(lambda x: wg.scan(lambda c, _: (c, None), 1 / x, length=0)[0], np.zeros(2))
    assert (found.op, found.steps) == ("divide", ())


def test_nested_scans():
    def outer(total: Any, row: Any) -> Any:
        total, _ = wg.scan(lambda total, x: (total + wg.log(x), wg.tanh(total)), total, row)
        return total, total

    xs = np.ones((3, 5))
    xs[2, 3] = 0.0
    found = raised(lambda xs: wg.scan(outer, 0.0, xs)[0], xs)
    assert (found.op, found.steps, found.value) == ("log", (2, 3), "-inf")
    assert "in steps 2, 3 of nested loops" in str(found)
    assert found.line == line_of(outer, "wg.log")


def test_the_backward_pass_of_a_scan():
    def loss(start: Any, xs: Any) -> Any:
        return wg.sum(roots(start, xs)[1])

    found = raised(wg.grad(loss), np.array([8.0, 4.0]), np.ones((4, 2)))
    assert (found.phase, found.of, found.op) == ("backward", "sqrt", "divide")
    assert (found.steps, found.index) == ((3,), (1,))
    assert found.line == line_of(roots, "wg.sqrt")
    assert found.parameter == "start"


def test_what_a_backward_loop_computes_again_belongs_to_the_forward_pass():
    def loss(xs: Any) -> Any:
        def step(total: Any, x: Any) -> Any:
            grown = wg.exp(x)
            return total + wg.tanh(grown * grown), None

        return wg.scan(step, 0.0, xs)[0]

    graph = wg.trace(wg.grad(loss), np.ones(3))
    (adjoint,) = [
        n.params["body"] for n in graph.nodes if n.op.name == "scan" and n.params["reverse"]
    ]
    lines = {n.op.name: n.line for n in adjoint.nodes if n.line is not None}
    assert (lines["exp"].number, lines["exp"].phase) == (line_of(loss, "wg.exp"), "forward")


@pytest.mark.parametrize("positive", [True, False])
def test_branches(positive):
    def choose(x: Any, y: Any) -> Any:
        return wg.cond(wg.sum(x) > 0, lambda x: wg.log(x), lambda x: wg.sqrt(x) + y, x * 1.0)

    x = np.array([5.0, -1.0]) if positive else np.array([1.0, -5.0])
    found = raised(choose, x, np.ones(2))
    assert (found.op, found.index) == ("log" if positive else "sqrt", (1,))
    derived = raised(wg.grad(lambda x: wg.sum(choose(x, np.ones(2)))), np.zeros(2))
    assert (derived.of, derived.phase, derived.op) == ("sqrt", "backward", "divide")


def test_into_a_branch_from_outside():
    found = raised(
        lambda x, y: wg.cond(wg.sum(x) > 0, lambda a: a + y, lambda a: a - y, x),
        np.ones(2),
        np.array([1.0, np.nan]),
    )
    assert (found.op, found.parameter, found.index) == ("input", "y", (1,))


def blocks(x: Any) -> Any:
    @wg.checkpoint
    def block(x: Any) -> Any:
        return wg.sqrt(x) * 2.0

    return wg.sum(block(x * 1.0))


def test_checkpoints():
    found = raised(blocks, np.array([1.0, -1.0]))
    assert (found.op, found.index, found.line) == ("sqrt", (1,), line_of(blocks, "wg.sqrt"))
    derived = raised(wg.grad(blocks), np.array([1.0, 0.0]))
    assert (derived.phase, derived.of, derived.index) == ("backward", "sqrt", (1,))
    assert derived.line == line_of(blocks, "wg.sqrt")
    assert derived.parameter == "x"


def test_a_checkpoint_in_a_scan_in_a_branch():
    def step(total: Any, x: Any) -> Any:
        return wg.checkpoint(lambda t, x: t + wg.log(x))(total, x), None

    def program(xs: Any, flag: Any) -> Any:
        return wg.cond(flag > 0, lambda xs: wg.scan(step, 0.0, xs)[0], lambda xs: wg.sum(xs), xs)

    xs = np.array([1.0, 2.0, 0.0, 1.0])
    found = raised(program, xs, 1.0)
    assert (found.op, found.steps) == ("log", (2,))
    assert wg.compile(program, nonfinite="raise")(xs, -1.0) == 4.0


def test_open_sizes_in_a_scan():
    dims = {"xs": {0: wg.Dim("steps"), 1: wg.Dim("n")}}
    compiled = wg.compile(
        lambda xs: wg.scan(lambda t, x: (t + wg.mean(wg.log(x)), t), 0.0, xs)[0],
        dims=dims,
        nonfinite="raise",
    )
    compiled(np.ones((3, 2)))
    for steps, n in ((5, 3), (2, 7)):
        xs = np.ones((steps, n))
        xs[1, n - 1] = -1.0
        with pytest.raises(NonFiniteError) as caught:
            compiled(xs)
        assert (caught.value.steps, caught.value.index) == ((1,), (n - 1,))


@pytest.mark.parametrize("limit", [0, 100, 1000])
def test_with_little_memory(monkeypatch, limit):
    """Values are computed in several goes, and carries computed again from those that are kept."""

    def program(xs: Any, w: Any) -> Any:
        hidden = wg.tanh(xs @ w)
        last, _ = wg.scan(lambda c, x: (c * 0.5 + wg.log(x + 0.9), None), hidden[0], hidden)
        return wg.sum(wg.exp(last) * 2.0)

    xs, w = np.ones((40, 3)), np.full((3, 4), 0.01)
    xs[7] = -200.0
    expected = raised(wg.value_and_grad(program, argnums=1), xs, w)
    assert (expected.op, expected.steps) == ("log", (7,))
    for place in ("values", "walk"):
        monkeypatch.setattr(f"wengert.runtime.origins.provenance_{place}.LIMIT", max(limit, 1))
    found = raised(wg.value_and_grad(program, argnums=1), xs, w)
    assert str(found) == str(expected)
    assert vars(found) == vars(expected)
