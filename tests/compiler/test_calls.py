"""How compiled functions are called: trees, names, defaults, methods, kinds of arguments."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from compiler.running import bits


@dataclass
class Layer:
    w: Any
    b: Any
    name: str = "layer"

    def __call__(self, x: Any) -> Any:
        return np.tanh(x @ self.w + self.b)


class Found(NamedTuple):
    loss: Any
    extra: Any


X = np.random.default_rng(5).uniform(-1, 1, (4, 3))


def layers() -> list[Layer]:
    rng = np.random.default_rng(6)
    return [Layer(rng.uniform(-1, 1, (3, 3)), rng.uniform(-1, 1, 3), f"layer{i}") for i in range(2)]


def same(found: Any, expected: Any) -> None:
    ours, structure = wg.tree.flatten(found)
    theirs, eager = wg.tree.flatten(wg.tree.arrays(expected))
    assert structure == eager
    for x, y in zip(ours, theirs, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


def test_trees_in_and_out():
    def step(model: Any, batch: Any) -> Any:
        def loss(model: Any) -> Any:
            x = batch["x"]
            for layer in model:
                x = layer(x)
            return np.mean(x**2)

        value, grads = wg.value_and_grad(loss)(model)
        return Found(value, {"grads": grads, "none": None, "word": "kept", "number": 3})

    same(wg.compile(step)(layers(), {"x": X}), step(layers(), {"x": X}))


def test_one_array_at_two_places_is_one_value():
    def loss(p: Any, x: Any) -> Any:
        return np.sum((x @ p["a"]) @ p["b"])

    w, v = layers()[0].w, layers()[1].w
    compiled = wg.compile(wg.grad(loss))
    tied, apart = {"a": w, "b": w}, {"a": w, "b": v}
    for params in (tied, apart, tied, apart, {"a": v, "b": v}):
        same(compiled(params, X), wg.grad(loss)(params, X))


def test_names_and_defaults():
    @wg.compile
    def scaled(x: Any, by: Any = 2.0, *, plus: Any = 1.0) -> Any:
        return x * by + plus

    same(scaled(X), X * 2 + 1)
    same(scaled(X, 3.0), X * 3 + 1)
    same(scaled(x=X), X * 2 + 1)
    same(scaled(X, by=X), X * X + 1)
    same(scaled(by=3.0, x=X), X * 3 + 1)
    assert scaled.__name__ == "scaled"


@pytest.mark.parametrize("static", ["k", 1, -1, ("k",)], ids=str)
def test_a_static_argument_may_be_left_to_its_default(static):
    @wg.compile(static=static)
    def power(x: Any, k: int = 2) -> Any:
        return x**k

    for _ in range(2):
        same(power(X), X**2)
        same(power(X, 3), X**3)
        same(power(x=X), X**2)
        same(power(X, k=4), X**4)


def test_a_donated_argument_may_be_left_to_its_default():
    start = np.ones((4, 3))

    @wg.compile(donate="p")
    def moved(x: Any, p: Any = start) -> Any:
        return p + x

    same(moved(X), X + 1)
    assert np.array_equal(start, np.ones((4, 3)))
    p = X.copy()
    assert moved(X, p) is p
    same(p, 2 * X)


def test_by_name_and_by_position_are_one_program():
    compiled = wg.compile(lambda x, y: x - y)
    assert compiled.executable(X, X + 1) is compiled.executable(y=X + 1, x=X)


def test_many_arguments():
    same(wg.compile(lambda *xs: sum(xs[1:], xs[0]))(X, X, X), 3 * X)


def test_decorators():
    @wg.compile(donate="p", nonfinite="raise")
    def halved(p: Any) -> Any:
        return p / 2

    p = np.ones(3)
    assert halved(p) is p
    assert np.array_equal(p, np.full(3, 0.5))


def test_methods():
    @dataclass
    class Model:
        w: Any

        @wg.compile
        def forward(self, x: Any) -> Any:
            return x @ self.w

    for w in (np.ones((3, 2)), np.zeros((3, 5))):
        model = Model(w)
        same(model.forward(X), X @ w)
        same(Model.forward(model, X), X @ w)
    bound = layers()[0].__call__
    same(wg.compile(bound)(X), bound(X))


def test_what_can_be_compiled():
    """Ops, partial functions, objects, NumPy's own functions."""
    same(wg.compile(wg.tanh)(X), np.tanh(X))
    same(wg.compile(functools.partial(lambda k, x: x * k, 3.0))(X), X * 3)
    same(wg.compile(layers()[0])(X), layers()[0](X))
    same(wg.compile(np.tanh)(X), np.tanh(X))


def test_each_kind_of_argument_has_its_program():
    calls = []

    @wg.compile
    def f(x: Any, k: Any) -> Any:
        calls.append(1)
        return x * k

    for _ in range(2):
        for x in (X, X[:2], X[0], X.astype(np.float32), X.astype(np.int64), X > 0):
            for k in (2, 2.0, True, X[0], np.float32(2)):
                same(f(x, k), x * k)
    assert len(calls) == 6 * 5


def test_a_tensor_of_another_transformation_goes_through():
    inner = wg.compile(lambda x: np.sum(np.exp(x)))
    same(wg.grad(inner)(X), np.exp(X))
    same(wg.jvp(inner, (X,), (X,))[1], np.sum(np.exp(X) * X))


def test_results_without_arguments():
    same(wg.compile(lambda: (wg.ones(3), 2))(), (np.ones(3), 2))
    same(wg.compile(lambda x: None)(X), None)


def test_results_that_are_no_arrays():
    """Objects that hold no Tensor pass through, whatever they are."""
    kept = {"words": {"a", "b"}, "function": np.tanh, "closure": lambda: X}
    found = wg.compile(lambda x: (x * 2, kept))(X)[1]
    assert found["words"] == {"a", "b"}
    assert found["function"] is np.tanh
    assert found["closure"] is kept["closure"]


# Numbers at the edge, and the state of the processor.


def test_subnormal_numbers():
    for dtype in (np.float32, np.float64):
        tiny = np.finfo(dtype).smallest_subnormal
        x = np.array([tiny, 3 * tiny, -5 * tiny, np.finfo(dtype).tiny / 2] * 5, dtype)
        found = wg.compile(lambda x: (x + x, x * 0.5, -x, wg.sum(x), x > 0))(x)
        for ours, theirs in zip(found, (x + x, x * 0.5, -x, np.sum(x), x > 0), strict=True):
            assert np.array_equal(ours, theirs)


@contextmanager
def rounding(mode: int) -> Iterator[None]:
    """The processor rounds in another direction."""
    library = ctypes.CDLL(None)
    before = library.fegetround()
    assert library.fesetround(mode) == 0
    try:
        yield
    finally:
        library.fesetround(before)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "fesetround"), reason="needs fesetround")
def test_rounding_is_ours():
    """Whatever mode the caller's thread is in, the bits are the same, and the mode is kept."""
    compiled = wg.compile(lambda x: (np.exp(x) / 3, wg.sum(x), x @ x.T))
    expected = bits(compiled(X))
    for upward in (0x800, 0x400):  # of x86; other machines refuse them
        with rounding(upward):
            found = compiled(X)
            assert ctypes.CDLL(None).fegetround() == upward
        assert bits(found) == expected
