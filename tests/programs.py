"""Programs that several tests look at, written as a user would write them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

import wengert as wg


def network(w: Any, b: Any, x: Any) -> Any:
    """A loss written with NumPy only, for NumPy, for us and, with jnp, for JAX."""
    return network_with(np, w, b, x)


def network_with(xp: Any, w: Any, b: Any, x: Any) -> Any:
    hidden = xp.tanh(x @ w + b)
    return xp.sum(xp.exp(-hidden) * hidden) / hidden.shape[0]


def vector(x: Any) -> Any:
    """From three numbers to two times two."""
    return wg.stack([wg.sin(x[:2]) * x[2], x[1:] ** 2 * x[0]])


def vector_in_jax(x: Any) -> Any:
    return jnp.stack([jnp.sin(x[:2]) * x[2], x[1:] ** 2 * x[0]])


# Of x (4, 3) and w (3, 3), both positive; with NumPy only.
NUMPY_FUNCTIONS = {
    "operators": lambda x, w: -((x @ w) ** 2) / (1 + abs(x)) - x // 0.3 + x % 0.7,
    "comparisons": lambda x, w: np.where((x > 1) & ~(x >= 1.5) | (x != x), x, 0.0),
    "elementwise": lambda x, w: np.exp(np.sin(x)) + np.log1p(x) * np.arctan2(x, 2.0) - np.sqrt(x),
    "extremes": lambda x, w: np.maximum(x, 1.0) + np.minimum(x, x.mean()) + np.clip(x, 0.7, 1.2),
    "reductions": lambda x, w: np.sum(x, axis=1) + np.max(x, axis=-1) * np.mean(x) - np.prod(x),
    "statistics": lambda x, w: np.var(x, axis=0) + np.std(x, axis=0, ddof=1),
    "cumulative": lambda x, w: np.cumsum(x, axis=1) * np.cumprod(x, axis=0),
    "shapes": lambda x, w: np.reshape(np.transpose(x), (2, -1)) + x.reshape(2, 6),
    "axes": lambda x, w: np.squeeze(np.expand_dims(x, 1), 1) + np.swapaxes(x.T, 0, 1),
    "joining": lambda x, w: np.concatenate([x, w]) * np.vstack([x, w]) + np.stack([x[0]] * 7),
    "splitting": lambda x, w: np.split(x, 2)[0] * np.split(x, 2)[1],
    "arranging": lambda x, w: np.flip(x, 0) + np.roll(x, 1, axis=1) + np.tile(x[:2], (2, 1)),
    "padding": lambda x, w: np.pad(x, ((1, 0), (0, 2))),
    "triangles": lambda x, w: np.tril(w) @ np.triu(w) + np.diagonal(w),
    "indexing": lambda x, w: x[1:, ::-1] * x[np.array([0, 2, 2])] + x[..., None, 1][:3],
    "taking": lambda x, w: np.take(x, np.array([2, 0]), axis=1),
    "sorting": lambda x, w: np.sort(x, axis=0) + np.take_along_axis(x, np.argsort(x, 0), 0),
    "contraction": lambda x, w: np.dot(x, w) + np.einsum("ij,kj->ik", x, w),
    "tensordot": lambda x, w: np.tensordot(x, w, axes=1) + np.matmul(x, w),
    "linalg": lambda x, w: np.linalg.solve(w, x.T) + np.linalg.norm(x) * np.linalg.det(w),
    "inverse": lambda x, w: np.linalg.inv(w @ w.T + np.eye(3)),
    "cholesky": lambda x, w: np.linalg.cholesky(w @ w.T + 3 * np.eye(3)),
    "creation": lambda x, w: np.zeros_like(x) + np.ones_like(x) * np.full(3, 2.0) + np.eye(4, 3),
    "methods": lambda x, w: x.sum(axis=0) + x.T.dot(x[:, 0]) + x.astype(np.float32).max(),
    "dtypes": lambda x, w: (x > 1).sum(axis=0) + x.argmax(axis=0),
}

# Of x (batch, 6), for any batch without being told it.
OPEN_FUNCTIONS = {
    "sum": lambda x: np.sum(x, axis=0),
    "mean": lambda x: np.mean(x) + np.mean(x, axis=0),
    "var": lambda x: np.var(x, axis=0, ddof=1),
    "count": lambda x: np.sum(x**2) / x.shape[0] + x.size,
    "arithmetic": lambda x: x * (2 * x.shape[0] + 1) - x.shape[0] * x.shape[1],
    "power": lambda x: x * x.shape[0] ** 2,
    "flat": lambda x: np.reshape(x, (-1,)),
    "solved": lambda x: np.reshape(x, (x.shape[0] * 2, -1)),
    "unchanged": lambda x: x.reshape(-1, 2, 3),
    "split": lambda x: x.reshape(x.shape[0], 2, 3).sum(axis=1),
    "merged": lambda x: x.reshape(-1, 6).T.reshape(3, -1),
    "joined": lambda x: np.concatenate([x, x, x[0][None]], axis=0),
    "created": lambda x: np.zeros_like(x) + wg.ones((x.shape[0], 1)),
    "broadcast": lambda x: np.broadcast_to(x[0], x.shape) + x,
    "squared": lambda x: x @ x.T,
    "normalised": lambda x: (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5),
    "softmax": lambda x: wg.softmax(x, axis=0),
    "gradient": wg.grad(lambda x: np.mean(np.sin(x) ** 2)),
    "curvature": wg.grad(lambda x: np.sum(wg.grad(lambda x: np.mean(x**3))(x) ** 2)),
    "loss": lambda x: wg.cross_entropy(x, np.argmax(x, axis=1)),
    "last": lambda x: x[-1] + x[1:].sum(axis=0),
}
