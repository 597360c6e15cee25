"""A derivative that depends on a NaN is NaN: on the tape, in forward mode, and compiled.

Whether one depends on an operand is found by trying: it takes several values as that operand does.
A derivative that does not (of a sum, of a product by the other factor) stays what it is, and a zero
cotangent or tangent still wins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from table.calls import Call, calls, is_float, random_for
from table.ops import differentiable, elementwise, of_ops

Array = np.ndarray[Any, Any]
TRIES = 8


def ways(f: Any, count: int) -> dict[str, Any]:
    """Functions from operands to the derivative of f by each of them, for elementwise f."""

    def reverse(*xs: Any) -> list[Any]:
        out, pullback = wg.vjp(f, *xs)
        return list(pullback(wg.full(out.shape, 1, dtype=out.dtype)))

    def forward(*xs: Any) -> list[Any]:
        return [
            wg.jvp(f, xs, [np.full(x.shape, float(i == j), x.dtype) for j, x in enumerate(xs)])[1]
            for i in range(count)
        ]

    return {"tape": reverse, "forward": forward, "compiled": wg.compile(reverse)}


def in_first_sample(op: Any) -> tuple[Call, Any]:
    """A call whose float operands all have one shape, and it as a function of these."""
    call = next(c for c in calls(op) if all(x is None or x.size for x in c.operands))
    shape = np.broadcast_shapes(*(x.shape for x in call.operands if x is not None))
    operands = [None if x is None else np.array(np.broadcast_to(x, shape)) for x in call.operands]
    call = Call(op, tuple(operands), call.params)
    return call, lambda *primals: call.function()(*primals)[0]


def others(op: Any, which: int, like: Array) -> list[Array]:
    """Other values of one operand, inside and beyond where it is sampled."""
    rng = random_for(op, 7)
    drawn = [each.draw(rng)[which] for each in op.samples[:1] for _ in range(TRIES)]
    drawn = [np.resize(x, like.shape) for x in drawn if is_float(x) and x.size]
    return [like, *drawn, *(x + shift for x in drawn[:2] for shift in (-2.5, 2.5))]


@of_ops(lambda op: elementwise(op) and differentiable(op))
def test_elementwise(op):
    call, f = in_first_sample(op)
    primals = call.primals
    found = ways(f, len(primals))
    with np.errstate(all="ignore"):
        for i, position in enumerate(call.floats):
            tried = [
                found["tape"](*primals[:i], x, *primals[i + 1 :])
                for x in others(op, position, primals[i])
            ]
            spoilt = [np.full_like(x, np.nan) if i == k else x for k, x in enumerate(primals)]
            if not np.isnan(f(*spoilt)).all():
                continue  # the value does not depend on it, or not everywhere
            for name, way in found.items():
                for j, slope in enumerate(way(*spoilt)):
                    values = np.array([each[j] for each in tried])
                    if not (values == values[0]).all():
                        assert np.isnan(slope).all(), (name, i, j, slope)
                    else:
                        np.testing.assert_array_equal(slope, values[0], f"{name} {i} {j}")
            out, pullback = wg.vjp(f, *spoilt)
            assert not np.any(pullback(np.zeros_like(out))), "zero wins"


ROW = np.array([0.3, -1.2, 2.0, 0.9])
REDUCTIONS: dict[str, Any] = {
    "sum": wg.sum,
    "mean": wg.mean,
    "prod": wg.prod,
    "max": wg.max,
    "min": wg.min,
    "var": wg.var,
    "std": wg.std,
    "logsumexp": wg.logsumexp,
    "softmax": wg.softmax,
    "log_softmax": wg.log_softmax,
    "layer_norm": wg.layer_norm,
    "rms_norm": wg.rms_norm,
    "cumsum": wg.cumsum,
    "cumprod": wg.cumprod,
    "norm": wg.linalg.vector_norm,
    "norm 1": lambda x: wg.linalg.vector_norm(x, ord=1),
    "norm 3": lambda x: wg.linalg.vector_norm(x, ord=3),
    "norm inf": lambda x: wg.linalg.vector_norm(x, ord=np.inf),
    "norm -inf": lambda x: wg.linalg.vector_norm(x, ord=-np.inf),
    "leaky_relu": wg.leaky_relu,
    "elu": wg.elu,
    "selu": wg.selu,
    "gelu": wg.gelu,
    "silu": wg.silu,
    "mish": wg.mish,
    "softplus": wg.softplus,
    "softsign": wg.softsign,
    "hard_tanh": wg.hard_tanh,
    "glu": wg.glu,
    "mse": lambda x: wg.mse(x, np.zeros(4)),
    "mae": lambda x: wg.mae(x, np.zeros(4)),
    "huber": lambda x: wg.huber(x, np.zeros(4)),
    "bce_with_logits": lambda x: wg.bce_with_logits(x, np.ones(4) * 0.3),
    "cross_entropy": lambda x: wg.cross_entropy(x, np.array(1)),
    "kl_div": lambda x: wg.kl_div(x, np.full(4, 0.2)),
}


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_and_functions(name, place):
    f = REDUCTIONS[name]

    def columns(x: Any) -> Any:
        return wg.stack([wg.jvp(f, (x,), (e,))[1] for e in np.eye(4)], axis=-1)

    found = {"tape": wg.jacobian(f), "forward": columns, "compiled": wg.compile(wg.jacobian(f))}
    one = np.arange(4) == place
    with np.errstate(all="ignore"):
        values = np.array([found["tape"](np.where(one, v, ROW)) for v in (-3.0, -0.4, 0.4, 3.0)])
        depends = (values != values[0]).any(axis=0)
        spoilt = np.where(one, np.nan, ROW)
        depends &= np.isnan(f(spoilt))[..., None]
        for way, jacobian in found.items():
            slopes = jacobian(spoilt)
            assert np.isnan(slopes[depends]).all(), (way, slopes)
        out, pullback = wg.vjp(f, spoilt)
        if name != "cumprod":  # whose way back multiplies and adds at once
            assert not np.any(pullback(np.zeros_like(out))[0]), "zero wins"


def test_sorting_moves_nan_like_any_other_number():
    x = np.array([2.0, np.nan, 1.0])
    weights = np.array([1.0, 10.0, 100.0])
    for gradient in (wg.grad, lambda f: wg.compile(wg.grad(f))):
        found = gradient(lambda x: wg.sum(wg.sort(x) * weights))(x)
        np.testing.assert_array_equal(found, [10, 100, 1])


def test_every_row_for_itself():
    x = np.array([[1.0, np.nan], [3.0, 4.0]])
    for f in (wg.max, wg.min):
        for gradient in (wg.grad, lambda f: wg.compile(wg.grad(f))):
            found = gradient(lambda x, f=f: wg.sum(f(x, axis=1)))(x)
            assert np.isnan(found[0]).all()
            assert found[1].sum() == 1
