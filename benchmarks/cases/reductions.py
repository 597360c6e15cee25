"""Reductions of a large array, over each axis and all of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks import case as it
from benchmarks.case import OURS, Case, Run, Times
from benchmarks.peers import jax_library, jitted, jitted_into, torch_library, torch_tensors

MATRIX, BLOCK = (4096, 1024), (64, 64, 1024)
PLACES = ((MATRIX, 0), (MATRIX, 1), (MATRIX, None), (BLOCK, 1))
COPY = "copy"  # a copy of ours that moves as many bytes

Axis = int | None


@dataclass(frozen=True)
class Reduction:
    """One reduction in each library, as a function of its module (JAX's with the same names as
    NumPy's), the array and the axis.
    """

    name: str
    ours: Callable[[Any, Any, Axis], Any]
    numpy: Callable[[Any, Any, Axis], Any]
    torch: Callable[[Any, Any, Axis], Any]
    jax: Callable[[Any, Any, Axis], Any] | None = None  # None: written as in NumPy
    grows: bool = False  # the result is as large as the array

    def in_jax(self, jax: Any, x: Any, axis: Axis) -> Any:
        return self.jax(jax, x, axis) if self.jax else self.numpy(jax.numpy, x, axis)


def numpy_logsumexp(np: Any, x: Any, axis: Axis) -> Any:
    top = np.max(x, axis=axis, keepdims=True)
    total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return total.reshape(()) if axis is None else np.squeeze(total, axis)


def numpy_cumsum(np: Any, x: Any, axis: Axis) -> Any:
    return np.cumsum(x, axis=axis)


def every(x: Any, axis: Axis) -> Any:
    """The axes as PyTorch wants them."""
    return tuple(range(x.ndim)) if axis is None else axis


REDUCTIONS = (
    Reduction(
        "sum",
        lambda wg, x, axis: wg.sum(x, axis=axis),
        lambda np, x, axis: np.sum(x, axis=axis),
        lambda torch, x, axis: torch.sum(x, every(x, axis)),
    ),
    Reduction(
        "mean",
        lambda wg, x, axis: wg.mean(x, axis=axis),
        lambda np, x, axis: np.mean(x, axis=axis),
        lambda torch, x, axis: torch.mean(x, every(x, axis)),
    ),
    Reduction(
        "max",
        lambda wg, x, axis: wg.max(x, axis=axis),
        lambda np, x, axis: np.max(x, axis=axis),
        lambda torch, x, axis: torch.amax(x, every(x, axis)),
    ),
    Reduction(
        "argmax",
        lambda wg, x, axis: wg.argmax(x, axis=axis),
        lambda np, x, axis: np.argmax(x, axis=axis),
        lambda torch, x, axis: torch.argmax(x, axis),
    ),
    Reduction(
        "var",
        lambda wg, x, axis: wg.var(x, axis=axis),
        lambda np, x, axis: np.var(x, axis=axis),
        lambda torch, x, axis: torch.var(x, every(x, axis), correction=0),
    ),
    Reduction(
        "logsumexp",
        lambda wg, x, axis: wg.logsumexp(x, axis=axis),
        numpy_logsumexp,
        lambda torch, x, axis: torch.logsumexp(x, every(x, axis)),
        lambda jax, x, axis: jax.scipy.special.logsumexp(x, axis=axis),
    ),
    Reduction(
        "cumsum",
        lambda wg, x, axis: np.cumsum(x, axis=axis),
        numpy_cumsum,
        lambda torch, x, axis: torch.cumsum(x.reshape(-1) if axis is None else x, axis or 0),
        grows=True,
    ),
)


def operand(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def ours(reduction: Reduction, shape: tuple[int, ...], axis: Axis) -> Run:
    import wengert as wg

    x = operand(shape)
    if not reduction.grows:
        compiled = wg.compile(lambda x: reduction.ours(wg, x, axis))
        return lambda: compiled(x)
    out = np.empty_like(x.reshape(-1) if axis is None else x)
    written = wg.compile(lambda x, out: reduction.ours(wg, x, axis), donate="out")
    return lambda: written(x, out)


def with_numpy(reduction: Reduction, shape: tuple[int, ...], axis: Axis) -> Run:
    x = operand(shape)
    if reduction.grows:
        out = np.empty_like(x.reshape(-1) if axis is None else x)
        return lambda: np.cumsum(x, axis=axis, out=out)
    return lambda: reduction.numpy(np, x, axis)


def with_torch(reduction: Reduction, shape: tuple[int, ...], axis: Axis) -> Run:
    torch = torch_library()
    (x,) = torch_tensors([operand(shape)])
    return lambda: reduction.torch(torch, x, axis)


def with_jax(reduction: Reduction, shape: tuple[int, ...], axis: Axis) -> Run:
    jax = jax_library()
    into = jitted_into if reduction.grows else jitted
    return into(lambda x: reduction.in_jax(jax, x, axis), operand(shape))


def copy(reduction: Reduction, shape: tuple[int, ...], _: Axis) -> Run:
    """Moves the bytes of the reduction, half of them read and half of them written."""
    import wengert as wg

    rows = shape[0] if reduction.grows else shape[0] // 2
    x = operand((rows, *shape[1:]))
    out = np.empty_like(x)
    compiled = wg.compile(lambda x, out: -x, donate="out")
    return lambda: compiled(x, out)


def reduction_case(reduction: Reduction, shape: tuple[int, ...], axis: Axis) -> Case:
    place = "all" if axis is None else f"axis {axis}"
    size = " × ".join(map(str, shape))
    makers = {OURS: it.ours(partial(ours, reduction, shape, axis))}
    for label, of, make in (
        ("NumPy", it.numpy, with_numpy),
        ("torch", it.torch, with_torch),
        ("JAX jit", it.jax, with_jax),
        (COPY, it.yardstick, copy),
    ):
        makers[label] = of(partial(make, reduction, shape, axis))
    return Case(
        f"{reduction.name} of {size}, {place}",
        f"{reduction.name} of a {size} array over {place.replace('all', 'all axes')}, float32",
        makers,
        (Times(1.0), Times(0.8, COPY)),
        tolerance=1e-2 if reduction.grows else 1e-3,
    )


CASES = tuple(reduction_case(each, *place) for each in REDUCTIONS for place in PLACES)
