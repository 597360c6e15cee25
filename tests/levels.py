"""One function on each level: recorded and replayed, pulled back, pushed forward."""

import numpy as np

from wengert.core.bind import opened
from wengert.core.types import ArrayType
from wengert.interpret.forward import Forward
from wengert.interpret.replay import replay
from wengert.interpret.tape import Tape
from wengert.interpret.trace import trace_flat


def drawn(shape, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, shape)


def pullback(f, x, g):
    """The value of f, and the cotangent of x for the cotangent g of f(x)."""
    tape = Tape()
    with opened(tape):
        watched = tape.watch(x)
        out = f(watched)
        (found,) = tape.sweep({out.handle: g}, [watched.handle])
    return out._value, found


def pushforward(f, x, dx):
    level = Forward()
    with opened(level):
        return f(level.dual(x, dx)).handle


def traced(f, *arrays):
    """f recorded and replayed."""
    types = [ArrayType(x.shape, x.dtype) for x in arrays]
    graph, captured = trace_flat(lambda *xs: (f(*xs),), types, [f"x{i}" for i in range(len(types))])
    assert not captured
    (value,) = replay(graph, arrays)
    assert graph.output_types() == [ArrayType(value.shape, value.dtype)]
    return value


def require_same(found, expected):
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)
