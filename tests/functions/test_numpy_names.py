"""Losses written with NumPy alone, and each NumPy function a Tensor answers."""

import numpy as np
import pytest

import wengert as wg
from wengert.core.types import type_of
from wengert.interpret.replay import replay
from wengert.interpret.trace import trace_flat

RNG = np.random.default_rng(0)


def recorded(function, *arrays):
    """The outputs of a function that was traced and then replayed."""
    types, names = [type_of(x) for x in arrays], [f"x{i}" for i in range(len(arrays))]
    graph, _ = trace_flat(lambda *xs: [function(*xs)], types, names)
    return replay(graph, arrays)[0]


# Whole losses. Not one of them knows of Wengert.


def classifier(x, w1, b1, w2, b2):
    labels = np.arange(len(x)) % 3
    hidden = np.maximum(x @ w1 + b1, 0)
    logits = np.dot(hidden, w2) + b2
    logits = logits - logits.max(axis=1, keepdims=True)
    log_probabilities = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    penalty = 1e-2 * (np.sum(w1**2) + np.sum(np.square(w2)))
    return -np.mean(log_probabilities[np.arange(len(x)), labels]) + penalty


def ridge(x, y, log_strength):
    split = len(x) // 2
    gram = x[:split].T @ x[:split] + np.exp(log_strength) * np.eye(x.shape[1])
    weights = np.linalg.solve(gram, x[:split].T @ y[:split])
    return np.sqrt(np.average((x[split:] @ weights - y[split:]) ** 2))


def gaussian_process(x, y, log_length):
    distance = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    kernel = np.exp(-0.5 * distance / np.exp(2 * log_length)) + 0.1 * np.eye(len(x))
    factor = np.linalg.cholesky(kernel)
    whitened = np.linalg.solve(factor, y)
    sign, log_determinant = np.linalg.slogdet(kernel)
    half = np.log(np.diagonal(factor)).sum()
    return 0.5 * np.vdot(whitened, whitened) + 0.25 * log_determinant * sign + 0.5 * half


def convolution(image, kernel, bias):
    rows, columns = (image.shape[i] - kernel.shape[i] + 1 for i in (0, 1))
    total = np.zeros((rows, columns))
    for i in range(kernel.shape[0]):
        for j in range(kernel.shape[1]):
            total = total + image[i : i + rows, j : j + columns] * kernel[i, j]
    pooled = np.tanh(total + bias)[: rows // 2 * 2, : columns // 2 * 2]
    pooled = pooled.reshape(rows // 2, 2, columns // 2, 2).max(axis=(1, 3))
    return np.mean(np.pad(pooled, 1) ** 2)


def recurrent(x, w, u, h):
    states = []
    for step in x:
        h = np.tanh(step @ w + h @ u)
        states.append(h)
    trajectory = np.stack(states, axis=1)
    return np.mean(np.abs(np.diff(trajectory, axis=1)) ** 1.5) + np.std(trajectory, ddof=1)


def principal_direction(x, direction):
    centred = x - x.mean(axis=0)
    for _ in range(3):
        direction = np.cov(centred, rowvar=False) @ direction
        direction = direction / np.linalg.norm(direction)
    residual = centred - np.outer(centred @ direction, direction)
    return np.linalg.norm(residual, axis=1).sum()


def attention(x, wq, wk, wv):
    query, key, value = (np.einsum("btd,de->bte", x, w) for w in (wq, wk, wv))
    scores = np.matmul(query, np.swapaxes(key, -1, -2)) / np.sqrt(key.shape[-1])
    scores = np.where(np.tril(np.ones(scores.shape[-2:])) > 0, scores, -np.inf)
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights /= np.sum(weights, axis=-1, keepdims=True)
    return np.sum(np.clip(weights @ value, -2.0, 2.0) ** 2)


def mixture(x, centres, log_weights):
    distance = ((np.expand_dims(x, 1) - centres) ** 2).sum(-1)
    scores = log_weights - np.logaddexp.reduce(np.zeros(3)) - distance
    highest = np.amax(scores, axis=1)
    likelihood = highest + np.log(np.sum(np.exp((scores.T - highest).T), axis=1))
    return -np.concatenate([likelihood, log_weights]).mean()


def normal(*shape):
    return RNG.normal(size=shape)


LOSSES = {
    classifier: (normal(7, 4), normal(4, 5), normal(5), normal(5, 3), normal(3)),
    ridge: (normal(8, 3), normal(8), np.array(0.3)),
    gaussian_process: (normal(5, 2), normal(5), np.array(0.1)),
    convolution: (normal(6, 7), normal(3, 2), np.array(0.2)),
    recurrent: (normal(4, 2, 3), normal(3, 4), normal(4, 4), normal(2, 4)),
    principal_direction: (normal(9, 3) * [3, 1, 0.5], normal(3)),
    attention: (normal(2, 4, 3), normal(3, 3), normal(3, 3), normal(3, 2)),
    mixture: (normal(6, 2), normal(3, 2), normal(3)),
}


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_a_numpy_loss_is_differentiated_and_recorded_unchanged(loss):
    arrays = LOSSES[loss]
    argnums = tuple(range(len(arrays)))
    value, gradients = wg.value_and_grad(loss, argnums=argnums)(*arrays)
    np.testing.assert_allclose(value, loss(*arrays), rtol=1e-13)
    np.testing.assert_allclose(recorded(loss, *arrays), loss(*arrays), rtol=1e-13)
    step = 1e-6
    tangents = [RNG.normal(size=x.shape) for x in arrays]
    above, below = (
        loss(*(x + sign * step * dx for x, dx in zip(arrays, tangents, strict=True)))
        for sign in (1, -1)
    )
    slope = sum(np.sum(g * dx) for g, dx in zip(gradients, tangents, strict=True))
    np.testing.assert_allclose(slope, (above - below) / (2 * step), rtol=1e-6, atol=1e-8)
    along = wg.jvp(loss, arrays, tuple(tangents))[1]
    np.testing.assert_allclose(along, slope, rtol=1e-10)
    by_trace = recorded(lambda *xs: wg.grad(loss)(*xs), *arrays)
    np.testing.assert_allclose(by_trace, gradients[0], rtol=1e-12, atol=1e-14)


# Each function, against NumPy's own result on arrays.

X, Y, Z, V = normal(3, 4), normal(3, 4), normal(2, 3, 4), normal(4)
GRAM = X @ X.T + 3 * np.eye(3)
ODD = np.array([[np.nan, 1.0], [np.inf, -np.inf]])
REDUCTIONS = [
    *("sum", "prod", "mean", "max", "min", "amax", "amin", "any", "all", "argmax", "argmin"),
    *("var", "std", "ptp", "average", "nansum", "nanmean"),
]

CALLS = {
    **{f"np.{f}(x)": X for f in [*REDUCTIONS, "median", "count_nonzero"]},
    **{f"np.{f}(x, axis=0)": X for f in [*REDUCTIONS, "median", "count_nonzero"]},
    **{f"np.{f}(x, axis=1, keepdims=True)": X for f in REDUCTIONS},
    **{f"np.{f}(x, 1)": X for f in (*REDUCTIONS[:2], "std", "median", "cumsum", "cumprod")},
    **{f"x.{f}()": X for f in ("sum", "mean", "max", "std", "argmax", "any", "cumsum", "trace")},
    **{f"x.{f}(1)": X for f in ("min", "var", "prod", "argmin", "all", "cumprod", "diagonal")},
    **{f"np.atleast_{n}d(x)": x for n in (1, 2, 3) for x in (np.array(2.0), V, X, Z)},
    "np.sum(x, dtype=np.float32)": X,
    "np.sum(a=x, axis=(0, 2))": Z,
    "np.max(x, where=True)": X,
    "np.var(x, ddof=1) + x.std(ddof=1) + np.std(x, correction=1)": X,
    "np.median(x, axis=0) + np.median(x[:, :2])": X,
    "np.median(x, keepdims=True)": X,
    "np.average(x, axis=1, weights=V)": X,
    "np.average(x, weights=np.abs(Y))": X,
    "np.average(x, axis=0, weights=[1.0, 2.0, 3.0])": X,
    "np.cov(x)": X,
    "np.cov(x, rowvar=False, bias=True)": X,
    "np.cov(x[0], x[1], ddof=0)": X,
    "np.trapezoid(x)": X,
    "np.trapezoid(x, x=np.arange(4.0) ** 2)": X,
    "np.trapezoid(x, dx=0.5, axis=0)": X,
    "np.diff(x, n=2, axis=0, prepend=0.0)": X,
    "np.nansum(x[:1]) + np.nanmean(x[:1])": ODD,
    "np.reshape(x, (4, -1))": X,
    "np.reshape(x, -1, order='C')": X,
    "np.ravel(x)": X,
    "np.transpose(x)": Z,
    "np.transpose(x, (1, 2, 0))": Z,
    "np.permute_dims(x, axes=(2, 0, 1))": Z,
    "np.matrix_transpose(x) + np.linalg.matrix_transpose(x)": Z,
    "np.swapaxes(x, 0, 2)": Z,
    "np.moveaxis(x, 0, -1)": Z,
    "np.squeeze(np.expand_dims(x, (0, 2)), axis=0)": X,
    "np.broadcast_to(x, (2, 3, 4))": X,
    "np.add(*np.broadcast_arrays(x, V))": X,
    "np.concatenate([x, Y], axis=1)": X,
    "np.concatenate((x, Y), axis=None)": X,
    "np.concat((x, Y))": X,
    "np.stack([x, Y], axis=-1)": X,
    "np.vstack([x, V])": X,
    "np.hstack([x, Y])": X,
    "np.hstack([x, V])": V,
    "np.dstack([x, V])": V,
    "np.column_stack([x, V])": V,
    "np.column_stack([x, Y[:, 0]])": X,
    "np.block([[x, Y], [Y, x]])": X,
    "np.block([[x, np.zeros((3, 2))], [np.ones((1, 6))]])": X,
    "np.append(x, V)": X,
    "np.append(x, Y, axis=0)": X,
    "np.split(x, 2, axis=1)[1]": X,
    "np.array_split(x, 3, axis=1)[0]": X,
    "np.array_split(x, [1, 2])[1]": X,
    "np.hsplit(x, 2)[1] + np.vsplit(x, 3)[1][:, :2]": X,
    "np.dsplit(x, 2)[1] + np.dsplit(x, [1, 3])[1]": normal(2, 3, 4),
    **{f"np.rollaxis(x, {axis}, {start})": Z for axis in (-1, 0, 2) for start in (-2, 0, 1, 3)},
    "np.flip(x) + np.flip(x, 1) + np.fliplr(x) + np.flipud(x)": X,
    "np.roll(x, 2) + np.roll(x, 1, axis=1)": X,
    "np.pad(x, 1)": X,
    "np.pad(x, ((1, 0), (2, 3)), constant_values=7.0)": X,
    **{f"np.pad(x, ((1, 2), (0, 3)), mode='{m}')": X for m in ("edge", "reflect", "wrap")},
    "np.tile(x, reps=(2, 1))": X,
    "np.repeat(x, 2) + x.repeat(2)": X,
    "np.repeat(x, 2, axis=1)": X,
    "np.tril(x) + np.triu(x, k=1)": X,
    "np.diag(x, 1)": V,
    "np.diag(x)": X,
    "np.diagonal(x)": Z,
    "np.diagonal(x, 1, axis1=1, axis2=2)": Z,
    "np.trace(x) + np.trace(x[0], offset=1)": Z,
    "np.linalg.trace(x) + np.linalg.diagonal(x, offset=1).sum()": Z,
    "np.add(*np.meshgrid(x, V))": V,
    "np.meshgrid(x, V, indexing='ij')[0]": V,
    "x * np.zeros_like(x) + np.ones_like(x) + np.full_like(x, 3)": X,
    "np.full_like(x, x[0, 0])": X,
    "np.zeros_like(x, dtype=np.float32) + np.astype(x, np.float32)": X,
    "np.linspace(x, V, 5)": V,
    "np.linspace(0.0, x, num=7, endpoint=False)": V,
    "np.where(x > 0, x, 0.0)": X,
    "np.select([x > 1, x > 0], [x, x * 2], default=-1.0)": X,
    "np.clip(x, -1, 1) + np.clip(x, a_min=0, a_max=None) + np.clip(x, min=0.5)": X,
    "x.clip(-0.5, 0.5)": X,
    "np.nan_to_num(x)": ODD,
    "np.nan_to_num(x, nan=1.0, posinf=5.0)": ODD,
    "np.isposinf(x) | np.isneginf(x)": ODD,
    "np.take(x, [0, 2], axis=1) + x.take([1, 3], axis=1)": X,
    "np.take(x, [0, 5], mode='raise')": X,
    "np.take_along_axis(x, np.argsort(x, axis=1), axis=1)": X,
    "np.searchsorted(np.sort(x), [0.1, 0.2], side='right')": V,
    "np.sort(x) + np.sort(x, axis=0, kind='stable')": X,
    "np.sort(x, axis=None)": X,
    "np.argsort(x) + x.argsort(0)": X,
    "np.argsort(x, axis=None)": X,
    "np.round(x) + np.round(x, 2) + np.around(x, decimals=1) + x.round(1)": X,
    "np.fix(x) + np.rint(x) + np.fabs(x) + np.conj(x) + np.real(x) + np.imag(x)": X,
    "np.angle(x) + np.isreal(x) + np.iscomplex(x) + np.real_if_close(x)": ODD,
    "np.angle(x, deg=True) + np.angle(-x * 0.0)": X,
    "np.heaviside(x - x[0, 0], 0.5)": X,
    "np.radians(x) + np.deg2rad(x) + np.degrees(x) + np.rad2deg(x)": X,
    "np.isclose(x, Y, rtol=0.5)": X,
    "np.isclose(x, ODD, equal_nan=True)": ODD,
    "np.dot(x, V) + x.dot(V) + np.inner(x, V)": X,
    "np.outer(x, V) + np.linalg.outer(x, V) + np.multiply.outer(x, V)": V,
    "np.subtract.outer(x, V) + np.maximum.outer(x, V)": V,
    "np.vdot(x, Y)": X,
    "np.tensordot(x, Y, axes=([0, 1], [0, 1])) + np.linalg.tensordot(x, Y)": X,
    "np.einsum('ij,kj,k->i', x, Y, np.ones(3), optimize=True)": X,
    "np.kron(x, V)": V,
    "np.cross(x.T, Y, axisb=0) + np.cross(x, Y.T, 0, -1, 1, None)": X,
    "np.cross(x, Y, axis=0) + np.cross(x, Y, axisa=0, axisb=0, axisc=-2)": X,
    "np.cross(x, Y, axisa=0, axis=0, axisb=1)": X,
    "np.cross(x.T, Y.T) + np.linalg.cross(x.T, Y.T)": X,
    "np.linalg.matmul(x, Y.T) + np.linalg.multi_dot([x, Y.T, x, Y.T])": X,
    "np.linalg.vecdot(x, Y, axis=0) + np.vecdot(x.T, Y.T)": X,
    "np.polyval(x, np.arange(3.0))": V,
    "np.polyval([1.0, 2.0, 3.0], x)": V,
    **{f"np.convolve(x, V, '{m}')": normal(7) for m in ("full", "same", "valid")},
    **{f"np.convolve(V, x, mode='{m}')": normal(7) for m in ("full", "same", "valid")},
    **{f"np.correlate(x, V, '{m}')": normal(7) for m in ("full", "same", "valid")},
    **{f"np.correlate(V, x, mode='{m}')": normal(7) for m in ("full", "same", "valid")},
    "np.linalg.norm(x) + np.linalg.norm(x, axis=1) + np.linalg.norm(x, 1, 1, True)": X,
    "np.linalg.vector_norm(x, axis=0, ord=3)": X,
    "np.linalg.matrix_norm(x)": Z,
    "np.linalg.cholesky(x) + np.linalg.inv(x) + np.linalg.matrix_power(x, 3)": GRAM,
    "np.linalg.solve(x, np.ones(3)) + np.linalg.det(x)": GRAM,
    "np.linalg.slogdet(x).logabsdet + np.linalg.slogdet(x)[0]": GRAM,
    "np.add.reduce(x) + np.multiply.reduce(x, axis=0) + np.add.accumulate(x)": X,
    "np.maximum.reduce(x, axis=1)": X,
    "x * np.size(x) * np.ndim(x) * np.shape(x)[1] * np.size(x, 0)": X,
    "np.copy(x).astype(np.result_type(x, np.float32))": X,
    "x.squeeze().swapaxes(0, 1).transpose(1, 0).flatten().reshape(2, 6).T": X,
    "abs(-x) ** 2 / 3 + 2**x - (x // 2) % 2": X,
}


def evaluated(call, x):
    return eval(call, {"np": np, "x": x, "Y": Y, "V": V, "ODD": ODD})


@pytest.mark.parametrize("call", CALLS)
def test_a_function_answers_as_numpy_does(call):
    with np.errstate(all="ignore"):
        expected = np.asarray(evaluated(call, CALLS[call]))
        found = recorded(lambda x: evaluated(call, x), CALLS[call])
        watched, _ = wg.vjp(lambda x: evaluated(call, x) * 1.0, CALLS[call])
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(watched, expected, rtol=1e-12, atol=1e-13)


def test_values_that_are_known_may_be_compared():
    def f(x):
        return x * 2 if np.allclose(x, x) and np.array_equal(x, x) else x * 3

    assert wg.grad(f)(np.array(1.0)) == 2
    assert not np.iscomplexobj(X)
    assert wg.grad(lambda x: x * 2 if np.isrealobj(x) else x)(1.0) == 2


# Refusals.


REFUSED = {
    "np.linalg.eig(x)": "np.linalg.eig: given a Tensor that is traced; this NumPy function is",
    "np.unique(x)": "np.unique: given a Tensor that is traced; this NumPy function is not recorded",
    "np.sum(x, out=V)": "np.sum: given a Tensor that is traced; its out argument is not recorded. "
    "Give the result a name instead.",
    "np.sum(x, where=x > 0)": "np.sum: given a Tensor that is traced; its where argument is not "
    "recorded. Write np.sum(wg.where(mask, x, 0), axis).",
    "np.max(x, initial=0.0)": "np.max: given a Tensor that is traced; its initial argument is not",
    "np.reshape(x, -1, order='F')": "np.reshape: given a Tensor that is traced; its order argument",
    "np.stack([x, x], dtype=int)": "np.stack: given a Tensor that is traced; its dtype argument is",
    "np.take(x, [9], mode='wrap')": "np.take: given a Tensor that is traced; its mode argument is",
    "np.concatenate([x, V], out=V)": "np.concatenate: given a Tensor that is traced; its out",
    "np.where(x > 0)": "np.where: given a condition alone; that is not recorded. Give both values",
    "np.pad(x, 1, mode='mean')": "np.pad: given mode='mean'",
    "np.add(x, 1, dtype=int)": "np.add: given a Tensor that is traced; its dtype argument",
    "np.frexp(x)": "np.frexp: given a Tensor that is traced; this NumPy function is not recorded",
    "x.sort()": "sort: given a Tensor that is traced; a Tensor is never changed in place",
    "x.fill(0)": "fill: given a Tensor that is traced; a Tensor is never changed in place",
    "np.array([x, x])": "np.array: given a Tensor that is traced",
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_cannot_be_recorded_is_refused(call):
    with pytest.raises(wg.errors.TraceError) as caught:
        recorded(lambda x: evaluated(call, x), V)
    assert str(caught.value).startswith(REFUSED[call])
    assert str(caught.value).endswith(")"), "the user's line is missing"


def test_a_refusal_while_differentiating_names_the_line():
    expected = r"being differentiated; its out .* instead\. \(test_numpy_names\.py:\d+\)$"
    with pytest.raises(wg.errors.TraceError, match=expected):
        wg.grad(lambda x: np.sum(x, out=V))(V)
