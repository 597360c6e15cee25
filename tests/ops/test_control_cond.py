"""cond: branches that are recorded once, run eagerly and differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differences import BY_DIFFERENCES, gradients, require_all_close, require_close

import wengert as wg
from wengert.errors import ShapeError, WengertError


def branches(x: Any, y: Any) -> Any:
    return wg.cond(wg.sum(x) > 0, lambda x, y: x * wg.sin(y), lambda x, y: x**2 + y, x, y)


@pytest.mark.parametrize("sign", [1, -1])
def test_cond_chooses(sign: int):
    x, y = sign * np.array([1.0, 2.0]), np.array([3.0, 4.0])
    expected = x * np.sin(y) if sign > 0 else x**2 + y
    np.testing.assert_array_equal(branches(x, y), expected)
    graph = wg.trace(branches, x, y)
    graph.check()
    np.testing.assert_array_equal(graph.run(x=x, y=y)[0], expected)
    np.testing.assert_array_equal(graph.run(x=-x, y=y)[0], -x * np.sin(y) if sign < 0 else x**2 + y)


@pytest.mark.parametrize("sign", [1, -1])
def test_gradient_of_cond(sign: int):
    x, y, g = sign * np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([0.3, -0.7])

    def loss(x: Any, y: Any) -> Any:
        return wg.sum(g * branches(x, y))

    expected = gradients(lambda x, y: np.sum(g * branches(x, y)), x, y)
    require_all_close(wg.grad(loss, argnums=(0, 1))(x, y), expected, BY_DIFFERENCES)
    graph = wg.trace(wg.grad(loss, argnums=(0, 1)), -x, y)
    graph.check()
    require_all_close(graph.run(x=x, y=y), expected, BY_DIFFERENCES)
    again = wg.Graph.from_text(graph.to_text())
    require_all_close(again.run(x=x, y=y), expected, BY_DIFFERENCES)


@pytest.mark.parametrize("sign", [1, -1])
def test_second_order_and_tangent_of_cond(sign: int):
    def loss(x: Any) -> Any:
        return wg.cond(x > 0, lambda x: x**3, lambda x: wg.exp(2 * x), x)

    x = sign * 0.7
    first, second = (3 * x**2, 6 * x) if sign > 0 else (2 * np.exp(2 * x), 4 * np.exp(2 * x))
    require_close(wg.jvp(loss, (x,), (1.0,))[1], first, 1e-14)
    require_close(wg.grad(wg.grad(loss))(x), second, 1e-14)
    graph = wg.trace(wg.grad(wg.grad(loss)), np.array(1.0))
    require_close(graph.run(x=np.array(x))[0], second, 1e-14)


def test_cond_captures_outer_values():
    def loss(w: Any, flag: Any) -> Any:
        scaled = 3 * w
        return wg.cond(flag, lambda x: x * scaled, lambda x: x + w**2, 2.0)

    graph = wg.trace(wg.grad(loss), np.array(1.0), np.array(True))
    for flag, expected in ((True, 6.0), (False, 10.0)):
        assert float(wg.grad(loss)(np.array(5.0), flag)) == expected
        assert float(graph.run(w=np.array(5.0), flag=np.array(flag))[0]) == expected


def test_the_branch_not_taken_is_not_computed():
    """Not even its NaN can be seen."""

    def loss(x: Any) -> Any:
        return wg.cond(x > 0, lambda x: wg.log(x), lambda x: 2 * x, x)

    with np.errstate(all="raise"):
        graph = wg.trace(wg.value_and_grad(loss), np.array(1.0))
        assert [float(each) for each in graph.run(x=np.array(-1.0))] == [-2.0, 2.0]
        assert float(wg.grad(loss)(-1.0)) == 2.0


def test_cond_of_trees():
    def function(flag: Any, model: Any) -> Any:
        return wg.cond(
            flag,
            lambda m: {"y": m["a"], "n": (m["b"],)},
            lambda m: {"y": m["b"], "n": (m["a"],)},
            model,
        )

    model = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}
    for flag in (True, False):
        result = function(np.array(flag), model)
        graph = wg.trace(function, np.array(True), model)
        found = graph.run(**{"flag": np.array(flag), "model.a": model["a"], "model.b": model["b"]})
        np.testing.assert_array_equal(result["y"], model["a" if flag else "b"])
        for value, leaf in zip(found, wg.tree.leaves(result), strict=True):
            np.testing.assert_array_equal(value, leaf)


def test_cond_inside_scan_inside_grad_inside_trace():
    def loss(w: Any, xs: Any) -> Any:
        def body(c: Any, x: Any) -> Any:
            return wg.cond(x > 0, lambda c: c * w, lambda c: wg.sin(c) + w, c), None

        return wg.scan(body, 1.0, xs)[0]

    def loop(w: Any) -> Any:
        c = 1.0
        for x in xs:
            c = c * w if x > 0 else np.sin(c) + w
        return c

    xs = np.array([1.0, -1.0, -1.0, 1.0, 1.0])
    [expected] = gradients(loop, np.array(0.7))
    require_close(wg.grad(loss)(0.7, xs), expected, BY_DIFFERENCES)
    graph = wg.trace(wg.grad(loss), np.array(0.1), xs)
    require_close(graph.run(w=np.array(0.7), xs=xs)[0], expected, BY_DIFFERENCES)


def test_a_branch_computes_with_tensors_from_outside():
    """`y + array` took a short way that led past the branch: it outlived it."""
    shift = np.array([[2.5, 0.0], [1.0, -1.0]])

    def loss(x: Any, y: Any) -> Any:
        return wg.sum(wg.cond(x > 0, lambda x: x * ((y + shift) @ y), lambda x: x * y, x))

    y = np.array([[0.3, -0.2], [0.8, 1.1]])
    for sign in (1.0, -1.0):
        x = np.array(0.7 * sign)
        expected = gradients(lambda x, y: np.sum(x * ((y + shift) @ y if x > 0 else y)), x, y)
        graph = wg.trace(wg.grad(loss, argnums=(0, 1)), x, y)
        require_all_close(graph.run(x=x, y=y), expected, BY_DIFFERENCES)


def test_branches_of_different_types_are_refused():
    for orelse in (lambda x: x[:1], lambda x: x.astype(np.float32), lambda x: (x, x)):

        def function(flag: Any, x: Any, orelse: Any = orelse) -> Any:
            return wg.cond(flag, lambda x: x, orelse, x)

        with pytest.raises(WengertError, match="cond"):
            wg.trace(function, np.array(True), np.ones(2))


def test_a_condition_that_is_no_scalar_is_refused():
    with pytest.raises(ShapeError, match="cond"):
        wg.trace(
            lambda x: wg.cond(x > 0, lambda x: x, lambda x: -x, x),
            np.ones(2),
        )
    with pytest.raises((ShapeError, ValueError)):
        wg.cond(np.array([True, False]), lambda x: x, lambda x: -x, 1.0)


@pytest.mark.parametrize(
    "way", [wg.grad, wg.compile, lambda f: f], ids=["grad", "compile", "plain"]
)
def test_values_in_place_of_functions_are_refused(way):
    with pytest.raises(wg.errors.DTypeError, match=r"cond: given \w+ as then; .*wg\.where\(a > 0"):
        way(lambda a: wg.cond(a > 0, a, -a))(np.array(2.0))
