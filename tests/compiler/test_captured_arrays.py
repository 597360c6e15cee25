"""Arrays that a compiled function reads from outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from compiler.captured import X, call
from wengert.errors import CaptureWarning, TraceError

table = np.ones(3)


def set_global(name: str, value: Any) -> None:
    globals()[name] = value


@pytest.fixture(autouse=True)
def _restored():
    yield
    set_global("table", np.ones(3))


def test_a_captured_array_that_is_another_one():
    compiled = wg.compile(lambda x: x * table)
    assert compiled(X)[0] == 1.0
    set_global("table", np.full(3, 5.0))
    assert compiled(X)[0] == 5.0


@pytest.mark.parametrize("of", [lambda t: t, lambda t: t[:2], lambda t: t[::-1], lambda t: t.T])
@pytest.mark.parametrize("calls", [1, 2, 3, 5, 9])
def test_a_captured_array_that_was_changed_is_noticed(of, calls):
    numbers = np.arange(6.0).reshape(2, 3)
    x = np.ones(of(numbers).shape)
    compiled = wg.compile(lambda x: x * of(numbers))
    for _ in range(calls):
        compiled(x)
    numbers[0, 0] = 7.0
    with pytest.raises(TraceError, match=r"array 'numbers' was changed .*test_captured_arrays.py"):
        call(compiled, x, calls + 1)
    with pytest.raises(TraceError, match="was changed"):
        compiled(x)


def test_an_array_from_which_a_constant_was_computed_is_noticed():
    numbers = np.ones(3)
    compiled = wg.compile(lambda x: x * np.exp(numbers))
    compiled(X)
    numbers[0] = 2.0
    with pytest.raises(TraceError, match="array 'numbers' was changed"):
        call(compiled, X, 2)


def test_an_array_that_is_only_measured_may_change():
    numbers = np.ones(3)
    compiled = wg.compile(lambda x: x * len(numbers))

    def change(_):
        numbers[0] += 1
        assert compiled(X)[0] == 3.0

    with pytest.warns(CaptureWarning, match=r"recorded again 3 times.*'numbers'") as caught:
        call(change, X, 10)
    assert len(caught) == 1


def test_a_captured_array_is_not_kept_alive():
    import weakref

    numbers = np.ones(3)
    gone = weakref.ref(numbers)
    compiled = wg.compile(lambda x, n=[numbers]: x * n.pop())
    compiled(X)
    del numbers
    assert gone() is None
    assert [compiled(X)[0] for _ in range(4)] == [1.0] * 4


def test_live_arrays_are_refused():
    step = wg.TrainStep(lambda w: np.sum(w * w), np.ones(3), wg.optim.SGD(0.1))
    live, mlp = step.model, wg.nn.Mlp((3, 2), seed=0)
    for f in (
        lambda x: x * step.model,
        lambda x: x * live[::-1],
        lambda x: x * step.gradients,
        lambda x: mlp(x),
        lambda x: x @ mlp.weights(0).T,
    ):
        with pytest.raises(TraceError, match=r"Pass (it|the network) as an argument"):
            wg.compile(f)(X)
    assert wg.compile(lambda w, x: x * w)(step.model, X)[0] == 1.0


def _compiled_with(table):
    f = wg.compile(lambda x: np.sum(x * table**2))
    return lambda: float(f(np.ones(1)))


def _with_a_number_of(table):
    f = wg.compile(lambda x: np.sum(x * float(table[0]) ** 2))
    return lambda: float(f(np.ones(1)))


def _trained_with(table):
    step = wg.TrainStep(lambda w: np.sum(w * table**2), np.ones(1), wg.optim.SGD(0.0))
    return lambda: float(step())


@pytest.mark.parametrize("make", [_compiled_with, _with_a_number_of, _trained_with])
def test_an_array_that_was_found_changed_is_looked_at_in_every_call(make):
    own = np.array([2.0])
    f = make(own)
    for _ in range(3):
        f()
    own[0] = 3.0
    with pytest.raises(TraceError, match="was changed"):
        f()
    for _ in range(3):
        own[0] = 2.0
        for _ in range(5):
            assert f() == 4.0
        for other in (3.0, 4.0):
            own[0] = other
            with pytest.raises(TraceError, match="was changed"):
                f()
