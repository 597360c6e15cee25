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


def data() -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    parameters: list[np.ndarray] = []
    for i, o in pairwise(SIZES):
        parameters.append((rng.standard_normal((i, o)) / np.sqrt(i)).astype(np.float32))
        parameters.append(np.zeros(o, np.float32))
    x = rng.standard_normal((BATCH, SIZES[0])).astype(np.float32)
    return parameters, x, rng.integers(0, SIZES[-1], BATCH)


def loss(parameters, x, y):
    w1, b1, w2, b2, w3, b3 = parameters
    x = wg.tanh(x @ w1 + b1)
    x = wg.tanh(x @ w2 + b2)
    return wg.cross_entropy(x @ w3 + b3, y)


def ours() -> Callable[[], object]:
    parameters, x, y = data()
    step = wg.value_and_grad(loss)
    return lambda: step(parameters, x, y)


def context_manager() -> Callable[[], object]:
    parameters, x, y = data()

    def step() -> object:
        with wg.GradientTape() as tape:
            watched = tape.watch(parameters)
            out = loss(watched, x, y)
        return tape.gradient(out, watched)

    return step


def theirs() -> Callable[[], object]:
    import torch

    torch.set_num_threads(1)
    parameters, x, y = data()
    parameters = [torch.tensor(p, requires_grad=True) for p in parameters]
    x_t, y_t = torch.tensor(x), torch.tensor(y)

    def step() -> object:
        w1, b1, w2, b2, w3, b3 = parameters
        h = torch.tanh(x_t @ w1 + b1)
        h = torch.tanh(h @ w2 + b2)
        out = torch.nn.functional.cross_entropy(h @ w3 + b3, y_t)
        return torch.autograd.grad(out, parameters)

    return step


def theirs_as_module() -> Callable[[], object]:
    import torch

    layers = [torch.nn.Linear(i, o) for i, o in pairwise(SIZES)]
    net = torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1], torch.nn.Tanh(), layers[2])
    _, x, y = data()
    x_t, y_t = torch.tensor(x), torch.tensor(y)

    def step() -> None:
        net.zero_grad()
        torch.nn.functional.cross_entropy(net(x_t), y_t).backward()

    return step


def main() -> None:
    cases = {
        "wengert": ours(),
        "wengert.GradientTape": context_manager(),
        "torch, autograd.grad": theirs(),
        "torch, nn.Module, backward": theirs_as_module(),
    }
    report("Tiny MLP, forward + backward, eager:", best_times(cases))


if __name__ == "__main__":
    main()
