"""Normalisation and spreads of very large and very small numbers, and their derivatives.

A power of two is exact in every operation. So a function that only depends on ratios has the same
bits for x and for 2ᵏ x, and its derivatives are those of x times a power of 2ᵏ.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import wengert as wg

# name: the function, and the power of the scale that it grows with
FUNCTIONS: dict[str, tuple[Any, int]] = {
    "layer_norm": (lambda x: wg.layer_norm(x, eps=0.0), 0),
    "layer_norm of all": (lambda x: wg.layer_norm(x, axis=(0, 1), eps=0.0), 0),
    "rms_norm": (lambda x: wg.rms_norm(x, eps=0.0), 0),
    "rms_norm of columns": (lambda x: wg.rms_norm(x, axis=0, eps=0.0), 0),
    "batch_norm": (lambda x: wg.batch_norm(x, eps=0.0), 0),
    "std": (lambda x: wg.std(x, axis=1), 1),
    "std of columns": (lambda x: wg.std(x, axis=0, correction=1, keepdims=True), 1),
    "std of all": (lambda x: wg.std(x), 1),
}
# powers of two by which squares overflow, or underflow, and an ordinary one
SCALES = {np.float64: (600, 900, -600, -900, 40), np.float32: (70, 100, -70, -90, 8)}
SHAPES = ((3, 5), (4, 40), (2, 1500))


def derivatives(f: Any, x: Any, g: Any, dx: Any) -> list[Any]:
    """The value, its gradient, its tangent along dx, and the gradient's tangent along dx."""

    def gradient(x: Any) -> Any:
        return wg.grad(lambda x: wg.sum(f(x) * g))(x)

    return [
        f(x),
        gradient(x),
        wg.jvp(f, (x,), (dx,))[1],
        wg.jvp(gradient, (x,), (dx,))[1],
    ]


@pytest.mark.parametrize("dtype", SCALES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_power_of_two_changes_no_bit(name, shape, dtype):
    f, degree = FUNCTIONS[name]
    rng = np.random.default_rng(3)
    x, dx = (rng.uniform(-1, 1, shape).astype(dtype) for _ in range(2))
    g = rng.uniform(-1, 1, np.shape(f(x))).astype(dtype)
    compiled = wg.compile(lambda x, g, dx: derivatives(f, x, g, dx))
    subnormal = 64 * float(np.finfo(dtype).smallest_subnormal)  # where bits fall off the end
    ways = [lambda *args: derivatives(f, *args), compiled]
    for way in ways:
        expected = way(x, g, dx)
        for power in SCALES[dtype]:
            scale = dtype(2.0) ** dtype(power)
            found = way(x * scale, g, dx * scale)
            powers = (degree, degree - 1, degree, degree - 1)
            for i, (ours, theirs, times) in enumerate(zip(found, expected, powers, strict=True)):
                wanted = theirs * scale**times
                assert np.isfinite(wanted).all()
                np.testing.assert_allclose(
                    ours, wanted, rtol=0, atol=subnormal, err_msg=f"{i}, 2**{power}"
                )


@pytest.mark.parametrize("compiled", [False, True])
def test_elements_of_very_different_size(compiled):
    x = np.array(
        [[1e200, -3e199, 1.0, 2e180], [1e-200, 5e-201, 0.0, -2e-220], [1.0, 2.0, 3.0, 5.0]]
    )
    with mpmath.workprec(300):
        rows = [[mpmath.mpf(v) for v in row] for row in x]
        roots = [mpmath.sqrt(sum(v * v for v in row) / 4) for row in rows]
        scaled = [[float(v / r) for v in row] for row, r in zip(rows, roots, strict=True)]
        deviations = [[v - sum(row) / 4 for v in row] for row in rows]
        spreads = [float(mpmath.sqrt(sum(d * d for d in row) / 4)) for row in deviations]
    rms, std = (lambda x: wg.rms_norm(x, eps=0.0)), (lambda x: wg.std(x, axis=1))
    if compiled:
        rms, std = wg.compile(rms), wg.compile(std)
    np.testing.assert_allclose(rms(x), scaled, rtol=1e-14)
    np.testing.assert_allclose(std(x), spreads, rtol=1e-14)


@pytest.mark.parametrize("norm", [wg.layer_norm, wg.rms_norm, wg.batch_norm])
def test_an_eps_is_nothing_beside_large_numbers_and_all_beside_small_ones(norm):
    rng = np.random.default_rng(4)
    x, g = rng.standard_normal((2, 6, 6))
    for f in (norm, wg.compile(norm)):
        np.testing.assert_allclose(f(x * 1e200), norm(x, eps=0.0), rtol=1e-13)
        centred = (
            x if norm is wg.rms_norm else x - x.mean(axis=int(norm is wg.layer_norm), keepdims=True)
        )
        root = 1e-3 if norm is wg.rms_norm else np.sqrt(1e-5)
        np.testing.assert_allclose(f(x * 1e-200), centred * 1e-200 / root, rtol=1e-13)
    for scale in (1e200, 1e-200):  # and an eps as small as the squares
        found = wg.grad(lambda x, scale=scale: wg.sum(norm(x, eps=scale) * g))(x * np.sqrt(scale))
        usual = wg.grad(lambda x: wg.sum(norm(x, eps=1.0) * g))(x)
        np.testing.assert_allclose(found * np.sqrt(scale), usual, rtol=1e-13)
        tiny = norm(x * 1e-160, eps=1e-320)
        np.testing.assert_allclose(tiny, norm(x, eps=1e-320 * 1e160 * 1e160), rtol=1e-3)


def test_what_is_constant_has_no_spread_at_any_scale():
    for scale in (1e300, 1.0, 1e-300, 0.0):
        x = np.full((2, 4), scale)
        for f in (wg.std, wg.compile(wg.std)):
            assert f(x) == 0
        assert (wg.grad(wg.std)(x) == 0).all()
        assert (wg.layer_norm(x) == 0).all()


def test_infinities_and_nan_are_not_hidden():
    x = np.array([[1.0, np.inf, 2.0], [1.0, np.nan, 2.0], [1.0, 2.0, 4.0]])
    with np.errstate(all="ignore"):
        for f in (lambda x: wg.std(x, axis=1), wg.compile(lambda x: wg.std(x, axis=1))):
            np.testing.assert_array_equal(np.isnan(f(x)), [True, True, False])
        for f in (wg.layer_norm, wg.compile(wg.layer_norm)):
            assert np.isnan(f(x)[:2]).all()
            assert np.isfinite(f(x)[2]).all()
