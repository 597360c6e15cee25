"""Linear algebra where JAX has no answer: singular matrices, refusals, NumPy's own spelling."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from linalg_calls import drawn, positive, regular, require_close

import wengert as wg
from wengert.core.table import op
from wengert.errors import DTypeError, ShapeError, TraceError

# What does not fit.


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: op.tensordot(np.ones((2, 3)), np.ones((4, 2)), 1), "tensordot: given shapes"),
        (lambda: op.tensordot(np.ones(2), np.ones(2), 2), "tensordot: axes=2"),
        (lambda: op.inner(np.ones(2), np.ones(3)), "inner: given shapes"),
        (lambda: op.dot(np.ones((2, 3)), np.ones((4, 2, 2))), "dot: given shapes"),
        (lambda: op.vecdot(np.ones(2), np.ones(3)), "vecdot: operands have shapes"),
        (lambda: op.vecdot(np.ones(()), np.ones(3)), "vecdot: operands have shapes"),
        (lambda: op.vecdot(np.ones((3, 2)), np.ones(3), axis=0), "both need that axis"),
        (lambda: op.cross(np.ones(2), np.ones(2)), "cross: operands have shapes"),
        (lambda: op.cumsum(np.ones((2, 2))), "cumsum: no axis was given"),
        (lambda: op.cumprod(np.ones(())), "cumprod: no axis was given"),
        (lambda: op.max(np.ones((0, 3)), axis=0), "max: given shape (0, 3)"),
        (lambda: op.argmin(np.ones(0)), "argmin: given shape (0,)"),
        (lambda: op.norm(np.ones((2, 2, 2)), ord=1), "norm: ord=1 was given for an array of 3"),
        (lambda: op.solve(np.ones((2, 3)), np.ones(2)), "solve: given shape (2, 3)"),
        (lambda: op.solve(np.eye(2), np.ones(3)), "solve: a has shape (2, 2) and b has shape (3,)"),
        (lambda: op.solve(np.eye(2), np.ones(())), "b has shape ()"),
        (lambda: op.inv(np.ones(3)), "inv: given shape (3,)"),
        (lambda: op.det(np.ones((2, 1))), "det: given shape (2, 1)"),
        (lambda: op.slogdet(np.ones((2, 1))), "slogdet: given shape (2, 1)"),
        (lambda: op.cholesky(np.ones((1, 2))), "cholesky: given shape (1, 2)"),
        (lambda: op.trace(np.ones(2)), "trace: given shape (2,)"),
        (lambda: op.qr(np.ones(2)), "qr: given shape (2,)"),
        (lambda: op.eigh(np.ones((2, 3))), "eigh: given shape (2, 3)"),
        (lambda: op.eigvalsh(np.ones((2, 3))), "eigvalsh: given shape (2, 3)"),
        (lambda: op.svd(np.ones(3)), "svd: given shape (3,)"),
        (lambda: op.pinv(np.ones(3)), "pinv: given shape (3,)"),
        (lambda: op.matrix_rank(np.ones(3)), "matrix_rank: given shape (3,)"),
        (lambda: op.lstsq(np.ones((3, 2)), np.ones(2)), "lstsq: a has shape (3, 2) and b has"),
        (lambda: op.expm(np.ones((3, 2))), "expm: given shape (3, 2)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(call, words):
    with pytest.raises(ShapeError) as refusal:
        call()
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    "call",
    [
        op.inv,
        op.det,
        op.slogdet,
        op.cholesky,
        lambda x: op.solve(x, x),
        lambda x: op.solve(np.eye(2), x),
        lambda x: op.triangular_solve(x, x, lower=True),
        op.norm,
        op.matrix_norm,
        op.qr,
        op.eigh,
        op.eigvalsh,
        op.svd,
        op.svdvals,
        op.pinv,
        op.matrix_rank,
        op.expm,
        lambda x: op.lstsq(x, x),
    ],
)
def test_integers_are_refused(call):
    with pytest.raises(DTypeError, match="has dtype int64; floats are needed"):
        call(np.array([[2, 0], [0, 1]]))


def test_an_unknown_norm_is_refused():
    with pytest.raises(ValueError, match="matrix_norm: ord=3 was given"):
        op.norm(np.eye(2), ord=3)
    with pytest.raises(ValueError, match="vector_norm: ord='nuc' was given"):
        op.norm(np.ones(2), ord="nuc")


# Solutions and factorisations.


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: op.solve(x, np.ones(2)), "solve: given a singular matrix"),
        (op.inv, "inv: given a singular matrix"),
        (lambda x: op.triangular_solve(x, np.ones(2), lower=True), "0 on its diagonal"),
        (lambda x: op.cholesky(x - 1), "cholesky: given a matrix that is not positive definite"),
    ],
)
def test_a_singular_matrix_is_an_error_in_words(call, words):
    singular = np.array([[0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(np.linalg.LinAlgError, match=words):
        call(singular)
    with pytest.raises(np.linalg.LinAlgError, match=words):
        wg.vjp(call, np.stack([np.eye(2), singular]))


@pytest.mark.parametrize("size", [1, 16, 17, 50])
@pytest.mark.parametrize(("lower", "trans"), itertools.product((True, False), repeat=2))
def test_triangular_solve_reads_one_triangle(size, lower, trans):
    a, b = regular(2, size, size) / size + np.eye(size), drawn(2, size, 3)
    triangle = np.tril(a) if lower else np.triu(a)
    hidden = np.where(triangle == 0, np.nan, a)
    found, pull = wg.vjp(lambda a, b: op.triangular_solve(a, b, lower, trans), hidden, b)
    require_close((triangle.mT if trans else triangle) @ found, b)
    ga, gb = pull(np.ones_like(found))
    assert np.array_equal(ga != 0, triangle != 0)
    require_close((triangle if trans else triangle.mT) @ gb, np.ones_like(b))


def test_cholesky_factors_the_symmetric_part():
    x = positive(3, 3)
    skew = np.triu(drawn(3, 3), 1)
    require_close(op.cholesky(x + skew - skew.T), np.linalg.cholesky(x))
    (gx,) = wg.vjp(op.cholesky, x)[1](drawn(3, 3))
    assert np.array_equal(gx, gx.T)


# Determinants.


def minors(x):
    """The matrix of cofactors by its definition."""
    n = len(x)
    return np.array(
        [
            [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) for j in range(n)]
            for i in range(n)
        ]
    )


RANK_THREE = np.array([[1.0, 2, 3, 4], [2, 4, 6, 8], [1, 0, 1, 2], [3, 1, 0, 1]])
RANK_TWO = np.outer([1.0, 2, -1, 3], [1.0, 0, 2, 1]) + np.outer([0.0, 1, 1, 0], [2.0, 1, 0, 1])


@pytest.mark.parametrize("x", [RANK_THREE, RANK_TWO, np.zeros((4, 4)), drawn(4, 4)])
def test_det_has_its_gradient_and_hessian_at_singular_matrices(x):
    require_close(wg.grad(op.det)(x), minors(x))
    dx, step = drawn(4, 4), 1e-3  # the cofactors are cubic: this difference quotient is exact
    p = [minors(x + k * step * dx) for k in (-2, -1, 1, 2)]
    expected = (8 * (p[2] - p[1]) - (p[3] - p[0])) / (12 * step)
    require_close(wg.jvp(wg.grad(op.det), (x,), (dx,))[1], expected, 1e-9)
    require_close(wg.vjp(wg.grad(op.det), x)[1](dx)[0], expected, 1e-9)


def test_det_of_rows_of_very_different_size():
    scales = 2.0 ** np.concatenate([np.full(40, 30), np.full(40, -30)])  # their product is 1
    x = regular(80, 80) / 80 + np.eye(80)
    expected = np.linalg.det(x) * np.linalg.inv(x).T
    for rows, columns in [(scales, 1), (1, scales), (scales, scales[::-1])]:
        rows = np.reshape(rows, (-1, 1))
        require_close(wg.grad(op.det)(rows * x * columns) * rows * columns, expected)


def test_a_third_derivative_of_det():
    x = regular(3, 3)
    third = wg.jvp(
        lambda x: wg.jvp(wg.grad(op.det), (x,), (drawn(3, 3),))[1], (x,), (drawn(3, 3, seed=1),)
    )
    expected = jax.jvp(
        lambda x: jax.jvp(jax.grad(jnp.linalg.det), (x,), (drawn(3, 3),))[1],
        (x,),
        (drawn(3, 3, seed=1),),
    )
    require_close(third[1], expected[1])


def test_what_is_not_finite_stays_so():
    x = np.stack([np.eye(2), [[np.nan, 0], [0, 1]]])
    (gx,) = wg.vjp(op.det, x)[1](np.ones(2))
    assert np.array_equal(gx[0], np.eye(2))
    assert np.all(np.isnan(gx[1]))


def test_slogdet_of_what_det_cannot_hold():
    x = 1e-200 * -regular(3, 3)
    sign, logabsdet = op.slogdet(x)
    expected = np.linalg.slogdet(x)
    assert sign == expected.sign
    require_close(logabsdet, expected.logabsdet)
    gx = wg.grad(lambda x: op.slogdet(x).logabsdet)(x)
    require_close(gx * 1e-200, np.linalg.inv(x).T * 1e-200)


# NumPy's own spelling.


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.add.reduce(x),
        lambda x: np.multiply.reduce(x, axis=1),
        lambda x: np.maximum.reduce(x, axis=(0, 1), keepdims=True),
        lambda x: np.minimum.reduce(x, 1),
        lambda x: np.add.accumulate(x, axis=1),
        lambda x: np.multiply.accumulate(x),
        lambda x: np.cumsum(x),
        lambda x: np.cumprod(x, axis=1),
        lambda x: np.diff(x, axis=0),
        lambda x: np.einsum("ij,kj->ik", x, x, optimize=True),
        lambda x: np.tensordot(x, x, axes=2),
        lambda x: np.vecdot(x, x),
        lambda x: np.inner(x, x),
        lambda x: np.outer(x, x),
        lambda x: np.kron(x, x),
        lambda x: np.dot(x, x),
        lambda x: np.linalg.inv(x),
        lambda x: np.linalg.det(x),
        lambda x: np.linalg.slogdet(x)[1],
        lambda x: np.linalg.solve(x, x[0]),
        lambda x: np.linalg.cholesky(x @ x.T),
        lambda x: np.linalg.norm(x),
        lambda x: np.linalg.norm(x, 1, axis=1),
        lambda x: np.linalg.matrix_norm(x, ord=np.inf),
        lambda x: np.linalg.vector_norm(x, axis=0),
        lambda x: np.linalg.matrix_power(x, 3),
        lambda x: np.linalg.trace(x),
        lambda x: np.linalg.cross(x, x[::-1]),
        lambda x: np.linalg.eigh(x + x.T)[0],
        lambda x: np.linalg.eigh(x, UPLO="U").eigenvalues,
        lambda x: np.linalg.eigh(x, "L").eigenvalues,
        lambda x: np.linalg.eigvalsh(x + x.T),
        lambda x: np.linalg.svd(x)[1],
        lambda x: np.linalg.svd(x[:2], full_matrices=False).S,
        lambda x: np.linalg.svd(x, compute_uv=False),
        lambda x: np.linalg.svdvals(x),
        lambda x: np.abs(np.linalg.qr(x).R),
        lambda x: np.abs(np.linalg.qr(x, mode="r")),
        lambda x: np.linalg.pinv(x[:, :2]),
        lambda x: np.linalg.lstsq(x[:, :2], x[:, 2])[0],
        lambda x: np.linalg.lstsq(x[:, :2], x)[1],
        lambda x: np.linalg.norm(x, 2),
        lambda x: np.linalg.norm(x, "nuc"),
        lambda x: np.linalg.matrix_norm(x, ord=-2),
    ],
)
def test_numpy_spells_it_the_same(f):
    x = regular(3, 3)
    value, pull = wg.vjp(f, x)
    require_close(value, f(x))
    g, dx, step = drawn(*value.shape), drawn(3, 3, seed=1), 1e-5
    (gx,) = pull(g)
    difference = (f(x + step * dx) - f(x - step * dx)) / (2 * step)
    require_close(np.sum(gx * dx), np.sum(g * difference), 1e-6)


def test_what_is_not_recorded_is_refused():
    with pytest.raises(TraceError, match=r"np.add.reduce: initial was given"):
        wg.grad(lambda x: np.add.reduce(x, initial=3.0))(np.ones(3))
