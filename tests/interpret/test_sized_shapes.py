"""Sizes known at run time only: what is recorded for a Dim is right for every size."""

import numpy as np
import pytest
from levels import drawn, pullback, require_same

import wengert as wg
from wengert.core.dims import Dim, SizeNeeded, known_sizes
from wengert.core.types import ArrayType
from wengert.errors import ShapeError, TraceError
from wengert.interpret.replay import replay
from wengert.interpret.trace import trace_flat

FLOAT = np.dtype("float64")
N = Dim("n")


def sized(f, shape, *sizes):
    """The type f has for a float array with a Dim, and its value and gradient for some sizes."""
    graph, _ = trace_flat(lambda x: (f(x),), [ArrayType(shape, FLOAT)], ["x"])
    for n in sizes:
        x = drawn([n if size == N else size for size in shape])
        (value,) = replay(graph, [x])
        expected = f(x)
        require_same(value, np.asarray(expected))
        g = drawn(value.shape, 1)
        types = [ArrayType(shape, FLOAT), graph.output_types()[0]]
        back, _ = trace_flat(lambda x, g: (pullback(f, x, g)[1],), types, ["x", "g"])
        require_same(replay(back, [x, g])[0], pullback(f, x, g)[1])
    return graph.output_types()[0].shape


SIZED = {
    "from 1": (lambda x: x[1:], (N, 3), (N - 1, 3)),
    "up to -1": (lambda x: x[:-1], (N, 3), (N - 1, 3)),
    "between": (lambda x: x[1:-2], (N, 3), (N - 3, 3)),
    "the last two": (lambda x: x[-2:], (N, 3), (2, 3)),
    "reversed": (lambda x: x[::-1, ::2], (N, 3), (N, 2)),
    "up to a Dim": (lambda x: x[: x.shape[0] - 1], (N, 3), (N - 1, 3)),
    "whole": (lambda x: x[:, 1], (N, 3), (N,)),
    "new axes": (lambda x: x[None, ..., 0:2, None], (N, 3), (1, N, 2, 1)),
    "first": (lambda x: x[0], (N, 3), (3,)),
    "last": (lambda x: x[-1], (N, 3), (3,)),
    "last by its number": (lambda x: x[x.shape[0] - 1], (N, 3), (3,)),
    "array": (lambda x: x[[0, -1, 0]], (N, 3), (3, 3)),
    "array on another axis": (lambda x: x[:, [0, 0, 2, 1]], (N, 3), (N, 4)),
    "array and reversed": (lambda x: x[::-1, None, [0, 0]], (N, 3), (N, 1, 2)),
    "flip": (lambda x: wg.flip(x), (N, 3), (N, 3)),
    "roll": (lambda x: wg.roll(x, (1, -2), (0, 0)), (N, 3), (N, 3)),
    "reshape": (lambda x: wg.reshape(x, (-1, 2)), (N, 6), (3 * N, 2)),
    "ravel": (lambda x: wg.reshape(x, (-1,)), (N, 3), (3 * N,)),
    "broadcast_to": (lambda x: wg.broadcast_to(x, (2, *x.shape)), (N, 3), (2, N, 3)),
    "expand_dims": (lambda x: wg.expand_dims(x, 1), (N, 3), (N, 1, 3)),
    "squeeze": (lambda x: wg.squeeze(x, 1), (N, 1), (N,)),
    "squeeze all": (lambda x: wg.squeeze(x), (1, N, 1), (N,)),
    "concat": (lambda x: wg.concat([x, x[1:], 2 * x]), (N, 3), (3 * N - 1, 3)),
    "concat flat": (lambda x: wg.concat([x, x], axis=None), (N, 3), (6 * N,)),
    "stack": (lambda x: wg.stack([x, x], axis=1), (N, 3), (N, 2, 3)),
    "pad": (lambda x: wg.pad(x, ((1, 2), (0, 1)), 7), (N, 3), (N + 3, 4)),
    "tile": (lambda x: wg.tile(x, (2, 2)), (N, 3), (2 * N, 6)),
    "repeat": (lambda x: wg.repeat(x, 3, axis=0), (N, 3), (3 * N, 3)),
    "split": (lambda x: wg.split(x, 3, axis=1)[2], (N, 3), (N, 1)),
    "split in Dims": (lambda x: wg.split(wg.tile(x, (2, 1)), 2)[1], (N, 3), (N, 3)),
    "the first of two parts": (lambda x: wg.tile(x, (2, 1))[: x.shape[0]], (N, 3), (N, 3)),
    "the second of them": (lambda x: wg.tile(x, (2, 1))[x.shape[0] :], (N, 3), (N, 3)),
    "one of three in turn": (lambda x: wg.repeat(x, 3, axis=0)[1::3], (N, 3), (N, 3)),
    "tril": (lambda x: wg.tril(x, k=-1), (N, 3), (N, 3)),
    "diagonal": (lambda x: wg.diagonal(wg.tile(x, (1, x.shape[0])), 1), (N, 1), (N - 1,)),
    "diag": (lambda x: wg.diag(x, -1), (N,), (N + 1, N + 1)),
    "zeros": (lambda x: x + wg.zeros(x.shape), (N, 3), (N, 3)),
    "ones_like": (lambda x: x * wg.ones_like(x), (N, 3), (N, 3)),
    "arange": (lambda x: x * wg.arange(x.shape[0]), (N,), (N,)),
    "eye": (lambda x: x * wg.eye(x.shape[0], 2, k=-1), (N, 1), (N, 2)),
    "take": (lambda x: wg.take(x, [0, 0, -1], axis=0), (N, 3), (3, 3)),
    "take on another axis": (lambda x: wg.take(x, [0, 0], axis=1), (N, 3), (N, 2)),
    "take_along_axis": (lambda x: wg.take_along_axis(x, [[2, 0, 2]]), (N, 3), (N, 3)),
    "scatter_add": (lambda x: wg.scatter_add(x, [0, 0], x[0]), (N, 3), (N, 3)),
    "sort": (lambda x: wg.sort(x, axis=0, descending=True), (N, 3), (N, 3)),
}


@pytest.mark.parametrize(("f", "shape", "expected"), SIZED.values(), ids=SIZED)
def test_run_time_sizes(f, shape, expected):
    assert sized(f, shape, 4, 7) == expected


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[:3],
        lambda x: x[::2],
        lambda x: x[3:0:-1],
        lambda x: wg.tile(x, (2, 1))[-1 : x.shape[0]],
    ],
)
def test_what_needs_the_number_specialises(f):
    def trace():
        trace_flat(lambda x: (f(x),), [ArrayType((N, 3), FLOAT)], ["x"])

    with known_sizes({"n": 4}), pytest.raises(SizeNeeded):
        trace()
    with pytest.raises(TraceError, match=r"Python needs the number behind (2\*)?n"):
        trace()


@pytest.mark.parametrize("f", [lambda x: x[3:], lambda x: x[-3:], lambda x: x[2]])
def test_a_run_time_size_that_is_too_small(f):
    graph, _ = trace_flat(lambda x: (f(x),), [ArrayType((N, 3), FLOAT)], ["x"])
    with pytest.raises(ShapeError, match="slice_axes: axis 0 has size 2"):
        replay(graph, [drawn((2, 3))])
