"""What tests of tapes share: buffers for slots, gradients by differences, and formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
from differences import BY_DIFFERENCES, gradients, require_all_close, require_close

import wengert as wg
from wengert.errors import WengertError

rng = np.random.default_rng(4)

REFUSED = (WengertError, ValueError, IndexError, TypeError)


def zeros(tape: wg.GradientTape, shapes: Any) -> list[Any]:
    """One buffer per slot; the last shape given serves every slot after it."""
    shapes = list(shapes)
    shapes += [shapes[-1]] * (tape.num_tensors - len(shapes))
    return [np.zeros(shape) for shape in shapes]


def require_gradients(tape: wg.GradientTape, formula: Any, *values: Any) -> None:
    """The first slots hold `values`, the last one `formula(*values)`; look at the gradients."""
    expected = formula(*values)
    require_close(tape.value(tape.num_tensors - 1), expected, 1e-13)
    gy = rng.standard_normal(expected.shape)
    buffers = [np.zeros(np.shape(tape.value(i))) for i in range(tape.num_tensors)]
    tape.backward(gy, buffers)
    by_differences = gradients(lambda *xs: np.sum(gy * formula(*xs)), *values)
    require_all_close(buffers[: len(values)], by_differences, BY_DIFFERENCES)


def scan(x: Any, a: Any, b: Any, h0: Any = 0.0) -> Any:
    """h_t = a_t h_{t-1} + b_t x_t, written as a loop."""
    h, trajectory = h0, []
    for t in range(len(x)):
        h = a[t] * h + b[t] * x[t]
        trajectory.append(h)
    return np.stack(trajectory)


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))
