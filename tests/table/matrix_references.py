"""What JAX has of matrices, called and signed as our ops are."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def determinant(x: Any) -> Any:
    """JAX has none of matrices without elements."""
    return jnp.linalg.det(x) if x.shape[-1] else jnp.ones(x.shape[:-2], x.dtype)


def cofactors(x: Any) -> Any:
    return jax.grad(lambda x: jnp.sum(determinant(x)))(x)


def slogdet(x: Any) -> Any:
    if x.size:
        return jnp.linalg.slogdet(x)
    return jnp.ones(x.shape[:-2], x.dtype), jnp.zeros(x.shape[:-2], x.dtype)


def triangular_solve(a: Any, b: Any, lower: bool, trans: bool = False) -> Any:
    triangle = jnp.tril(a) if lower else jnp.triu(a)
    return jnp.linalg.solve(triangle.mT if trans else triangle, b)


def solve(a: Any, b: Any) -> Any:
    return jnp.linalg.solve(a, b) if a.size else jnp.zeros_like(b)


def leading_signs(x: Any) -> Any:
    """Signs that make the first element of each column positive that is not small."""
    size = jnp.abs(x)
    first = jnp.argmax(size >= jnp.max(size, axis=-2, keepdims=True) / np.pi, axis=-2)
    leading = jnp.take_along_axis(x, first[..., None, :], axis=-2)
    return jax.lax.stop_gradient(jnp.where(leading < 0, -1.0, 1.0))


def qr(x: Any) -> Any:
    if not x.size:
        return jnp.zeros(x.shape, x.dtype), jnp.zeros((*x.shape[:-2], *x.shape[-1:] * 2), x.dtype)
    q, r = jnp.linalg.qr(x)
    sign = jnp.where(jnp.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    return q * sign[..., None, :], r * sign[..., :, None]


def eigh(x: Any, save: bool) -> Any:
    if not x.size:
        w, v = jnp.zeros(x.shape[:-1], x.dtype), x
    else:
        w, v = jnp.linalg.eigh(x)
        v = v * leading_signs(v)
    return (w, v) if save else (w,)


def svd(x: Any, save: bool, signs_of_v: bool) -> Any:
    n = x.shape[-1]
    if not x.size:
        s, u, v = jnp.zeros((*x.shape[:-2], n)), x, jnp.zeros((*x.shape[:-2], n, n), x.dtype)
    else:
        u, s, vh = jnp.linalg.svd(x, full_matrices=False)
        v = vh.mT
        sign = leading_signs(v if signs_of_v else u)
        u, v = u * sign, v * sign
    return (s, u, v) if save else (s,)


def complement(x: Any) -> Any:
    """Where one direction is left out, its elements are minors of the matrix."""
    m, n = x.shape[-2:]
    if n != m - 1 or n == 0:
        return jnp.broadcast_to(jnp.eye(m, dtype=x.dtype)[:, n:], (*x.shape[:-2], m, m - n))
    minors = [(-1) ** i * determinant(jnp.delete(x, i, axis=-2)) for i in range(m)]
    found = jnp.stack(minors, axis=-1)[..., None]
    found = found / jnp.linalg.norm(found, axis=-2, keepdims=True)
    return found * leading_signs(found) if x.size else found


def sqrtm(x: Any) -> Any:
    """The iteration of Denman and Beavers, not scaled; JAX has one that has no derivative."""
    if not x.size:
        return x
    y = jnp.broadcast_to(jnp.eye(x.shape[-1], dtype=x.dtype), x.shape)
    for _ in range(12):
        x, y = 0.5 * (x + jnp.linalg.inv(y)), 0.5 * (y + jnp.linalg.inv(x))
    return x


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    def one(a: Any, b: Any, q: Any) -> Any:
        left, right = jnp.kron(a, jnp.eye(len(b))), jnp.kron(jnp.eye(len(a)), b.T)
        return jnp.linalg.solve(left + right, q.reshape(-1)).reshape(q.shape)

    if not q.size:
        return q
    return jnp.vectorize(one, signature="(m,m),(n,n),(m,n)->(m,n)")(a, b, q)


def banded_solve(diagonals: Any, b: Any, below: int, above: int) -> Any:
    n = diagonals.shape[-1]
    i, j = np.indices((n, n))
    row = above + i - j
    inside = (row >= 0) & (row < below + above + 1)
    a = jnp.where(inside, diagonals[..., np.where(inside, row, 0), j], 0)
    return solve(a, b)


def pseudo_inverse(x: Any, rtol: Any) -> Any:
    return jnp.linalg.pinv(x, rtol=rtol) if x.size else jnp.zeros(x.mT.shape, x.dtype)


def least_squares(a: Any, b: Any, rtol: Any = None) -> Any:
    return jnp.linalg.pinv(a, rtol=rtol) @ b


def expm(x: Any) -> Any:
    return jax.scipy.linalg.expm(x) if x.size else x


def vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    if not x.size:
        return jnp.sum(x, axis=axis, keepdims=keepdims)
    return jnp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
