"""Random programs whose results go over their arguments: the same bits as where they do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

SHAPES = ((4, 4), (5, 3), (1, 6), (6, 1), (3, 40), (17, 17), (0, 3), (1, 1), (70, 2))
UNARY: tuple[Callable[[Any], Any], ...] = (
    np.tanh,
    np.negative,
    np.abs,
    lambda x: x * 2.0,
    lambda x: np.flip(x, 0),
    lambda x: x[:, ::-1],
    lambda x: wg.op.shift(x, axis=0, step=1, fill=0.0),
    lambda x: np.concatenate([x[1:], x[:1]], 0),
    lambda x: np.cumsum(x, 1),
    lambda x: np.sort(x, 0),
    lambda x: np.broadcast_to(x[:1], x.shape) if x.shape[0] else x,
    lambda x: np.reshape(x.T, x.shape),
    lambda x: x - np.sum(x),
    lambda x: x - np.sum(x, 1, keepdims=True),
    lambda x: np.broadcast_to(np.sum(x, 0), x.shape),
    lambda x: np.tril(x),
    lambda x: wg.op.boundary(x, True),
)
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    np.add,
    np.subtract,
    np.multiply,
    lambda x, y: np.where(x > y, x, y * 0.5),
    lambda x, y: x + np.sum(y * x),
    lambda x, y: y * np.sum(x, 1, keepdims=True),
    lambda x, y: x + np.flip(y, 1),
    lambda x, y: np.concatenate([x[:1], y[1:]], 0),
)


def program(seed: int, count: int) -> Callable[..., Any]:
    """A function of so many arrays of one shape, which returns as many made of them."""

    def function(*arrays: Any) -> Any:
        rng = np.random.default_rng(seed)
        known = list(arrays)
        for _ in range(rng.integers(1, 9)):
            x, y = (known[i] for i in rng.integers(0, len(known), 2))
            if rng.random() < 0.5:
                known.append(UNARY[rng.integers(len(UNARY))](x))
            else:
                known.append(BINARY[rng.integers(len(BINARY))](x, y))
        return [known[i] for i in rng.integers(0, len(known), count)], known[-1]

    return function


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("chunk", range(4))
def test_donated_and_not(chunk: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    gated = 0
    for seed in range(40 * chunk, 40 * chunk + 40):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(1, 4))
        given = [rng.normal(size=SHAPES[seed % len(SHAPES)]) for _ in range(count)]
        function = program(seed, count)
        wanted = wg.compile(function, threads=1)(*given)
        monkeypatch.setenv("WENGERT_FUSE", "01"[seed % 3 > 0])
        nonfinite = ("ignore", "raise", "skip")[seed % 3]
        step = wg.compile(function, donate=range(count), threads=threads, nonfinite=nonfinite)
        args = [x.copy() for x in given]
        found = step(*args)
        monkeypatch.setenv("WENGERT_FUSE", "1")
        for x, y in zip(wg.tree.leaves(found), wg.tree.leaves(wanted), strict=True):
            assert np.array_equal(x, y), f"{seed = }"
        assert all(any(x is y for y in found[0]) for x in args), f"{seed = }"
        kernels = step.executable(*given).program.kernels
        gated += any(kernel.gated for kernel in kernels)
    assert gated > 10


@pytest.mark.parametrize("axis", [None, 0])
def test_few_elements_after_many(axis, monkeypatch):
    """Of a kernel that workers divide some have nothing to do then; nobody may do it twice."""
    monkeypatch.setenv("WENGERT_GRAIN", "1")

    def function(x):
        return np.tanh(x) * 0.9 + (1.1 if axis is None else np.sum(x, axis, keepdims=True))

    dims = {"x": {1: wg.Dim("n")}}
    alone = wg.compile(function, dims=dims, threads=1)
    step = wg.compile(function, dims=dims, threads=3, donate=("x",))
    for n in (37, 1, 3, 11):
        x = np.random.default_rng(n).normal(size=(17, n))
        wanted = alone(x)
        np.testing.assert_array_equal(step(x), wanted)
