"""What the body of a loop keeps outside of itself: it is recorded once for all steps, whether the
call is a plain one or a program is recorded.
"""

from __future__ import annotations

import itertools
import warnings
from collections import deque

import numpy as np
import pytest

import wengert as wg
from compiler.ways_to_record import WAYS, told, x


class Holder:
    h = None


def test_a_count_in_the_body_of_a_scan():
    state, seen = {"i": 0}, []

    def body(carry, x):
        state["i"] += 1
        return carry + x * state["i"], None

    with pytest.warns(
        wg.errors.FrozenValueWarning, match=r"changed state\['i'\].*part of the carry"
    ):
        wg.scan(body, 0.0, x)

    def appending(carry, x):
        seen.append(1)
        return carry + x * len(seen), None

    with pytest.warns(wg.errors.FrozenValueWarning, match="seen"):
        wg.scan(appending, 0.0, x)


def test_a_tensor_that_the_body_of_a_scan_leaves():
    state = {"h": 0.0}

    def body(carry, x):
        state["h"] = state["h"] + x
        return carry + state["h"], None

    with pytest.raises(wg.errors.TraceError, match=r"left a Tensor in state\['h'\]"):
        wg.scan(body, 0.0, x)


def test_a_body_that_counts_its_recordings_is_left_alone():
    state, seen = {"i": 0}, []

    def body(carry, x):
        state["i"] += 1
        seen.append(x.shape)
        return carry + x, None

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wg.scan(body, 0.0, x)[0] == 6.0
    assert state["i"] == len(seen)


class Halving:
    """A step size that a method, the object itself or a function that a body calls would halve."""

    def __init__(self):
        self.h = 1.0
        self.calls = 0

    def smaller(self):
        self.h *= 0.5
        return self.h

    def body(self, y, _):
        return y + self.smaller(), None

    def __call__(self, y, _):
        self.h *= 0.5
        return y + self.h, None

    def counting(self, y, _):
        self.calls += 1
        return y + self.h, None


def _through_a_closure(halving):
    def smaller():
        halving.h *= 0.5
        return halving.h

    return lambda y, _: (y + smaller(), None)


@pytest.mark.parametrize(
    "run",
    [
        lambda s: wg.scan(s.body, 0.0, length=4)[0],
        lambda s: wg.scan(s, 0.0, length=4)[0],
        lambda s: wg.scan(_through_a_closure(s), 0.0, length=4)[0],
        lambda s: wg.grad(lambda y: wg.scan(s.body, y * y, length=4)[0])(1.0),
        lambda s: wg.while_loop(lambda y: y < 2.0, lambda y: y + s.smaller(), 0.0),
        lambda s: wg.associative_scan(lambda a, b: a + s.smaller() * b, x),
    ],
    ids=["a method", "an object", "a function", "a gradient", "while_loop", "associative_scan"],
)
def test_what_a_body_changes_by_calls_istold(run):
    halving = Halving()
    with pytest.warns(
        wg.errors.FrozenValueWarning, match=r"changed \w+\.h; .*\(test_state_of_bodies"
    ):
        run(halving)
    assert halving.h == 0.5  # to look a second time leaves nothing behind


def test_a_method_that_counts_its_calls_is_left_alone():
    halving = Halving()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wg.scan(halving.counting, 0.0, length=4)[0] == 4.0
    assert halving.calls == 1


def test_a_tensor_that_a_method_leaves_in_its_object():
    holder = Holder()
    holder.h = 0.0

    def add(x):
        holder.h = holder.h + x
        return holder.h

    with pytest.raises(wg.errors.TraceError, match=r"left a Tensor in holder\.h"):
        wg.scan(lambda carry, x: (carry + add(x), None), 0.0, x)


# What a function makes itself and its loop changes: fresh in each recording, and the same in all
# steps.


def counting_in_a_list(x):
    t = [0.0]

    def body(u, _):
        t[0] += 1.0
        return u + x * t[0], None

    return wg.scan(body, 0.0 * x, length=4)[0]


def counting_in_a_variable(x):
    t = 0.0

    def body(u, _):
        nonlocal t
        t += 1.0
        return u + x * t, None

    return wg.scan(body, 0.0 * x, length=4)[0]


def counting_in_an_object(x):
    holder = Holder()
    holder.h = 0

    def body(u, _):
        holder.h += 1
        return u + x * holder.h, None

    return wg.scan(body, 0.0 * x, length=4)[0]


def counting_by_a_method(x):
    halving = Halving()
    return wg.scan(lambda u, _: (u + x * halving.smaller(), None), 0.0 * x, length=4)[0]


def counting_in_an_array(x):
    t = np.zeros(1)

    def body(u, _):
        t[0] += 1
        return u + x * t[0], None

    return wg.scan(body, 0.0 * x, length=4)[0]


def taking_the_first(x):
    rates = [1.0, 2.0, 3.0, 4.0]
    return wg.scan(lambda u, _: (u + x * rates.pop(0), None), 0.0 * x, length=4)[0]


def taking_the_only_one(x):
    rates = deque([1.0])
    return wg.scan(lambda u, _: (u + x * rates.popleft(), None), 0.0 * x, length=4)[0]


def asking_for_a_length(x):
    hist = []

    def body(u, _):
        hist.append(1)
        return u + x * len(hist), None

    return wg.scan(body, 0.0 * x, length=4)[0]


def beginning_otherwise(x):
    first = [True]

    def body(u, _):
        if first[0]:
            first[0] = False
            return u, None
        return u + x, None

    return wg.scan(body, 0.0 * x, length=4)[0]


def deciding_by_a_count(x):
    n = [0]

    def body(u, _):
        n[0] += 1
        return (u if n[0] > 3 else u + x), None

    return wg.scan(body, 0.0 * x, length=6)[0]


def counting_in_a_while_loop(x):
    t = [0.0]

    def body(u):
        t[0] += 1.0
        return u + 1.0 + x * x * t[0]

    return wg.while_loop(lambda u: wg.sum(u) < 20, body, 0.0 * x, max_steps=9)


def counting_in_a_condition(x):
    n = [0]

    def go_on(u):
        n[0] += 1
        return wg.sum(u) < n[0]

    return wg.while_loop(go_on, lambda u: u + x, 0.0 * x, max_steps=9)


def counting_in_a_loop_in_a_loop(x):
    t = [0.0]

    def outer(u, _):
        def inner(v, _):
            t[0] += 1.0
            return v + x * t[0], None

        return wg.scan(inner, u, length=2)[0], None

    return wg.scan(outer, 0.0 * x, length=4)[0]


COUNTING = [
    counting_in_a_list,
    counting_in_a_variable,
    counting_in_an_object,
    counting_by_a_method,
    counting_in_an_array,
    taking_the_first,
    taking_the_only_one,
    asking_for_a_length,
    beginning_otherwise,
    deciding_by_a_count,
    counting_in_a_while_loop,
    counting_in_a_condition,
    counting_in_a_loop_in_a_loop,
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", COUNTING)
def test_what_a_body_changes_is_told_wherever_it_is_recorded(function, way):
    (text,) = told(lambda: WAYS[way](function))
    assert "the body changed" in text
    assert "(test_state_of_bodies.py:" in text
    assert ("pass it as xs" in text) == text.startswith("scan: ")


COUNT = 0


def test_a_global_is_told_once_with_the_loop():
    def f(x):
        def body(u, _):
            global COUNT  # noqa: PLW0603
            COUNT += 1
            return u + x * COUNT, None

        return wg.scan(body, 0.0 * x, length=4)[0]

    with pytest.warns(wg.errors.FrozenValueWarning) as caught:
        wg.compile(f)(x)
    assert len(caught) == 1
    assert "scan: the body changed COUNT" in str(caught[0].message)


def test_a_tensor_that_a_body_leaves_in_what_the_function_makes():
    def f(x):
        state = {"h": 0.0 * x}

        def body(u, _):
            state["h"] = state["h"] + u
            return u + state["h"], None

        return wg.scan(body, x, length=4)[0]

    with pytest.raises(wg.errors.TraceError, match=r"left a Tensor in state\['h'\]"):
        wg.compile(f)(x)


# Iterators.


def taking_from_a_list(x):
    rates = iter([1.0, 2.0, 3.0, 4.0])
    return wg.scan(lambda u, _: (u + x * next(rates), None), 0.0 * x, length=4)[0]


def taking_from_a_count(x):
    rates = itertools.count(1)
    return wg.scan(lambda u, _: (u + x * next(rates), None), 0.0 * x, length=4)[0]


def taking_from_a_generator(x):
    rates = (1.0 / n for n in range(1, 99))
    return wg.scan(lambda u, _: (u + x * next(rates), None), 0.0 * x, length=4)[0]


def taking_from_pairs(x):
    pairs = zip([1.0, 2.0], [3.0, 4.0], strict=True)
    return wg.scan(lambda u, _: (u + x * next(pairs)[1], None), 0.0 * x, length=2)[0]


def taking_from_an_attribute(x):
    holder = Holder()
    holder.h = iter([1.0, 2.0, 3.0, 4.0])
    return wg.scan(lambda u, _: (u + x * next(holder.h), None), 0.0 * x, length=4)[0]


def taking_in_a_while_loop(x):
    rates = itertools.count(1)
    return wg.while_loop(
        lambda u: wg.sum(u) < 20, lambda u: u + 1.0 + x * x * next(rates), 0.0 * x, max_steps=9
    )


NUMBERS = itertools.count(1)


def taking_from_a_global(x):
    return wg.scan(lambda u, _: (u + x * next(NUMBERS), None), 0.0 * x, length=4)[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "function",
    [
        taking_from_a_list,
        taking_from_a_count,
        taking_from_a_generator,
        taking_from_pairs,
        taking_from_an_attribute,
        taking_in_a_while_loop,
        taking_from_a_global,
    ],
)
def test_items_that_a_body_takes_aretold(function, way):
    (text,) = told(lambda: WAYS[way](function))
    assert "the body took items from the iterator" in text
    assert ("pass it as xs" in text) == text.startswith("scan: ")
    assert "(test_state_of_bodies.py:" in text
