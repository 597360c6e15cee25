"""Memory: results own theirs, it grows with open sizes, and a call allocates nothing natively."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from runtime.growth import resident

import wengert as wg

# Results own their memory.

RETURNED: dict[str, Callable[[Any], Any]] = {
    "identity": lambda x: x,
    "twice": lambda x: (x, x, x[:]),
    "a_part": lambda x: (x[1:], x[:-1], x[1:, ::2]),
    "reshaped": lambda x: (x.reshape(-1), x.T, wg.broadcast_to(x, (2, *x.shape))),
    "numbers": lambda x: (wg.sum(x), wg.max(x, axis=0)),
    "detached": lambda x: wg.stop_gradient(x),
    "a_constant": lambda x: (np.arange(3.0), x * 0 + 1, wg.ones((2, 2)), 3.0),
    "one_result_twice": lambda x: [y := wg.exp(x), y, y.T, y[0]],
    "a_loop": lambda x: wg.scan(lambda c, row: (c, c), x[0], x),
    "an_empty_loop": lambda x: wg.scan(lambda c, row: (c + row, row), x[0], x[:0]),
    "a_branch": lambda x: wg.cond(wg.sum(x) > 0, lambda: (x, x[0]), lambda: (-x, x[1])),
    "a_region": lambda x: wg.checkpoint(lambda x: (x, wg.tanh(x)))(x),
}


@pytest.mark.parametrize("what", RETURNED)
def test_results_are_new(what):
    """No result shares memory with another, an argument, a constant or another call's."""
    x = np.arange(12.0).reshape(4, 3) + 1
    before = x.copy()
    compiled = wg.compile(RETURNED[what])
    first, second, third = (wg.tree.leaves(compiled(x)) for _ in range(3))
    for one, other in itertools.combinations([*first, *second, *third, x], 2):
        assert not np.shares_memory(one, other)
    for y, theirs in zip(first, wg.tree.leaves(wg.tree.arrays(RETURNED[what](x))), strict=True):
        assert type(y) is np.ndarray
        assert y.flags.writeable
        assert y.flags.c_contiguous
        np.testing.assert_allclose(y, theirs, rtol=1e-14)
        y[...] = -77
    for y, again in zip(second, wg.tree.leaves(compiled(x)), strict=True):
        assert np.array_equal(y, again), "writing to a result changed a later one"
    assert np.array_equal(x, before)


# Donated arrays.


def test_a_result_lies_where_its_argument_lay():
    p, g = np.arange(6.0), np.ones(6)
    found, total = wg.compile(lambda p, g: (p - g, wg.sum(p)), donate="p")(p, g)
    assert found is p
    assert np.array_equal(p, np.arange(6.0) - 1)
    assert total == 15.0


def test_what_is_donated_is_read_before_it_is_written():
    """Everything is computed from the arguments as they were."""
    a, b = np.arange(5.0), np.arange(5.0) + 10
    found = wg.compile(lambda a, b: (b + 0, a + 0, a @ b), donate=(0, 1))(a, b)
    assert np.array_equal(found[0], np.arange(5.0) + 10)
    assert np.array_equal(found[1], np.arange(5.0))
    assert found[2] == np.arange(5.0) @ (np.arange(5.0) + 10)
    assert not np.shares_memory(found[0], found[1])


def test_a_donated_tree():
    state = {"w": np.ones((3, 2)), "m": [np.zeros((3, 2)), np.zeros(4)], "t": np.array(0)}
    arrays = wg.tree.leaves(state)

    def update(state: Any, g: Any) -> Any:
        m = 0.9 * state["m"][0] + g
        return {"w": state["w"] - m, "m": [m, state["m"][1] + 1], "t": state["t"] + 1}

    compiled = wg.compile(update, donate="state")
    expected = update(update(wg.tree.copy(state), np.ones((3, 2))), np.ones((3, 2)))
    for _ in range(2):
        state = compiled(state, np.ones((3, 2)))
    for ours, theirs, mine in zip(
        wg.tree.leaves(state), wg.tree.leaves(expected), arrays, strict=True
    ):
        assert any(ours is each for each in arrays), "a donated array was not used"
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)
        assert mine.flags.writeable


def test_a_donated_array_nothing_fits_into():
    p = np.arange(6.0)
    found = wg.compile(lambda p: wg.sum(p), donate=0)(p)
    assert found == 15.0
    assert np.array_equal(p, np.arange(6.0))


def test_a_result_that_is_its_donated_argument():
    p, q = np.arange(6.0), np.ones(6)
    found = wg.compile(lambda p, q: (p, q * p), donate=(0, 1))(p, q)
    assert np.array_equal(found[0], np.arange(6.0))
    assert np.array_equal(found[1], np.arange(6.0))
    assert not np.shares_memory(found[0], found[1])


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_an_empty_donated_array(shape):
    assert wg.compile(lambda p: p + 1, donate=0)(np.zeros(shape)).shape == shape


# Open sizes.


def test_capacity_grows_and_shrinks():
    """One executable serves every size, in any order."""

    def function(x: Any, w: Any) -> Any:
        hidden = np.tanh(x @ w)
        return wg.softmax(hidden), wg.sum(hidden * hidden, axis=0), wg.mean(x), x.T @ hidden

    compiled = wg.compile(function, dims={"x": {0: wg.Dim("n")}})
    rng = np.random.default_rng(3)
    w = rng.uniform(-1, 1, (7, 5))
    executable = compiled.executable(rng.uniform(size=(4, 7)), w)
    for rows in (4, 1, 5, 100, 3, 2000, 17, 1, 0, 64, 4001, 2):
        x = rng.uniform(-1, 1, (rows, 7))
        assert compiled.executable(x, w) is executable
        with np.errstate(all="ignore"):
            expected = function(x, w)
        for ours, theirs in zip(compiled(x, w), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


def test_two_open_sizes_grow_apart():
    dims = {"x": {0: wg.Dim("n"), 1: wg.Dim("k")}}

    def function(x: Any) -> Any:
        both = wg.concat([x, x * 2], axis=0)
        return wg.sum(np.exp(both), axis=1), both.reshape(-1) / x.shape[1], np.tanh(x.T) @ x

    compiled = wg.compile(function, dims=dims)
    executables = set()
    for shape in ((3, 4), (30, 1), (1, 50), (40, 2), (2, 60), (40, 60), (0, 5), (5, 0), (3, 4)):
        x = np.random.default_rng(sum(shape)).uniform(-1, 1, shape)
        executables.add(id(compiled.executable(x)))
        with np.errstate(all="ignore"):
            expected = function(x)
        for ours, theirs in zip(compiled(x), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)
    assert len(executables) == 1


def test_an_open_size_inside_donation():
    compiled = wg.compile(
        lambda p: (p + p.shape[0], wg.sum(p)), donate=0, dims={"p": {0: wg.Dim("n")}}
    )
    for size in (3, 100, 1, 0, 7):
        p = np.arange(float(size))
        found, total = compiled(p)
        assert found is p
        assert np.array_equal(p, np.arange(float(size)) + size)
        assert total == size * (size - 1) / 2


# Calls at the same time, and many of them.


def test_threads_that_compile_at_once():
    compiled = wg.compile(lambda x: wg.sum(np.exp(x)) * x)
    found: list[Any] = []

    def work(size: int) -> None:
        x = np.ones(size)
        try:
            found.append(np.allclose(compiled(x), np.sum(np.exp(x)) * x))
        except Exception as error:
            found.append(error)

    threads = [threading.Thread(target=work, args=(1 + i % 4,)) for i in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [True] * 8


def test_calls_leave_nothing_behind():
    """20,000 calls of a small program, failing ones among them, in constant memory."""

    def function(x: Any, i: Any) -> Any:
        last, _ = wg.scan(lambda c, row: (np.tanh(c + row), None), x[0], x)
        return last, wg.sum(wg.sort(x[i], axis=0)), x @ x.T

    compiled = wg.compile(function)
    x, good, bad = np.ones((30, 30)), np.arange(30), np.full(30, 99)

    def calls(count: int) -> None:
        for k in range(count):
            if k % 500 == 7:
                with pytest.raises(IndexError):
                    compiled(x, bad)
            else:
                compiled(x, good)

    calls(2000)
    before = resident()
    calls(20_000)
    grown = resident() - before
    assert grown < 1 << 20, f"grew by {grown} bytes"


def test_an_arena_is_made_once():
    compiled = wg.compile(lambda x: wg.sum(np.exp(x @ x.T) @ x))
    x = np.ones((20, 20))
    executable = compiled.executable(x)
    compiled(x)
    memory = executable.memory
    arena, frame = memory.arena, memory.frame
    for _ in range(5):
        compiled(x)
    assert executable.memory is memory
    assert memory.arena is arena
    assert memory.frame is frame
    assert 20 * 20 * 8 <= memory.size <= arena.nbytes < 64_000
