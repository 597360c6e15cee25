"""Functions that are no ops, being written with others, against JAX in float64.

Each case is one expression that both libraries understand: `xp` is wengert, then jax.numpy. Values,
gradients and the gradients of these are compared, ours for every order of memory.
"""

import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracle import LAYOUTS

import wengert as wg
from table.calls import gradient_function, outputs, pullback, random_like
from table.closeness import require_close, require_types

CLOSE = 1e-10
ROWS = np.array([[2, 0, -1], [2, 2, 0]])  # indices that repeat and count from the end
COLUMNS = np.array([1, -1, 1])
MASK = np.array([[True, False, True], [False, True, True]])

# By function: (expression, shapes of its operands).
CASES = {
    "stack": [
        (lambda xp, x, y: xp.stack([x, y, x]), (3, 2), (3, 2)),
        (lambda xp, x, y: xp.stack((x, y), axis=-2), (2, 3, 4), (2, 3, 4)),
        (lambda xp, x, y: xp.stack([x, y], axis=-1), (), ()),
        (lambda xp, x, y: xp.stack([x, y], axis=1), (0, 3), (0, 3)),
    ],
    "split": [
        (lambda xp, x: xp.split(x, 3, axis=-2), (2, 6, 3)),
        (lambda xp, x: xp.split(x, [1, 1, 4], axis=1), (2, 5)),
        (lambda xp, x: xp.split(x, (3,)), (4,)),
        (lambda xp, x: xp.split(x, [0, 4], axis=-1), (3, 4)),
    ],
    "einsum": [
        (lambda xp, x, y: xp.einsum("ij,jk->ki", x, y), (2, 3), (3, 4)),
        (lambda xp, x, y: xp.einsum("b...i,bij->...jb", x, y), (2, 5, 3), (2, 3, 4)),
        (lambda xp, x: xp.einsum("iji->j", x), (3, 2, 3)),
        (lambda xp, x: xp.einsum("ii", x), (3, 3)),
        (lambda xp, x, y, z: xp.einsum("ab,cb,c->a", x, y, z), (2, 3), (4, 3), (4,)),
        (lambda xp, x, y: xp.einsum("i,j", x, y), (2,), (3,)),
        (lambda xp, x: xp.einsum("ij,ij,ik->k", x, x, x), (2, 3)),
        (lambda xp, x, y: xp.einsum("ij,jk->ik", x, y), (2, 0), (0, 3)),
    ],
    "tensordot": [
        (lambda xp, x, y: xp.tensordot(x, y), (2, 3, 4), (3, 4, 2)),
        (lambda xp, x, y: xp.tensordot(x, y, axes=((-1, 0), (1, -1))), (2, 3, 4), (3, 4, 2)),
        (lambda xp, x, y: xp.tensordot(x, y, axes=(1, -2)), (2, 3), (3, 4)),
        (lambda xp, x, y: xp.tensordot(x, y, axes=0), (2,), (3, 1)),
        (lambda xp, x: xp.tensordot(x, x, axes=((0,), (1,))), (3, 3)),
    ],
    "norm": [
        (lambda xp, x: xp.linalg.norm(x), (2, 3, 4)),
        (lambda xp, x: xp.linalg.norm(x, axis=-2), (2, 3, 4)),
        (lambda xp, x: xp.linalg.norm(x, axis=(0, -1), keepdims=True), (2, 3, 4)),
        (lambda xp, x: xp.linalg.norm(x, ord=1, axis=(-1, 0)), (2, 3, 4)),
        (lambda xp, x: xp.linalg.norm(x, ord=np.inf), (3, 4)),
        (lambda xp, x: xp.linalg.norm(x, ord=3, axis=1, keepdims=True), (2, 3)),
        (lambda xp, x: xp.linalg.norm(x, ord=-np.inf), (5,)),
        (lambda xp, x: xp.linalg.norm(x, "fro", axis=(1, 2)), (2, 3, 4)),
    ],
    "slogdet": [
        (lambda xp, x: xp.linalg.slogdet(x), (3, 3)),
        (lambda xp, x: xp.linalg.slogdet(x), (2, 2, 4, 4)),
        (lambda xp, x: xp.linalg.slogdet(x)[1], (1, 1)),
    ],
    "roll": [
        (lambda xp, x: xp.roll(x, 2), (2, 3)),
        (lambda xp, x: xp.roll(x, -4, axis=-2), (2, 3, 4)),
        (lambda xp, x: xp.roll(x, (1, -2), axis=(0, -1)), (2, 3, 4)),
        (lambda xp, x: xp.roll(x, (1, 1), axis=(-1, -1)), (2, 3)),
        (lambda xp, x: xp.roll(x, 3, axis=1), (2, 0)),
    ],
    "tile": [
        (lambda xp, x: xp.tile(x, (2, 1, 3)), (2, 3)),
        (lambda xp, x: xp.tile(x, (2,)), (2, 3)),
        (lambda xp, x: xp.tile(x, (2, 2)), ()),
        (lambda xp, x: xp.tile(x, (3, 0)), (2, 3)),
    ],
    "repeat": [
        (lambda xp, x: xp.repeat(x, 3), (2, 3)),
        (lambda xp, x: xp.repeat(x, 2, axis=-2), (2, 3, 4)),
        (lambda xp, x: xp.repeat(x, 0, axis=0), (2, 3)),
    ],
    "diagonal": [
        (lambda xp, x: xp.diagonal(x, 1, axis1=-2, axis2=-1), (2, 3, 4)),
        (lambda xp, x: xp.diagonal(x, -1, axis1=2, axis2=0), (3, 2, 4)),
        (lambda xp, x: xp.diagonal(x, axis1=0, axis2=-2), (2, 3, 4)),
        (lambda xp, x: xp.diagonal(x, 4, axis1=0, axis2=1), (3, 4)),
    ],
    "moveaxis": [
        (lambda xp, x: xp.moveaxis(x, 0, -1), (2, 3, 4)),
        (lambda xp, x: xp.moveaxis(x, (0, -1), (-2, 0)), (2, 3, 4, 1)),
        (lambda xp, x: xp.moveaxis(x, -1, 1), (2, 0, 3)),
    ],
    "getitem": [
        (lambda xp, x: x[ROWS], (3, 4)),
        (lambda xp, x: x[ROWS, 1:, COLUMNS], (3, 4, 3)),
        (lambda xp, x: x[:, ROWS, None, ..., COLUMNS], (2, 3, 2, 3)),
        (lambda xp, x: x[..., COLUMNS, COLUMNS], (2, 3, 3)),
        (lambda xp, x: x[1, ..., ::-2, COLUMNS], (2, 1, 5, 3)),
        (lambda xp, x: x[MASK], (2, 3, 4)),
        (lambda xp, x: x[:, MASK, ::2], (2, 2, 3, 3)),
        (lambda xp, x: x[np.zeros((0,), int)], (3, 2)),
        (lambda xp, x: x[-1, ::-1][..., None], (2, 3)),
    ],
    "broadcast_arrays": [
        (lambda xp, x, y: xp.broadcast_arrays(x, y), (2, 1, 3), (4, 1)),
    ],
    "kron": [
        (lambda xp, x, y: xp.kron(x, y), (2, 3), (3, 2)),
    ],
    "diff": [
        (lambda xp, x: xp.diff(x, 2, axis=-2), (2, 5, 3)),
    ],
    "matrix_power": [
        (lambda xp, x: xp.linalg.matrix_power(x, 3), (2, 3, 3)),
        (lambda xp, x: xp.linalg.matrix_power(x, -2), (3, 3)),
    ],
    "trace": [
        (lambda xp, x: xp.linalg.trace(x, offset=-1), (2, 3, 4)),
    ],
    "cross": [
        (lambda xp, x, y: xp.linalg.cross(x, y, axis=-2), (2, 3, 4), (2, 3, 4)),
    ],
}


def over(xp, expression):
    """The expression as the checkers want it: arrays in, a list of arrays out."""
    return lambda *operands: list(outputs(expression(xp, *operands)))


def jax_answer(expression, operands, cotangents, seeds):
    """JAX's values, gradients and the gradients of these."""

    def gradients(*operands):
        values, pull = jax.vjp(over(jnp, expression), *operands)
        return list(pull(cotangents)), values

    first, pull, values = jax.vjp(gradients, *operands, has_aux=True)
    return values, first, pull(seeds)


@pytest.mark.parametrize("name", CASES)
def test_a_function_agrees_with_jax(name):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    rows = []
    for expression, *shapes in CASES[name]:
        operands = [rng.normal(size=shape) for shape in shapes]
        cotangents = random_like(rng, over(wg, expression)(*operands))
        rows.append((operands, cotangents, random_like(rng, operands)))
    expressions = [expression for expression, *_ in CASES[name]]
    answers = jax.jit(
        lambda rows: [jax_answer(e, *row) for e, row in zip(expressions, rows, strict=True)]
    )(rows)
    for number, row in enumerate(rows):
        for layout, change in {"contiguous": np.array, **LAYOUTS}.items():
            what = f"{name}, case {number}, {layout} operands:"
            require_agreement(expressions[number], *row, answers[number], change, what)


def require_agreement(expression, operands, cotangents, seeds, answer, change, what):
    f, count = over(wg, expression), len(operands)
    operands, cotangents = [change(x) for x in operands], [change(g) for g in cotangents]
    values, first, second = answer
    require_close(f(*operands), values, CLOSE, f"{what} value")
    found = pullback(f, operands, cotangents)
    require_types(found, operands, f"{what} gradient")
    require_close(found, first, CLOSE, f"{what} gradient")
    derived = gradient_function(f, count)
    found = pullback(derived, [*operands, *cotangents], seeds, range(count))
    require_close(found, second, CLOSE, f"{what} gradient of the gradient")
