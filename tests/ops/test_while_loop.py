"""while_loop: as long as a condition holds, eagerly, recorded and differentiated."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wengert as wg
from wengert.errors import LoopError, NotDifferentiable, ShapeError, TraceError, WengertError

A = np.array([2.0, 3.0, 5.0, 700.0])
MODES = pytest.mark.parametrize("mode", ["recorded", "eager", "compiled"])


def in_mode(mode: str, f: Any, *args: Any) -> Any:
    if mode == "compiled":
        return wg.compile(f)(*args)
    if mode == "eager":
        with wg.eager():
            return wg.compile(f)(*args)
    return f(*args)


def roots(a: Any, max_steps: Any = 60) -> Any:
    """Newton's method for square roots, until all are good."""
    return wg.while_loop(
        lambda x: wg.any(wg.abs(x * x - a) > 1e-12 * a),
        lambda x: 0.5 * (x + a / x),
        wg.ones(4),
        max_steps,
    )


# Values.


@MODES
@pytest.mark.parametrize("max_steps", [None, 60])
def test_a_loop_until_it_is_good_enough(mode: str, max_steps: Any):
    found = in_mode(mode, lambda a: roots(a, max_steps), A)
    np.testing.assert_allclose(found, np.sqrt(A), rtol=1e-12)


@MODES
def test_the_number_of_steps_follows_from_the_numbers(mode: str):
    """Collatz: 27 takes 111 steps, 1 takes none."""

    def steps(n: Any) -> Any:
        def following(s: Any) -> Any:
            n = wg.where(s["n"] % 2 == 0, s["n"] // 2, 3 * s["n"] + 1)
            return {"n": n, "steps": s["steps"] + 1}

        return wg.while_loop(lambda s: s["n"] != 1, following, {"n": n, "steps": 0})

    for n, expected in ((27, 111), (1, 0), (6, 8)):
        found = in_mode(mode, steps, np.array(n))
        assert (int(found["n"]), int(found["steps"])) == (1, expected)


@MODES
def test_no_step_at_all(mode: str):
    x = np.array([1.0, 2.0])
    found = in_mode(mode, lambda x: wg.while_loop(lambda c: c[0] > 5, lambda c: c * 2, x), x)
    assert np.array_equal(found, x)
    found[0] = 9.0
    assert x[0] == 1.0
    assert wg.while_loop(lambda c: c < 0, lambda c: c + 1, 0.0, max_steps=0) == 0.0


@MODES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("first", [1.0, 100.0])
def test_a_python_number_takes_the_dtype_it_meets(mode: str, dtype: Any, first: float):
    def f(y: Any) -> Any:
        return wg.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + c[1], c[1]), (first, y))[0]

    assert np.asarray(in_mode(mode, f, np.array(2, dtype))).dtype == dtype


def test_a_nan_ends_a_comparison():
    found = wg.compile(lambda x: wg.while_loop(lambda x: x > 0.5, lambda x: x / 2, x))(np.nan)
    assert np.isnan(found)


@MODES
def test_exactly_the_bound_is_no_error(mode: str):
    f = lambda x, n: wg.while_loop(lambda x: x < 100, lambda x: 2 * x, x, max_steps=n)  # noqa: E731
    assert in_mode(mode, lambda x: f(x, 6), 3.0) == 192
    with pytest.raises(LoopError, match=r"max_steps=5 steps, and its condition still holds"):
        in_mode(mode, lambda x: f(x, 5), 3.0)
    with pytest.raises(LoopError, match="max_steps=5"):
        in_mode(mode, wg.grad(lambda x: f(x, 5)), 3.0)
    with pytest.raises(LoopError, match="max_steps=0"):
        in_mode(mode, lambda x: f(x, 0), 3.0)


# Derivatives.


def leap(w: Any, x: Any) -> Any:
    """Steps of a map that shrinks, as many as it takes: a carry with integers, outer Tensors."""

    def step(state: Any) -> Any:
        return {"x": wg.tanh(w @ state["x"] + 0.1), "n": state["n"] + 1, "was": state["x"]}

    def moves(state: Any) -> Any:
        return wg.logical_and(wg.sum((state["x"] - state["was"]) ** 2) > 1e-3, state["n"] < 40)

    last = wg.while_loop(moves, step, {"x": x, "n": 0, "was": x + 1.0}, max_steps=50)
    return wg.sum(last["x"] ** 2 * np.array([1.0, 2.0, 3.0])) + wg.sum(last["was"])


def leap_in_python(w: Any, x: Any) -> Any:
    was = x + 1.0
    while jnp.sum((x - was) ** 2) > 1e-3:
        x, was = jnp.tanh(w @ x + 0.1), x
    return jnp.sum(x**2 * np.array([1.0, 2.0, 3.0])) + jnp.sum(was)


W = np.random.default_rng(3).uniform(-0.6, 0.6, (3, 3))
X = np.array([0.5, -0.3, 0.8])


@MODES
def test_gradients_are_those_of_the_unrolled_loop(mode: str):
    value, found = in_mode(mode, wg.value_and_grad(leap, argnums=(0, 1)), W, X)
    with jax.enable_x64(True):
        expected, gradients = jax.value_and_grad(leap_in_python, argnums=(0, 1))(W, X)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for x, y in zip(found, gradients, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)


@MODES
def test_forward_mode(mode: str):
    for max_steps in (None, 60):
        value, tangent = in_mode(
            mode, lambda a, m=max_steps: wg.jvp(lambda a: roots(a, m), (a,), (np.ones(4),)), A
        )
        np.testing.assert_allclose(value, np.sqrt(A), rtol=1e-12)
        np.testing.assert_allclose(tangent, 0.5 / np.sqrt(A), rtol=1e-7)


def hessian_row(i: int) -> Any:
    """By JAX, along the steps that the values take: they see no tracers."""
    steps = python_steps(X)

    def unrolled(x: Any) -> Any:
        was = x + 1.0
        for _ in range(steps):
            x, was = jnp.tanh(W @ x + 0.1), x
        return jnp.sum(x**2 * np.array([1.0, 2.0, 3.0])) + jnp.sum(was)

    return np.asarray(jax.hessian(unrolled)(X))[i]


def python_steps(x: Any) -> int:
    was, count = x + 1.0, 0
    while np.sum((x - was) ** 2) > 1e-3:
        x, was, count = np.tanh(W @ x + 0.1), x, count + 1
    return count


@MODES
def test_second_derivatives(mode: str):
    """Forwards over backwards, backwards over backwards, and backwards over forwards."""
    direction = np.array([0.2, -1.0, 0.4])

    def along(x: Any) -> Any:
        return wg.sum(wg.grad(leap, argnums=1)(W, x) * direction)

    with jax.enable_x64(True):
        rows = [hessian_row(i) for i in range(3)]
    expected = np.stack(rows)
    np.testing.assert_allclose(
        in_mode(mode, lambda x: wg.hvp(lambda x: leap(W, x), x, direction), X),
        expected @ direction,
        rtol=1e-9,
    )
    np.testing.assert_allclose(in_mode(mode, wg.grad(along), X), expected @ direction, rtol=1e-9)
    forwards = lambda x: wg.jvp(lambda x: leap(W, x), (x,), (direction,))[1]  # noqa: E731
    np.testing.assert_allclose(in_mode(mode, wg.grad(forwards), X), expected @ direction, rtol=1e-9)


def test_third_derivatives():
    """x ** 8 by squaring, three times."""
    f = lambda x: wg.while_loop(  # noqa: E731
        lambda s: s[1] < 3, lambda s: (s[0] * s[0], s[1] + 1), (x, 0), max_steps=4
    )[0]
    third = wg.grad(wg.grad(wg.grad(f)))
    np.testing.assert_allclose(third(1.1), 336 * 1.1**5, rtol=1e-12)
    np.testing.assert_allclose(wg.compile(third)(1.1), 336 * 1.1**5, rtol=1e-12)


def test_against_differences():
    wg.check_grads(leap, [W, X])


@MODES
def test_nested_loops(mode: str):
    """A loop in a loop, whose inner one reads what the outer one carries; a scan and a branch."""

    def f(x: Any) -> Any:
        def outer(s: Any) -> Any:
            y, n = s
            inner = wg.while_loop(
                lambda z: z < 5 + n, lambda z: z * 1.5 + y * 0.1, wg.abs(y) + 0.5, max_steps=20
            )
            last, _ = wg.scan(lambda c, t: (c * 0.9 + t, None), inner, wg.stack([y, x]))
            return wg.cond(last > 3, lambda v: v * 0.2, lambda v: v - 1.0, last), n + 1

        return wg.while_loop(lambda s: s[1] < 4, outer, (x, 0), max_steps=4)[0]

    def plain(x: float) -> float:
        y = x
        for n in range(4):
            z = abs(y) + 0.5
            while z < 5 + n:
                z = z * 1.5 + y * 0.1
            last = (z * 0.9 + y) * 0.9 + x
            y = last * 0.2 if last > 3 else last - 1.0
        return y

    value, gradient = in_mode(mode, wg.value_and_grad(f), 0.7)
    np.testing.assert_allclose(value, plain(0.7), rtol=1e-12)
    difference = (plain(0.7 + 1e-6) - plain(0.7 - 1e-6)) / 2e-6
    np.testing.assert_allclose(gradient, difference, rtol=1e-7)


def test_reverse_needs_a_bound():
    with pytest.raises(NotDifferentiable, match="without max_steps"):
        wg.grad(lambda a: wg.sum(roots(a, None)))(A)
    with pytest.raises(NotDifferentiable, match=r"without max_steps.*test_while_loop.py"):
        wg.compile(wg.grad(lambda a: wg.sum(roots(a, None))))(A)
    # Where no gradient flows, nothing is needed.
    detached = wg.grad(lambda a: wg.sum(a * wg.stop_gradient(roots(a, None))))
    np.testing.assert_allclose(detached(A), np.sqrt(A), rtol=1e-12)


def test_graphs_of_gradients():
    """The graph of a gradient, as text and back, and no more steps than were taken."""
    graph = wg.grad_with_loss(wg.trace(leap, W, X), wrt=[0, 1])
    again = wg.Graph.from_text(graph.to_text())
    again.check()
    found = again.run(w=W, x=X, d_output=1.0)
    expected = wg.value_and_grad(leap, argnums=(0, 1))(W, X)
    for x, y in zip(found, (expected[0], *expected[1]), strict=True):
        assert np.array_equal(x, y)


# What is refused, and what is drawn.


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: wg.while_loop(3, lambda x: x, 0.0), WengertError, "given int as cond"),
        (lambda: wg.while_loop(lambda x: x, 1.0, 0.0), WengertError, "given float as body"),
        (
            lambda: wg.while_loop(lambda x: x < 3, lambda x: x, np.zeros(2)),
            ShapeError,
            r"shape \(2,\); it must be one bool",
        ),
        (
            lambda: wg.while_loop(lambda x: x / 2, lambda x: x > 1, 10.0),
            WengertError,
            "the condition returned float64; it must be one bool, and comes before the body",
        ),
        (
            lambda: wg.while_loop(lambda x: 1.0, lambda x: x + 1, np.array(0)),
            WengertError,
            "the condition returned float; it must be one bool",
        ),
        (
            lambda: wg.while_loop(lambda x: x[0] < 3, lambda x: x[:1], np.zeros(2)),
            ShapeError,
            "shapes and dtypes must stay the same",
        ),
        (
            lambda: wg.while_loop(lambda x: x < 3, lambda x: x * 1.5, np.array(1)),
            ShapeError,
            "shapes and dtypes must stay the same",
        ),
        (
            lambda: wg.while_loop(lambda x: x < 3, lambda x: (x, x), 0.0),
            TraceError,
            "its structure must stay the same",
        ),
        (lambda: wg.while_loop(lambda x: True, lambda x: x, ()), ShapeError, "holds no array"),
        (
            lambda: wg.while_loop(lambda x: x < 3, lambda x: x + 1, 0, max_steps=-1),
            ShapeError,
            "max_steps=-1 was given",
        ),
        (
            lambda: wg.while_loop(lambda x: x < 3, lambda x: x + 1, 0, max_steps=True),
            ShapeError,
            "max_steps=True was given",
        ),
    ],
)
@pytest.mark.parametrize("eager", [False, True])
def test_refusals(call: Any, error: Any, message: str, eager: bool):
    if eager:
        with wg.eager(), pytest.raises(error, match=message):
            call()
    else:
        with pytest.raises(error, match=message):
            call()


def test_eager_mode_sees_values():
    seen = []

    def body(x: Any) -> Any:
        seen.append(float(x))
        return x * 2

    with wg.eager():
        wg.while_loop(lambda x: float(x) < 10, body, 1.0)
    assert seen == [1.0, 2.0, 4.0, 8.0]


def test_numpy_generators_are_warned_of():
    rng = np.random.default_rng(0)
    with pytest.warns(wg.errors.WengertWarning, match="while_loop: a generator of NumPy"):
        wg.while_loop(lambda s: s < 3, lambda s: s + rng.uniform(1, 2), 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wg.while_loop(lambda s: s < 3, lambda s: s + 1.0, 0.0)
