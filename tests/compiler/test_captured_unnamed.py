"""What a compiled function reads from outside without a constant name, or where nothing was yet."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import operator
import types
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from compiler.captured import X, counted
from wengert.errors import CaptureWarning


class Mode(enum.Enum):
    POLICY = 1
    VALUE = 2


class Key(tuple):
    """A key of a class of the user's."""

    def __hash__(self):
        return 7


@dataclass(frozen=True)
class Pair:
    left: int
    right: int


class Config:
    """Attributes that are put there from outside."""

    __match_args__ = ("beta",)

    def __init__(self, **values):
        vars(self).update(values)


def _of(name, value):
    return lambda x: setattr(x, name, value)


KEYS = [Mode.VALUE, (0, 1), True, int, frozenset({1, 2}), Key((1,)), Pair(1, 2), np.int64(3), 2.5]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_keys_of_any_type(key):
    coefficients = {"a": 1.0, key: 2.0}
    holder = Config(table=coefficients)

    def inside(x):
        return x * coefficients[key]

    def of_argument(x, holder):
        return x * holder.table[key]

    f, calls = counted(inside)
    compiled, by_argument = wg.compile(f), wg.compile(of_argument)
    for value in (2.0, 2.0, 5.0, float("5.0")):
        coefficients[key] = value
        assert compiled(X)[0] == by_argument(X, holder)[0] == value
    assert len(calls) == 2
    coefficients[key] = np.full(3, 7.0)
    assert compiled(X)[0] == 7.0


def test_keys_of_a_table_in_a_loss():
    table = {Mode.POLICY: 1.0, (0, 1): 1.0}

    def loss(w, x):
        return np.sum(w * x) * (table[Mode.POLICY] + table[0, 1])

    step = wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.0))
    assert step(X[:2]) == 4.0
    table[Mode.POLICY] = 9.0
    assert step(X[:2]) == step.evaluate(loss, X[:2], batch_size=2) == 20.0


def test_a_dict_that_is_changed_while_it_has_a_new_order():
    for make in (dict, collections.OrderedDict):
        table = make(a=2.0, b=3.0)
        compiled = wg.compile(lambda x, table=table: x * next(iter(table.values())))
        assert compiled(X)[0] == compiled(X)[0] == 2.0
        table["a"] = table.pop("a")
        assert compiled(X)[0] == 3.0
    table.move_to_end("b")
    assert compiled(X)[0] == 2.0


def test_sets_of_anything():
    modes, pairs = {Mode.POLICY}, {(1, 2)}
    compiled = wg.compile(lambda x: x * (1 + (Mode.VALUE in modes) + ((3, 4) in pairs)))
    assert compiled(X)[0] == compiled(X)[0] == 1.0
    modes.clear()
    modes.add(Mode.VALUE)
    assert compiled(X)[0] == 2.0
    pairs.clear()
    pairs.add((3, 4))
    assert compiled(X)[0] == 3.0
    thing = Config(scale=2.0)
    for things in ({thing}, frozenset([thing]), {thing: 1}):
        thing.scale = 2.0
        compiled = wg.compile(lambda x, things=things: x * sum(each.scale for each in things))
        assert compiled(X)[0] == 2.0
        thing.scale = 3.0
        assert compiled(X)[0] == 3.0


@pytest.mark.parametrize(
    "long",
    [set(range(100)), tuple([1.0] for _ in range(100)), {(i, Mode.VALUE): i for i in range(100)}],
    ids=["set", "tuple", "dict"],
)
def test_more_items_than_are_compared_are_named(long):
    with pytest.warns(CaptureWarning, match=r"long; only 64 items"):
        wg.compile(lambda x: x * len(long))(X)
    plain = tuple(range(100))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wg.compile(lambda x: x * len(plain))(X)


# Names that are computed.


def _suffix(c):
    return sum(getattr(c, name + "_scale") for name in ("a", "b"))


def _formatted(c):
    return sum(getattr(c, f"{name}_scale") for name in ("a", "b"))


def _percent(c):
    return sum(getattr(c, "%s_scale" % name) for name in ("a", "b"))  # noqa: UP031


def _listed(c):
    return sum(getattr(c, name, 0.0) for name in c.listed)


def _values(c):
    return sum(x for x in vars(c).values() if isinstance(x, float))


def _in_dict(c):
    return sum(x for x in c.__dict__.values() if isinstance(x, float))


def _in_dir(c):
    return sum(getattr(c, name) for name in dir(c) if name.endswith("_scale"))


def _matched(c):
    match c:
        case Config(a_scale=a, b_scale=b):
            return a + b


def _by_position(c):
    match c:
        case Config(beta):
            return beta


def _getter(c):
    return sum(operator.attrgetter(name)(c) for name in c.listed)


WAYS = [_suffix, _formatted, _percent, _listed, _values, _in_dict, _in_dir, _matched, _by_position]
WAYS += [_getter]


def _config():
    return Config(a_scale=1.0, b_scale=2.0, beta=0.5, listed=("a_scale", "b_scale"), count=0)


@pytest.mark.parametrize("read", WAYS)
def test_attributes_of_computed_names(read):
    config = _config()
    compiled = wg.compile(lambda x: x * read(config))
    by_argument = wg.compile(lambda x, config: x * read(config))
    for value in (2.0, 5.0):
        config.b_scale = config.beta = value
        for _ in range(2):
            assert compiled(X)[0] == by_argument(X, config)[0] == read(config)


@pytest.mark.parametrize("read", [_suffix, _formatted, _percent])
def test_attributes_that_cannot_be_meant_may_change(read):
    config = _config()
    f, calls = counted(lambda x: x * read(config))
    compiled = wg.compile(f)
    for _ in range(4):
        compiled(X)
        config.count += 1
    assert len(calls) == 1


def test_computed_names_of_a_library_are_no_reason():
    config = _config()
    f, calls = counted(lambda x: getattr(np, "ta" + "".join("nh"))(x) * config.beta)
    compiled = wg.compile(f)
    for _ in range(4):
        compiled(X)
        config.count += 1
    assert len(calls) == 1


class Constants:
    a_scale = 1.0

    def a_method(self, x):
        return x * self.a_scale


class Slotted:
    __slots__ = ("a_scale",)


@dataclass
class Hyper:
    gamma: float = 2.0

    def __post_init__(self):
        self.a_scale = 1.0


def test_computed_names_in_classes_and_of_methods():
    class Own(Constants):
        b_scale = 2.0

    thing, hyper, slotted, name = Own(), Hyper(), Slotted(), "a"
    for read in (
        lambda x: x * getattr(Own, name + "_scale"),
        lambda x: x * sum(getattr(Own, n) for n in dir(Own) if n.endswith("_scale")),
        lambda x: getattr(thing, name + "_method")(x),
        lambda x: x * getattr(hyper, name + "_scale"),
        lambda x: x * sum(vars(hyper).values()),
        lambda x: x * getattr(slotted, name + "_scale"),
    ):
        Constants.a_scale = hyper.a_scale = slotted.a_scale = 1.0
        compiled = wg.compile(read)
        assert compiled(X)[0] == read(X)[0]
        Constants.a_scale = hyper.a_scale = slotted.a_scale = 4.0
        assert compiled(X)[0] == read(X)[0]
    Constants.a_scale = 1.0


# What was not there.


class Base:
    gain = 1.0

    def act(self, x):
        return x

    @property
    def scale(self):
        return 1.0

    @staticmethod
    def fixed(x):
        return x

    @classmethod
    def shared(cls, x):
        return x * cls.gain


class Derived(Base):
    pass


def _tried(c):
    try:
        return c.scale
    except AttributeError:
        return 1.0


def _suppressed(c):
    found = 1.0
    with contextlib.suppress(AttributeError):
        found = c.scale
    return found


def _hooked():
    return getattr(_hooked, "scale", 1.0)


ABSENT = [
    (Config, lambda c: getattr(c, "scale", 1.0)),
    (Config, lambda c: 3.0 if hasattr(c, "scale") else 1.0),
    (Config, _tried),
    (Config, _suppressed),
    (types.SimpleNamespace, _tried),
    (lambda: type("Fresh", (), {"__module__": __name__}), _tried),
    (lambda: type("Fresh", (), {"__module__": __name__})(), _tried),
]


@pytest.mark.parametrize(("make", "read"), ABSENT)
def test_an_attribute_that_was_missing(make, read):
    config = make()
    f, calls = counted(lambda x: x * read(config))
    compiled = wg.compile(f)
    assert compiled(X)[0] == compiled(X)[0] == 1.0
    config.scale = 3.0
    assert compiled(X)[0] == 3.0
    del config.scale
    assert compiled(X)[0] == 1.0
    assert len(calls) == 2
    kind = type(config)
    if kind is not type and kind.__module__ == __name__:
        kind.scale = 5.0
        try:
            assert compiled(X)[0] == read(config)
        finally:
            del kind.scale


def test_other_things_that_were_missing():
    compiled = wg.compile(lambda x: x * _hooked())
    assert compiled(X)[0] == 1.0
    _hooked.scale = 3.0
    assert compiled(X)[0] == 3.0
    space: dict[str, Any] = {"__name__": __name__}
    text = """
def f(x):
    try:
        return x * later
    except NameError:
        return x * abs(-1.0)
"""
    exec(compile(text, __file__, "exec"), space)
    compiled = wg.compile(space["f"])
    assert compiled(X)[0] == 1.0
    space["abs"] = lambda x: 2.0
    assert compiled(X)[0] == 2.0
    space["later"] = 3.0
    assert compiled(X)[0] == 3.0


CHANGES = {
    "value below": (lambda t, x: x * t.gain, lambda kind: _of("gain", 3.0)(kind)),
    "method": (lambda t, x: t.act(x), _of("act", lambda self, x: x * 3.0)),
    "property": (lambda t, x: x * t.scale, _of("scale", property(lambda self: 3.0))),
    "static method": (lambda t, x: t.fixed(x), _of("fixed", staticmethod(lambda x: x * 3.0))),
    "class method": (lambda t, x: t.shared(x), _of("shared", classmethod(lambda c, x: x * 3.0))),
}


@pytest.mark.parametrize("where", ["in the base", "below it"])
@pytest.mark.parametrize("what", CHANGES)
def test_members_of_classes_that_are_replaced(what, where):
    class Above(Base):
        pass

    for name, member in vars(Base).items():
        if not name.startswith("__"):
            setattr(Above, name, member)

    class Below(Above):
        pass

    thing = Below()
    read, change = CHANGES[what]
    f, calls = counted(lambda x: read(thing, x))
    compiled = wg.compile(f)
    assert compiled(X)[0] == compiled(X)[0] == 1.0
    assert len(calls) == 1
    change(Above if where == "in the base" else Below)
    assert compiled(X)[0] == compiled(X)[0] == 3.0


def test_a_generic_function_that_has_another_case():
    @functools.singledispatch
    def scaled(k, x):
        return x

    scaled.register(int, lambda k, x: x * 2.0)
    compiled = wg.compile(lambda x: scaled(1, x))
    assert compiled(X)[0] == compiled(X)[0] == 2.0
    scaled.register(int, lambda k, x: x * 7.0)
    assert compiled(X)[0] == 7.0


def test_fields_and_more_of_a_dataclass():
    hyper = Hyper()
    compiled = wg.compile(lambda x: x * sum(dataclasses.asdict(hyper).values()))
    assert compiled(X)[0] == 2.0
    hyper.gamma = 3.0
    assert compiled(X)[0] == 3.0


def test_a_dict_is_one_comparison():
    table = {Mode.POLICY: 1.0} | {str(i): 1.0 for i in range(50)}
    compiled = wg.compile(lambda x: x * sum(table.values()))
    compiled(X)
    labels = [place.label for place in compiled.latest.watch.places]
    assert labels.count("table") == 2  # the variable, and what is in the dict
    assert not any("[" in label for label in labels)
