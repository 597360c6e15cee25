"""Matrices taken apart: one large matrix, and many small ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks import case as it
from benchmarks.case import OURS, Case, Run
from benchmarks.peers import jax_library, torch_library, torch_tensors

SHAPES = ((256, 256), (10_000, 4, 4))


def operand(kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Symmetric where it has to be."""
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    return x + np.swapaxes(x, -1, -2) if kind == "eigh" else x


def values(kind: str, parts: Any) -> Any:
    """What libraries agree about: vectors have signs of their own."""
    return parts[0] if kind == "eigh" else parts[1]


def taken_apart(kind: str, linalg: Any, x: Any) -> Any:
    return linalg.eigh(x) if kind == "eigh" else linalg.svd(x, full_matrices=False)


def ours(kind: str, shape: tuple[int, ...]) -> Run:
    import wengert as wg

    x = operand(kind, shape)
    compiled = wg.compile(lambda x: tuple(taken_apart(kind, wg.linalg, x)))
    return lambda: values(kind, compiled(x))


def with_numpy(kind: str, shape: tuple[int, ...]) -> Run:
    x = operand(kind, shape)
    return lambda: values(kind, taken_apart(kind, np.linalg, x))


def with_torch(kind: str, shape: tuple[int, ...]) -> Run:
    torch = torch_library()
    (x,) = torch_tensors([operand(kind, shape)])
    return lambda: values(kind, taken_apart(kind, torch.linalg, x))


def with_jax(kind: str, shape: tuple[int, ...]) -> Run:
    jax = jax_library()
    x = jax.device_put(operand(kind, shape))
    compiled = jax.jit(lambda x: tuple(taken_apart(kind, jax.numpy.linalg, x)))
    return lambda: values(kind, jax.block_until_ready(compiled(x)))


def matrix_case(kind: str, shape: tuple[int, ...]) -> Case:
    makers = {OURS: it.ours(partial(ours, kind, shape))}
    for label, of, make in (
        ("NumPy", it.numpy, with_numpy),
        ("torch", it.torch, with_torch),
        ("JAX jit", it.jax, with_jax),
    ):
        makers[label] = of(partial(make, kind, shape))
    size = " × ".join(f"{n:,}" for n in shape)
    return Case(f"{kind} {size}", f"{kind} of {size} numbers, float32", makers)


CASES = tuple(matrix_case(kind, shape) for kind in ("eigh", "svd") for shape in SHAPES)
