"""Determinants and cofactors against NumPy and, where rounding matters, against exact numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from table.calls import calls

from codegen.special_harness import run_special, run_variants, strided
from wengert.codegen.llvm.linalg.factorisations import FACTORISATIONS
from wengert.core.dtypes import FLOATS
from wengert.core.table import op

DETERMINANTS = ("det", "det_sign", "log_abs_det")
COFACTORS = ("cofactors", "cofactors_tangent")
SIZES = (0, 1, 2, 3, 5, 16, 17, 33)


def run(name: str, *operands: Any) -> Any:
    (found,) = run_special(FACTORISATIONS[name], op[name], operands, {})
    return found


def run_all(name: str, *operands: Any) -> Any:
    """As `run`, with all hardware vectors and with sizes that are known at run time only."""
    (found,) = run_variants(FACTORISATIONS[name], op[name], operands, {})
    return found


def require_close(name: str, operands: Any, found: Any) -> None:
    """Compare with NumPy's result in float64, in terms of the largest number per matrix."""
    x = operands[0]
    wanted = op[name].numpy(*(given.astype(np.float64) for given in operands))
    assert found.dtype == x.dtype
    assert found.shape == wanted.shape
    tolerance = 16 * (1 + x.shape[-1]) * np.finfo(x.dtype).eps
    axes = (-2, -1) if found.ndim == x.ndim else ()
    scale = np.max(np.abs(wanted), axis=axes, keepdims=True, initial=0)
    assert (np.abs(found - wanted) <= tolerance * scale).all()


def matrices(n: int, dtype: Any, *batch: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, (*batch, n, n)).astype(dtype)


def exact_determinant(rows: list[list[Fraction]]) -> Fraction:
    """By elimination in fractions."""
    rows, found = [row[:] for row in rows], Fraction(1)
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != k:
            rows[k], rows[pivot], found = rows[pivot], rows[k], -found
        found *= rows[k][k]
        for i in range(k + 1, len(rows)):
            by = rows[i][k] / rows[k][k]
            rows[i] = [x - by * y for x, y in zip(rows[i], rows[k], strict=True)]
    return found


def exact_cofactors(x: Any) -> Any:
    """One determinant per element, as the definition says."""
    rows = [[Fraction(float(number)) for number in row] for row in x]
    size = range(len(rows))

    def without(i: int, j: int) -> list[list[Fraction]]:
        return [[rows[p][q] for q in size if q != j] for p in size if p != i]

    return np.array(
        [[(-1) ** (i + j) * exact_determinant(without(i, j)) for j in size] for i in size], object
    )


def exact_tangent(x: Any, dx: Any) -> Any:
    """The derivative of a polynomial of degree n - 1, from n points."""
    n = len(x)
    points = [Fraction(k) for k in range(n)]
    total = np.zeros((n, n), object)
    for p in points:
        # The derivative at 0 of the polynomial that is 1 at p and 0 at the other points.
        others = [q for q in points if q != p]
        below = math.prod((p - q for q in others), start=Fraction(1))
        terms = [math.prod((-r for r in others if r != q), start=Fraction(1)) for q in others]
        total = total + exact_cofactors(x + float(p) * dx) * (sum(terms, Fraction(0)) / below)
    return total


@pytest.mark.parametrize("name", DETERMINANTS + COFACTORS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_samples(name: str, dtype: Any) -> None:
    for call in calls(op[name], dtype):
        operands, _ = op[name].read(call.operands, call.params)
        found = run_all(name, *operands)
        wanted = op[name].numpy(*operands)
        tolerance = 64 * np.finfo(found.dtype).eps
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", SIZES)
def test_sizes(n: int, dtype: Any) -> None:
    run_here = run_all if n in (3, 17) else run
    x = matrices(n, dtype, 2) + 2 * np.sqrt(n).astype(dtype) * np.eye(n, dtype=dtype)[::-1]
    for name in DETERMINANTS:
        require_close(name, (x,), run_here(name, x))
    x = matrices(n, dtype, 2)
    require_close("cofactors", (x,), run_here("cofactors", x))
    dx = matrices(n, dtype, 2, seed=1)
    require_close("cofactors_tangent", (x, dx), run_here("cofactors_tangent", x, dx))


@pytest.mark.parametrize("name", DETERMINANTS + COFACTORS)
def test_strides_and_batches(name: str) -> None:
    x = matrices(4, np.float64, 2, 3)
    count = 2 if name == "cofactors_tangent" else 1
    wanted = run(name, *(x,) * count)
    for view in strided(x)[1:]:
        np.testing.assert_array_equal(run(name, *(view,) * count), wanted)
    one = np.broadcast_to(x[1, 2], (5, 4, 4))
    for each in run(name, *(one,) * count):
        np.testing.assert_array_equal(each, wanted[1, 2])
    assert run(name, *(x[:0],) * count).shape == (0, *wanted.shape[1:])


def singular() -> dict[str, Any]:
    """Matrices of integers, so that exact numbers are at hand, of every kind of rank."""
    rng = np.random.default_rng(2)
    n = 6

    def of_rank(rank: int) -> Any:
        left, right = rng.integers(-3, 4, (n, rank)), rng.integers(-3, 4, (rank, n))
        return (left @ right).astype(float)

    zero_row = rng.integers(-3, 4, (n, n)).astype(float)
    zero_row[2] = 0
    return {
        "full": of_rank(n),
        "less one": of_rank(n - 1),
        "less two": of_rank(n - 2),
        "ones": np.ones((n, n)),
        "zeros": np.zeros((n, n)),
        "a zero row": zero_row,
        "an order": np.eye(n)[rng.permutation(n)],
    }


@pytest.mark.parametrize("kind", singular())
def test_cofactors_of_singular_matrices(kind: str) -> None:
    x = singular()[kind]
    found = run("cofactors", x)
    # What rounding may leave where the exact numbers are 0: see the sizes of the factors.
    size = np.linalg.svd(x)[1]
    allowed = 1e-13 * max(float(np.prod(np.maximum(size[:-1], 1))), 1.0)
    assert np.max(np.abs(found - exact_cofactors(x).astype(float))) <= allowed
    dx = np.random.default_rng(3).integers(-3, 4, x.shape).astype(float)
    found = run("cofactors_tangent", x, dx)
    assert np.max(np.abs(found - exact_tangent(x, dx).astype(float))) <= 20 * allowed


def test_cofactors_of_rows_and_columns_of_very_different_size() -> None:
    """Every number is right to its own last digits, though some are 1e60 times others."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(6, 6))
    x *= 10.0 ** rng.integers(-15, 15, (6, 1)) * 10.0 ** rng.integers(-15, 15, (1, 6))
    wanted = exact_cofactors(x)
    errors = [
        abs(Fraction(float(a)) / b - 1)
        for a, b in zip(run("cofactors", x).ravel(), wanted.ravel(), strict=True)
    ]
    assert max(errors) <= 1e-12


def test_cofactors_do_not_overflow_on_the_way() -> None:
    """The product of the pivots leaves float32 at both ends; the cofactors do not."""
    n = 60
    x = np.diag(np.r_[np.full(n // 2, 1e30), np.full(n // 2, 1e-30)]).astype(np.float32)
    expected = np.prod(np.diag(x).astype("g")) / np.diag(x)
    np.testing.assert_allclose(np.diag(run("cofactors", x)), expected, rtol=1e-5)
    tiny = np.eye(3) * 1e-310
    assert run("cofactors", tiny).max() == 0
    scaled = run("cofactors", tiny * np.array([1.0, 1e300, 1e300]))
    np.testing.assert_allclose(scaled[0, 0], 1e-20, rtol=1e-12)


def test_numbers_that_are_not_finite() -> None:
    x = matrices(17, np.float64, 2)
    x[0, 3, 5] = np.inf
    found = run("cofactors", x)
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()
    found = run("cofactors_tangent", x[::-1], x)
    assert np.isnan(found).all()
    x[0, 3, 5] = np.nan
    x[0, 7] = 0  # singular, whatever else it is
    for name in (*DETERMINANTS, "cofactors"):
        for found in (run(name, x), op[name].numpy(x)):
            assert np.isnan(found[0]).all(), name
            assert np.isfinite(found[1]).all(), name


@pytest.mark.parametrize(
    "x",
    [
        [[1.0, 2.0], [2.0, 4.0]],
        [[0.0]],
        [[np.inf]],
        [[-np.inf, 1.0], [1.0, 1.0]],
        np.eye(4) * 1e-200,
        np.diag([-(2.0**1000), 2.0**1000, 2.0**-1000, 2.0**-1000]),
        -np.eye(3) * 1e300,
        [[5e-324]],
        np.eye(2) * -1e-160,
        [[1.00001]],
        [[0.99999]],
        np.zeros((20, 20)),
        np.eye(18)[::-1],
        [[0.0, 0.0], [0.0, np.inf]],
    ],
)
def test_determinants_at_the_edges(x: Any) -> None:
    x = np.array(x)
    with np.errstate(all="ignore"):
        for name in DETERMINANTS:
            found, wanted = run(name, x), op[name].numpy(x)
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=0)


def test_determinants_of_integers_are_exact() -> None:
    x = np.random.default_rng(5).integers(-1, 2, (20, 3, 3)).astype(np.float32)
    wanted = np.rint(np.linalg.det(x.astype(np.float64)))
    for name, expected in (("det", wanted), ("det_sign", np.sign(wanted))):
        np.testing.assert_array_equal(run(name, x), expected)


def test_logarithm_of_a_determinant_near_one() -> None:
    """No digits are lost where the logarithm is near 0."""
    x = np.array([np.diag([2.0**40, 2.0**-40 * (1 + k * 1e-6)]) for k in range(-5, 6)])
    wanted = [np.log(each[0, 0] * each[1, 1]) for each in x]
    np.testing.assert_allclose(run("log_abs_det", x), wanted, rtol=4e-16, atol=0)


@pytest.mark.parametrize("name", DETERMINANTS + COFACTORS)
def test_alone_and_in_a_batch(name: str) -> None:
    x = matrices(19, np.float32, 3)
    operands = [x, x[::-1]] if name == "cofactors_tangent" else [x]
    (whole,) = run_special(FACTORISATIONS[name], op[name], operands, {})
    (alone,) = run_special(FACTORISATIONS[name], op[name], [y[2] for y in operands], {})
    assert alone.tobytes() == whole[2].tobytes()
