"""Regions, custom derivatives and random numbers in compiled programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from compiler.running import bits, require_eager, run_alone

RNG = np.random.default_rng(29)
BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def real(*shape: int, dtype: Any = np.float64) -> Any:
    return RNG.uniform(-1, 1, shape).astype(dtype)


# Regions and derivatives of one's own.


def layers(wrap: Callable[[Any], Any]) -> Callable[..., Any]:
    def layer(h: Any, w: Any) -> Any:
        return np.tanh(wg.layer_norm(h @ w))

    def total(x: Any, ws: Any) -> Any:
        for w in ws:
            x = wrap(layer)(x, w)
        return wg.sum(x**3)

    return wg.value_and_grad(total, argnums=(0, 1))


@BOTH
def test_a_region_changes_nothing(dtype):
    """Recomputed values have the bits of kept ones."""
    x, ws = real(5, 8, dtype=dtype), [real(8, 8, dtype=dtype) for _ in range(4)]
    plain = run_alone(layers(lambda f: f), x, ws)
    assert bits(run_alone(layers(wg.checkpoint), x, ws)) == bits(plain)
    require_eager(layers(wg.checkpoint), x, ws)


def test_regions_in_regions_and_loops():
    def function(wrap: Callable[[Any], Any]) -> Callable[..., Any]:
        def step(c: Any, x: Any) -> Any:
            inner = wrap(lambda c: np.exp(-(c**2)) + x)
            return wrap(lambda c: inner(c) * 2)(c), c

        def total(c: Any, xs: Any) -> Any:
            last, ys = wg.scan(step, c, xs)
            return wg.sum(last) + wg.sum(ys**2)

        return wg.value_and_grad(total, argnums=(0, 1))

    c, xs = real(3), real(6, 3)
    assert bits(run_alone(function(wg.checkpoint), c, xs)) == bits(
        run_alone(function(lambda f: f), c, xs)
    )
    require_eager(function(wg.checkpoint), c, xs)


def test_regions_save_memory():
    """Six layers of a deep network in a region need less room than all of them kept."""
    x, ws = real(256, 16), [real(16, 16) for _ in range(32)]

    def deep(grouped: bool) -> Any:
        def run(x: Any, ws: Any) -> Any:
            for w in ws:
                x = np.tanh(x @ w)
            return x

        def total(x: Any, ws: Any) -> Any:
            for start in range(0, 32, 6):
                x = (wg.checkpoint(run) if grouped else run)(x, ws[start : start + 6])
            return wg.sum(x * x)

        return wg.compile(wg.grad(total, argnums=1))

    sizes = []
    for grouped in (False, True):
        compiled = deep(grouped)
        compiled(x, ws)
        sizes.append(compiled.executable(x, ws).memory.size)
    assert sizes[1] <= 0.45 * 32 * x.nbytes, f"{sizes[1] / (32 * x.nbytes):.2f} of the activations"
    assert sizes[1] < 0.6 * sizes[0]


@wg.custom_vjp
def clipped(x: Any, bound: Any) -> Any:
    """The identity, whose gradient is clipped."""
    return x * 1.0


clipped.defvjp(
    lambda x, bound: (x * 1.0, bound),
    lambda bound, g: (wg.clip(g, -bound, bound), bound * 0),
)


def test_derivatives_of_ones_own():
    bound = np.array(0.5)
    function = lambda x, b: wg.grad(lambda x: wg.sum(clipped(x, b) ** 2))(x)  # noqa: E731
    x = real(9) * 3
    found = require_eager(function, x, bound)
    np.testing.assert_allclose(found, np.clip(2 * x, -0.5, 0.5), rtol=1e-14)

    def looped(c: Any, xs: Any, b: Any) -> Any:
        step = lambda c, y: (clipped(c * y, b) + y, None)  # noqa: E731
        return wg.sum(wg.scan(step, c, xs)[0] ** 3)

    require_eager(wg.grad(looped, argnums=(0, 1)), real(3) * 2, real(5, 3) * 2, bound)


def test_compiled_functions_in_compiled_functions():
    inner = wg.compile(lambda x: np.tanh(x) * 2)
    require_eager(wg.grad(lambda x: wg.sum(inner(x) ** 2)), real(5))


# Random numbers.


def noisy(key: Any, x: Any) -> Any:
    rng = wg.random.Generator(key)
    y = wg.dropout(x, 0.3, rng) + rng.normal(x.shape, x.dtype)
    z = wg.dropout(y, 0.5, rng)
    return (
        y,
        z,
        rng.uniform((3, 2)),
        rng.randint((40,), -3, 9),
        rng.bernoulli(0.2, (50,)),
        rng.bits((7,)),
    )


@BOTH
@pytest.mark.parametrize("seed", [0, 12345])
def test_random_numbers(seed, dtype):
    key, x = wg.random.key(seed), real(13, 7, dtype=dtype)
    y, z, *_ = require_eager(noisy, key, x)
    assert 0 < np.mean(z == 0) < 1
    assert not np.array_equal(y, z)


def test_random_bits_are_the_eager_ones():
    def function(key: Any) -> Any:
        rng = wg.random.Generator(key)
        found = [rng.bits((n,)) for n in (1, 3, 4, 5, 16, 17, 67)]
        return [*found, rng.bits((9,), np.uint64), rng.uniform((33,)), rng.permutation(20)]

    for seed in (0, 1, 2**40 + 3):
        key = wg.random.key(seed)
        assert bits(run_alone(function, key)) == bits(function(key))


def test_dropout_and_its_gradient_agree():
    """The backward pass drops what the forward pass dropped, in a region too."""
    key, x = wg.random.key(5), real(100) + 3

    def total(wrap: Any) -> Any:
        def dropped(x: Any, key: Any) -> Any:
            return wg.dropout(x, 0.4, wg.random.Generator(key))

        return lambda x, key: wg.sum(wrap(dropped)(x, key) ** 2)

    for wrap in (lambda f: f, wg.checkpoint):
        value, g = require_eager(wg.value_and_grad(total(wrap)), x, key)
        assert 0.4 < np.mean(g != 0) < 0.8
        np.testing.assert_allclose(np.sum(g * x) / 2, value, rtol=1e-12)


def test_random_numbers_in_a_loop():
    """Each step has numbers of its own, the same as eagerly."""

    def function(key: Any, x: Any) -> Any:
        rng = wg.random.Generator(key)

        def step(c: Any, t: Any) -> Any:
            mine = rng.fold_in(t)
            return wg.dropout(c, 0.2, mine) + mine.normal(c.shape, c.dtype), mine.bits((4,))

        return wg.scan(step, x, np.arange(6))

    _, found = require_eager(function, wg.random.key(8), real(5))
    assert len({tuple(row) for row in found.tolist()}) == 6
