"""What explain says of kernels is what they compute."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from codegen.explained_programs import BATCH, explained, f32
from codegen.kernel_reader import Reader
from wengert.codegen.explain.index import axis_names, index_text
from wengert.codegen.views import View, looked_at, row_major
from wengert.core import tree
from wengert.core.graph import Node
from wengert.core.table import op
from wengert.core.types import ArrayType


def softmax_network(w, b, v, x):
    def loss(w, b, v):
        return wg.sum(wg.square(wg.softmax(wg.tanh(x @ w + b) @ v)))

    return wg.value_and_grad(loss, argnums=(0, 1, 2))(w, b, v)


def views(x, y):
    a, b = x[::2, 1:4] * 2, x.T[1:3, ::-1]
    return (
        a,
        b + 1,
        wg.reshape(y, (4, 6)) * x[:4],
        x[:, 3:4] - y[:6, None],
        wg.sum(x[::-1].T, axis=0),
    )


def stacks(x, y):
    return x @ y, wg.matrix_transpose(x) @ x, x[0] @ y[0, :, 0], wg.sum(x, axis=(0, 2)) * 2


def arithmetic(x, y):
    return (x - (y - x)) * (x + y) / (3 - (x * (y / 4)))


TRUE = {
    "arithmetic": (arithmetic, (f32(3, 5), f32(5)), None),
    "network": (softmax_network, (f32(4, 6), f32(6), f32(6, 3), f32(5, 4)), {"x": {0: BATCH}}),
    "views": (views, (f32(6, 6), f32(24)), None),
    "stacks": (stacks, (f32(3, 4, 5), f32(3, 5, 2)), None),
}


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", TRUE)
def test_kernels_compute_what_they_say(name, fused):
    function, args, dims = TRUE[name]
    it = explained(function, *args, dims=dims, fused=fused)
    graph = it.program.graph
    arrays = {graph.name(i): x for i, x in zip(graph.inputs, args, strict=True)}
    reader = Reader(arrays, it.sizes)
    for kernel in it.kernels:
        reader.run(kernel)
    expected = tree.leaves(function(*args))
    for number, wanted in zip(graph.returns, expected, strict=True):
        np.testing.assert_allclose(reader.arrays[f"v{number}"], wanted, rtol=2e-5, atol=1e-6)


@st.composite
def looks(draw):
    """An array and a view of it: shape, and what was done to it."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    array = np.arange(np.prod(shape)).reshape(shape)
    view, found = View((0, 0), 0, row_major(shape)), array
    for _ in range(draw(st.integers(0, 3))):
        rank = found.ndim
        if draw(st.booleans()):
            axes = tuple(draw(st.permutations(range(rank))))
            after, params, which = found.transpose(axes), {"axes": axes}, op.permute_dims
        else:
            starts = [draw(st.integers(0, n - 1)) for n in found.shape]
            steps = [draw(st.sampled_from([1, 2, -1])) for _ in starts]
            cut = zip(starts, steps, strict=True)
            after = found[tuple(slice(a, None, step) for a, step in cut)]
            params = {"start": tuple(starts), "size": after.shape, "step": tuple(steps)}
            which = op.slice_axes
        node = Node(which, (0,), params, ArrayType(after.shape, after.dtype))
        seen = looked_at(node, view, found.shape)
        assert seen is not None
        view, found = seen, after
    return array, view, found


@given(looks())
def test_an_index_is_where_the_view_reads(case):
    array, view, found = case
    names = axis_names(found.shape)
    text = index_text(view, found.shape, names, array.shape)
    for place in product(*map(range, found.shape)):
        env = {name: i for name, i in zip(names, place, strict=True) if name != "0"}
        assert eval(f"array{text}", {"array": array}, env) == found[place], text


def test_an_index_into_a_reshaped_array_is_flat():
    view = View((0, 0), 3, (6, 1))
    text = index_text(view, (2, 6), ("i", "j"), (5, 3))
    assert text == ".flat[6*i + j + 3]"
    batch = View((0, 0), BATCH * 4, (4, 1))
    assert index_text(batch, (BATCH, 4), ("i", "j"), (BATCH * 2, 4)) == ".flat[4*i + j + 4*batch]"
