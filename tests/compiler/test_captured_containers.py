"""Containers that a compiled function reads from outside."""

from __future__ import annotations

import operator
import types
from array import array
from collections import ChainMap, UserDict, UserList, deque
from contextvars import ContextVar, copy_context

import numpy as np
import pytest

import wengert as wg
from compiler.captured import X, counted
from wengert.errors import CaptureWarning


class Doubled:
    """A descriptor of the user's."""

    def __get__(self, thing, owner):
        return 2.0 * thing.scale_inside


class WithDescriptor:
    doubled = Doubled()
    scale_inside = 1.0


class Mapping(UserDict):
    """A mapping of the user's."""


def scheduled():
    return scheduled.t


scheduled.t = 2.0

mode: ContextVar[float] = ContextVar("mode", default=2.0)


def _kinds():
    """For each kind of container: one that holds 2.0, how to read that, and how to make it 3.0."""
    thing, chain = WithDescriptor(), ChainMap({}, {"a": 2.0})
    config = types.SimpleNamespace(scale=2.0)
    read = operator.attrgetter("scale")
    return {
        "deque": (deque([2.0]), lambda x: x[0], lambda x: x.__setitem__(0, 3.0)),
        "deque of arrays": (
            deque([np.full(3, 2.0)]),
            lambda x: float(x[0][0]),
            lambda x: x.append(x.popleft() + 1.0),
        ),
        "len of a deque": (deque([0, 0]), len, lambda x: x.append(0)),
        "bytearray": (bytearray(b"\x02"), lambda x: x[0], lambda x: x.__setitem__(0, 3)),
        "array": (array("d", [2.0]), lambda x: x[0], lambda x: x.__setitem__(0, 3.0)),
        "UserDict": (UserDict(a=2.0), lambda x: x["a"], lambda x: x.update(a=3.0)),
        "own UserDict": (Mapping(a=2.0), lambda x: x["a"], lambda x: x.update(a=3.0)),
        "UserList": (UserList([2.0]), lambda x: x[0], lambda x: x.__setitem__(0, 3.0)),
        "ChainMap": (chain, lambda x: x["a"], lambda x: x.maps[1].update(a=3.0)),
        "ChainMap, nearer": (ChainMap({}, {"a": 2.0}), lambda x: x["a"], lambda x: x.update(a=3.0)),
        "descriptor": (thing, lambda x: x.doubled, lambda x: setattr(x, "scale_inside", 1.5)),
        "ContextVar": (mode, lambda x: x.get(), lambda x: x.set(3.0)),
        "attrgetter": (config, lambda x: read(x), lambda x: setattr(x, "scale", 3.0)),
        "function": (scheduled, lambda x: x(), lambda x: setattr(x, "t", 3.0)),
    }


@pytest.mark.parametrize("kind", _kinds())
def test_kinds_of_containers(kind):
    copy_context().run(_follow_container, kind)


def _follow_container(kind):
    held, read, change = _kinds()[kind]
    f, calls = counted(lambda x: x * read(held))
    compiled = wg.compile(f)
    assert compiled(X)[0] == compiled(X)[0] == compiled(X)[0] == 2.0
    assert len(calls) == 1
    change(held)
    assert compiled(X)[0] == compiled(X)[0] == 3.0
    assert len(calls) == 2
    scheduled.t = 2.0


def test_more_items_than_are_compared_are_a_warning():
    long = list(range(100))
    with pytest.warns(CaptureWarning, match=r"long; only 64 items") as caught:
        wg.compile(lambda x: x * long[2])(X)
    assert caught[0].filename == __file__


def test_a_dict_that_is_used_in_other_ways_is_compared_whole():
    config = {"a": 1.0, "b": 1.0}
    for f in (
        lambda x: x * sum(config.values()),
        lambda x: x * (config["a"] + sum(v for k, v in config.items() if k != "a")),
        lambda x: x * sum(config[key] for key in ("a", "b")),
    ):
        config["b"] = 1.0
        compiled = wg.compile(f)
        assert compiled(X)[0] == 2.0
        config["b"] = 2.0
        assert compiled(X)[0] == 3.0


def test_a_key_that_comes_later():
    config: dict[str, float] = {}
    compiled = wg.compile(lambda x: x * config.get("scale", 2.0))
    assert compiled(X)[0] == 2.0
    config["scale"] = 3.0
    assert compiled(X)[0] == 3.0
