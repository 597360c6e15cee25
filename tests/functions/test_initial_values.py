"""odeint against SciPy and solutions that are known, its derivatives, and what it refuses."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import wengert as wg
from wengert.errors import LoopError, ShapeError, UnusedWarning

RNG = np.random.default_rng(3)
Y, A, B = RNG.normal(size=(3, 2))
T = np.array([0.1, 0.4, 0.4, 2.0])  # no time passes between two of them


def slope(y: Any, t: Any, a: Any, b: Any) -> Any:
    return a - np.sqrt(t) - y - np.sin(np.mean(y + b))


def solved(y: Any, t: Any, a: Any, b: Any) -> Any:
    return wg.odeint(slope, y, t, (a, b))


def exact(y: Any, t: Any, a: Any, b: Any) -> Any:
    return scipy.integrate.odeint(slope, y, t, (a, b), rtol=1e-12, atol=1e-12)


COMPILED = wg.compile(solved)


def test_scipys_values():
    expected = exact(Y, T, A, B)
    np.testing.assert_allclose(solved(Y, T, A, B), expected, atol=2e-7)
    np.testing.assert_allclose(COMPILED(Y, T, A, B), expected, atol=2e-7)
    back = wg.odeint(slope, expected[-1], T[::-1], (A, B))
    np.testing.assert_allclose(back[-1], Y, atol=2e-6)


def test_tolerances_are_kept():
    t = np.linspace(0, 4, 3)
    for rtol in (1e-4, 1e-8):
        found = wg.odeint(lambda y, t: [y[1], -y[0]], [0.0, 1.0], t, rtol=rtol, atol=rtol)
        error = np.max(np.abs(found - np.stack([np.sin(t), np.cos(t)], axis=1)))
        assert error < 20 * rtol
    single = wg.odeint(lambda y, t: -y, np.ones(2, np.float32), t)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single[:, 0], np.exp(-t), atol=1e-3)


def test_derivatives_by_all_that_it_reads():
    arguments = [Y, T[[0, 1, 3]], A, B]
    loss = wg.compile(wg.grad(lambda *args: wg.sum(solved(*args) ** 2), argnums=(0, 1, 2, 3)))
    found = loss(*arguments)
    for i, gradient in enumerate(found):
        for place in range(len(gradient)):
            ends = []
            for by in (1e-5, -1e-5):
                moved = [x.copy() for x in arguments]
                moved[i][place] += by
                ends.append(np.sum(exact(*moved) ** 2))
            np.testing.assert_allclose(gradient[place], (ends[0] - ends[1]) / 2e-5, atol=3e-5)


def test_all_directions_agree():
    t = np.array([0.0, 0.5])
    wg.check_grads(
        lambda y, t: wg.odeint(lambda y, t: -y * y + t, y, t), [np.ones(2), t], rtol=1e-4
    )


def test_each_example_has_its_own_steps():
    starts = np.array([[1.0], [20.0]])

    def one(y: Any) -> Any:
        return wg.odeint(lambda y, t: -y * y, y, np.linspace(0, 1, 3))

    found = wg.vmap(one)(starts)
    np.testing.assert_allclose(found, np.stack([one(y) for y in starts]), rtol=1e-12)
    np.testing.assert_allclose(found[1, -1], 20 / 21, atol=1e-6)


def test_a_number_is_a_vector_of_one():
    found = wg.odeint(lambda y, t: -y, 1.0, [0.0, 1.0])
    assert found.shape == (2, 1)
    assert wg.odeint(lambda y, t: -y, 1.0, [0.0]).tolist() == [[1.0]]


def test_steps_that_do_not_suffice():
    stiff = [lambda y, t: -1e6 * (y - np.cos(t)), 0.0, np.array([0.0, 10.0])]
    with pytest.raises(LoopError, match="max_steps=30 steps"):
        wg.odeint(*stiff, max_steps=30)
    with pytest.raises(LoopError, match="Pass a larger max_steps"):
        wg.compile(lambda t: wg.odeint(*stiff[:2], t, max_steps=30))(stiff[2])


def test_what_it_refuses():
    def decay(y: Any, t: Any) -> Any:
        return -y

    with pytest.raises(ShapeError, match=r"odeint: given times of shape \(\)"):
        wg.odeint(decay, 1.0, 3.0)
    with pytest.raises(ShapeError, match="odeint: given times that rise and fall"):
        wg.odeint(decay, 1.0, [0.0, 1.0, 0.5])
    with pytest.raises(ShapeError, match=r"odeint: func returns shape \(\) for y of shape \(2,\)"):
        wg.odeint(lambda y, t: y[0], np.ones(2), [0.0, 1.0])
    with pytest.raises(TypeError, match=r"odeint: given ndarray for func"):
        wg.odeint(np.ones(2), decay, [0.0, 1.0])
    with pytest.raises(TypeError, match=r"odeint: given float for args; .*args=\(a,\)"):
        wg.odeint(decay, 1.0, [0.0, 1.0], 3.0)
    with pytest.raises(ValueError, match=r"odeint: rtol=0 was given"):
        wg.odeint(decay, 1.0, [0.0, 1.0], rtol=0)
    with pytest.raises(wg.errors.TraceError, match=r"scipy.integrate.odeint: .* Write wg.odeint"):
        wg.grad(lambda y: scipy.integrate.odeint(decay, y, T).sum())(Y)
    for y0 in ({"a": Y, "b": Y}, (Y, np.ones(3))):
        kind = type(y0).__name__
        with pytest.raises(ShapeError, match=f"odeint: y0 is a {kind} of arrays; y is one array"):
            wg.odeint(decay, y0, [0.0, 1.0])
    with pytest.raises(ShapeError, match="odeint: func returns a dict of arrays"):
        wg.odeint(lambda y, t: {"a": y}, Y, [0.0, 1.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_defaults_are_as_exact_as_the_dtype_allows(dtype):
    """And need few steps: an interval has some dozens at most."""
    t = np.linspace(0, 10, 5).astype(dtype)
    turn = wg.odeint(lambda y, t: wg.stack([y[1], -y[0]]), np.array([1, 0], dtype), t, max_steps=60)
    assert turn.dtype == dtype
    allowed = 2e-5 if dtype == np.float32 else 2e-7
    np.testing.assert_allclose(turn[:, 0], np.cos(t.astype(float)), rtol=0, atol=allowed)


def test_the_end_alone_integrates_nothing_and_is_told():
    for times in ([3.0], (3,), np.array([3.0])):
        with pytest.warns(UnusedWarning, match=r"given one time, 3.*first: \[0\.0, 3"):
            wg.odeint(lambda y, t: -y, Y, times)


@pytest.mark.filterwarnings("error")
def test_one_time_that_may_be_meant_is_not_told():
    for times in ([0.0], [0], np.zeros(1), T[:1], np.linspace(0.0, 3.0, 1)):
        np.testing.assert_array_equal(wg.odeint(lambda y, t: -y, Y, times), [Y])
    wg.compile(lambda t: wg.odeint(lambda y, t: -y, Y, t))(np.array([3.0]))
    wg.grad(lambda t: wg.sum(wg.odeint(lambda y, t: -y, Y, [t])))(3.0)


def unpacked(when: Any, y: Any) -> Any:
    a, b = y
    return [b, -a]


NET = wg.nn.Linear(2, 2, seed=0, dtype=np.float64)


class Pendulum:
    def slope(self, t: Any, y: Any) -> Any:
        return wg.stack([y[1], -y[0]])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "func",
    [
        lambda t, y: wg.stack([y[1], -y[0]]),
        lambda when, y: [y[1], -y[0]],
        unpacked,
        Pendulum().slope,
        # No name tells it, and errors are those of shapes.
        lambda when, y: y @ np.array([[0.0, -1.0], [1.0, 0.0]]),
        lambda when, y: NET(y),
        lambda when, y: wg.concat([y[1:], -y[:1]]),
        lambda when, y: wg.flip(y, axis=0),
    ],
)
def test_a_function_with_the_time_first_is_told_the_order(func, compiled):
    def values(y: Any, t: Any) -> Any:
        return wg.odeint(func, y, t)

    with pytest.raises(Exception) as refused:  # noqa: PT011 - of NumPy, or ours where recorded
        (wg.compile(values) if compiled else values)(Y, T)
    assert "y is the first argument of func(y, t)" in "".join(refused.value.__notes__)


def test_a_function_that_fails_otherwise_is_not_told_the_order():
    def product(y: Any, t: Any) -> Any:
        return np.ones((3, 3)) @ y

    def own(y: Any, t: Any) -> Any:
        raise ValueError("matmul is not what this equation needs")

    def searched(y: Any, t: Any) -> Any:
        return {"matmul": y}["matmuls"]

    for func in (product, own, searched):
        with pytest.raises((ValueError, KeyError), match="matmul") as refused:
            wg.odeint(func, Y, T)
        assert not hasattr(refused.value, "__notes__")


def test_a_branch_is_not_told_the_order():
    def dose(y: Any, t: Any) -> Any:
        return -y if t > 1 else y

    def values(y: Any, t: Any) -> Any:
        return wg.odeint(dose, y, t)

    for call in (values, wg.compile(values)):
        with pytest.raises(wg.errors.TraceError) as refused:
            call(np.array([1.0]), T)
        assert not any("solve_ivp" in note for note in getattr(refused.value, "__notes__", []))


GENERATOR = np.random.default_rng(0)
RUN = {"rtol": 0.1, "atol": 1e3}


class Counting:
    """A slope that changes with each call."""

    def __init__(self):
        self.k = 0.0
        self.calls = 0

    def __call__(self, y, t):
        self.k += 1.0
        return -y * self.k

    def counted(self, y, t):
        self.calls += 1
        return -y


def test_what_func_draws_is_told():
    def noise() -> Any:
        return GENERATOR.normal()

    for func in (lambda y, t: -y + GENERATOR.normal(), lambda y, t: -y + noise()):
        with pytest.warns(wg.errors.RandomnessWarning) as told:
            wg.odeint(func, Y, T, **RUN)
        (text,) = [str(each.message) for each in told]
        assert text.startswith("odeint: a generator of NumPy was used in func, ")
        assert "wg.interp(t, times, draws)" in text


def test_what_func_changes_is_told():
    count = [0.0]

    def func(y: Any, t: Any) -> Any:
        count[0] += 1.0
        return -y * count[0]

    for each, name in ((func, "count[0]"), (Counting(), "self.k")):

        def values(y: Any, t: Any, each: Any = each) -> Any:
            return wg.odeint(each, y, t, **RUN)

        for call in (values, wg.compile(values)):
            with pytest.warns(wg.errors.FrozenValueWarning) as told:
                call(Y, T)
            (text,) = {str(one.message) for one in told}
            assert text.startswith(f"odeint: func changed {name}; ")
            assert "Use t, or " in text


def test_a_tensor_that_func_leaves():
    kept = {"y": 0.0}

    def func(y: Any, t: Any) -> Any:
        kept["y"] = kept["y"] + y
        return -kept["y"]

    with pytest.raises(wg.errors.TraceError, match=r"odeint: func left a Tensor in .* part of y"):
        wg.odeint(func, Y, T)


def test_items_that_func_takes_are_told():
    short, long = iter([1.0, 2.0, 3.0]), itertools.count(1)
    with pytest.raises(wg.errors.TraceError, match=r"no more; .*interp\(t, times, items\)"):
        wg.odeint(lambda y, t: -y * next(short), Y, T)
    with pytest.warns(wg.errors.FrozenValueWarning, match="odeint: func took items from the iter"):
        wg.odeint(lambda y, t: -y / next(long), Y, T, **RUN)


def test_func_may_count_and_draw_before():
    count, drawn = Counting(), GENERATOR.normal(size=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wg.odeint(count.counted, Y, T)
        wg.odeint(lambda y, t: -y + wg.interp(t, np.linspace(0.0, 9.0, 3), drawn), Y, T)
    assert count.calls > 0


def test_the_order_of_solve_ivp():
    for y0 in ([1.0, 3.0, 2.0], 1.0):
        with pytest.raises(ShapeError, match=r"odeint\(func, y0, times\)"):
            wg.odeint(lambda t, y: -y, (0.0, 3.0), y0)
    with pytest.raises(ShapeError) as refused:
        wg.odeint(lambda y, t: -y, Y, [1.0, 3.0, 2.0])
    assert "solve_ivp" not in str(refused.value)
    with pytest.raises(TypeError, match=r"no parameter 'tfirst'.* put the time last"):
        wg.odeint(lambda t, y: -y, Y, T, tfirst=True)
