"""State that a recorded function keeps outside of itself would stay as recording found it."""

from __future__ import annotations

import itertools
import warnings
from collections import deque

import numpy as np
import pytest

import wengert as wg

x = np.array([1.0, 2.0, 3.0])
H = np.zeros(3)


class Holder:
    h = None


def in_a_dict():
    kept = {"h": np.zeros(3)}

    def f(x):
        kept["h"] = kept["h"] + x
        return x * kept["h"]

    return f


def in_a_variable():
    h = np.zeros(3)

    def f(x):
        nonlocal h
        h = wg.stop_gradient(h + x)
        return x * h

    return f


def in_a_global():
    def f(x):
        global H  # noqa: PLW0603
        H = H + x
        return x * H

    return f


def in_an_attribute():
    holder = Holder()
    holder.h = np.zeros(3)

    def f(x):
        holder.h = holder.h + x
        return x * holder.h

    return f


def filled_once():
    holder = Holder()

    def f(x):
        if holder.h is None:
            holder.h = np.tanh(x)
        return x * holder.h

    return f


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (in_a_dict, "kept['h']"),
        (in_a_variable, "h"),
        (in_a_global, "H"),
        (in_an_attribute, "holder.h"),
        (filled_once, "holder.h"),
    ],
)
@pytest.mark.parametrize("way", ["compile", "step"])
def test_a_tensor_that_is_left_outside_is_refused(make, where, way):
    f = make()
    step = wg.TrainStep(lambda w, y: np.sum(w) * np.sum(f(y[0])), x, wg.optim.SGD(0.0))
    call = wg.compile(lambda y: f(y[0])) if way == "compile" else step
    with pytest.raises(wg.errors.TraceError) as caught:
        call(x[None])
    assert f"left a Tensor in {where}, which it reads" in str(caught.value)
    assert "state=" in str(caught.value)
    assert type(H) is np.ndarray  # as it was


def test_a_tensor_that_was_left_with_other_sizes():
    holder = Holder()

    def loss(w, x):  # x has the size of w: axis 0 of the batch is tried open first
        if holder.h is None:
            holder.h = np.tanh(x)
        return np.sum(w * holder.h)

    with pytest.raises(wg.errors.TraceError, match=r"left a Tensor in holder\.h"):
        wg.TrainStep(loss, x, wg.optim.SGD(0.0))(x)
    assert holder.h is None


def counting_in_an_array():
    count = np.zeros(1)

    def f(x):
        count[0] += 1
        return x * count[0]

    return f


def counting_in_a_list():
    seen = []

    def f(x):
        seen.append(1)
        return x * len(seen)

    return f


def counting_in_a_deque():
    seen = deque()

    def f(x):
        seen.append(1)
        return x * len(seen)

    return f


def remembering_in_a_list():
    seen = []

    def f(x):
        y = x + (seen[-1] if seen else 0.0)
        seen.append(y)
        return y

    return f


def adding_arrays():
    kept = {"h": np.zeros(3)}

    def f(x):
        kept["h"] = kept["h"] + 1
        return x * kept["h"]

    return f


def taking_from_a_list():
    numbers = iter([1.0, 2.0, 3.0])
    return lambda x: x * next(numbers)


def taking_from_a_count():
    numbers = itertools.count(1)
    return lambda x: x * next(numbers)


def taking_from_pairs():
    numbers = zip([1.0, 2.0], [3.0, 4.0], strict=True)
    return lambda x: x * next(numbers)[1]


def taking_from_a_cycle():
    numbers = itertools.cycle([1.0, 2.0])
    return lambda x: x * next(numbers)


def taking_from_a_generator():
    def endless():
        n = 0
        while True:
            n += 1
            yield n

    numbers = endless()
    return lambda x: x * next(numbers)


@pytest.mark.parametrize(
    "make",
    [
        counting_in_an_array,
        counting_in_a_list,
        counting_in_a_deque,
        remembering_in_a_list,
        adding_arrays,
        taking_from_a_list,
        taking_from_a_count,
        taking_from_pairs,
        taking_from_a_cycle,
        taking_from_a_generator,
    ],
)
def test_what_recording_changes_and_computes_with_is_named(make):
    with pytest.warns(wg.errors.FrozenValueWarning, match="every call has the value of then"):
        wg.compile(make())(x)


CALLS = 0


def deciding_by_an_attribute():
    holder = Holder()
    holder.n = 0

    def f(x):
        holder.n += 1
        return x * (1.0 if holder.n < 3 else 0.0)

    return f


def deciding_by_an_item():
    kept = {"n": 0}

    def f(x):
        kept["n"] += 1
        if kept["n"] % 3 == 0:
            return x
        return x * 2

    return f


def deciding_by_a_global():
    def f(x):
        global CALLS  # noqa: PLW0603
        CALLS += 1
        return np.where(x > 0, x, 0) if CALLS > 1000 else x

    return f


def deciding_by_a_variable():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x if n in (3, 4) else x * 2

    return f


@pytest.mark.parametrize(
    "make",
    [
        deciding_by_an_attribute,
        deciding_by_an_item,
        deciding_by_a_global,
        deciding_by_a_variable,
    ],
)
def test_a_count_that_will_decide_otherwise_is_named(make):
    with pytest.warns(wg.errors.FrozenValueWarning, match="and decides by it") as caught:
        wg.compile(make())(x)
    assert "test_kept_state.py:" in str(caught[0].message)


def test_looking_twice_leaves_what_one_recording_left():
    count, seen = np.zeros(1), []

    def f(x):
        count[0] += 1
        seen.append(count[0])
        return x * count[0] * len(seen)

    with pytest.warns(wg.errors.FrozenValueWarning):
        wg.compile(f)(x)
    assert (count[0], seen) == (1, [1])


def test_who_notes_recordings_is_left_alone():
    seen, made = [], {"n": 0}

    def f(x):
        seen.append(x.shape)
        made["n"] += 1
        str(made["n"])
        return x * 2 if len(x) > 1 else x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wg.compile(f)(x)
    assert (seen, made) == ([(3,)], {"n": 1})
