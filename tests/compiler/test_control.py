"""Loops and branches in compiled programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from compiler.running import require_eager, run_alone

RNG = np.random.default_rng(23)
LENGTHS = (0, 1, 2, 17)
BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def real(*shape: int, dtype: Any = np.float64) -> Any:
    return RNG.uniform(-1, 1, shape).astype(dtype)


# Loops.


def recurrence(w: Any, h: Any, xs: Any, reverse: bool = False) -> Any:
    def cell(h: Any, x: Any) -> Any:
        h = np.tanh(h @ w + x)
        return h, wg.sum(h * x)

    return wg.scan(cell, h, xs, reverse=reverse)


def loss(w: Any, h: Any, xs: Any, reverse: bool = False) -> Any:
    last, ys = recurrence(w, h, xs, reverse)
    weights = np.linspace(1, 2, 3).astype(np.float32)
    return wg.sum(last * weights) + wg.sum(ys * ys)


@BOTH
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_recurrent_network(length, reverse, dtype):
    """Forward and backward, of any length, in both directions."""
    args = real(3, 3, dtype=dtype), real(3, dtype=dtype), real(length, 3, dtype=dtype)
    require_eager(lambda *a: recurrence(*a, reverse=reverse), *args)
    gradient = wg.value_and_grad(lambda *a: loss(*a, reverse=reverse), argnums=(0, 1, 2))
    require_eager(gradient, *args)


def test_the_formula_of_a_linear_recurrence():
    """c' = a c + x has the last carry Σ aⁿ⁻¹⁻ᵗ xₜ, whose derivatives are known."""
    xs, a = real(9), np.array(0.7)

    def last(a: Any, xs: Any) -> Any:
        return wg.scan(lambda c, x: (a * c + x, c), 0.0 * a, xs)[0]

    powers = 0.7 ** np.arange(8, -1, -1)
    value, (ga, gxs) = run_alone(wg.value_and_grad(last, argnums=(0, 1)), a, xs)
    np.testing.assert_allclose(value, np.sum(powers * xs), rtol=1e-13)
    np.testing.assert_allclose(gxs, powers, rtol=1e-13)
    slopes = np.arange(8, -1, -1) * np.concatenate([0.7 ** np.arange(7, -1, -1), [0.0]])
    np.testing.assert_allclose(ga, np.sum(slopes * xs), rtol=1e-13)


def test_a_cumulative_sum():
    xs = real(50)
    _, partial = run_alone(lambda xs: wg.scan(lambda c, x: (c + x, c + x), 0.0, xs), xs)
    np.testing.assert_allclose(partial, np.cumsum(xs), rtol=1e-12)
    _, partial = run_alone(lambda xs: wg.scan(lambda c, x: (c + x, c), 0.0, xs, reverse=True), xs)
    np.testing.assert_allclose(partial, np.cumsum(xs[::-1])[::-1] - xs, atol=1e-13)


def test_a_loop_without_inputs():
    """Integers in the carry, a carry that is exchanged, and nothing to collect."""

    def fibonacci(a: Any, b: Any) -> Any:
        return wg.scan(lambda c, _: ((c[1], c[0] + c[1]), c[0]), (a, b), None, length=30)

    (last, _), numbers = run_alone(fibonacci, np.array(0), np.array(1))
    assert last == 832040
    assert numbers[:9].tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21]
    only, nothing = run_alone(
        lambda x: wg.scan(lambda c, _: (c * 2, None), x, None, length=5), np.ones(3)
    )
    assert nothing is None
    assert np.array_equal(only, np.full(3, 32.0))


def test_carries_that_rotate():
    """Each new carry is an old one: none may be overwritten before it is read."""

    def rotate(a: Any, b: Any, c: Any, xs: Any) -> Any:
        return wg.scan(lambda s, x: ((s[1], s[2], s[0] + x), s), (a, b, c), xs)

    require_eager(rotate, real(4), real(4), real(4), real(7, 4))
    swapped = wg.compile(
        lambda a, b: wg.scan(lambda s, _: ((s[1], s[0]), None), (a, b), None, 3)[0]
    )
    a, b = np.zeros(5), np.ones(5)
    found = swapped(a, b)
    assert np.array_equal(found[0], b)
    assert np.array_equal(found[1], a)


def test_a_carry_that_stays():
    require_eager(lambda c, xs: wg.scan(lambda c, x: (c, c * x), c, xs), real(3), real(5, 3))
    require_eager(lambda c, xs: wg.scan(lambda c, x: (x, x), c, xs), real(3), real(5, 3))
    require_eager(lambda c, xs: wg.scan(lambda c, x: (c, (c, x)), c, xs), real(3), real(5, 3))


def test_trees_and_dtypes_in_a_loop():
    def function(xs: Any, flags: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            x, flag = row["x"], row["flag"]
            count = state["count"] + flag.astype(np.int32)
            seen = state["seen"] | (x > 0.5)
            best = wg.maximum(state["best"], x)
            return {"count": count, "seen": seen, "best": best}, (seen, count % 3, best * 2)

        start = {"count": np.array(0, np.int32), "seen": np.zeros(4, bool), "best": xs[0] - 9}
        return wg.scan(step, start, {"x": xs, "flag": flags})

    require_eager(function, real(6, 4, dtype=np.float32), RNG.integers(0, 2, 6).astype(bool))


def nested(w: Any, xs: Any) -> Any:
    """A loop in a loop, whose inner one reads what the outer one carries."""

    def outer(h: Any, rows: Any) -> Any:
        def inner(c: Any, x: Any) -> Any:
            c = np.tanh(c * w + x + h[0])
            return c, c * c

        last, squares = wg.scan(inner, h, rows)
        return last, wg.sum(squares, axis=0)

    last, ys = wg.scan(outer, w * 0, xs)
    return wg.sum(last) + wg.sum(ys * ys)


@pytest.mark.parametrize("shape", [(4, 5, 3), (1, 5, 3), (4, 1, 3), (0, 5, 3), (4, 0, 3)], ids=str)
def test_nested_loops(shape):
    w, xs = real(3), real(*shape)
    require_eager(nested, w, xs)
    require_eager(wg.value_and_grad(nested, argnums=(0, 1)), w, xs)


def test_a_loop_of_open_length():
    """One executable for every length, backward included."""
    gradient = wg.value_and_grad(loss, argnums=(0, 1, 2))
    compiled = wg.compile(gradient, dims={"xs": {0: wg.Dim("t")}})
    w, h = real(3, 3), real(3)
    executable = compiled.executable(w, h, real(4, 3))
    for length in (4, 0, 1, 100, 7, 33):
        xs = real(length, 3)
        assert compiled.executable(w, h, xs) is executable
        for x, y in zip(
            wg.tree.leaves(compiled(w, h, xs)), wg.tree.leaves(gradient(w, h, xs)), strict=True
        ):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)


def test_a_loop_over_rows_of_open_width():
    compiled = wg.compile(
        wg.grad(lambda c, xs: wg.sum(wg.scan(lambda c, x: (c * x, c + x), c, xs)[1] ** 2)),
        dims={"c": {0: wg.Dim("k")}, "xs": {0: wg.Dim("t"), 1: wg.Dim("k")}},
    )
    for length, width in ((3, 4), (1, 40), (20, 1), (5, 0), (0, 5), (6, 17)):
        c, xs = real(width), real(length, width)
        eager = wg.grad(lambda c, xs: wg.sum(wg.scan(lambda c, x: (c * x, c + x), c, xs)[1] ** 2))
        np.testing.assert_allclose(compiled(c, xs), eager(c, xs), rtol=1e-11, atol=1e-13)


def test_the_code_of_a_loop_does_not_grow_with_its_length():
    def text(length: int) -> str:
        gradient = wg.value_and_grad(loss, argnums=(0, 1, 2))
        return str(wg.compile(gradient).executable(real(3, 3), real(3), real(length, 3)).text)

    assert text(20_000).count("\n") < 2 * text(50).count("\n")  # one more kind of loop, at most


def test_everything_inside_a_loop():
    """Kernels of all kinds in a body: products, folds, sorts, scatters, factorisations."""

    def step(c: Any, row: Any) -> Any:
        x, i = row
        a = c.T @ c + 3 * np.eye(3)
        solved = wg.linalg.solve(a, c.T).T
        moved = wg.scatter_add(solved, i, c[:2])
        ranked = wg.sort(moved, axis=0) + wg.cumulative_sum(x)
        return ranked / (1 + wg.sum(ranked**2)), (wg.softmax(ranked @ x), wg.argmax(ranked))

    def function(c: Any, xs: Any, indices: Any) -> Any:
        return wg.scan(step, c, (xs, indices))

    indices = RNG.integers(0, 4, (5, 2))
    c, xs = real(4, 3), real(5, 3)
    require_eager(function, c, xs, indices)

    def total(c: Any, xs: Any, indices: Any) -> Any:
        last, (ys, _) = function(c, xs, indices)
        return wg.sum(last) + wg.sum(ys * ys)

    require_eager(wg.value_and_grad(total, argnums=(0, 1)), c, xs, indices)


def test_second_derivatives_of_a_loop():
    def f(x: Any, xs: Any) -> Any:
        return wg.sum(wg.scan(lambda c, y: (np.sin(c * x) + y, None), x, xs)[0])

    require_eager(
        lambda x, xs: wg.grad(lambda x: wg.sum(wg.grad(f)(x, xs) ** 2))(x), real(3), real(4, 3)
    )
    require_eager(
        lambda x, d, xs: wg.jvp(lambda x: f(x, xs), (x,), (d,)), real(3), real(3), real(4, 3)
    )


# Branches.


def branched(flag: Any, x: Any) -> Any:
    first, second = wg.cond(
        flag, lambda x: (wg.exp(x), wg.sum(x)), lambda x: (x * x, wg.max(x) * 2), x
    )
    return wg.sum(first) * second


@pytest.mark.parametrize("flag", [True, False])
def test_branches(flag):
    flag = np.array(flag)
    require_eager(branched, flag, real(7))
    require_eager(lambda f, x: wg.value_and_grad(lambda x: branched(f, x))(x), flag, real(7))


def test_branches_that_return_what_they_are_given():
    def function(flag: Any, x: Any, y: Any) -> Any:
        return wg.cond(flag, lambda x, y: (x, y, x), lambda x, y: (y, x, x), x, y)

    for flag in (np.array(True), np.array(False)):
        require_eager(function, flag, real(3), real(3))


def test_branches_in_branches():
    def function(x: Any) -> Any:
        def deeper(y: Any) -> Any:
            return wg.cond(wg.sum(y) > 1, lambda: np.tanh(y), lambda: y * x[0])

        return wg.cond(x[0] > 0, deeper, lambda y: -y, x * 2)

    for first in (-1.0, 0.25, 3.0):
        x = np.array([first, 0.1, 0.2])
        require_eager(function, x)
        require_eager(wg.grad(lambda x: wg.sum(function(x) ** 2)), x)


def test_only_one_branch_runs():
    """The other one may hold what would fail, with its values given or captured."""
    given = wg.compile(lambda x, i: wg.cond(i < 3, lambda x: x[i], lambda x: x[0] * 0, x))
    captured = wg.compile(lambda x, i: wg.cond(i < 3, lambda: x[i], lambda: x[0] * 0))
    for compiled in (given, captured):
        assert compiled(np.arange(3.0), np.array(2)) == 2.0
        assert compiled(np.arange(3.0), np.array(9)) == 0.0


@pytest.mark.parametrize("reverse", [False, True])
def test_branches_in_a_loop(reverse):
    def function(w: Any, xs: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            c = wg.cond(wg.sum(x) > 0, lambda c: np.tanh(c * w + x), lambda c: c * 0.5 - x, c)
            return c, wg.cond(c[0] > 0, lambda: wg.sum(c), lambda: wg.max(c))

        last, ys = wg.scan(step, w, xs, reverse=reverse)
        return wg.sum(last**2) + wg.sum(ys)

    w, xs = real(3), real(12, 3)
    require_eager(function, w, xs)
    require_eager(wg.value_and_grad(function, argnums=(0, 1)), w, xs)


def test_a_loop_in_a_branch():
    def function(flag: Any, x: Any, xs: Any) -> Any:
        def looped(x: Any) -> Any:
            return wg.scan(lambda c, y: (np.tanh(c + y), None), x, xs)[0]

        return wg.sum(wg.cond(flag, looped, lambda x: x + xs[0], x))

    for flag in (np.array(True), np.array(False)):
        gradient = lambda f, x, xs: wg.grad(function, argnums=(1, 2))(f, x, xs)  # noqa: E731
        require_eager(gradient, flag, real(3), real(5, 3))
