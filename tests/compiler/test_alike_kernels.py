"""Kernels that differ in numbers only are written once, and compute what each would by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from compiler.running import bits
from wengert.codegen.growing import MEMBERS
from wengert.codegen.llvm import module as llvm_module
from wengert.codegen.llvm.calling import Repetition, repetitions
from wengert.errors import NonFiniteError

STEPS = 12


def recurrent(w: Any, b: Any, xs: Any) -> Any:
    """Products with what follows them, and rows of one array: views that begin elsewhere."""
    h = xs[0]
    for x in xs[1:STEPS]:
        h = np.tanh(h @ w + b) + x
    return np.sum(h * h)


def chain(w: Any, b: Any, xs: Any) -> Any:
    """More members than a kernel takes, and values that cross its borders."""
    x, y = xs[0], xs[1]
    for _ in range(2 * MEMBERS):
        x, y = x * 0.5 + b, y + x * x
    return x + y @ w


def folded(w: Any, b: Any, xs: Any) -> Any:
    """Rows and columns in turn."""
    h = xs[0]
    for t in range(STEPS):
        h = wg.softmax(h * b) + xs[t]
        h = h - np.mean(h, axis=0)
    return h


def picked(w: Any, b: Any, xs: Any) -> Any:
    """Ops that find elements by position, in views that begin elsewhere."""
    places = np.array([2, 0, 1])
    return [np.sum(np.concatenate([xs[t][places], b[None]]) * 2.0) for t in range(STEPS)]


def special(w: Any, b: Any, xs: Any) -> Any:
    found = []
    for t in range(STEPS):
        sorted_rows = np.sort(xs[t], axis=-1)
        found.append(np.cumsum(sorted_rows + b, axis=0))
        found.append(np.linalg.solve(w + 5.0 * np.eye(4, dtype=w.dtype), sorted_rows[0]))
    return found


def repeated(w: Any, b: Any, xs: Any) -> Any:
    """Products of an array that needs no memory but for them."""
    halves = np.broadcast_to(np.float32(0.5), w.shape).astype(w.dtype)
    h = xs[0]
    for x in xs[1:STEPS]:
        h = np.tanh(h @ halves) + x
    return h


def looped(w: Any, b: Any, xs: Any) -> Any:
    """Alike kernels in the body of a loop."""

    def body(h: Any, x: Any) -> Any:
        for _ in range(6):
            h = np.tanh(h @ w) + x
        return h, np.sum(h)

    return wg.scan(body, xs[0], xs)


PROGRAMS: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (recurrent, chain, folded, picked, special, repeated, looped)
} | {"gradient": wg.value_and_grad(recurrent, argnums=(0, 1, 2))}


def arguments(dtype: Any = np.float64, rows: int = 3, columns: int = 4) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    shapes = (columns, columns), (columns,), (STEPS, rows, columns)
    return tuple(rng.normal(size=shape).astype(dtype) for shape in shapes)


def functions(executable: Any) -> int:
    return int(executable.text.count("\ndefine "))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_are_those_of_kernels_written_one_by_one(
    name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
):
    args = arguments(dtype)
    shared = wg.compile(PROGRAMS[name]).executable(*args)
    monkeypatch.setattr(llvm_module, "alike", lambda forms: [])
    apart = wg.compile(PROGRAMS[name]).executable(*args)
    assert "_alike" in shared.text
    assert "_alike" not in apart.text
    assert bits(shared(*args)) == bits(apart(*args))


@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_do_not_depend_on_workers(name: str, monkeypatch: pytest.MonkeyPatch):
    args = arguments(np.float32, rows=64, columns=64) if name != "special" else arguments()
    alone = wg.compile(PROGRAMS[name], threads=1).executable(*args)
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    divided = wg.compile(PROGRAMS[name], threads=2).executable(*args)
    assert divided.program.divided
    if name in ("chain", "folded", "picked"):  # maps, rows and columns
        assert "_chunk_alike" in divided.text
    for _ in range(3):
        assert bits(divided(*args)) == bits(alone(*args))


def test_a_longer_loop_in_python_is_no_more_code():
    def steps(count: int) -> Callable[..., Any]:
        def loss(w: Any, x: Any) -> Any:
            for _ in range(count):
                x = np.tanh(x @ w)
            return np.sum(x)

        return wg.value_and_grad(loss)

    args = np.ones((4, 4)), np.ones((3, 4))
    few, many = (wg.compile(steps(count)).executable(*args) for count in (30, 90))
    assert len(many.program.kernels) > 2 * len(few.program.kernels)
    assert functions(many) == functions(few)


def test_a_longer_loop_that_looks_letters_up_is_no_more_code():
    """Each step reads its letter at another place, and finds a column by it: the chain of a hidden
    Markov model.
    """

    def likelihood(moves: Any, emits: Any, letters: Any) -> Any:
        state = moves[0]
        for letter in letters:
            state = wg.logsumexp(state[:, None] + moves, axis=0) + emits[:, letter]
        return wg.logsumexp(state)

    rng = np.random.default_rng(0)
    moves, emits, letters = rng.normal(size=(3, 3)), rng.normal(size=(3, 5)), np.arange(48) % 5
    gradient = wg.value_and_grad(likelihood, argnums=(0, 1))
    few, many = (
        wg.compile(gradient).executable(moves, emits, letters[:count]) for count in (24, 48)
    )
    assert len(many.program.kernels) > len(few.program.kernels)
    assert functions(many) == functions(few)
    expected = wg.tree.leaves(gradient(moves, emits, letters))
    for found, each in zip(wg.tree.leaves(many(moves, emits, letters)), expected, strict=True):
        np.testing.assert_allclose(found, each, rtol=1e-12)


def test_long_kernels_end_where_the_loop_does():
    """So they are alike, but for the first and the last."""

    def run(x: Any, v: Any, k: Any) -> Any:
        for _ in range(200):
            v = v - k * np.sin(x)
            x = x + 0.1 * v
        return x, v

    args = tuple(np.ones(5) for _ in range(3))
    executable = wg.compile(run).executable(*args)
    assert len(executable.program.kernels) > 7
    assert all(len(each.members) <= MEMBERS for each in executable.program.kernels)
    assert all(len(each.stores) <= 2 for each in executable.program.kernels)
    assert functions(executable) <= functions(wg.compile(np.sin).executable(args[0])) + 3


def test_an_error_names_the_step_it_is_in():
    """Alike kernels fail in nodes of their own."""

    def picks(x: Any, places: Any) -> Any:
        total = x[0]
        for t in range(8):
            total = total + np.sum(x[places[t]])
        return total

    compiled = wg.compile(picks)
    x, places = np.arange(5.0), np.zeros((8, 2), np.int64)
    assert compiled(x, places) == 0.0
    for step, place in ((6, 17), (3, -9)):
        bad = places.copy()
        bad[step, 1] = place
        with pytest.raises(IndexError, match=str(place)):
            compiled(x, bad)


def test_a_check_names_the_output_that_is_not_finite():
    """Checks of alike kernels are alike, too."""

    def grow(parameters: Any, by: Any) -> Any:
        return [p * by[i] for i, p in enumerate(parameters)]

    compiled = wg.compile(grow, donate="parameters", nonfinite="raise")
    parameters = [np.full(3, 1e200) for _ in range(6)]
    compiled(parameters, np.ones(6))
    executable = compiled.executable(parameters, np.ones(6))
    assert all(kernel.gated for kernel in executable.program.kernels)
    assert "check_alike" in executable.text
    for bad in (1, 4):
        by = np.ones(6)
        by[bad] = 1e200
        with pytest.raises(NonFiniteError, match=f"output {bad} "):
            compiled(parameters, by)


def test_repetitions_cover_all_items():
    rng = np.random.default_rng(1)
    for _ in range(200):
        some = [rng.integers(0, 3, size=rng.integers(1, 4)).tolist() for _ in range(3)]
        items = [item for each in some for item in each * int(rng.integers(1, 9))]
        again: list[Any] = []
        for each in repetitions(items):
            assert isinstance(each, Repetition)
            again += items[each.begin : each.begin + each.period] * each.turns
        assert again == items


def test_sums_over_rows_are_alike_for_all_widths():
    def sums(x: Any, y: Any) -> Any:
        return np.sum(x, axis=0), np.sum(y, axis=0)

    one, both = (
        wg.compile(function, threads=1).executable(np.ones((300, 64)), np.ones((300, 256)))
        for function in (lambda x, _: np.sum(x, axis=0), sums)
    )
    assert both.text.count(" alloca ") == one.text.count(" alloca ") > 0
