"""Special functions that JAX does not have, or not with all derivatives: by series, integrals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

TURN = 2 * np.pi * np.arange(256) / 256


def powers_of(x: Any, count: int) -> Any:
    """x to the power 0, 1, 2 … along a new last axis, and these numbers."""
    n = jnp.arange(count, dtype=jnp.float64)
    return jnp.asarray(x)[..., None] ** n, n


def fixed(x: Any) -> Any:
    return jax.lax.stop_gradient(x)


def gammainc(a: Any, x: Any) -> Any:
    """A series, because JAX has no second derivative by a."""
    powers, n = powers_of(x, 70)
    gammas = jax.scipy.special.gammaln(jnp.asarray(a)[..., None] + n + 1)
    return x**a * jnp.exp(-x) * jnp.sum(powers * jnp.exp(-gammas), -1)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """A series of positive terms, because JAX has no second derivative by a and b."""
    powers, n = powers_of(x, 200)
    a_, b_ = jnp.asarray(a)[..., None], jnp.asarray(b)[..., None]
    lgamma = jax.scipy.special.gammaln
    terms = jnp.exp(lgamma(a_ + b_ + n) - lgamma(b_) - lgamma(a_ + 1 + n))
    return x**a * (1 - x) ** b * jnp.sum(terms * powers, -1)


def log_gamma_quantile(a: Any, p: Any) -> Any:
    """By Newton's method, whose last two steps carry the derivatives."""

    def step(a: Any, p: Any, y: Any) -> Any:
        x = jnp.exp(y)
        return y - jnp.clip((gammainc(a, x) - p) / (x * gamma_density(a, x)), -1, 1)

    fixed_a, fixed_p = fixed(a), fixed(p)
    start = jnp.log(fixed_a) + 0 * fixed_p
    y = jax.lax.fori_loop(0, 40, lambda _, y: step(fixed_a, fixed_p, y), start)
    return step(a, p, step(a, p, y))


def poisson_quantile(rate: Any, u: Any) -> Any:
    k = jnp.arange(200.0)
    below = jax.scipy.special.gammaincc(k + 1, jnp.asarray(rate)[..., None])
    return jnp.sum(below < jnp.asarray(u)[..., None], -1).astype(jnp.float64)


def scaled_bessel(v: Any, x: Any) -> Any:
    """The power series, of which no term is negative."""
    v, x, k = v[..., None], x[..., None], jnp.arange(200.0)
    logarithm = (v + 2 * k) * jnp.log(x / 2) - jax.lax.lgamma(k + 1) - jax.lax.lgamma(v + k + 1)
    return jnp.sum(jnp.exp(logarithm - x), axis=-1)


def gamma_density(a: Any, x: Any) -> Any:
    return jnp.exp((a - 1) * jnp.log(x) - x - jax.scipy.special.gammaln(a))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    return x ** (a - 1) * (1 - x) ** (b - 1) / jnp.exp(jax.scipy.special.betaln(a, b))


def slope(f: Callable[..., Any], *operands: Any, by: Sequence[int]) -> Any:
    """A mixed derivative of an elementwise function by its first operands."""
    for position, order in enumerate(by):
        for _ in range(order):
            f = derived(f, position)
    return f(*operands)


def derived(f: Callable[..., Any], position: int) -> Callable[..., Any]:
    def derivative(*operands: Any) -> Any:
        shape = jnp.broadcast_shapes(*(jnp.shape(x) for x in operands))
        full = [jnp.broadcast_to(x, shape) for x in operands]
        tangents = [
            jnp.ones(shape) if i == position else jnp.zeros(shape) for i in range(len(full))
        ]
        return jax.jvp(f, full, tangents)[1]

    return derivative


def jn(n: Any, x: Any) -> Any:
    """Bessel's integral, in points of which so many are exact."""
    n, x = jnp.asarray(n)[..., None], jnp.asarray(x)[..., None]
    return jnp.mean(jnp.cos(n * TURN - x * np.sin(TURN)), axis=-1)


def y0(x: Any) -> Any:
    """Neumann's series."""
    k = np.arange(1, 40)
    waves = jn(2 * k, jnp.asarray(x)[..., None]) * (-1.0) ** (k + 1) / k
    logarithm = jnp.log(x / 2) + np.euler_gamma
    return 2 / np.pi * (logarithm * jn(0, x) + 2 * jnp.sum(waves, axis=-1))


def y1(x: Any) -> Any:
    return -jax.grad(lambda x: jnp.sum(y0(x)))(x)


def yn(n: Any, x: Any) -> Any:
    size = jnp.abs(n)
    orders = [y0(x), y1(x)]
    for k in range(1, 8):
        orders.append(2 * k / x * orders[k] - orders[k - 1])
    found = sum(jnp.where(size == k, each, 0) for k, each in enumerate(orders))
    return jnp.where((n < 0) & (n % 2 == 1), -found, found)
