"""Bodies of loops that change something outside, and are the same in each step: they are let
pass, and looking at them leaves nothing behind.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import wengert as wg
from compiler.ways_to_record import WAYS, told, x


class Holder:
    h = None


def noting_recordings(x):
    seen, count = [], {"n": 0}

    def body(u, _):
        count["n"] += 1
        seen.append(u)
        print(end=str(count["n"])[:0])
        return u + x, None

    return wg.scan(body, 0.0 * x, length=4)[0]


def remembering_numbers(x):
    known = {}

    def body(u, _):
        if len(u) not in known:
            known[len(u)] = 2.0
        return u + x * known[len(u)], None

    return wg.scan(body, 0.0 * x, length=4)[0]


def remembering_tensors(x):
    known = {}

    def body(u, _):
        if "h" not in known:
            known["h"] = np.tanh(x)
        return u + known["h"], None

    return wg.scan(body, 0.0 * x, length=4)[0]


def remembering_by_a_decorator(x):
    @functools.cache
    def rate(n):
        return 1.0 / n

    return wg.scan(lambda u, _: (u + x * rate(len(u)), None), 0.0 * x, length=4)[0]


def filling_in_a_default(x):
    holder = Holder()
    holder.h = None

    def body(u, _):
        if holder.h is None:
            holder.h = 0.5
        return u + x * holder.h, None

    return wg.scan(body, 0.0 * x, length=4)[0]


def writing_before_it_reads(x):
    parts, holder = {}, Holder()

    def body(u, _):
        parts["decayed"] = 0.5 * u
        holder.h = len(u)
        return parts["decayed"] + x / holder.h, None

    return wg.scan(body, 0.0 * x, length=4)[0]


def beginning_with_a_number(x):
    count = [0]

    def body(u, _):  # recorded twice: u takes the dtype and the shape of nothing else
        count[0] += 1
        return u + np.float32(1), None

    return x * wg.scan(body, 0, length=4)[0]


def taking_items_before_the_loop(x):
    rates = iter([1.0, 2.0])
    rate = next(rates)

    def body(u, _):
        return u + x * rate * sum(each for each in (1.0, 2.0)), None

    return wg.scan(body, 0.0 * x, length=4)[0] * next(rates)


def iterating_inside(x):
    def body(u, _):
        rates = iter([1.0, 2.0])
        return u + x * next(rates) + x * next(rates), None

    return wg.scan(body, 0.0 * x, length=4)[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "function",
    [
        noting_recordings,
        remembering_numbers,
        remembering_tensors,
        remembering_by_a_decorator,
        filling_in_a_default,
        writing_before_it_reads,
        beginning_with_a_number,
        taking_items_before_the_loop,
        iterating_inside,
    ],
)
def test_a_body_that_is_the_same_in_each_step_is_left_alone(function, way):
    assert not told(lambda: WAYS[way](function))


@wg.custom_vjp
def cubed(v):
    return v**3


cubed.defvjp(lambda v: (v**3, v), lambda v, g: (3 * v**2 * g,))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "compute",
    [
        lambda u, x, rng: cubed(x) + u,
        lambda u, x, rng: wg.checkpoint(lambda v: np.tanh(v) * x)(u),
        lambda u, x, rng: wg.cond(wg.sum(u) > 0, lambda: u + x, lambda: u - x),
        lambda u, x, rng: wg.scan(lambda c, y: (c + y * x, None), u, np.ones((2, 3)))[0],
        lambda u, x, rng: wg.grad(lambda v: wg.sum(v**3 * x))(u),
        lambda u, x, rng: wg.vmap(lambda v: v * wg.sum(x))(u),
        lambda u, x, rng: u + rng.normal((3,), np.float64) * x,
        lambda u, x, rng: wg.odeint(lambda y, t: -y * x, u, np.array([0.0, 0.1]))[-1],
    ],
)
def test_a_recording_that_is_counted_is_the_same_the_second_time(compute, compiled):
    def f(x, key):
        rng, seen = wg.random.Generator(key), []

        def body(u, _):
            seen.append(1)
            return compute(u, x, rng), None

        result = wg.scan(body, 0.0 * x, length=3)[0]
        assert 1 <= len(seen) <= 2  # a loop in which something is drawn begins again
        return result

    assert not told(lambda: (wg.compile(f) if compiled else f)(x, wg.random.key(0)))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.filterwarnings("ignore::wengert.errors.FrozenValueWarning")
def test_looking_again_changes_nothing_that_is_drawn(compiled):
    def draw(key, counts):
        rng, left = wg.random.Generator(key), [2]

        def body(u, _):  # where it counts, a second recording draws less
            drawn = [rng.normal((3,), np.float64) for _ in range(left[0])]
            if counts:
                left[0] -= 1
            return u + sum(drawn), None

        last, _ = wg.scan(body, np.zeros(3), length=4)
        return last, rng.normal((2,))

    results = []
    for counts in (False, True):
        f = functools.partial(draw, counts=counts)
        results.append((wg.compile(f) if compiled else f)(wg.random.key(3)))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_looking_again_leaves_the_program_as_it_was():
    def f(x, counts):
        seen = []

        def body(u, _):
            if counts:
                seen.append(1)
            return u + np.tanh(x) * 2.0, None

        return wg.scan(body, 0.0 * x, length=4)[0]

    texts = [str(wg.trace(lambda x, c=c: f(x, c), x)) for c in (False, True)]
    assert texts[0] == texts[1]
