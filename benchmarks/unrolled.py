"""Loops of hundreds of steps in Python, with their gradients: what becomes of them must be found
out from a graph of thousands of nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import jax_library

STEPS = 256
First = Callable[[], Any]  # makes a program, and runs it once


def recurrent(library: str, steps: int = STEPS) -> First:
    """A small recurrent network, one step after the other."""
    rng = np.random.default_rng(0)
    shapes = (16, 16), (8, 16), (16,)
    parameters = [rng.normal(size=shape, scale=0.2).astype(np.float32) for shape in shapes]
    xs = rng.normal(size=(steps, 4, 8)).astype(np.float32)

    def loss(parameters: Any, xs: Any, numpy: Any) -> Any:
        w, u, b = parameters
        h = np.zeros((4, 16), np.float32)
        for t in range(steps):
            h = numpy.tanh(h @ w + xs[t] @ u + b)
        return numpy.sum(h * h)

    return lambda: _first(library, loss, parameters, xs)


def leapfrog(library: str, steps: int = STEPS) -> First:
    """Springs that are not quite linear: the energy in the end."""
    rng = np.random.default_rng(0)
    state = [rng.uniform(1, 2, size=50).astype(np.float32) for _ in range(2)]
    stiffness = rng.uniform(1, 2, size=50).astype(np.float32)

    def force(q: Any, k: Any) -> Any:
        return -k * q - 0.1 * q * q * q

    def energy(state: Any, k: Any, numpy: Any) -> Any:
        q, p = state
        for _ in range(steps):
            p = p + 0.005 * force(q, k)
            q = q + 0.01 * p
            p = p + 0.005 * force(q, k)
        return numpy.sum(p * p) + numpy.sum(k * q * q)

    return lambda: _first(library, energy, state, stiffness)


def _first(library: str, loss: Callable[..., Any], *given: Any) -> Any:
    """Value and gradient, for the first time."""
    if library == "wengert":
        import wengert as wg

        return wg.compile(wg.value_and_grad(lambda x, y: loss(x, y, np)))(*given)
    jax = jax_library()
    compiled = jax.jit(jax.value_and_grad(lambda x, y: loss(x, y, jax.numpy)))
    return jax.block_until_ready(compiled(*given))
