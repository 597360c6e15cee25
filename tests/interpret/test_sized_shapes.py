"""Sizes known at run time only: what is recorded for a Dim is right for every size."""

import itertools

import numpy as np
import pytest
from levels import drawn, pullback, require_same

import wengert as wg
from wengert.codegen.requirements import Requirements
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
    "all but as many": (lambda x: wg.tile(x, (2, 1))[: -x.shape[0]], (N, 3), (N, 3)),
    "the last as many": (lambda x: wg.tile(x, (2, 1))[-x.shape[0] :], (N, 3), (N, 3)),
    "the second of three": (
        lambda x: wg.tile(x, (3, 1))[-2 * x.shape[0] : -x.shape[0]],
        (N, 3),
        (N, 3),
    ),
    "all but one of the first": (
        lambda x: wg.tile(x, (2, 1))[: x.shape[0] - 1],
        (N, 3),
        (N - 1, 3),
    ),
    "the first of the second": (lambda x: wg.tile(x, (2, 1))[x.shape[0]], (N, 3), (3,)),
    "the same from behind": (lambda x: wg.tile(x, (2, 1))[-x.shape[0]], (N, 3), (3,)),
    "split before Dims": (
        lambda x: wg.split(wg.tile(x, (3, 1)), [x.shape[0], 2 * x.shape[0]])[1],
        (N, 3),
        (N, 3),
    ),
    "written from behind": (
        lambda x: wg.at(wg.tile(x, (2, 1)))[-x.shape[0] :].set(2.0),
        (N, 3),
        (2 * N, 3),
    ),
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


ENDS = [None, 0, 2, -1, -3, "n", "m", "-n", "-m", "n - 1", "1 - n", "n + 1", "-n - 3", "m - 3"]
ENDS += ["n + m", "-n - m", "2 * n", "-2 * n", "n - m", "n + m - 2"]


def an_end(end, n, m):
    return eval(end, {"n": n, "m": m}) if isinstance(end, str) else end


@pytest.mark.parametrize("start", ENDS)
@pytest.mark.parametrize("stop", ENDS)
def test_a_program_for_a_slice_serves_only_sizes_for_which_it_is_right(start, stop):
    """What is recorded for a slice of two batches in one is what Python takes, or another program
    is wanted: z[-n:] is all of z where n is 0.
    """

    def part(x, y):
        n, m = x.shape[0], y.shape[0]
        return wg.concat([x, y])[an_end(start, n, m) : an_end(stop, n, m)]

    types = [ArrayType((N,), FLOAT), ArrayType((Dim("m"),), FLOAT)]
    try:
        with known_sizes({"n": 4, "m": 5}):
            graph, _ = trace_flat(lambda x, y: (part(x, y),), types, ["x", "y"])
    except SizeNeeded:
        return
    requirements = Requirements(graph)
    for n, m in itertools.product(range(5), repeat=2):
        if requirements.broken({"n": n, "m": m}) is None:
            x, y = np.arange(n) * 1.0, np.arange(m) + 100.0
            assert np.array_equal(replay(graph, [x, y])[0], part(x, y))


def test_a_graph_refuses_sizes_for_which_minus_n_is_no_end():
    dims = {"x": {0: N}, "y": {0: Dim("m")}}
    graph = wg.trace(
        lambda x, y: wg.concat([x, y])[-x.shape[0] :], np.ones(2), np.ones(3), dims=dims
    )
    assert np.array_equal(graph.run(x=np.ones(1), y=np.zeros(4))[0], [0.0])
    with pytest.raises(ShapeError, match="for_several: given no rows for a slice"):
        graph.run(x=np.ones(0), y=np.zeros(4))


def test_batches_of_no_rows_get_a_program_of_their_own():
    def last(x, y):
        return wg.concat([x, y])[-x.shape[0] :] * 2.0

    compiled = wg.compile(last, dims={"x": {0: N}, "y": {0: Dim("m")}})
    for n, m in ((3, 4), (2, 2), (5, 1)):
        assert np.array_equal(compiled(np.ones(n), np.zeros(m)), last(np.ones(n), np.zeros(m)))
    assert len(compiled.programs) == 1
    assert np.array_equal(compiled(np.ones(0), np.ones(4)), np.full(4, 2.0))
