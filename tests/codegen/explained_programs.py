"""Programs on the way to machine code, for the tests that look at them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import wengert as wg
from wengert.api.trace import Dims, trace_with_sizes
from wengert.codegen.explain.text import ExplainedProgram
from wengert.codegen.llvm.module import write_module
from wengert.codegen.options import Options
from wengert.codegen.stages import lower
from wengert.passes.pipeline import run


def f32(*shape: int) -> Any:
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def explained(
    function: Callable[..., Any],
    *args: Any,
    dims: Dims | None = None,
    written: Mapping[int, int] | None = None,
    fused: bool = True,
    code: bool = False,
) -> ExplainedProgram:
    """A function as kernels; with `code`, as LLVM text too."""
    graph, sizes = trace_with_sizes(function, *args, dims=dims)
    options = Options(sizes, fused, written=written or {})
    found = lower(run(graph), options)
    text = write_module(found, options).text() if code else ""
    return ExplainedProgram(graph, found.program, found.layout, sizes, fused, text, "model")


BATCH = wg.Dim("batch")
NETWORK = (f32(4, 8), f32(8), f32(8, 3), f32(32, 4), np.arange(32) % 3)
NETWORK_DIMS: Dims = {"x": {0: BATCH}, "y": {0: BATCH}}


def network(w: Any, b: Any, v: Any, x: Any, y: Any) -> Any:
    def loss(w: Any, b: Any, v: Any) -> Any:
        return wg.cross_entropy(wg.tanh(x @ w + b) @ v, y)

    return wg.value_and_grad(loss, argnums=(0, 1, 2))(w, b, v)


def recurrent(w: Any, h: Any, xs: Any) -> Any:
    def loss(w: Any) -> Any:
        last, ys = wg.scan(lambda h, x: (wg.tanh(h @ w + x), wg.sum(h * x)), h, xs)
        return wg.sum(last) + wg.sum(ys * ys)

    return wg.value_and_grad(loss)(w)


RECURRENT = (f32(5, 5), f32(3, 5), f32(7, 3, 5))


def repeated(w: Any, x: Any) -> Any:
    def loss(w: Any) -> Any:
        def step(state: Any) -> Any:
            return wg.tanh(state[0] @ w + x), state[1] + 1

        last, _ = wg.while_loop(lambda state: state[1] < 4, step, (x, 0), max_steps=6)
        return wg.sum(last)

    return wg.value_and_grad(loss)(w)


REPEATED = (f32(5, 5), f32(3, 5))


def branched(x: Any, y: Any) -> Any:
    return wg.cond(wg.sum(x) > 0, lambda a, b: wg.exp(a) * b, lambda a, b: a - b, x, y)


def normalised(x: Any, scale: Any, shift: Any, g: Any) -> Any:
    """Gradients along rows, and sums down them."""
    return wg.vjp(wg.layer_norm, x, scale, shift)[1](g)


NORMALISED = (f32(300, 40), f32(40), f32(40), f32(300, 40))


def sorted_and_solved(a: Any, x: Any) -> Any:
    return wg.linalg.solve(a, x), wg.argsort(x, axis=0), wg.cumulative_sum(x, axis=1)


MATRIX = np.eye(6, dtype=np.float32) * 3

PROGRAMS: dict[str, Callable[[], ExplainedProgram]] = {
    "network": lambda: explained(network, *NETWORK, dims=NETWORK_DIMS),
    "unfused network": lambda: explained(network, *NETWORK, dims=NETWORK_DIMS, fused=False),
    "donated": lambda: explained(
        lambda p, g: (p - 0.1 * g, wg.sum(g * g)), f32(8), f32(8), written={0: 0}
    ),
    "recurrent": lambda: explained(recurrent, *RECURRENT),
    "repeated": lambda: explained(repeated, *REPEATED),
    "branched": lambda: explained(branched, f32(5), f32(5)),
    "normalised": lambda: explained(normalised, *NORMALISED),
    "special": lambda: explained(sorted_and_solved, MATRIX, f32(6, 4)),
    "empty": lambda: explained(lambda x: (wg.sum(x, axis=0), x * 2), f32(0, 3)),
    "of numbers": lambda: explained(lambda x: x * 2 + 1, np.float32(3)),
    "of nothing": lambda: explained(lambda x: (), f32(3)),
}
