"""Factors of matrices where values coincide or vanish, and functions that are made of them."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg
from linalg_calls import drawn, require_close

import wengert as wg


def both_ways(f: Any, x: Any, dx: Any) -> Any:
    """The derivative along dx forwards, which backwards must agree with, compiled or not."""
    value, forward = wg.jvp(f, (x,), (dx,))
    g = drawn(*np.shape(value), seed=3)
    for run in (lambda f: f, wg.compile):
        (gx,) = run(lambda x: wg.vjp(f, x)[1](g))(x)
        require_close(np.sum(gx * dx), np.sum(g * forward), 1e-9)
        require_close(run(lambda x: wg.jvp(f, (x,), (dx,))[1])(x), forward, 1e-9)
    return forward


def turned(values: Any, seed: int = 0) -> Any:
    """A symmetric matrix with these eigenvalues."""
    n = len(values)
    q = np.linalg.qr(drawn(n, n, seed=seed))[0]
    return (q * values) @ q.T


def difference(f: Any, x: Any, dx: Any, step: float = 1e-6) -> Any:
    return (f(x + step * dx) - f(x - step * dx)) / (2 * step)


# Where values coincide.

TIED = turned(np.array([1.0, 1.0, 2.0, 5.0, 5.0, 5.0]))
TANGENT = drawn(6, 6, seed=1) + drawn(6, 6, seed=1).T


def test_what_does_not_depend_on_the_choice_of_vectors_has_its_derivative():
    def projector(x: Any) -> Any:
        v = wg.linalg.eigh(x).eigenvectors[..., 3:]
        return v @ v.mT

    def symmetric_function(x: Any) -> Any:
        w = wg.linalg.eigvalsh(x)
        return wg.sum(w**3) + wg.sum(wg.exp(w))

    for f in (projector, symmetric_function):
        require_close(both_ways(f, TIED, TANGENT), difference(f, TIED, TANGENT), 1e-7)


@pytest.mark.parametrize("x", [np.eye(4), np.zeros((4, 4)), TIED, np.ones((5, 5))])
@pytest.mark.parametrize("compiled", [False, True])
def test_derivatives_of_tied_vectors_are_finite(x: Any, compiled: bool):
    run = wg.compile if compiled else lambda f: f

    def of_vectors(x: Any) -> Any:
        u, s, vh = wg.linalg.svd(x)
        return wg.sum(wg.linalg.eigh(x).eigenvectors ** 3) + wg.sum(u**3) + wg.sum(vh**3 * s)

    assert np.all(np.isfinite(run(wg.grad(of_vectors))(x)))
    hessian = run(lambda x, dx: wg.jvp(wg.grad(of_vectors), (x,), (dx,))[1])
    assert np.all(np.isfinite(hessian(x, drawn(*x.shape))))


def test_vectors_of_equal_values_do_not_turn_into_each_other():
    x = np.diag([1.0, 1.0, 3.0])
    dx = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    dv = wg.jvp(lambda x: wg.linalg.eigh(x).eigenvectors, (x,), (dx,))[1]
    require_close(dv, np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 0.0], [-0.5, 0.0, 0.0]]))


def test_values_closer_than_rounding_count_as_equal():
    x = np.diag([1.0, 1.0 + 2e-16, 3.0])
    gx = wg.grad(lambda x: wg.linalg.eigh(x).eigenvectors[0, 1])(x)
    assert np.max(np.abs(gx)) < 1
    apart = np.diag([1.0, 1.0 + 1e-10, 3.0])
    assert np.max(wg.grad(lambda x: wg.linalg.eigh(x).eigenvectors[0, 1])(apart)) > 1e9


# Where singular values vanish.


@pytest.mark.parametrize("compiled", [False, True])
def test_norms_of_singular_matrices(compiled: bool):
    """The shortest of the subgradients, as that of abs at 0."""
    run = wg.compile if compiled else lambda f: f
    x = np.outer([3.0, 0.0, 4.0], [0.6, 0.8])
    for order in ("nuc", 2):
        gx = run(wg.grad(lambda x, order=order: np.linalg.matrix_norm(x, ord=order)))(x)
        require_close(gx, x / 5)
        zero = run(wg.grad(lambda x, order=order: np.linalg.matrix_norm(x, ord=order)))(0 * x)
        assert not np.any(zero)
    require_close(run(wg.grad(lambda x: np.linalg.norm(x, 2)))(np.eye(3)), np.eye(3) / 3)


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3)])
@pytest.mark.parametrize("rank", [1, 2])
def test_pseudo_inverses_keep_their_rank(shape: tuple[int, int], rank: int):
    """Along tangents that keep the rank the derivative is that of the difference quotient."""
    m, n = shape
    left, right = drawn(m, rank), drawn(rank, n, seed=1)
    dl, dr = drawn(m, rank, seed=2), drawn(rank, n, seed=3)
    step = 1e-6

    def along(f: Any) -> Any:
        sides = [f((left + t * dl) @ (right + t * dr)) for t in (step, -step)]
        return (sides[0] - sides[1]) / (2 * step)

    dx = dl @ right + left @ dr
    b = drawn(m, 2, seed=4)
    for f, numpy in (
        (lambda x: wg.linalg.pinv(x, rtol=1e-10), lambda x: np.linalg.pinv(x, rcond=1e-10)),
        (
            lambda x: wg.linalg.lstsq(x, b, rcond=1e-10).x,
            lambda x: np.linalg.lstsq(x, b, rcond=1e-10)[0],
        ),
    ):
        require_close(both_ways(f, left @ right, dx), along(numpy), 1e-6)
        require_close(wg.compile(f)(left @ right), numpy(left @ right))


def test_a_limit_for_each_matrix():
    graded = np.diag([1.0, 1e-2, 1e-5])
    x, b = np.stack([graded, graded, drawn(3, 3)])[:, None] * np.ones((2, 1, 1)), drawn(3, 3)
    limits = np.array([[1e-1], [1e-3], [1e-12]])
    for run in (lambda f: f, wg.compile):
        found = run(lambda x, limits: wg.linalg.pinv(x, rtol=limits))(x, limits)
        require_close(found, np.linalg.pinv(x, rcond=limits))
        ranks = run(lambda x, limits: wg.linalg.matrix_rank(x, rtol=limits))(x, limits)
        assert ranks.tolist() == [[1, 1], [2, 2], [3, 3]]
        gx, gl = run(wg.grad(lambda x, l: wg.sum(wg.linalg.pinv(x, rtol=l) * b), argnums=(0, 1)))(
            x, limits
        )
        assert not np.any(gl)
        for i, (each, limit) in enumerate(zip(x, limits[:, 0], strict=True)):
            alone = wg.grad(lambda x, l=limit: wg.sum(wg.linalg.pinv(x, rtol=float(l)) * b))(each)
            require_close(gx[i], alone)
    require_close(wg.linalg.pinv(x, rtol=np.array(1)), 0 * x)


def test_pinv_of_equal_singular_values_has_its_derivative():
    dx = drawn(3, 3)
    require_close(both_ways(wg.linalg.pinv, 2 * np.eye(3), dx), -dx / 4)


def test_lstsq_is_that_of_numpy():
    a, b = drawn(5, 3), drawn(5, 2)
    found, expected = wg.linalg.lstsq(a, b), np.linalg.lstsq(a, b, rcond=None)
    for one, other in zip(found, expected, strict=True):
        require_close(one, other)
    found, expected = wg.linalg.lstsq(a, b[:, 0]), np.linalg.lstsq(a, b[:, 0], rcond=None)
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        require_close(one, other)
    shortest = wg.linalg.lstsq(a.T, np.ones(3))
    require_close(shortest.x, np.linalg.lstsq(a.T, np.ones(3), rcond=None)[0])
    require_close(shortest.residuals, np.zeros(1), 1e-9)


def test_rank():
    x = np.stack([np.zeros((3, 4)), np.ones((3, 4)), drawn(3, 4)])
    for found in (wg.linalg.matrix_rank(x), wg.compile(wg.linalg.matrix_rank)(x)):
        assert found.tolist() == [0, 1, 3]
    graded = np.diag([1.0, 1e-5, 1e-20])
    assert wg.linalg.matrix_rank(graded) == 2
    assert wg.linalg.matrix_rank(graded, rtol=1e-3) == 1
    assert wg.linalg.matrix_rank(graded, tol=1e-30) == 3
    assert not np.any(wg.grad(lambda x: wg.sum(x * wg.linalg.matrix_rank(x)))(0 * graded))


# The exponential.


@pytest.mark.parametrize("scale", [0.0, 1e-200, 1e-3, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("n", [1, 3, 18])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_exponential(n: int, scale: float, dtype: Any):
    x = (drawn(2, n, n) * scale / n).astype(dtype)
    with mpmath.workdps(60):  # SciPy's loses up to three digits here
        exact = [mpmath.expm(mpmath.matrix(each.astype(float).tolist())) for each in x]
    expected = np.array([each.tolist() for each in exact], float)
    limit = 4 * n * np.finfo(dtype).eps * max(1, 2 * scale)  # the norm is at most 2 · scale
    for found in (wg.linalg.expm(x), wg.compile(wg.linalg.expm)(x)):
        assert found.dtype == dtype
        require_close(found, expected, limit)


def test_exponentials_of_a_batch_are_squared_each_as_often_as_it_needs():
    x = np.stack([drawn(3, 3), 1e-3 * drawn(3, 3), 50 * drawn(3, 3)])
    for run in (wg.linalg.expm, wg.compile(wg.linalg.expm)):
        whole = run(x)
        for one, found in zip(x, whole, strict=True):
            assert run(one).tobytes() == found.tobytes()


def test_derivative_of_the_exponential():
    x, dx = drawn(4, 4), drawn(4, 4, seed=1)
    for scale in (1.0, 1e6):
        expected = scipy.linalg.expm_frechet(x, dx)[1] * scale
        require_close(both_ways(wg.linalg.expm, x, scale * dx), expected)


def test_nan_reaches_functions_of_matrices():
    x = np.stack([np.eye(3), np.full((3, 3), np.nan)])
    for f in (wg.linalg.expm, wg.linalg.pinv, wg.linalg.svdvals, wg.linalg.eigvalsh):
        for run in (f, wg.compile(f)):
            good, bad = run(x)
            assert np.isfinite(good).all()
            assert np.isnan(bad).all()


# Factors that are completed to a basis.


BATCHES = [(), (2,), (0,)]


def parts(f: Any, x: Any) -> list[Any]:
    """The factors, eager and compiled, which agree."""
    eager, compiled = f(x), wg.compile(lambda x: tuple(f(x)))(x)
    for one, other in zip(eager, compiled, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(other, one, rtol=0, atol=200 * np.finfo(x.dtype).eps)
    return list(eager)


def require_orthogonal(*matrices: Any):
    for q in matrices:
        one = np.eye(q.shape[-1], dtype=q.dtype)
        require_close(q @ q.mT, one + 0 * q, 100 * np.finfo(q.dtype).eps)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("m", "n"), [(3, 2), (2, 3), (5, 1), (1, 4), (20, 3), (4, 30), (3, 0)])
def test_complete_factors(m: int, n: int, batch: tuple[int, ...], dtype: Any):
    x = drawn(*batch, m, n).astype(dtype)
    close = 100 * np.finfo(dtype).eps
    q, r = parts(lambda x: wg.linalg.qr(x, mode="complete"), x)
    assert (q.shape, r.shape) == ((*batch, m, m), (*batch, m, n))
    require_orthogonal(q)
    require_close(q @ r, x, close)
    require_close(q[..., : min(m, n)], wg.linalg.qr(x).Q, close)
    assert not np.any(np.tril(r, -1))
    u, s, vh = parts(wg.linalg.svd, x)
    assert (u.shape, s.shape, vh.shape) == ((*batch, m, m), (*batch, min(m, n)), (*batch, n, n))
    require_orthogonal(u, vh)
    require_close((u[..., : min(m, n)] * s[..., None, :]) @ vh[..., : min(m, n), :], x, close)
    for one, reduced in zip((u, vh.mT), wg.linalg.svd(x, full_matrices=False)[::2], strict=True):
        rank = min(m, n)
        require_close(one[..., :rank], reduced if one is u else reduced.mT, close)


SIMPLE = [
    np.array([[0.0], [1.0], [0.0]]),
    np.array([[0.0], [0.0], [-1.0], [0.0]]),
    np.ones((4, 1)),
    np.array([[1.0], [-1.0], [0.0]]),
    np.eye(5)[::-1, :2],
    np.eye(4)[[2, 0, 3, 1], :2],
    -np.eye(4)[:, :2],
    np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]),
    np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0]]),
]


@pytest.mark.parametrize("x", SIMPLE)
def test_what_completes_a_basis_does_not_hang_on_rounding(x: Any):
    """Zeros are what one meets: the sign of their rounding errors decides about nothing."""
    rng = np.random.default_rng(0)
    q = wg.linalg.qr(x, mode="complete").Q
    near = x[None] + 1e-15 * rng.standard_normal((20, *x.shape))
    for run in (lambda f: f, wg.compile):
        found = run(lambda x: wg.linalg.qr(x, mode="complete").Q)(near)
        np.testing.assert_allclose(found, q + 0 * found, rtol=0, atol=1e-13)


def test_derivatives_of_what_completes_a_basis():
    """Right for the space that the vectors span, and for a single vector."""

    def space(vectors: Any) -> Any:
        return vectors @ vectors.mT

    tall, wide = drawn(2, 5, 2), drawn(2, 3, 5)
    for f, x in (
        (lambda x: space(wg.linalg.qr(x, mode="complete").Q[..., 2:]), tall),
        (lambda x: space(wg.linalg.svd(x).U[..., 2:]), tall),
        (lambda x: space(wg.linalg.svd(x).Vh.mT[..., 3:]), wide),
        (lambda x: wg.linalg.qr(x, mode="complete").Q, drawn(4, 3)),
        (lambda x: wg.linalg.svd(x).Vh, drawn(2, 3)),
    ):
        wg.check_grads(f, [x])
        wg.check_grads(wg.compile(f), [x])
    b = drawn(4, 4)
    f = wg.grad(lambda x: wg.sum(wg.linalg.svd(x).U * b))
    require_close(wg.compile(f)(drawn(4, 2)), f(drawn(4, 2)))


def test_a_spoilt_matrix_has_no_complete_factors():
    x = drawn(2, 4, 2)
    x[1, 0, 0] = np.nan
    for run in (lambda f: f, wg.compile):
        for factor in (
            run(lambda x: wg.linalg.qr(x, mode="complete").Q)(x),
            run(lambda x: wg.linalg.svd(x).U)(x),
        ):
            assert np.isfinite(factor[0]).all()
            assert np.isnan(factor[1]).all()


# Conventions and refusals.


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 4), (30, 20), (20, 30)])
def test_eager_and_compiled_have_the_same_signs(shape: tuple[int, ...]):
    x = drawn(*shape)
    calls = [
        lambda x: tuple(wg.linalg.qr(x)),
        lambda x: tuple(wg.linalg.svd(x, full_matrices=False)),
    ]
    if shape[-1] == shape[-2]:
        calls.append(lambda x: tuple(wg.linalg.eigh(x)))
    for f in calls:
        for eager, compiled in zip(f(x), wg.compile(f)(x), strict=True):
            np.testing.assert_allclose(compiled, eager, rtol=0, atol=1e-10)
    u, s, vh = wg.linalg.svd(x, full_matrices=False)
    require_close((u * s[..., None, :]) @ vh, x)
    q, r = wg.linalg.qr(x)
    require_close(q @ r, x)


@pytest.mark.parametrize(
    "x",
    [
        np.ones((2, 2)),
        np.array([[2.0, -1, 0], [-1, 2, -1], [0, -1, 2]]),
        np.ones((3, 3)) - 4 * np.eye(3),
    ],
)
def test_signs_do_not_hang_on_rounding(x: Any):
    """Vectors with elements of equal size, and of half the size, are what one meets."""
    eager, compiled = wg.linalg.eigh(x), wg.compile(lambda x: tuple(wg.linalg.eigh(x)))(x)
    apart = np.abs(np.subtract.outer(eager.eigenvalues, eager.eigenvalues)) + np.eye(len(x)) > 1e-9
    single = apart.all(axis=0)
    assert single.any()
    np.testing.assert_allclose(
        compiled[1][:, single], eager.eigenvectors[:, single], rtol=0, atol=1e-12
    )


def test_triangles_of_eigh():
    x = drawn(4, 4)
    for uplo in ("L", "U"):
        for found, expected in zip(wg.linalg.eigh(x, uplo), np.linalg.eigh(x, uplo), strict=True):
            require_close(np.abs(found), np.abs(expected))
        gx = wg.grad(lambda x, uplo=uplo: wg.sum(wg.linalg.eigvalsh(x, uplo) ** 3))(x)
        assert not np.any(np.triu(gx, 1) if uplo == "L" else np.tril(gx, -1))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: wg.linalg.qr(x, "raw"), "qr: mode='raw' was given"),
        (lambda x: wg.linalg.eigh(x.T @ x, "X"), "eigh: UPLO='X' was given"),
        (lambda x: wg.linalg.pinv(x, 0.1, rtol=0.1), "pinv: rcond=0.1 and rtol=0.1 were given"),
        (lambda x: wg.linalg.pinv(x, -1), "pinv: rtol=-1 was given"),
        (lambda x: wg.linalg.pinv(x, "big"), "pinv: rtol='big' was given"),
        (lambda x: wg.linalg.pinv(x, np.array(-1.0)), "pinv: rtol of dtype float64 was given"),
        (lambda x: wg.linalg.pinv(x, np.array([True])), "pinv: rtol of dtype bool was given"),
        (lambda x: wg.linalg.pinv(x, np.ones(2)), r"pinv: .*rtol has shape \(2,\); rtol needs a"),
        (lambda x: wg.linalg.matrix_rank(x, 0.1, rtol=0.1), "matrix_rank: tol=0.1 and rtol=0.1"),
    ],
)
def test_refusals(call: Any, words: str):
    with pytest.raises(ValueError, match=words):
        call(np.ones((3, 2)))


def test_a_derivative_of_qr_needs_independent_columns():
    x = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    for run in (lambda f: f, wg.compile):
        with pytest.raises(np.linalg.LinAlgError, match="0 on its diagonal"):
            run(wg.grad(lambda x: wg.sum(wg.linalg.qr(x).Q)))(x)


# What SciPy calls sqrtm, solve_sylvester and solve_banded.


def test_roots_are_scipys():
    rng = np.random.default_rng(2)
    for condition in (1e0, 1e4, 1e8):
        q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
        x = (q * np.logspace(0, -np.log10(condition), 6)) @ q.T
        expected = scipy.linalg.sqrtm(x)
        for f in (wg.linalg.sqrtm, wg.compile(wg.linalg.sqrtm)):
            np.testing.assert_allclose(f(x), expected, rtol=0, atol=1e-10)
    turn = np.array([[np.cos(3), -np.sin(3)], [np.sin(3), np.cos(3)]])  # near the negative axis
    np.testing.assert_allclose(wg.linalg.sqrtm(turn), scipy.linalg.sqrtm(turn), atol=1e-12)
    for scale in (1e-30, 1e30):
        root = wg.linalg.sqrtm(scale * (np.eye(2) + turn))
        np.testing.assert_allclose(root @ root, scale * (np.eye(2) + turn), rtol=1e-12)


def test_derivative_of_a_root_solves_sylvesters_equation():
    rng = np.random.default_rng(3)
    x, dx = rng.normal(size=(4, 4)) + 5 * np.eye(4), 1e6 * rng.normal(size=(4, 4))
    root, found = wg.jvp(wg.linalg.sqrtm, (x,), (dx,))
    np.testing.assert_allclose(root @ found + found @ root, dx, rtol=1e-9, atol=1e-6)
    zero = wg.jvp(wg.linalg.sqrtm, (x,), (np.zeros((4, 4)),))[1]
    assert not zero.any()


@pytest.mark.parametrize("f", [lambda f: f, wg.compile], ids=["eager", "compiled"])
def test_matrices_without_a_root(f):
    for x in (np.diag([1.0, -2.0]), np.ones((2, 2)), np.zeros((1, 1))):
        with pytest.raises(np.linalg.LinAlgError, match=r"^sqrtm: given .*wg\.linalg\.eigh\(x\)"):
            f(wg.linalg.sqrtm)(x)


def test_sylvester_is_scipys():
    rng = np.random.default_rng(4)
    a, b, q = rng.normal(size=(5, 5)), rng.normal(size=(3, 3)), rng.normal(size=(5, 3))
    expected = scipy.linalg.solve_sylvester(a, b, q)
    for f in (wg.linalg.solve_sylvester, wg.compile(wg.linalg.solve_sylvester)):
        np.testing.assert_allclose(f(a, b, q), expected, rtol=1e-10)
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            f(np.eye(2), -np.eye(2), np.ones((2, 2)))


@pytest.mark.parametrize(("below", "above"), [(1, 1), (0, 2), (3, 1)])
def test_banded_systems_are_scipys(below, above):
    rng = np.random.default_rng(5)
    ab, b = rng.normal(size=(below + above + 1, 12)), rng.normal(size=(12, 3))
    outside = ab.copy()
    outside[0, :above] = np.nan  # what is no part of the matrix

    def f(ab, b):
        return wg.linalg.solve_banded((below, above), ab, b)

    for run in (f, wg.compile(f)):
        for right in (b, b[:, 0]):
            expected = scipy.linalg.solve_banded((below, above), ab, right)
            np.testing.assert_allclose(run(ab, right), expected, rtol=1e-10)
        assert np.array_equal(run(outside, b), run(ab, b))
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            run(np.zeros_like(ab), b)
    spoilt = ab.copy()
    spoilt[above, 4] = np.inf
    assert np.isnan(f(spoilt, b)).all()
    assert np.isnan(wg.compile(f)(spoilt, b)).all()
    gradient = wg.grad(lambda ab: wg.sum(f(ab, b)))(ab)
    assert not gradient[0, :above].any()
