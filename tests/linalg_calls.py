"""Calls of linear algebra, contractions and running folds, each with JAX's name for it."""

import itertools

import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np

from wengert.core.table import op

TOLERANCE = 1e-10


def drawn(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).uniform(-2, 2, shape)


def regular(*shape):
    """Well-conditioned matrices without any symmetry."""
    return drawn(*shape) + 4 * np.eye(shape[-1])


def positive(*shape):
    half = drawn(*shape)
    return half @ half.mT + np.eye(shape[-1])


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
