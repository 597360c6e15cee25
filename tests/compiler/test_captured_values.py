"""What a compiled function reads beside its arguments: the answer is that of now, or an error."""

from __future__ import annotations

import functools
import types
from collections import deque
from enum import Enum
from typing import Any

import numpy as np
import pytest

import wengert as wg
from compiler.captured import X, call, counted
from wengert.errors import CaptureWarning

scale: Any = 2.0
settings: Any = {"scale": 2.0, "deep": [1.0, {"x": 3.0}]}


def set_global(name: str, value: Any) -> None:
    globals()[name] = value


@pytest.fixture(autouse=True)
def _restored():
    yield
    set_global("scale", 2.0)
    set_global("settings", {"scale": 2.0, "deep": [1.0, {"x": 3.0}]})


def test_a_number_that_is_global():
    f, calls = counted(lambda x: x * scale)
    compiled = wg.compile(f)
    assert compiled(X)[0] == 2.0
    assert compiled(X)[0] == 2.0
    set_global("scale", 3.0)
    assert compiled(X)[0] == 3.0
    assert compiled(X)[0] == 3.0
    set_global("scale", 2.0)
    assert compiled(X)[0] == 2.0  # with the first program
    assert len(calls) == 2


def test_an_equal_number_is_the_same_one():
    f, calls = counted(lambda x: x * scale)
    compiled = wg.compile(f)
    for _ in range(5):
        set_global("scale", float("2.5"))
        assert compiled(X)[0] == 2.5
    assert len(calls) == 1


def test_a_number_of_a_closure():
    factor = 2.0
    compiled = wg.compile(lambda x: x * factor)
    assert compiled(X)[0] == 2.0
    factor = 3.0
    assert compiled(X)[0] == 3.0


def helper(x):
    return x * scale


def test_a_number_that_a_function_reads_further_inside():
    compiled = wg.compile(lambda x: [helper(each) for each in (x, x)])
    assert compiled(X)[1][0] == 2.0
    set_global("scale", 3.0)
    assert compiled(X)[1][0] == 3.0


def test_a_function_that_is_another_one_now():
    before = helper
    try:
        compiled = wg.compile(lambda x: helper(x))
        assert compiled(X)[0] == 2.0
        set_global("helper", lambda x: x * 7.0)
        assert compiled(X)[0] == 7.0
    finally:
        set_global("helper", before)


@pytest.mark.parametrize(
    "change",
    [
        lambda: settings.update(scale=3.0),
        lambda: settings["deep"].__setitem__(0, 4.0),
        lambda: settings["deep"][1].update(x=5.0),
        lambda: settings.update(new=1.0),
        lambda: settings["deep"].append(9.0),
    ],
)
def test_containers_are_compared_by_what_they_hold(change):
    def f(x):
        deep = settings["deep"]
        total = settings["scale"] + deep[0] + deep[1]["x"] + len(settings) + len(deep)
        return x * total

    compiled = wg.compile(f)
    assert compiled(X)[0] == f(X)[0]
    assert compiled(X)[0] == f(X)[0]
    change()
    assert compiled(X)[0] == f(X)[0]


def test_sets_of_a_closure():
    chosen = {1, 2}
    compiled = wg.compile(lambda x: x * sum(chosen))
    assert compiled(X)[0] == 3
    chosen.remove(1)
    chosen.add(5)
    assert compiled(X)[0] == 7


def test_what_recording_changes_itself_is_no_reason_to_record_again():
    calls, count, seen = [], 0, {"n": 0}

    @wg.compile
    def f(x):
        nonlocal count
        count += 1
        calls.append(x.shape)
        seen["n"] += 1
        return x * 2.0

    for _ in range(3):
        f(X)
        calls.clear()
    assert count == seen["n"] == 1


def test_what_does_not_matter_makes_no_new_program():
    level = 1

    def f(x):
        return x * (2.0 if level else 3.0)

    compiled = wg.compile(f)
    first = compiled.executable(X)
    compiled(X)
    level = 2
    assert compiled(X)[0] == 2.0
    assert compiled.executable(X) is first
    assert compiled(X)[0] == 2.0
    level = 0
    assert compiled(X)[0] == 3.0


class Color(Enum):
    RED = 2.0
    BLUE = 3.0


@pytest.mark.parametrize(
    ("old", "new"),
    [(True, 1), (1, 1.0), (0.0, -0.0), ("a", "b"), ((1, 2), (1, 3)), (Color.RED, Color.BLUE)],
)
def test_values_that_make_another_program(old, new):
    seen = []
    value = old
    compiled = wg.compile(lambda x: (seen.append(value), x * 1.0)[1])
    compiled(X)
    value = new
    compiled(X)
    assert [repr(each) for each in seen] == [repr(old), repr(new)]


def test_a_partial_and_a_derivative_are_followed():
    factor = 2.0

    def f(y, x):
        return np.sum(x * x) * factor + y

    for make in (lambda: functools.partial(f, 0.0), lambda: wg.compile(functools.partial(f, 0.0))):
        factor = 2.0
        compiled = wg.compile(wg.grad(make()))
        assert compiled(X)[0] == 4.0
        factor = 3.0
        assert compiled(X)[0] == 6.0


def test_two_functions_that_count_in_one_dict_do_not_record_each_other():
    counts = {"a": 0, "b": 0}

    def first(x):
        counts["a"] += 1
        return x * 2.0

    def second(x):
        counts["b"] += 1
        return x * 3.0

    both = wg.compile(first), wg.compile(second)
    for _ in range(5):
        assert [f(X)[0] for f in both] == [2.0, 3.0]
    assert counts == {"a": 1, "b": 1}


def test_recordings_in_vain_are_a_warning():
    state = types.SimpleNamespace(n=0)
    compiled = wg.compile(lambda x: x * (2.0 if state.n < 9 else 3.0))

    def count():
        compiled(X)
        state.n += 1

    with pytest.warns(CaptureWarning, match=r"'state\.n', which it could read") as caught:
        call(lambda _: count(), X, 12)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert compiled(X)[0] == 3.0


def test_a_deque_that_recording_fills():
    seen = deque([1.0], maxlen=4)

    def f(x):
        seen.append(2.0)
        return x * seen[0]

    compiled = wg.compile(f)
    assert [compiled(X)[0] for _ in range(3)] == [1.0] * 3
    assert list(seen) == [1.0, 2.0]
