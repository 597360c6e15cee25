"""What the text of kernels says is what they compute."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from codegen.explained_programs import BATCH, MATRIX, explained, f32, sorted_and_solved
from codegen.kernel_runner import Runner
from wengert.codegen.kernel_text.kernel_show import read, show
from wengert.core import tree


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
    "special": (sorted_and_solved, (MATRIX, f32(6, 4)), None),
    "stacks": (stacks, (f32(3, 4, 5), f32(3, 5, 2)), None),
}


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", TRUE)
def test_kernels_compute_what_they_say(name, fused):
    function, args, dims = TRUE[name]
    it = explained(function, *args, dims=dims, fused=fused)
    program = read(show(it.program))
    found = Runner(program, args, it.sizes).outputs()
    expected = tree.leaves(function(*args))
    for x, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, wanted, rtol=2e-5, atol=1e-6)


def test_what_is_not_read_is_not_there():
    """The runner sees a kernel that does not say what it reads."""
    it = explained(arithmetic, f32(3, 5), f32(5))
    text = show(it.program)
    assert "reads %0, %1" in text
    program = read(text.replace("reads %0, %1", "reads %0"))
    with pytest.raises(KeyError):
        Runner(program, (f32(3, 5), f32(5)), {}).outputs()
