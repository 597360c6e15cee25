"""Kernels of orthogonal factors, for awkward matrices of every size, by formulas and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from codegen.special_harness import run_special, run_variants, strided
from wengert.codegen.llvm.linalg.factorisations import FACTORISATIONS
from wengert.core.dtypes import FLOATS
from wengert.core.table import op

# Up to 24 by 6 in lanes, then by reflections; past 16 in several vectors.
SIZES = ((1, 1), (3, 2), (4, 4), (24, 6), (7, 7), (25, 3), (20, 17), (33, 33))
SQUARE = [n for m, n in SIZES if m == n]
SVD = {"save": True, "signs_of_v": False}


def awkward(m: int, n: int, dtype: Any) -> Any:
    """Matrices on which methods fail, one behind the other."""
    rng = np.random.default_rng([m, n])
    g = rng.normal(size=(m, n))
    rows, columns = np.arange(m)[:, None], np.arange(n)
    # The largest and the smallest scales at which no result leaves the range of normal numbers.
    scale = 1e150 if dtype == np.float64 else 1e18
    turned = np.linalg.qr(rng.normal(size=(m, m)))[0]
    found = [
        g,
        np.zeros((m, n)),
        np.eye(m, n),
        np.ones((m, n)),
        np.eye(m, n)[::-1],
        np.eye(m, n, 1),
        np.outer(g[:, 0], g[0]),  # rank 1
        g * scale,
        g / scale,
        g * 10.0 ** (-columns),
        g * 10.0 ** (columns - n),
        g * 10.0 ** (-rows),
        g * 10.0 ** (rows - m),
        g * 10.0 ** (-10 * (columns % 3)),
        1 / (rows + columns + 1),
        2 * np.eye(m, n) - np.eye(m, n, 1) - np.eye(m, n, -1),
        np.triu(-np.ones((m, n)), 1) + np.eye(m, n),  # nearly singular
        turned @ np.where(rows == columns, 1 + columns % 2, 0) @ np.linalg.qr(g[:n])[0],  # repeated
        np.where(rows == m // 2, 0, g),
        np.where(columns == n // 2, 0, g),
        np.where(rows == columns, np.abs(columns - n / 2), abs(rows - columns) == 1),
    ]
    return np.stack(found).astype(dtype)


def symmetric(n: int, dtype: Any) -> Any:
    x = awkward(n, n, dtype)
    return x / 2 + x.mT / 2


def run(name: str, x: Any, **params: Any) -> Any:
    return run_variants(FACTORISATIONS[name], op[name], (x,), params)


def require_within(size: int, dtype: Any, scale: Any, *errors: Any) -> None:
    """Each error, an array of matrices, is some roundings of the matrix at most."""
    limit = 4 * size * np.finfo(dtype).eps
    for error in errors:
        assert np.all(np.abs(error).max(axis=(-2, -1), initial=0) <= limit * scale)


def largest(x: Any) -> Any:
    return np.abs(x).max(axis=(-2, -1))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("m", "n"), SIZES)
def test_qr(m: int, n: int, dtype: Any) -> None:
    x = awkward(m, n, dtype)
    q, r = run("qr_tall", x)
    require_within(m, dtype, largest(x), q @ r - x)
    require_within(m, dtype, 1, q.mT @ q - np.eye(n))
    assert np.all(np.diagonal(r, axis1=-2, axis2=-1) >= 0)
    assert not np.tril(r, -1).any()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("m", "n"), [*SIZES, (1, 0), (5, 0), (2, 1), (40, 18)])
def test_complement(m: int, n: int, dtype: Any) -> None:
    x = awkward(m, max(n, 1), dtype)[..., :n]
    for given in (x, op.qr_tall(x)[0]):
        (found,) = run("orthogonal_complement", given)
        eager, scale = op.orthogonal_complement(given), np.abs(given).max((-2, -1), initial=0)
        for each in (found, eager):
            require_within(m, dtype, 1, each.mT @ each - np.eye(m - n))
            require_within(m, dtype, scale, given.mT @ each)
            assert m == n or np.all(leading(each) > 0)
        if given is not x:  # of columns that are not independent, others are as good
            require_within(m, dtype, 1, found - eager)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", SQUARE)
def test_eigenvalues(n: int, dtype: Any) -> None:
    x = symmetric(n, dtype)
    w, v = run("eigh_parts", x, save=True)
    require_within(n, dtype, largest(x), (v * w[..., None, :]) @ v.mT - x)
    require_within(n, dtype, 1, v.mT @ v - np.eye(n))
    expected = np.linalg.eigvalsh(x)
    require_within(n, dtype, largest(x) * np.sqrt(n), (w - expected)[..., None])
    assert np.all(np.diff(w) >= 0)
    (alone,) = run("eigh_parts", x, save=False)
    np.testing.assert_array_equal(alone, w)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("m", "n"), SIZES)
def test_singular_values(m: int, n: int, dtype: Any) -> None:
    x = awkward(m, n, dtype)
    s, u, v = run("svd_tall", x, **SVD)
    require_within(m, dtype, largest(x), (u * s[..., None, :]) @ v.mT - x)
    require_within(m, dtype, 1, u.mT @ u - np.eye(n), v.mT @ v - np.eye(n))
    expected = np.linalg.svd(x, compute_uv=False)
    require_within(m, dtype, largest(x) * np.sqrt(m), (s - expected)[..., None])
    assert np.all(np.diff(s) <= 0)
    assert np.all(s >= 0)
    (alone,) = run("svd_tall", x, **SVD | {"save": False})
    np.testing.assert_array_equal(alone, s)


def leading(x: Any) -> Any:
    """The first element of each column that is not small."""
    size = np.abs(x)
    first = np.argmax(size >= size.max(axis=-2, keepdims=True) / np.pi, axis=-2)
    return np.take_along_axis(x, first[..., None, :], axis=-2)


@pytest.mark.parametrize(("m", "n"), [(4, 4), (9, 9), (9, 4)])
def test_signs_are_those_of_numpy_made_positive(m: int, n: int) -> None:
    x = np.random.default_rng(5).normal(size=(20, m, n))
    for signs_of_v in (False, True):
        params = SVD | {"signs_of_v": signs_of_v}
        found, eager = run("svd_tall", x, **params), op.svd_tall(x, **params)
        for one, other in zip(found, eager, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-11)
        assert np.all(leading(found[2 if signs_of_v else 1]) > 0)
    if m == n:
        found, eager = run("eigh_parts", x, save=True), op.eigh_parts(x, save=True)
        for one, other in zip(found, eager, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-11)
        assert np.all(leading(found[1]) > 0)
    for one, other in zip(run("qr_tall", x), op.qr_tall(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("qr_tall", {}),
        ("eigh_parts", {"save": True}),
        ("svd_tall", SVD),
        ("orthogonal_complement", {}),
    ],
)
@pytest.mark.parametrize("n", [3, 9])
def test_alone_and_in_a_batch(name: str, params: dict[str, Any], n: int) -> None:
    """A result does not depend on what stands beside it, nor on strides."""
    x = np.concatenate([awkward(n, n, np.float64), np.full((1, n, n), np.nan)])
    special = FACTORISATIONS[name]
    whole = run_special(special, op[name], (x,), params)
    for i in (0, 1, 9, 16, 20):
        alone = run_special(special, op[name], (x[i],), params)
        for one, all_ in zip(alone, whole, strict=True):
            assert one.tobytes() == all_[i].tobytes()
    wanted = run_special(special, op[name], (x[:6].reshape(2, 3, n, n),), params)
    for view in strided(x[:6].reshape(2, 3, n, n)):
        for one, other in zip(run_special(special, op[name], (view,), params), wanted, strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [1, 4, 17])
def test_nan_and_infinity_reach_the_results(n: int, value: float) -> None:
    x = np.random.default_rng(2).normal(size=(3, n, n))
    x[1, n // 2, n // 3] = value
    for name, params in (("qr_tall", {}), ("eigh_parts", {"save": True}), ("svd_tall", SVD)):
        for results in (run(name, x, **params), op[name].numpy(x, **params)):
            for out in results:
                assert np.isfinite(out[[0, 2]]).all()
                if name == "qr_tall" and out is results[1]:
                    np.testing.assert_array_equal(np.isnan(out[1]), np.triu(np.ones((n, n), bool)))
                else:
                    assert np.isnan(out[1]).all()


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 2, 2), (2, 0, 0), (0, 30, 30)])
def test_nothing(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape)
    q, r = run("qr_tall", x)
    s, u, v = run("svd_tall", x, **SVD)
    assert q.shape == u.shape == shape
    assert r.shape == v.shape == (*shape[:-2], shape[-1], shape[-1])
    assert s.shape == (*shape[:-2], shape[-1])
    if shape[-1] == shape[-2]:
        w, vectors = run("eigh_parts", x, save=True)
        assert w.shape == shape[:-1]
        assert vectors.shape == shape
