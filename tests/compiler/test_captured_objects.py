"""Attributes of objects, classes and modules: those that a compiled function reads, and others."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
import threading
import types
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import wengert as wg
from compiler.captured import X, counted


class Model:
    factor = 2.0

    def __init__(self):
        self.bias = 1.0
        self.used = 0

    @property
    def double(self):
        return self.bias * 2

    def call(self, x):
        return x * self.factor + self.double

    @wg.compile
    def compiled(self, x):
        return self.call(x)


def test_attributes_of_self():
    model = Model()
    compiled = wg.compile(model.call)
    for change in (
        lambda: None,
        lambda: setattr(model, "bias", 5.0),
        lambda: setattr(model, "factor", 3.0),  # the object's own goes before that of its class
    ):
        change()
        assert compiled(X)[0] == model.call(X)[0]
        assert model.compiled(X)[0] == model.call(X)[0]


def test_attributes_that_nothing_reads_may_change():
    model = Model()
    f, calls = counted(lambda x: model.call(x))
    compiled = wg.compile(f)
    for _ in range(5):
        model.used += 1
        compiled(X)
    assert len(calls) == 1


def test_attributes_of_classes():
    class Constants:
        factor = 2.0

    compiled = wg.compile(lambda x: x * Constants.factor)
    assert compiled(X)[0] == 2.0
    Constants.factor = 3.0
    assert compiled(X)[0] == 3.0


def test_attributes_of_modules(monkeypatch):
    module = types.ModuleType("settings_of_a_user")
    module.__file__ = __file__
    module.factor = 2.0
    monkeypatch.setitem(sys.modules, module.__name__, module)
    compiled = wg.compile(lambda x: x * module.factor)
    assert compiled(X)[0] == 2.0
    module.factor = 3.0
    assert compiled(X)[0] == 3.0


class Slotted:
    __slots__ = ("factor",)

    def __init__(self, factor):
        self.factor = factor


@pytest.mark.parametrize("make", [Slotted, lambda v: types.SimpleNamespace(factor=v)])
def test_attributes_of_objects(make):
    thing = make(2.0)
    compiled = wg.compile(lambda x: x * thing.factor)
    by_argument = wg.compile(lambda x, thing: x * thing.factor)
    assert compiled(X)[0] == by_argument(X, thing)[0] == 2.0
    assert compiled(X)[0] == by_argument(X, thing)[0] == 2.0
    thing.factor = 3.0
    assert compiled(X)[0] == by_argument(X, thing)[0] == 3.0


def test_a_set_among_the_arguments():
    f = wg.compile(lambda x, chosen: x * sum(chosen))
    chosen = {1.0, 2.0}
    assert f(X, chosen)[0] == f(X, chosen)[0] == 3.0
    chosen.add(4.0)
    assert f(X, chosen)[0] == 7.0
    other = {1.0, 2.0}
    assert f(X, other)[0] == 3.0
    chosen.clear()
    assert f(X, chosen)[0] == 0.0
    assert f(X, other)[0] == 3.0


@dataclass
class Scaled:
    weights: Any
    hidden: Any = field(default=None, repr=False)

    def __post_init__(self):
        self.scale = 2.0
        self.steps = [1.0]

    def __call__(self):
        return self.weights * self.scale * sum(self.steps)


def test_attributes_of_dataclasses_that_are_no_fields():
    f = wg.compile(lambda m: m())
    model = Scaled(np.ones(2))
    for change in (
        lambda: None,
        lambda: setattr(model, "scale", 3.0),
        lambda: model.steps.append(4.0),
        lambda: setattr(model, "steps", [7.0]),
        lambda: setattr(model, "scale", 2.0),
    ):
        change()
        for _ in range(3):
            assert f(model)[0] == model()[0]
    fresh = Scaled(np.ones(2))
    assert f(fresh)[0] == fresh()[0]


def test_an_attribute_that_a_dataclass_comes_to_have():
    f = wg.compile(lambda m: m.weights * getattr(m, "extra", 1.0))
    model = Scaled(np.ones(2))
    assert f(model)[0] == f(model)[0] == 1.0
    model.extra = 5.0
    assert f(model)[0] == 5.0


def test_equal_instances_share_a_program():
    f, calls = counted(lambda m: m())
    compiled = wg.compile(f)
    for _ in range(3):
        model = Scaled(np.ones(2))
        model.offsets = (0.0, 1.0, 2.0)
        compiled(model)
    assert len(calls) == 1


class Answering:
    """Keys as attributes; what is no key is no AttributeError."""

    def __init__(self, **values):
        self.__dict__["values"] = values

    def __getattr__(self, name):
        return self.__dict__["values"][name]


class AnsweringSlots:
    __slots__ = ("scale", "unset")

    def __init__(self, scale):
        self.scale = scale

    def __getattr__(self, name):
        raise KeyError(name)


def test_objects_whose_getattr_raises_another_error():
    config, slots = Answering(scale=2.0), AnsweringSlots(3.0)
    compiled = wg.compile(lambda x: x * config.scale * slots.scale)
    assert compiled(X)[0] == compiled(X)[0] == 6.0
    config.values["scale"], slots.scale = 3.0, 5.0
    assert compiled(X)[0] == 15.0

    def default(x):
        try:
            return x * slots.unset
        except KeyError:
            return x * config.scale

    assert wg.compile(default)(X)[0] == 3.0


@dataclass
class Hyper:
    gamma: float = 2.0
    updates: int = 0


class Buffer:
    def __init__(self):
        self.n = 0
        self.rows = [self.n]

    def __repr__(self):
        return f"Buffer({self.n})"

    def add(self):
        self.rows[0] = self.n
        self.n += 1

    def discount(self):
        return 2.0


def _bump(thing, key):
    thing[key] = thing.get(key, 0) + 1


UNREAD = {
    "dataclass": (
        Hyper,
        lambda held: lambda x: x * held.gamma,
        lambda x: setattr(x, "updates", x.updates + 1),
        lambda x: setattr(x, "gamma", 3.0),
    ),
    "dict": (
        lambda: {"gamma": 2.0, "n": 0},
        lambda held: lambda x: x * held["gamma"],
        lambda x: _bump(x, "n"),
        lambda x: x.update(gamma=3.0),
    ),
    "new keys of a dict": (
        lambda: {"gamma": 2.0},
        lambda held: lambda x: x * held.get("gamma", 1.0),
        lambda x: _bump(x, len(x)),
        lambda x: x.update(gamma=3.0),
    ),
    "a dict in an object": (
        lambda: types.SimpleNamespace(config={"gamma": 2.0, "n": 0}),
        lambda held: lambda x: x * held.config["gamma"],
        lambda x: _bump(x.config, "n"),
        lambda x: x.config.update(gamma=3.0),
    ),
    "a buffer": (
        Buffer,
        lambda held: lambda x: x * held.discount(),
        lambda x: x.add(),
        lambda x: setattr(x, "discount", lambda: 3.0),
    ),
}


def _filled(kind):
    thing = kind()
    thing.gamma, thing.n = 2.0, 0
    return thing


NAMESPACES = (types.SimpleNamespace, argparse.Namespace, threading.local)
for namespace in NAMESPACES:
    UNREAD[namespace.__name__] = (
        functools.partial(_filled, namespace),
        lambda held: lambda x: x * held.gamma if held.gamma != 0 else x,
        lambda x: setattr(x, "n", x.n + 1),
        lambda x: setattr(x, "gamma", 3.0),
    )


@pytest.mark.parametrize("kind", UNREAD)
def test_what_no_code_reads_may_change(kind):
    make, write, count, change = UNREAD[kind]
    thing = make()
    f, calls = counted(write(thing))
    compiled = wg.compile(f)
    for _ in range(5):
        assert compiled(X)[0] == 2.0
        count(thing)
    assert len(calls) == 1
    change(thing)
    assert compiled(X)[0] == 3.0


def test_fields_that_are_read_without_their_names():
    hyper = Hyper()
    compiled = wg.compile(lambda x: x * sum(dataclasses.astuple(hyper)))
    assert compiled(X)[0] == 2.0
    hyper.updates = 1
    assert compiled(X)[0] == 3.0


def _shown(it):
    return 2.0 if "n=0" in f"{it}" else 3.0


@pytest.mark.parametrize("kind", NAMESPACES)
@pytest.mark.parametrize(
    "write",
    [
        lambda held, _: lambda x: x * sum(vars(held).values()),
        lambda held, _: lambda x: x * sum(getattr(held, name) for name in ("gamma", "n")),
        lambda held, other: lambda x: x * (2.0 if held == other else 3.0),
        lambda held, _: lambda x: x * (2.0 if "n=0" in repr(held) else 3.0),
        lambda held, _: lambda x: x * (2.0 if "n=0" in f"{held}" else 3.0),
        lambda held, _: lambda x: x * _shown(held),
    ],
)
def test_all_of_a_namespace_is_compared_where_it_is_read_whole(kind, write):
    held = _filled(kind)
    other = held if kind is threading.local else _filled(kind)
    f = write(held, other)
    compiled, before = wg.compile(f), f(X)[0]
    assert compiled(X)[0] == before
    held.n = 1
    assert compiled(X)[0] == f(X)[0]
