"""Functions of a million numbers, written to an array that is there already where a library can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks import case as it
from benchmarks.case import OURS, Case, Contestant, Run, Times
from benchmarks.peers import jax_library, jitted_into, torch_library, torch_tensors

COUNT = 1_000_000
DISTURBED = ("tanh",)


@dataclass(frozen=True)
class Function:
    """One function in each library; NumPy's writes to `out`, and may be absent."""

    name: str
    ours: Callable[[Any, Any], Any]  # of wengert's module, and x
    jax: Callable[[Any, Any], Any]  # of JAX's module, and x
    torch: Callable[[Any, Any, Any], object]  # of torch's module, x and out
    numpy: Callable[[np.ndarray, np.ndarray], object] | None = None


def sigmoid_in_numpy(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    np.negative(x, out=out)
    np.exp(out, out=out)
    out += np.float32(1)
    np.reciprocal(out, out=out)
    return out


def silu_in_numpy(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    sigmoid_in_numpy(x, out)
    out *= x
    return out


def gelu_in_numpy(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """With tanh."""
    np.multiply(x, x, out=out)
    out *= np.float32(0.044715)
    out += np.float32(1)
    out *= x
    out *= np.float32(np.sqrt(2 / np.pi))
    np.tanh(out, out=out)
    out += np.float32(1)
    out *= x
    out *= np.float32(0.5)
    return out


FUNCTIONS = (
    Function(
        "exp",
        lambda wg, x: wg.exp(x),
        lambda jax, x: jax.numpy.exp(x),
        lambda torch, x, out: torch.exp(x, out=out),
        lambda x, out: np.exp(x, out=out),
    ),
    Function(
        "log",
        lambda wg, x: wg.log(x),
        lambda jax, x: jax.numpy.log(x),
        lambda torch, x, out: torch.log(x, out=out),
        lambda x, out: np.log(x, out=out),
    ),
    Function(
        "tanh",
        lambda wg, x: wg.tanh(x),
        lambda jax, x: jax.numpy.tanh(x),
        lambda torch, x, out: torch.tanh(x, out=out),
        lambda x, out: np.tanh(x, out=out),
    ),
    Function(
        "sigmoid",
        lambda wg, x: wg.sigmoid(x),
        lambda jax, x: jax.nn.sigmoid(x),
        lambda torch, x, out: torch.sigmoid(x, out=out),
        sigmoid_in_numpy,
    ),
    Function(
        "gelu",
        lambda wg, x: wg.gelu(x),
        lambda jax, x: jax.nn.gelu(x, approximate=False),
        lambda torch, x, out: torch.ops.aten.gelu.out(x, approximate="none", out=out),
    ),
    Function(
        "gelu with tanh",
        lambda wg, x: wg.gelu(x, "tanh"),
        lambda jax, x: jax.nn.gelu(x, approximate=True),
        lambda torch, x, out: torch.ops.aten.gelu.out(x, approximate="tanh", out=out),
        gelu_in_numpy,
    ),
    Function(
        "silu",
        lambda wg, x: wg.silu(x),
        lambda jax, x: jax.nn.silu(x),
        lambda torch, x, out: torch.ops.aten.silu.out(x, out=out),
        silu_in_numpy,
    ),
    Function(
        "erf",
        lambda wg, x: wg.erf(x),
        lambda jax, x: jax.scipy.special.erf(x),
        lambda torch, x, out: torch.erf(x, out=out),
    ),
)


def operand(count: int) -> np.ndarray:
    """Positive: the logarithm is one of the functions."""
    return np.random.default_rng(0).uniform(0.1, 4, count).astype(np.float32)


def ours(function: Function, count: int) -> Run:
    import wengert as wg

    x = operand(count)
    out = np.empty_like(x)
    compiled = wg.compile(lambda x, out: function.ours(wg, x), donate="out")
    return lambda: compiled(x, out)


def with_jax(function: Function, count: int) -> Run:
    return jitted_into(partial(function.jax, jax_library()), operand(count))


def with_torch(function: Function, count: int) -> Run:
    torch = torch_library()
    (x,) = torch_tensors([operand(count)])
    out = torch.empty_like(x)
    return lambda: function.torch(torch, x, out)


def with_numpy(function: Function, count: int) -> Run:
    x = operand(count)
    out = np.empty_like(x)
    assert function.numpy is not None
    return partial(function.numpy, x, out)


def function_case(function: Function, count: int = COUNT) -> Case:
    makers: dict[str, Contestant] = {
        OURS: it.ours(partial(ours, function, count)),
        "torch": it.torch(partial(with_torch, function, count)),
        "JAX jit": it.jax(partial(with_jax, function, count)),
    }
    if function.numpy is not None:
        makers["NumPy"] = it.numpy(partial(with_numpy, function, count))
    if function.name in DISTURBED:
        makers["torch one thread"] = it.one_thread(makers["torch"])
    measures = f"{function.name} of {count:,} numbers, float32"
    return Case(
        f"elementwise {function.name}",
        measures,
        makers,
        (Times(1.2),),
        2,
        1e-5,
        disturbed=function.name in DISTURBED,
    )


CASES = tuple(function_case(each) for each in FUNCTIONS)
