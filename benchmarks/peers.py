"""The other libraries as contestants find them, with as many threads as this process has."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmarks.case import Run
from benchmarks.setting import threads


@cache
def torch_library() -> Any:
    torch = importlib.import_module("torch")
    torch.set_num_threads(threads())
    return torch


@cache
def jax_library() -> Any:
    jax = importlib.import_module("jax")
    # Work begins in the thread that asks for it: another one only gets in the way.
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    return jax


def torch_tensors(arrays: Sequence[np.ndarray], track: bool = False) -> list[Any]:
    torch = torch_library()
    return [torch.tensor(x, requires_grad=track) for x in arrays]


def jitted(function: Callable[..., Any], *arrays: Any) -> Run:
    """A call of JAX's compiled function that waits for the result."""
    jax = jax_library()
    compiled, given = jax.jit(function), jax.device_put(arrays)
    return lambda: jax.block_until_ready(compiled(*given))


def jitted_into(function: Callable[..., Any], *arrays: Any) -> Run:
    """The same into memory that is there already: each result is given up for the next."""
    jax = jax_library()

    def with_room(out: Any, *arrays: Any) -> Any:
        return function(*arrays)

    compiled = jax.jit(with_room, donate_argnums=0, keep_unused=True)
    given = jax.device_put(arrays)
    out = jax.jit(function)(*given)

    def run() -> Any:
        nonlocal out
        out = jax.block_until_ready(compiled(out, *given))
        return out

    return run


def jax_cross_entropy(logits: Any, classes: Any) -> Any:
    """The mean over all rows, which JAX has no function for."""
    jax = jax_library()
    log_p = jax.nn.log_softmax(logits)
    return -jax.numpy.mean(jax.numpy.take_along_axis(log_p, classes[..., None], axis=-1))


def jax_layer_norm(x: Any, scale: Any, shift: Any, eps: float = 1e-5) -> Any:
    """Along the last axis, which JAX has no function for."""
    jax = jax_library()
    centred = x - jax.numpy.mean(x, axis=-1, keepdims=True)
    variance = jax.numpy.mean(centred * centred, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + eps) * scale + shift
