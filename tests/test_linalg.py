"""Linear algebra, contractions and running folds: values, gradients and second derivatives are
JAX's in float64, and what JAX cannot say (singular matrices, overflow, refusals) is said here."""

import itertools

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import pytest

import wengert as wg
from wengert.core.dims import Dim
from wengert.core.dtypes import float64
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import DTypeError, ShapeError, TraceError
from wengert.interpret.replay import replay
from wengert.interpret.trace import trace_flat

TOLERANCE = 1e-10


def drawn(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).uniform(-2, 2, shape)


def regular(*shape):
    """Well-conditioned matrices without any symmetry."""
    return drawn(*shape) + 4 * np.eye(shape[-1])


def positive(*shape):
    half = drawn(*shape)
    return half @ half.mT + np.eye(shape[-1])


def derivatives(library, f, xs, g, dxs, hs):
    """Value, cotangents for g, tangent along dxs, and both once more of ⟨h, cotangents⟩."""

    def pulled(*primals):
        _, pull = library.vjp(f, *primals)
        return sum((h * gx).sum() for h, gx in zip(hs, pull(g), strict=True))

    value, tangent = library.jvp(f, tuple(xs), tuple(dxs))
    cotangents = library.vjp(f, *xs)[1](g)
    second = library.vjp(pulled, *xs)[1](np.ones(()))
    crossed = library.jvp(pulled, tuple(xs), tuple(dxs))[1]
    return [value, *cotangents, tangent, *second, crossed]


def seeds(f, xs):
    """Random cotangent, tangents, and directions for the second derivative."""
    rng = np.random.default_rng(7)
    like = [rng.normal(size=x.shape) for x in (np.asarray(f(*xs)), *xs, *xs)]
    return like[0], like[1 : 1 + len(xs)], like[1 + len(xs) :]


def require_close(found, expected, tolerance=TOLERANCE):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert np.all(np.isfinite(found))
    scale = np.max(np.abs(expected), initial=1e-3)
    assert np.max(np.abs(found - expected), initial=0.0) <= tolerance * scale


def solve_triangular(a, b, lower, trans=False):
    if b.ndim == 1:
        return solve_triangular(a, b[:, None], lower, trans)[..., 0]
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = jnp.broadcast_to(a, batch + a.shape[-2:])
    b = jnp.broadcast_to(b, batch + b.shape[-2:])
    return jsl.solve_triangular(a, b, lower=lower, trans=int(trans))


ZEROS = np.array([[2.0, 0.0, 3.0, 4.0], [0.0, 2.0, 0.0, 3.0], [1.0, 2.0, 0.5, 0.0]])

# family -> calls: (ours, JAX's, operands)
CALLS = {
    "solve": [
        (op.solve, jnp.linalg.solve, [a, b])
        for a, b in [
            (regular(3, 3), drawn(3, 2)),
            (regular(3, 3), drawn(3)),
            (regular(2, 3, 3), drawn(2, 3, 1)),
            (regular(5, 1, 2, 2), drawn(4, 2, 3)),
            (regular(2, 3, 3), drawn(3)),
            (regular(1, 1), drawn(1, 1)),
        ]
    ],
    "triangular_solve": [
        (
            lambda a, b, lower=lower, trans=trans: op.triangular_solve(a, b, lower, trans),
            lambda a, b, lower=lower, trans=trans: solve_triangular(a, b, lower, trans),
            [a, b],
        )
        for lower, trans in itertools.product((True, False), repeat=2)
        for a, b in [
            (regular(3, 3), drawn(3, 2)),
            (regular(2, 1, 3, 3), drawn(4, 3, 2)),
            (regular(2, 3, 3), drawn(3)),
        ]
    ],
    "inv": [(op.inv, jnp.linalg.inv, [a]) for a in (regular(4, 4), regular(2, 3, 2, 2))],
    "matrix_power": [
        (lambda x, n=n: op.matrix_power(x, n), lambda x, n=n: jnp.linalg.matrix_power(x, n), [x])
        for n in (1, 2, 5, -3)
        for x in (regular(3, 3) / 4, regular(2, 2, 2) / 4)
    ],
    "cholesky": [
        (
            lambda x, upper=upper: op.cholesky(x, upper=upper),
            lambda x, upper=upper: jnp.linalg.cholesky(x, upper=upper),
            [x],
        )
        for upper in (False, True)
        for x in (positive(3, 3), positive(2, 3, 2, 2), positive(2, 2) + np.diag([0.5], 1))
    ],
    "determinant": [
        *((op.det, jnp.linalg.det, [x]) for x in (drawn(3, 3), drawn(2, 4, 2, 2), drawn(1, 1))),
        *(
            (lambda x: op.slogdet(x).logabsdet, lambda x: jnp.linalg.slogdet(x)[1], [x])
            for x in (regular(3, 3), -regular(2, 3, 3))
        ),
        *((op.trace, jnp.linalg.trace, [x]) for x in (drawn(3, 4), drawn(2, 3, 3))),
        (lambda x: op.trace(x, 1), lambda x: jnp.linalg.trace(x, offset=1), [drawn(2, 3, 4)]),
    ],
    "vector_norm": [
        (
            lambda x, params=params: op.vector_norm(x, **params),
            lambda x, params=params: jnp.linalg.vector_norm(x, **params),
            [x],
        )
        for x, params in [
            (drawn(4), {}),
            (drawn(3, 4), {"axis": -1}),
            (drawn(2, 3, 4), {"axis": (0, -1), "keepdims": True}),
            (drawn(2, 3, 4), {"axis": 1, "ord": 1}),
            (drawn(3, 4), {"ord": np.inf, "axis": 0}),
            (drawn(3, 4), {"ord": -np.inf}),
            (drawn(3, 4), {"ord": 3, "axis": 1}),
            (drawn(3, 4), {"ord": 1.5}),
            (drawn(3, 4), {"ord": 4, "keepdims": True}),
        ]
    ],
    "norm": [
        (
            lambda x, params=params: op.norm(x, **params),
            lambda x, params=params: jnp.linalg.norm(x, **params),
            [x],
        )
        for x, params in [
            (drawn(2, 3, 4), {}),
            (drawn(3, 4), {"ord": "fro"}),
            (drawn(3, 4), {"ord": 1}),
            (drawn(3, 4), {"ord": -np.inf}),
            (drawn(5), {"ord": 3}),
            (drawn(2, 3, 4), {"ord": np.inf, "axis": (2, 0)}),
            (drawn(2, 3, 4), {"ord": 1, "axis": (-1, 0), "keepdims": True}),
            (drawn(2, 3, 4), {"axis": -1}),
        ]
    ],
    "products": [
        *(
            (
                lambda x, axes=axes: op.prod(x, axis=axes),
                lambda x, axes=axes: jnp.prod(x, axes),
                [x],
            )
            for x in (drawn(3, 4), ZEROS)
            for axes in (None, 0, -1, (0, 1))
        ),
        *(
            (lambda x, a=a: op.cumprod(x, axis=a), lambda x, a=a: jnp.cumprod(x, axis=a), [x])
            for x in (drawn(3, 4), ZEROS)
            for a in (0, -1)
        ),
        (op.cumsum, jnp.cumsum, [drawn(5)]),
        (lambda x: op.cumsum(x, axis=1), lambda x: jnp.cumsum(x, axis=1), [drawn(2, 3, 4)]),
        (
            lambda x: op.cumulative_sum(x, axis=1, include_initial=True),
            lambda x: jnp.cumulative_sum(x, axis=1, include_initial=True),
            [drawn(2, 3)],
        ),
        (lambda x: op.diff(x, 2, axis=0), lambda x: jnp.diff(x, 2, axis=0), [drawn(4, 2)]),
        (
            lambda x, y: op.diff(x, axis=1, prepend=0.5, append=y),
            lambda x, y: jnp.diff(x, axis=1, prepend=0.5, append=y),
            [drawn(2, 3), drawn(2, 2)],
        ),
    ],
    "contractions": [
        *((op.dot, jnp.dot, [drawn(*s), drawn(*t)]) for s, t in [((3,), (3,)), ((2, 3), (3,))]),
        (op.dot, jnp.dot, [drawn(2, 3), drawn(4, 3, 5)]),
        (op.dot, jnp.dot, [drawn(), drawn(4, 3)]),
        (op.inner, jnp.inner, [drawn(2, 3), drawn(4, 3)]),
        (op.inner, jnp.inner, [drawn(2, 2, 3), drawn(3)]),
        (op.outer, jnp.outer, [drawn(2, 2), drawn(3)]),
        (op.kron, jnp.kron, [drawn(2, 3), drawn(2, 2)]),
        (op.kron, jnp.kron, [drawn(2), drawn(2, 2)]),
        (op.cross, jnp.cross, [drawn(4, 3), drawn(3)]),
        (op.vecdot, jnp.vecdot, [drawn(2, 1, 3), drawn(4, 3)]),
        *(
            (
                lambda x, y, axes=axes: op.tensordot(x, y, axes),
                lambda x, y, axes=axes: jnp.tensordot(x, y, axes),
                [drawn(*s), drawn(*t)],
            )
            for s, t, axes in [
                ((2, 3, 4), (3, 4, 2), 2),
                ((2, 3), (4,), 0),
                ((2, 3, 4), (4, 2, 5), ((0, -1), (1, 0))),
                ((3, 2), (3, 4), (0, 0)),
            ]
        ),
    ],
}

SUBSCRIPTS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ba,cb", (2, 3), (4, 2)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iij->ji", (3, 3, 2)),
    ("iii->i", (2, 2, 2)),
    ("i,j->ij", (2,), (3,)),
    ("i,i", (3,), (3,)),
    ("i,i->i", (3,), (3,)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)),
    ("bi,bj->ijb", (2, 3), (2, 4)),
    ("ij,j,jk->k", (2, 3), (3,), (3, 4)),
    ("i,ij,j->", (2,), (2, 3), (3,)),
    ("ab,bc,cd,da->", (2, 3), (3, 2), (2, 4), (4, 2)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("...i,i", (2, 2, 3), (3,)),
    ("i...->...i", (2, 3, 4)),
    ("...,...", (2, 3), (3,)),
    ("...ii->...i", (2, 3, 3)),
    (" i j , j k -> i k ", (2, 3), (3, 4)),
    ("ij,k->ik", (2, 3), (4,)),
    (",i->i", (), (3,)),
    ("->", ()),
    ("ijk,jl,kl->il", (2, 3, 4), (3, 2), (4, 2)),
    ("Ab,bA->A", (2, 3), (3, 2)),
]

CALLS["einsum"] = [
    (
        lambda *xs, text=text: op.einsum(text, *xs),
        lambda *xs, text=text: jnp.einsum(text, *xs),
        [drawn(*shape, seed=i) for i, shape in enumerate(shapes)],
    )
    for text, *shapes in SUBSCRIPTS
]


@pytest.mark.parametrize("family", CALLS)
def test_derivatives_to_second_order_are_those_of_jax(family):
    calls = CALLS[family]
    given = [(xs, *seeds(ours, xs)) for ours, _, xs in calls]

    def by_jax(rows):
        return [derivatives(jax, f, *row) for (_, f, _), row in zip(calls, rows, strict=True)]

    answers = jax.jit(by_jax, compiler_options={"xla_backend_optimization_level": 0})(given)
    for (ours, _, _), row, expected in zip(calls, given, answers, strict=True):
        found = derivatives(wg, ours, *row)
        for one, other in zip(found, expected, strict=True):
            require_close(one, other)


@pytest.mark.parametrize("family", CALLS)
def test_float32_stays_float32(family):
    for ours, _, xs in CALLS[family]:
        xs = [x.astype(np.float32) for x in xs]
        value, pull = wg.vjp(ours, *xs)
        assert value.dtype == np.float32
        cotangents = pull(np.ones(value.shape, np.float32))
        assert all(gx.dtype == np.float32 for gx in cotangents)
        assert wg.jvp(ours, tuple(xs), tuple(xs))[1].dtype == np.float32


@pytest.mark.parametrize("family", CALLS)
def test_traced_is_eager(family):
    for ours, _, xs in CALLS[family]:
        types = [ArrayType(x.shape, x.dtype) for x in xs]
        graph, _ = trace_flat(lambda *zs, f=ours: (f(*zs),), types, "abcd"[: len(xs)])
        assert np.array_equal(replay(graph, xs)[0], ours(*xs))


# Einsum and the products around it.


@pytest.mark.parametrize(("text", "shapes"), [(text, shapes) for text, *shapes in SUBSCRIPTS])
def test_einsum_of_integers_is_exact_and_keeps_their_dtype(text, shapes):
    rng = np.random.default_rng(1)
    for dtype in (np.int32, np.int64, bool):
        xs = [rng.integers(0, 2, shape).astype(dtype) for shape in shapes]
        found, expected = op.einsum(text, *xs), np.asarray(np.einsum(text, *xs))
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)


def test_einsum_broadcasts_axes_of_size_one():
    x, y = drawn(1, 3), drawn(4, 3)
    for text in ("ij,ij->ij", "ij,ij->", "ij,ij->j", "...j,...j->..."):
        require_close(op.einsum(text, x, y), np.einsum(text, x, y))
    (gx,) = wg.vjp(lambda x: op.einsum("ij,ij->", x, y), x)[1](np.ones(()))
    require_close(gx, y.sum(axis=0, keepdims=True))


def test_einsum_of_an_unknown_batch_is_one_graph():
    batch = Dim("batch")
    types = [ArrayType((batch, 3, 4), float64), ArrayType((4, batch), float64)]
    graph, _ = trace_flat(lambda x, y: (op.einsum("bij,jb,bik->bk", x, y, x),), types, "xy")
    for size in (1, 5):
        x, y = drawn(size, 3, 4), drawn(4, size)
        require_close(replay(graph, [x, y])[0], np.einsum("bij,jb,bik->bk", x, y, x))


@pytest.mark.parametrize(
    ("text", "shapes", "words"),
    [
        ("ij,jk->ik", [(2, 3)], "describe 2 operands, but there are 1"),
        ("ij->ik", [(2, 3)], "must occur in an operand"),
        ("ij->ii", [(2, 3)], "once in the result"),
        ("i->i", [(2, 3)], "'i' does not fit shape (2, 3)"),
        ("ijk->i", [(2, 3)], "'ijk' does not fit shape (2, 3)"),
        ("ij,jk", [(2, 3), (4, 2)], "'j' has size 3 in one place and 4 in another"),
        ("...i,...i->i", [(2, 3), (2, 3)], "must keep the axes of the ellipsis"),
        ("i1->i", [(2, 3)], "something other than letters"),
        ("i..j->i", [(2, 3)], "does not fit"),
    ],
)
def test_einsum_refuses(text, shapes, words):
    with pytest.raises(ShapeError, match=r"^einsum: subscripts ") as refusal:
        op.einsum(text, *map(np.zeros, shapes))
    assert words in str(refusal.value)


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
    ],
)
def test_integers_are_refused(call):
    with pytest.raises(DTypeError, match="has dtype int64; floats are needed"):
        call(np.array([[2, 0], [0, 1]]))


def test_an_unknown_norm_is_refused():
    with pytest.raises(ValueError, match="matrix_norm: ord=2 was given"):
        op.norm(np.eye(2), ord=2)
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


# Norms.


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(np.float64, 1e200), (np.float64, 1e-200), (np.float32, 1e30), (np.float32, 1e-35)],
)
@pytest.mark.parametrize("ord", [2, 3, 1.5, 10])
def test_norms_neither_overflow_nor_underflow(dtype, scale, ord):
    x = np.array([3.0, -4.0, 1.0])
    unit = np.sign(x) * (np.abs(x) / np.linalg.norm(x, ord)) ** (ord - 1)
    scaled = (x * scale).astype(dtype)
    value, pull = wg.vjp(lambda x: op.vector_norm(x, ord=ord), scaled)
    tolerance = 1e-6 if dtype == np.float32 else 1e-14
    assert value.dtype == dtype
    require_close(value / dtype(scale), np.linalg.norm(x, ord), tolerance)
    require_close(pull(np.ones((), dtype))[0], unit, 4 * tolerance)


def test_the_norm_of_ordinary_numbers_has_the_bits_of_the_definition():
    for x in (drawn(5), drawn(3, 4) * 1e100, drawn(3, 4).astype(np.float32)):
        assert op.norm(x) == np.sqrt(np.sum(x * x))


@pytest.mark.parametrize("ord", [1, 2, 3, 1.5, np.inf])
def test_derivatives_of_a_norm_are_zero_at_the_zero_vector(ord):
    zero = np.zeros((2, 3))
    f = lambda x: wg.sum(op.vector_norm(x, axis=1, ord=ord))  # noqa: E731
    assert np.array_equal(wg.grad(f)(zero), zero)
    assert wg.jvp(f, (zero,), (drawn(2, 3),))[1] == 0
    assert np.array_equal(wg.jvp(wg.grad(f), (zero,), (drawn(2, 3),))[1], zero)


def test_norms_of_infinite_and_empty_vectors():
    assert op.norm(np.array([np.inf, 1.0])) == np.inf
    assert op.norm(np.array([-np.inf, 1.0]), ord=3) == np.inf
    assert np.isnan(op.norm(np.array([np.nan, np.inf])))
    assert np.array_equal(op.vector_norm(np.ones((2, 0)), axis=1), [0, 0])
    assert op.norm(np.ones(0), ord=3) == 0
    assert np.array_equal(op.vector_norm(np.array([0.0, 2.0, -1.0]), ord=0), 2)


# Reductions.


def test_a_product_with_zeros_is_differentiated_to_third_order():
    x = np.array([2.0, 0.0, 3.0, 0.0])
    hessian = np.zeros((4, 4))
    hessian[1, 3] = hessian[3, 1] = 6
    assert np.array_equal(wg.hessian(op.prod)(x), hessian)
    rest = wg.jvp(wg.hessian(op.prod), (x,), (np.array([1.0, 0, 0, 0]),))[1]
    assert np.array_equal(rest, hessian / 2)


def test_reductions_that_have_no_slope():
    x = drawn(3, 4)
    for f in (op.argmax, op.argmin, op.any, op.all, op.count_nonzero):
        _, pull = wg.vjp(lambda x, f=f: wg.sum(x) * wg.astype(f(x), np.float64), x)
        assert np.array_equal(pull(np.ones(()))[0], np.full((3, 4), float(f(x))))
    assert op.argmax(x, axis=-1, keepdims=True).shape == (3, 1)
    assert op.argmin(x) == np.argmin(x)
    assert op.any(np.zeros((0, 2)), axis=0).tolist() == [False, False]
    assert op.count_nonzero(np.array([[1, 0], [2, 3]]), axis=1).tolist() == [1, 2]


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
