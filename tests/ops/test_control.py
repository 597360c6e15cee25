"""scan: loops whose body is recorded once, run eagerly and differentiated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differences import BY_DIFFERENCES, BY_JAX, gradients, require_all_close, require_close

import wengert as wg
from wengert.errors import ShapeError, WengertError

rng = np.random.default_rng(13)
STEPS = 5
XS, H0, W = rng.standard_normal((STEPS, 3)), rng.standard_normal(2), rng.standard_normal((5, 2))
GY, GH = rng.standard_normal((STEPS, 2)), rng.standard_normal(2)


def cell(w: Any, h: Any, x: Any) -> Any:
    return wg.tanh(wg.concat([h, x]) @ w)


def scanned(w: Any, h: Any, xs: Any, reverse: bool = False) -> Any:
    """A recurrent network and a random functional of all its states."""

    def body(h: Any, x: Any) -> Any:
        h = cell(w, h, x)
        return h, h * h

    last, ys = wg.scan(body, h, xs, reverse=reverse)
    return wg.sum(GH * last) + wg.sum(GY * ys)


def unrolled(w: Any, h: Any, xs: Any, reverse: bool = False) -> Any:
    """The same in a Python loop."""
    total = 0.0
    for t in reversed(range(STEPS)) if reverse else range(STEPS):
        h = cell(w, h, xs[t])
        total = total + wg.sum(GY[t] * h * h)
    return total + wg.sum(GH * h)


def count(graph: Any) -> int:
    """The nodes of a graph and of its bodies."""
    return len(graph.nodes) + sum(count(each) for each in graph.subgraphs())


# scan: values.


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_is_a_loop(reverse: bool):
    xs = np.arange(1.0, 5.0)
    last, ys = wg.scan(lambda c, x: (2 * c + x, c), np.array(1.0), xs, reverse=reverse)
    c, expected = 1.0, np.zeros(4)
    for t in reversed(range(4)) if reverse else range(4):
        expected[t], c = c, 2 * c + xs[t]
    assert float(last) == c
    np.testing.assert_array_equal(ys, expected)
    assert type(ys) is np.ndarray


def test_carry_inputs_and_outputs_are_trees():
    @dataclass
    class State:
        total: Any
        steps: Any
        name: str

    def body(state: Any, row: Any) -> Any:
        total = state.total + row["x"] * row["y"][0]
        return State(total, state.steps + 1, state.name), (total, {"twice": 2 * row["x"]})

    rows = {"x": np.array([1.0, 2.0, 3.0]), "y": [np.array([4.0, 5.0, 6.0])]}
    state, (totals, others) = wg.scan(body, State(np.array(0.0), np.array(0), "s"), rows)
    assert isinstance(state, State)
    assert (float(state.total), int(state.steps), state.name) == (32.0, 3, "s")
    assert np.issubdtype(state.steps.dtype, np.integer)
    np.testing.assert_array_equal(totals, [4.0, 14.0, 32.0])
    np.testing.assert_array_equal(others["twice"], [2.0, 4.0, 6.0])


def test_scan_without_inputs_takes_a_length():
    last, ys = wg.scan(lambda c, x: (c * 2, c), np.array(1.0), None, length=4)
    assert float(last) == 16.0
    np.testing.assert_array_equal(ys, [1.0, 2.0, 4.0, 8.0])


def test_scan_without_a_carry_or_outputs():
    carry, ys = wg.scan(lambda c, x: (c, x**2), None, np.array([1.0, 2.0]))
    assert carry is None
    np.testing.assert_array_equal(ys, [1.0, 4.0])
    last, nothing = wg.scan(lambda c, x: (c + x, None), np.array(0.0), np.array([1.0, 2.0]))
    assert (float(last), nothing) == (3.0, None)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("start", [0, 0.0])
def test_a_python_number_as_carry_is_weak(start: Any, dtype: Any):
    last, ys = wg.scan(lambda c, x: (c + x, c), start, np.ones(3, dtype))
    assert (last.dtype, ys.dtype) == (dtype, dtype)
    assert float(last) == 3.0


def test_a_python_number_as_carry_that_stays_one():
    last, _ = wg.scan(lambda c, x: (c + 1, x), 0, np.ones(3, np.float32))
    assert int(last) == 3
    assert np.issubdtype(np.asarray(last).dtype, np.integer)


def test_scan_of_zero_steps():
    last, ys = wg.scan(lambda h, x: (h + x, wg.outer(h, x)), np.ones(2), np.zeros((0, 2)))
    np.testing.assert_array_equal(last, [1.0, 1.0])
    assert ys.shape == (0, 2, 2)

    def loss(h: Any, xs: Any) -> Any:
        last, ys = wg.scan(lambda h, x: (h * x, h + x), h, xs)
        return wg.sum(GH * last) + wg.sum(ys)

    gh, gxs = wg.grad(loss, argnums=(0, 1))(np.ones(2), np.zeros((0, 2)))
    np.testing.assert_array_equal(gh, GH)
    assert gxs.shape == (0, 2)


# scan: derivatives.


@pytest.mark.parametrize("reverse", [False, True])
def test_gradient_is_that_of_the_unrolled_loop(reverse: bool):
    every = (0, 1, 2)
    found = wg.grad(lambda *args: scanned(*args, reverse), argnums=every)(W, H0, XS)
    expected = wg.grad(lambda *args: unrolled(*args, reverse), argnums=every)(W, H0, XS)
    require_all_close(found, expected, 1e-13)
    by_differences = gradients(lambda *args: unrolled(*args, reverse), W, H0, XS)
    require_all_close(found, by_differences, BY_DIFFERENCES)


@pytest.mark.parametrize("reverse", [False, True])
def test_tangent_is_that_of_the_unrolled_loop(reverse: bool):
    tangents = tuple(rng.standard_normal(x.shape) for x in (W, H0, XS))
    found = wg.jvp(lambda *args: scanned(*args, reverse), (W, H0, XS), tangents)
    expected = wg.jvp(lambda *args: unrolled(*args, reverse), (W, H0, XS), tangents)
    require_all_close(found, expected, 1e-13)


@pytest.mark.parametrize("reverse", [False, True])
def test_second_order_is_that_of_the_unrolled_loop(reverse: bool):
    every = (0, 1)

    def functions(loss: Any) -> Any:
        return lambda w, h: loss(w, h, XS, reverse)

    found = wg.hessian(functions(scanned), argnums=every)(W, H0)
    expected = wg.hessian(functions(unrolled), argnums=every)(W, H0)
    for row, other in zip(found, expected, strict=True):
        require_all_close(row, other, 1e-12)


def test_gradient_of_a_gradient_of_a_tangent():
    v, u = rng.standard_normal((2, *W.shape))

    def third(loss: Any) -> Any:
        def along(w: Any) -> Any:
            return wg.jvp(lambda w: loss(w, H0, XS), (w,), (v,))[1]

        return wg.grad(lambda w: wg.sum(wg.grad(along)(w) * u))(W)

    require_close(third(scanned), third(unrolled), 1e-12)


def test_gradient_agrees_with_jax():
    def theirs(w: Any, h: Any, xs: Any) -> Any:
        def body(h: Any, x: Any) -> Any:
            h = jnp.tanh(jnp.concatenate([h, x]) @ w)
            return h, h * h

        last, ys = jax.lax.scan(body, h, xs)
        return jnp.sum(GH * last) + jnp.sum(GY * ys)

    found = wg.grad(scanned, argnums=(0, 1, 2))(W, H0, XS)
    require_all_close(found, jax.grad(theirs, argnums=(0, 1, 2))(W, H0, XS), BY_JAX)


def test_gradient_reaches_values_captured_by_the_body():
    """The body uses an outer variable without being handed it; so does an inner derivative."""

    def loss(w: Any) -> Any:
        doubled = 2 * w
        last, _ = wg.scan(lambda c, x: (c * doubled + wg.sin(w) * x, None), 1.0, XS[:, 0])
        return last

    def loop(w: Any) -> Any:
        c = 1.0
        for x in XS[:, 0]:
            c = c * 2 * w + np.sin(w) * x
        return c

    require_close(wg.grad(loss)(0.3), gradients(loop, np.array(0.3))[0], BY_DIFFERENCES)


def test_gradient_flows_beside_integer_carries_and_inputs():
    order = np.array([2, 0, 2])

    def loss(w: Any) -> Any:
        def body(carry: Any, i: Any) -> Any:
            step, total = carry
            return (step + 1, total + step * w[i] ** 2), None

        (_, total), _ = wg.scan(body, (np.array(1), 0.0), order)
        return total

    # 1·w[2]² + 2·w[0]² + 3·w[2]²
    np.testing.assert_allclose(wg.grad(loss)(np.array([3.0, 5.0, 7.0])), [12.0, 0.0, 56.0])


def test_stop_gradient_inside_a_body_truncates():
    def loss(c: Any) -> Any:
        return wg.scan(lambda c, x: (wg.stop_gradient(c) * x, c * x), c, np.array([2.0, 3.0]))[0]

    assert float(wg.grad(loss)(1.0)) == 0.0


def test_a_masked_step_leaves_no_nan():
    def loss(x: Any) -> Any:
        def body(total: Any, x: Any) -> Any:
            return total + wg.where(x > 0, x * wg.log(x), 0.0), None

        return wg.scan(body, 0.0, x)[0]

    with np.errstate(all="ignore"):
        gradient = wg.grad(loss)(np.array([0.0, 1.0, 2.0]))
    np.testing.assert_allclose(gradient, [0.0, 1.0, 1 + np.log(2.0)], rtol=1e-15)


def test_nested_scans():
    def scanned(w: Any, xs: Any) -> Any:
        def outer(c: Any, row: Any) -> Any:
            def inner(d: Any, x: Any) -> Any:
                return wg.sin(d * w + x + c), d * x

            d, products = wg.scan(inner, c, row)
            return c + d, wg.sum(products)

        last, ys = wg.scan(outer, 0.5, xs)
        return last + wg.sum(ys * np.arange(1.0, 4.0))

    def loop(w: Any, xs: Any) -> Any:
        c, total = 0.5, 0.0
        for t in range(3):
            d, products = c, 0.0
            for x in xs[t]:
                d, products = np.sin(d * w + x + c), products + d * x
            c, total = c + d, total + (t + 1) * products
        return c + total

    w, xs = np.array(0.7), rng.standard_normal((3, 2))
    require_close(scanned(w, xs), loop(w, xs), 1e-14)
    found = wg.grad(scanned, argnums=(0, 1))(w, xs)
    require_all_close(found, gradients(loop, w, xs), BY_DIFFERENCES)
    second = gradients(lambda w, xs: wg.grad(scanned)(w, xs), w, xs)
    mixed = wg.grad(lambda w, xs: wg.grad(scanned)(w, xs), argnums=(0, 1))(w, xs)
    require_all_close(mixed, second, BY_DIFFERENCES)


# scan: recorded.


def test_scan_inside_grad_inside_trace():
    graph = wg.trace(wg.grad(scanned, argnums=(0, 1, 2)), W, H0, XS)
    graph.check()
    inputs = {"w": 2 * W, "h": -H0, "xs": XS[::-1]}
    expected = wg.grad(unrolled, argnums=(0, 1, 2))(2 * W, -H0, XS[::-1])
    require_all_close(graph.run(**inputs), expected, 1e-13)
    again = wg.Graph.from_text(graph.to_text())
    for found, value in zip(again.run(**inputs), graph.run(**inputs), strict=True):
        np.testing.assert_array_equal(found, value)


def test_grad_of_a_traced_scan():
    graph = wg.trace(scanned, W, H0, XS)
    found = wg.grad_with_loss(graph, graph.inputs[:3]).run(w=W, h=H0, xs=XS)
    expected = wg.value_and_grad(unrolled, argnums=(0, 1, 2))(W, H0, XS)
    require_all_close(found, [expected[0], *expected[1]], 1e-13)


def test_the_recorded_program_does_not_grow_with_the_number_of_steps():
    def loss(xs: Any) -> Any:
        return wg.scan(lambda c, x: (wg.sin(c * x), None), 0.5, xs)[0]

    for function in (loss, wg.grad(loss), wg.grad(lambda xs: wg.sum(wg.grad(loss)(xs) ** 2))):
        sizes = {count(wg.trace(function, np.ones(n))) for n in (3, 200)}
        assert len(sizes) == 1


def test_a_scan_over_an_open_axis():
    def loss(w: Any, xs: Any) -> Any:
        return wg.scan(lambda c, x: (wg.sin(c * w + x), None), 0.5, xs)[0]

    graph = wg.trace(wg.grad(loss), np.array(1.0), XS[:, 0], dims={"xs": {0: wg.Dim("time")}})
    for steps in (0, 1, 7):
        xs = rng.standard_normal(steps)
        require_close(graph.run(w=np.array(0.3), xs=xs)[0], wg.grad(loss)(0.3, xs), 1e-13)


# scan: refusals.


def test_a_carry_that_changes_its_shape_is_refused():
    with pytest.raises(WengertError, match="scan"):
        wg.scan(lambda c, x: (wg.concat([c, c]), x), np.ones(2), np.ones(3))


def test_a_carry_that_changes_its_dtype_is_refused():
    with pytest.raises(WengertError, match="scan"):
        wg.scan(lambda c, x: (c * x, x), np.ones(2, np.float32), np.ones(3))


def test_a_carry_that_changes_its_form_is_refused():
    with pytest.raises(WengertError, match="scan"):
        wg.scan(lambda c, x: ((c, c), x), np.ones(2), np.ones(3))


def test_inputs_of_different_lengths_are_refused():
    with pytest.raises(ShapeError, match="scan"):
        wg.scan(lambda c, x: (c, x), 0.0, (np.ones(3), np.ones(4)))
    with pytest.raises(ShapeError, match="scan"):
        wg.scan(lambda c, x: (c, x), 0.0, np.ones(3), length=4)


def test_inputs_without_a_first_axis_are_refused():
    with pytest.raises(WengertError, match="scan"):
        wg.scan(lambda c, x: (c, x), 0.0, np.array(1.0))


def test_neither_inputs_nor_a_length_is_refused():
    with pytest.raises((WengertError, ValueError), match="scan"):
        wg.scan(lambda c, x: (c, x), 0.0, None)


def test_a_body_that_returns_no_pair_is_refused():
    with pytest.raises(WengertError, match="scan"):
        wg.scan(lambda c, x: c + x, 0.0, np.ones(3))


@pytest.mark.parametrize("eagerly", [False, True])
def test_what_a_loop_returns_is_the_callers_own(eagerly: bool):
    carry, xs = np.zeros(3), np.ones((2, 3))

    def bodies():
        yield wg.scan(lambda c, x: (c, x), carry, xs)
        yield wg.scan(lambda c, x: (x, c), carry, xs)
        yield wg.scan(lambda c, x: (c.reshape(3), x), carry, np.zeros((0, 3)))
        if not eagerly:
            yield wg.checkpoint(lambda c: c)(carry), 0

    def run() -> None:
        for last, ys in bodies():
            for found in (last, ys):
                assert not np.shares_memory(found, carry)
                assert not np.shares_memory(found, xs)

    if eagerly:
        with wg.eager():
            run()
    else:
        run()
