"""What tests of functions of sequences have in common: drawn arrays, and gradients against JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import wengert as wg


def random(*shape: int, seed: int = 1) -> Any:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def require_gradients(ours: Any, theirs: Any, args: Any) -> None:
    """Values and gradients by all arguments, in JAX, eager and compiled."""
    found = ours(args)
    weights = [random(*np.shape(y), seed=9) for y in jax.tree.leaves(found)]

    def weighed(f: Any, total: Any) -> Any:
        def loss(args: Any) -> Any:
            return sum(total(y * w) for y, w in zip(jax.tree.leaves(f(args)), weights, strict=True))

        return loss

    expected = jax.jit(theirs)(args)
    for y, z in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-9, atol=1e-10)
    wanted = jax.jit(jax.grad(weighed(theirs, jnp.sum)))(args)
    gradient = wg.grad(weighed(ours, wg.sum))
    for way in (gradient, wg.compile(gradient)):
        for a, b in zip(jax.tree.leaves(way(args)), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8 * max(1.0, np.abs(b).max()))
