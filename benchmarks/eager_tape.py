"""Forward and backward of a tiny MLP, op by op: our eager tape beside eager PyTorch.

4-64-64-2, tanh, softmax cross-entropy, batch 32, float32; one thread each.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

import wengert as wg
from benchmarks.harness import best_times, report

SIZES, BATCH = (4, 64, 64, 2), 32


def data() -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    layers = [
        ((rng.standard_normal((i, o)) / np.sqrt(i)).astype(np.float32), np.zeros(o, np.float32))
        for i, o in pairwise(SIZES)
    ]
    x = rng.standard_normal((BATCH, SIZES[0])).astype(np.float32)
    return layers, x, rng.integers(0, SIZES[-1], BATCH)


def loss(layers, x, y):
    *hidden, (w_out, b_out) = layers
    for w, b in hidden:
        x = np.tanh(x @ w + b)
    return wg.cross_entropy(x @ w_out + b_out, y)


def ours() -> Callable[[], object]:
    layers, x, y = data()
    step = wg.value_and_grad(loss)
    return lambda: step(layers, x, y)


def context_manager() -> Callable[[], object]:
    layers, x, y = data()

    def step() -> object:
        with wg.GradientTape() as tape:
            watched = tape.watch(layers)
            out = loss(watched, x, y)
        return tape.gradient(out, watched)

    return step


def theirs() -> Callable[[], object]:
    import torch

    torch.set_num_threads(1)
    layers, x, y = data()
    parameters = [torch.tensor(p, requires_grad=True) for layer in layers for p in layer]
    x_t, y_t = torch.tensor(x), torch.tensor(y)

    def step() -> object:
        h = x_t
        for i in range(0, len(parameters) - 2, 2):
            h = torch.tanh(h @ parameters[i] + parameters[i + 1])
        out = torch.nn.functional.cross_entropy(h @ parameters[-2] + parameters[-1], y_t)
        return torch.autograd.grad(out, parameters)

    return step


def main() -> None:
    cases = {"wengert": ours(), "wengert.GradientTape": context_manager(), "torch eager": theirs()}
    report("Tiny MLP, forward + backward, eager:", best_times(cases))


if __name__ == "__main__":
    main()
