"""Loops that end by themselves, in compiled programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from compiler.running import bits, require_eager, run_alone
from wengert.errors import LoopError

RNG = np.random.default_rng(29)


def real(*shape: int) -> Any:
    return RNG.uniform(-1, 1, shape)


def fixed_point(w: Any, x: Any, max_steps: int | None = 60) -> Any:
    """h = tanh(w h + x), and how many steps that took."""

    def step(state: Any) -> Any:
        h, _, n = state
        return np.tanh(h @ w + x), h, n + 1

    def moves(state: Any) -> Any:
        return wg.max(wg.abs(state[0] - state[1])) > 1e-6

    h, _, n = wg.while_loop(moves, step, (x, x + 1.0, 0), max_steps)
    return h, n


def test_a_fixed_point_and_its_derivatives():
    w, x = real(5, 5) * 0.3, real(3, 5)
    _, n = require_eager(fixed_point, w, x)
    assert 5 < n < 40
    require_eager(lambda w, x: fixed_point(w, x, None), w, x)
    loss = lambda w, x: wg.sum(fixed_point(w, x)[0] ** 2)  # noqa: E731
    _, (gw, _) = require_eager(wg.value_and_grad(loss, argnums=(0, 1)), w, x)
    # The derivative of a fixed point is known: it is that of a loop that has converged.
    h = np.asarray(fixed_point(w, x)[0])
    slope = 1 - h * h
    expected = np.zeros_like(w)
    for row, d in zip(h, slope, strict=True):
        g = np.linalg.solve(np.eye(5) - w * d, 2 * row)
        expected += np.outer(row, d * g)
    np.testing.assert_allclose(gw, expected, rtol=1e-4)
    require_eager(lambda w, x: wg.hvp(lambda x: loss(w, x), x, wg.cos(x)), w, x)
    require_eager(lambda w, x: wg.jvp(lambda w: loss(w, x), (w,), (wg.sin(w),)), w, x)


def test_open_sizes():
    """One program for any number of rows, backward included; each takes as long as it needs."""

    def gradient(x: Any) -> Any:
        def loss(x: Any) -> Any:
            step = lambda s: (s[0] * 0.5 + wg.sin(s[0]) * 0.1, s[1] + 1)  # noqa: E731
            y, n = wg.while_loop(lambda s: wg.any(wg.abs(s[0]) > 0.01), step, (x, 0), 40)
            return wg.sum(y * y), n

        return wg.value_and_grad(loss, has_aux=True)(x)

    compiled = wg.compile(gradient, dims={"x": {0: wg.Dim("n")}})
    for n in (4, 1, 0, 11):
        x = real(n, 3) * 10
        (value, steps), found = compiled(x)
        (expected, count), gradients = gradient(x)
        assert steps == count
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(found, gradients, rtol=1e-11, atol=1e-15)
    assert len({id(compiled.executable(real(n, 3))) for n in (4, 11)}) == 1


def test_carries_that_rotate():
    def rotate(a: Any, b: Any, c: Any) -> Any:
        step = lambda s: (s[1], s[2], s[0] * 2, s[3] + 1)  # noqa: E731
        return wg.while_loop(lambda s: s[3] < 7, step, (a, b, c, 0), max_steps=8)

    found = run_alone(rotate, real(4), real(4), real(4))
    assert found[3] == 7
    require_eager(rotate, real(4), real(4), real(4))
    require_eager(
        wg.grad(lambda a, b, c: wg.sum(rotate(a, b, c)[1] ** 3)), real(4), real(4), real(4)
    )


def test_a_carry_that_stays_and_one_that_is_replaced():
    def f(x: Any, y: Any) -> Any:
        step = lambda s: (s[0], y, s[2] + 1)  # noqa: E731
        return wg.while_loop(lambda s: s[2] < 3, step, (x, x, 0), max_steps=3)

    require_eager(f, real(4), real(4))
    require_eager(wg.grad(lambda x, y: wg.sum(f(x, y)[0] * f(x, y)[1]), (0, 1)), real(4), real(4))


def test_the_same_array_twice():
    """Donated, and an output beside it."""

    def f(p: Any) -> Any:
        return wg.while_loop(lambda p: wg.sum(p) < 50, lambda p: p * 2, p), wg.sum(p)

    p = np.ones(4)
    new, total = wg.compile(f, donate="p")(p)
    assert new is p
    assert (p[0], total) == (16.0, 4.0)


# What fails.


def out_of_range(x: Any, i: Any) -> Any:
    """An index that runs out of range; with the place it is given instead, no end is in sight."""
    return wg.while_loop(
        lambda s: s[1] < 100.0, lambda s: (s[0] + 1, s[1] + x[s[0]]), (i, wg.sum(x) * 0)
    )


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("grain", ["1", "1000000"])
def test_a_failure_ends_the_loop(threads: int, grain: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WENGERT_GRAIN", grain)
    compiled = wg.compile(out_of_range, threads=threads)
    assert compiled(np.full(300, 1.0), np.array(3))[0] == 103
    with pytest.raises(IndexError, match="index 300"):
        compiled(np.zeros(300), np.array(3))
    assert compiled(np.full(300, 1.0), np.array(3))[0] == 103  # nothing is left of it


@pytest.mark.parametrize("threads", [1, 3])
def test_a_failure_before_the_loop_ends_it(threads: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WENGERT_GRAIN", "1")

    def f(x: Any, places: Any) -> Any:
        total = wg.sum(x[places] * 1.5)
        return wg.while_loop(lambda s: s < total, lambda s: s + 1.0, total - 10.5)

    compiled = wg.compile(f, threads=threads)
    good = np.arange(2000) % 500
    for _ in range(20):
        compiled(np.ones(500), good)
        bad = good.copy()
        bad[-1] = 700
        with pytest.raises(IndexError, match="700"):
            compiled(np.full(500, np.inf), bad)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_bound(threads: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    f = lambda w, x: fixed_point(w, x, 4)  # noqa: E731
    compiled = wg.compile(f, threads=threads)
    for _ in range(3):
        with pytest.raises(LoopError, match=r"max_steps=4 .*test_while_loop.py"):
            compiled(real(40, 40) * 0.1, real(30, 40))
    zero = np.zeros((30, 40))
    assert compiled(np.zeros((40, 40)), zero)[1] == 1


def test_nothing_is_committed_beyond_the_bound():
    def f(p: Any) -> Any:
        return p + wg.while_loop(lambda p: wg.sum(p) < 50, lambda p: p * 2, p, max_steps=2)

    p = np.ones(4)
    with pytest.raises(LoopError):
        wg.compile(f, donate="p")(p)
    assert np.array_equal(p, np.ones(4))


# Bits.


@pytest.mark.parametrize("name", ["WENGERT_FUSE", "WENGERT_LANES"])
def test_bits_of_other_builds(name: str, monkeypatch: pytest.MonkeyPatch):
    w, x = real(7, 7) * 0.2, real(5, 7)
    gradient = wg.value_and_grad(lambda w, x: wg.sum(fixed_point(w, x)[0] ** 2), argnums=(0, 1))
    expected = bits(wg.compile(gradient)(w, x))
    for setting in {"WENGERT_FUSE": ["0"], "WENGERT_LANES": ["4", "8"]}[name]:
        monkeypatch.setenv(name, setting)
        assert bits(wg.compile(gradient)(w, x)) == expected


def test_it_prints_its_steps(capsys: pytest.CaptureFixture[str]):
    def f(x: Any) -> Any:
        return wg.while_loop(
            lambda x: wg.debug(x, "asked") < 4, lambda x: wg.debug(x, "x") * 2, x, max_steps=5
        )

    expected = [
        *("asked (step 0): float64[] = 1.", "x (step 0): float64[] = 1."),
        *("asked (step 1): float64[] = 2.", "x (step 1): float64[] = 2."),
        "asked (step 2): float64[] = 4.",
    ]
    for call in (f, wg.compile(f), wg.grad(f), wg.compile(wg.grad(f))):
        call(np.array(1.0))
        assert capsys.readouterr().out.splitlines() == expected
