"""Derivatives of derivatives: nested to any order, in any mixture, on levels that do not mix."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differences import BY_DIFFERENCES, BY_JAX, gradients, require_all_close, require_close
from programs import network, network_with, vector, vector_in_jax

import wengert as wg
from wengert.errors import TraceError

rng = np.random.default_rng(11)
X, W, B = rng.standard_normal((4, 3)), rng.standard_normal((3, 2)), rng.standard_normal(2)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_grad_of_grad_of_grad(order: int):
    derivative: Any = lambda x: wg.sin(2 * x)  # noqa: E731
    for _ in range(order):
        derivative = wg.grad(derivative)
    expected = 2**order * np.sin(2 * 0.7 + order * np.pi / 2)
    require_close(derivative(0.7), expected, 1e-14)


def test_every_mixture_of_forward_and_reverse_to_third_order():
    def forward(function: Any) -> Any:
        return lambda x: wg.jvp(function, (x,), (1.0,))[1]

    expected = {1: lambda x: 3 * x**2 * np.exp(x) + x**3 * np.exp(x)}
    expected[2] = lambda x: (6 * x + 6 * x**2 + x**3) * np.exp(x)
    expected[3] = lambda x: (6 + 18 * x + 9 * x**2 + x**3) * np.exp(x)
    for pattern in range(8):
        derivative: Any = lambda x: x**3 * wg.exp(x)  # noqa: E731
        for order in (1, 2, 3):
            derivative = (wg.grad, forward)[pattern >> (order - 1) & 1](derivative)
            require_close(derivative(0.4), expected[order](0.4), 1e-13)


def test_third_order_of_a_network_agrees_with_jax():
    v, u = rng.standard_normal((2, *W.shape))

    def third(xp: Any, grad: Any) -> Any:
        def first(w: Any) -> Any:
            return xp.sum(grad(lambda w: network_with(xp, w, B, X))(w) * v)

        return grad(lambda w: xp.sum(grad(first)(w) * u))(W)

    require_close(third(np, wg.grad), jax.jit(lambda: third(jnp, jax.grad))(), BY_JAX)


def test_no_perturbation_confusion_in_forward_mode():
    """d/dx (x · d/dy (x + y)) is 1; confusing the two perturbations gives 2."""

    def outer(x: Any) -> Any:
        return x * wg.jvp(lambda y: x + y, (1.0,), (1.0,))[1]

    assert float(wg.jvp(outer, (1.0,), (1.0,))[1]) == 1.0
    assert float(wg.grad(outer)(1.0)) == 1.0


def test_no_perturbation_confusion_in_reverse_mode():
    def outer(x: Any) -> Any:
        return x * wg.grad(lambda y: x * y)(2.0)

    assert float(wg.grad(outer)(3.0)) == 6.0
    assert float(wg.jvp(outer, (3.0,), (1.0,))[1]) == 6.0


def test_an_inner_derivative_at_the_outer_variable():
    def outer(x: Any) -> Any:
        return wg.grad(lambda y: y**2 * x)(x)  # 2 y x at y = x

    assert float(wg.grad(outer)(3.0)) == 12.0


def test_an_inner_function_may_close_over_an_outer_variable():
    def outer(x: Any) -> Any:
        return wg.grad(lambda y: wg.sin(x) * y * y)(x * 2)

    require_close(wg.grad(outer)(0.3), 4 * (np.sin(0.3) + 0.3 * np.cos(0.3)), 1e-14)


def test_hessian_is_jacobian_of_gradient_and_of_tangent():
    x = np.array([0.3, -0.7, 1.1])

    def scalar(x: Any) -> Any:
        return wg.sum(vector(x) ** 2)

    expected = jax.hessian(lambda x: jnp.sum(vector_in_jax(x) ** 2))(x)
    require_close(wg.hessian(scalar)(x), expected, BY_JAX)
    require_close(wg.jacobian(wg.grad(scalar))(x), expected, BY_JAX)
    require_close(wg.jacobian(wg.jacobian(scalar))(x), expected, BY_JAX)


def test_gradient_through_a_jacobian_and_a_hessian():
    """A penalty on derivatives can be trained on."""
    x = np.array([0.3, -0.7, 1.1])

    def penalty(x: Any) -> Any:
        return wg.sum(wg.jacobian(vector)(x) ** 2)

    require_all_close([wg.grad(penalty)(x)], gradients(penalty, x), BY_DIFFERENCES)

    def cubic(x: Any) -> Any:
        return wg.sum(x**3) * x[0]

    def curvature(x: Any) -> Any:
        return wg.sum(wg.hessian(cubic)(x) ** 2)

    require_all_close([wg.grad(curvature)(x)], gradients(curvature, x), BY_DIFFERENCES)


def test_derivatives_inside_a_trace():
    graph = wg.trace(wg.grad(network), W, B, X)
    graph.check()
    require_close(graph.run(w=W, b=B, x=X)[0], wg.grad(network)(W, B, X), 1e-14)
    graph = wg.trace(lambda x: wg.jvp(vector, (x,), (wg.sin(x),))[1], np.ones(3))
    x = np.array([0.3, -0.7, 1.1])
    require_close(graph.run(x=x)[0], wg.jvp(vector, (x,), (np.sin(x),))[1], 1e-14)


def test_a_tensor_does_not_outlive_its_transformation():
    kept = []

    def leak(x: Any) -> Any:
        kept.append(x)
        return x**2

    wg.grad(leak)(3.0)
    with pytest.raises(TraceError):
        wg.grad(lambda y: y * kept[0])(1.0)


def test_a_pullback_can_be_differentiated():
    def loss(x: Any) -> Any:
        value, pullback = wg.vjp(wg.sin, x)
        return wg.sum(pullback(x**2)[0] * value)  # x² cos x sin x

    x = np.array([0.3, -0.7, 1.1])
    expected = gradients(lambda x: np.sum(x**2 * np.cos(x) * np.sin(x)), x)
    require_all_close([wg.grad(loss)(x)], expected, BY_DIFFERENCES)


def test_hvp_can_be_differentiated_and_traced():
    x, v = np.array([0.3, -0.7]), np.array([1.0, 2.0])

    def curvature(x: Any) -> Any:
        return wg.sum(wg.hvp(lambda x: wg.sum(x**4), x, v))  # 12 x² v

    require_close(wg.grad(curvature)(x), 24 * x * v, 1e-14)
    graph = wg.trace(wg.grad(curvature), np.ones(2))
    require_close(graph.run(x=x)[0], 24 * x * v, 1e-14)


def test_threads_do_not_share_levels():
    """Derivatives taken at the same time in several threads know nothing of each other."""

    def third(x: float) -> float:
        return float(wg.grad(wg.grad(wg.grad(lambda x: wg.sin(2 * x) * x)))(x))

    points = [0.1 * i for i in range(40)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(third, points)) == [third(x) for x in points]


def test_an_exception_leaves_no_level_open():
    def failing(x: Any) -> Any:
        raise KeyError("mine")

    for transform in (wg.grad, wg.jacobian, wg.hessian):
        with pytest.raises(KeyError, match="mine"):
            transform(failing)(1.0)
        assert type(wg.sin(np.ones(2))) is np.ndarray
        assert float(wg.grad(wg.sin)(0.0)) == 1.0
