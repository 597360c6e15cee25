"""What the body of a loop keeps in a default, a function, a class, or an object inside of another:
it is told like other state, and where each step is the same it is let pass.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import wengert as wg
from compiler.ways_to_record import WAYS, told, x

WEIGHTS = np.ones(3)


def counting_in_a_default(x):
    def body(u, _, t=[0.0]):  # noqa: B006 (what is told)
        t[0] += 1.0
        return u + x * t[0], None

    return wg.scan(body, 0.0 * x, length=4)[0]


def counting_in_a_named_default(x):
    def body(u, _, *, t={"n": 0.0}):  # noqa: B006 (what is told)
        t["n"] += 1.0
        return u + x * t["n"], None

    return wg.scan(body, 0.0 * x, length=4)[0]


def deciding_by_a_default(x):
    def body(u, _, t=[0]):  # noqa: B006 (what is told)
        t[0] += 1
        if t[0] > 3:
            return u, None
        return u + x, None

    return wg.scan(body, 0.0 * x, length=6)[0]


def counting_in_a_function(x):
    def body(u, _):
        body.n += 1
        return u + x * body.n, None

    body.n = 0
    return wg.scan(body, 0.0 * x, length=4)[0]


def counting_in_a_class(x):
    class Clock:
        n = 0

    def body(u, _):
        Clock.n += 1
        return u + x * Clock.n, None

    return wg.scan(body, 0.0 * x, length=4)[0]


class Counted:
    n = 0

    @classmethod
    def body(cls, u, _):
        cls.n += 1
        return u + cls.n, None


def counting_in_a_class_method(x):
    return wg.scan(Counted.body, 0.0 * x, length=4)[0]


class Clock:
    def __init__(self):
        self.t = 0.0
        self.calls = 0

    def tick(self):
        self.t += 0.1
        return self.t


class Model:
    def __init__(self):
        self.clock = Clock()
        self.times = [0.0]
        self.known = None

    def adding(self, u, _):
        self.clock.t += 0.1
        return u + self.clock.t, None

    def ticking(self, u, _):
        return u + self.clock.tick(), None

    def listing(self, u, _):
        self.times[0] += 0.1
        return u + self.times[0], None

    def counting(self, u, _):
        self.clock.calls += 1
        self.times.append(0.0)
        return u + self.clock.t, None

    def remembering(self, u, _):
        if self.clock.calls == 0:
            self.clock.calls, self.known = 1, 2.0
        return u + self.known, None


def counting_deeper(x):
    return wg.scan(Model().adding, 0.0 * x, length=4)[0]


def counting_deeper_by_a_method(x):
    return wg.scan(Model().ticking, 0.0 * x, length=4)[0]


def counting_in_a_list_of_an_object(x):
    return wg.scan(Model().listing, 0.0 * x, length=4)[0]


def counting_in_a_partial(x):
    def body(clock, u, _):
        return u + x * clock.tick(), None

    return wg.scan(partial(body, Clock()), 0.0 * x, length=4)[0]


class Episode:
    def __init__(self):
        self.t = 0

    def step(self, s):
        self.t += 1
        return s, (-1.0 if self.t >= 3 else 0.0)


def deciding_late_in_a_method(x):
    episode = Episode()

    def body(s, _):
        s, reward = episode.step(s)
        return s + reward, None

    return wg.scan(body, x, length=5)[0]


def deciding_at_each_fourth_in_a_function(x):
    t = 0

    def is_due():
        nonlocal t
        t += 1
        return t % 4 == 0

    return wg.scan(lambda s, _: (s + (1.0 if is_due() else 0.0), None), x, length=5)[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("function", "name"),
    [
        (counting_in_a_partial, "clock.t"),
        (deciding_late_in_a_method, "episode.t"),
        (deciding_at_each_fourth_in_a_function, "t"),
        (counting_in_a_default, "t[0]"),
        (counting_in_a_named_default, "t['n']"),
        (deciding_by_a_default, "t[0]"),
        (counting_in_a_function, "body.n"),
        (counting_in_a_class, "Clock.n"),
        (counting_in_a_class_method, "cls.n"),
        (counting_deeper, "self.clock.t"),
        (counting_deeper_by_a_method, "self.clock.t"),
        (counting_in_a_list_of_an_object, "self.times[0]"),
    ],
)
def test_what_a_body_holds_and_changes_is_told(function, name, way):
    (text,) = told(lambda: WAYS[way](function))
    assert text.startswith(f"scan: the body changed {name}; ")
    assert "part of the carry" in text


def counting_recordings(x):
    class Seen:
        n = 0

    def body(u, _, seen=[]):  # noqa: B006 (it collects what was recorded)
        body.n += 1
        Seen.n += 1
        seen.append(len(seen))
        return u + x, None

    body.n = 0
    return wg.scan(body, 0.0 * x, length=4)[0]


def remembering_in_a_function(x):
    def rate():
        if rate.known is None:
            rate.known = 2.0
        return rate.known

    rate.known = None
    return wg.scan(lambda u, _: (u + x * rate(), None), 0.0 * x, length=4)[0]


def reading_defaults_and_classes(x):
    class Settings:
        rate = 0.5

    def body(u, _, weights=WEIGHTS, names=("a",), settings=Settings):
        return u + x * weights * settings.rate * len(names), None

    body.note = "a text"
    return wg.scan(body, 0.0 * x, length=4)[0]


def counting_deeper_what_nobody_reads(x):
    return wg.scan(Model().counting, 0.0 * x, length=4)[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "function",
    [
        counting_recordings,
        remembering_in_a_function,
        reading_defaults_and_classes,
        counting_deeper_what_nobody_reads,
        lambda x: wg.scan(Model().remembering, 0.0 * x, length=4)[0],
    ],
)
def test_bodies_that_are_the_same_in_each_step_are_let_pass(function, way):
    assert not told(lambda: WAYS[way](function))


def test_to_look_a_second_time_leaves_classes_and_functions_as_they_were():
    def body(u, _):
        body.n += 1
        Counted.n += 1
        return u + body.n * Counted.n, None

    body.n, Counted.n = 0, 0
    with pytest.warns(wg.errors.FrozenValueWarning):
        wg.scan(body, 0.0, length=4)
    assert (body.n, Counted.n) == (1, 1)


def test_a_tensor_that_a_body_leaves_in_a_class():
    class Kept:
        h = 0.0

    def body(u, y):
        Kept.h = Kept.h + y
        return u + Kept.h, None

    with pytest.raises(wg.errors.TraceError, match=r"left a Tensor in Kept\.h, .*of the carry"):
        wg.scan(body, 0.0, x)


def test_a_tensor_that_a_body_reads_two_steps_later():
    def delayed(u):
        kept = [0.0, 0.0]

        def body(u, x):
            y = u + 0.1 * kept[-2]
            kept.append(y)
            return y + x, None

        return wg.scan(body, u, np.ones(4))[0]

    for call in (delayed, wg.compile(delayed)):
        with pytest.raises(wg.errors.TraceError, match="the body left a Tensor in kept"):
            call(np.array(0.0))
