"""Linear algebra, contractions and running folds: values, gradients and second derivatives are
JAX's in float64, in float32 they stay float32, and traced they are the same."""

import jax
import numpy as np
import pytest
from linalg_calls import CALLS, require_close

import wengert as wg
from wengert.core.types import ArrayType
from wengert.interpret.replay import replay
from wengert.interpret.trace import trace_flat


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
