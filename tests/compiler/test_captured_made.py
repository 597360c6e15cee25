"""What recording a function makes outside of it, takes from there, or draws."""

from __future__ import annotations

import collections
import functools
import random
import uuid
import warnings
from typing import Any

import pytest

import wengert as wg
from compiler.captured import X
from wengert.errors import FrozenValueWarning, RandomnessWarning


class Config:
    """Attributes that are put there from outside."""

    def __init__(self, **values):
        vars(self).update(values)


def _of(name, value):
    return lambda x: setattr(x, name, value)


class Lazy:
    ready = None

    @functools.cached_property
    def kept(self):
        return 2.0

    def get(self):
        if self.ready is None:
            self.ready = 2.0
        return self.ready


def _memoised(table):
    if "k" not in table:
        table["k"] = 2.0
    return table["k"]


MADE = {
    "defaultdict": (
        lambda: collections.defaultdict(lambda: 2.0),
        lambda t: t["k"],
        lambda t: t.update(k=3.0),
    ),
    "setdefault": (dict, lambda t: t.setdefault("k", 2.0), lambda t: t.update(k=3.0)),
    "memo": (dict, _memoised, lambda t: t.update(k=3.0)),
    "attribute": (Lazy, lambda t: t.get(), _of("ready", 3.0)),
    "cached property": (Lazy, lambda t: t.kept, _of("kept", 3.0)),
}


@pytest.mark.parametrize("kind", MADE)
def test_what_recording_made_is_compared_from_then_on(kind):
    make, read, change = MADE[kind]
    thing = make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = wg.compile(lambda x: x * read(thing))
        assert compiled(X)[0] == compiled(X)[0] == 2.0
        change(thing)
        assert compiled(X)[0] == compiled(X)[0] == 3.0


def test_what_every_recording_adds_to_is_not():
    log: dict[int, Any] = {}

    def f(x):
        log[len(log)] = x.shape
        return x * 2.0

    compiled = wg.compile(f)
    for _ in range(4):
        compiled(X), compiled(X[:2])
    assert len(log) == 2


# Warnings.


def _default(x, seen=[]):  # noqa: B006
    seen.append(1)
    return x * len(seen)


def _in_a_dict(kept):
    kept["log"].append(1)
    return len(kept["log"])


def _from_nothing(kept):
    kept["c"].t = getattr(kept["c"], "t", 0) + 1
    return kept["c"].t


@pytest.mark.parametrize("count", [None, _in_a_dict, _from_nothing])
def test_counters_without_a_name_of_their_own(count):
    kept = {"log": [], "c": Config()}
    f = wg.compile(_default if count is None else lambda x: x * count(kept))
    with pytest.warns(FrozenValueWarning, match="what it computes depends on that"):
        assert f(X)[0] == f(X)[0] == 1.0


@pytest.mark.parametrize(
    ("make", "take"),
    [
        (lambda: iter([1.0, 2.0]), next),
        (lambda: (float(n) for n in range(1, 5)), next),
        (lambda: Config(items=iter([1.0, 2.0])), lambda c: next(c.items)),
        (lambda: [2.0, 1.0], lambda x: x.pop()),
        (lambda: [2.0, 1.0], lambda x: x.sort() or x[0]),
        (lambda: {"a": 1.0, "b": 2.0}, lambda x: x.pop("a")),
        (lambda: {"q": [1.0]}, lambda x: x["q"].pop()),
        (lambda: collections.deque([1.0, 2.0]), lambda x: x.popleft()),
        (lambda: {1.0, 2.0}, lambda x: x.pop()),
    ],
)
def test_arguments_that_are_used_up(make, take):
    f = wg.compile(lambda x, given: x * take(given))
    with pytest.warns(FrozenValueWarning, match=r"every call (has|begins)"):
        assert f(X, make())[0] == 1.0


GENERATOR, SYSTEM = random.Random(0), random.SystemRandom()


@pytest.mark.parametrize(
    "draw",
    [
        lambda c: GENERATOR.random(),
        lambda c: c.rng.random(),
        lambda c: random.Random().random(),
        lambda c: SYSTEM.random(),
        lambda c: uuid.uuid4().int % 1000,
    ],
)
def test_generators_of_python(draw):
    config = Config(rng=random.Random(0))
    with pytest.warns(RandomnessWarning, match=r"test_captured_made.py"):
        wg.compile(lambda x: x * draw(config))(X)


def test_a_generator_of_python_that_is_an_argument_or_has_a_seed():
    with pytest.warns(RandomnessWarning, match="a generator of random"):
        wg.compile(lambda x, rng: x * rng.random())(X, random.Random(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wg.compile(lambda x: x * random.Random(3).random())(X)
    with pytest.warns(wg.errors.WengertWarning, match="a generator of random was used in the body"):
        wg.scan(lambda carry, x: (carry + x * GENERATOR.random(), None), 0.0, X)
