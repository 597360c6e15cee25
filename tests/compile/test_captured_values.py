"""What a compiled function reads beside its arguments: the answer is that of now, or an error."""

from __future__ import annotations

import dataclasses
import functools
import operator
import random
import sys
import types
import warnings
from array import array
from collections import ChainMap, UserDict, UserList, deque
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.core import tree
from wengert.errors import CaptureWarning, RandomnessWarning, TraceError

scale: Any = 2.0
table = np.ones(3)
settings: Any = {"scale": 2.0, "deep": [1.0, {"x": 3.0}]}


def set_global(name: str, value: Any) -> None:
    globals()[name] = value


@pytest.fixture(autouse=True)
def _restored():
    yield
    set_global("scale", 2.0)
    set_global("table", np.ones(3))
    set_global("settings", {"scale": 2.0, "deep": [1.0, {"x": 3.0}]})


X = np.ones(3)
NEW, OLD = np.random.default_rng(0), np.random.RandomState(0)


def call(f, x, times):
    for _ in range(times):
        f(x)


def counted(function):
    """The function, and a list that grows where it is recorded."""
    calls: list[int] = []

    def recorded(*args):
        calls.append(len(calls))
        return function(*args)

    return recorded, calls


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
    with pytest.raises(TraceError, match=r"array 'numbers' was changed .*test_captured_values.py"):
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
    for k in range(10):
        numbers[0] = k
        assert compiled(X)[0] == 3.0


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
        with pytest.raises(TraceError, match="Pass it as an argument"):
            wg.compile(f)(X)
    assert wg.compile(lambda w, x: x * w)(step.model, X)[0] == 1.0


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.normal(),
        lambda: random.random(),
        lambda: NEW.normal(),
        lambda: OLD.normal(),
    ],
)
def test_random_numbers_drawn_while_recording_are_a_warning(draw):
    compiled = wg.compile(lambda x: x * draw())
    with pytest.warns(RandomnessWarning, match=r"constant of the program.*rng"):
        compiled(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(X)


def test_the_line_that_drew_them_is_named():
    line = sys._getframe().f_lineno + 1
    compiled = wg.compile(lambda x: x + np.random.normal(size=3))
    with pytest.warns(RandomnessWarning, match=rf"test_captured_values.py:{line}\)"):
        compiled(X)


def _with_rules(function, forward, backward):
    found = wg.custom_vjp(function)
    found.defvjp(forward, backward)
    return found


def _read_inside(x):
    return x * scale


RULED = {
    "its function": _with_rules(lambda x: x * scale, lambda x: (x * 2.0, None), lambda _, g: (g,)),
    "forward": _with_rules(lambda x: x * 2.0, lambda x: (x * scale, None), lambda _, g: (g,)),
    "backward": _with_rules(
        lambda x: x * 2.0, lambda x: (x * 2.0, None), lambda _, g: (g * scale,)
    ),
    "a wrapper as a rule": _with_rules(
        lambda x: x * 2.0,
        lambda x: (x * 2.0, None),
        functools.partial(lambda _s, _, g: (wg.checkpoint(_read_inside)(g),), 1.0),
    ),
}
IN_FUNCTIONS = {
    "grad": lambda f: wg.grad(lambda x: np.sum(f(x))),
    "value_and_grad": lambda f: wg.value_and_grad(lambda x: np.sum(f(x))),
    "value": lambda f: lambda x: f(x),
    "itself": lambda f: f,
    "checkpoint": lambda f: wg.grad(wg.checkpoint(lambda x: np.sum(f(x)))),
    "scan": lambda f: wg.grad(
        lambda x: np.sum(wg.scan(lambda c, _: (f(c), c), x, None, length=2)[0])
    ),
    "compiled": lambda f: wg.grad(lambda x: np.sum(wg.compile(f)(x))),
    "partial": lambda f: functools.partial(lambda f, x: wg.grad(lambda x: np.sum(f(x)))(x), f),
}


@pytest.mark.parametrize("place", IN_FUNCTIONS)
@pytest.mark.parametrize("rule", RULED)
def test_what_a_function_with_a_rule_of_its_own_reads(rule, place):
    plain = IN_FUNCTIONS[place](RULED[rule])
    compiled = wg.compile(plain)
    for value in (2.0, 3.0, 2.0):
        set_global("scale", value)
        np.testing.assert_array_equal(
            np.hstack(tree.leaves(compiled(X))), np.hstack(tree.leaves(plain(X)))
        )


def test_what_the_rules_of_a_method_read():
    class Model:
        def __init__(self):
            self.k = 2.0
            self.f = _with_rules(
                lambda x: x * self.k, lambda x: (x * self.k, None), lambda _, g: (g * self.k,)
            )

        def loss(self, x):
            return np.sum(self.f(x))

    model = Model()
    gradient, value = wg.compile(wg.grad(model.loss)), wg.compile(model.loss)
    for model.k in (2.0, 3.0):
        assert gradient(X)[0] == model.k
        assert value(X) == 3 * model.k


def test_a_rule_that_is_another_one_now():
    f = _with_rules(lambda x: x * 1.0, lambda x: (x * 1.0, None), lambda _, g: (g,))
    gradient = wg.compile(wg.grad(lambda x: np.sum(f(x))))
    assert gradient(X)[0] == 1.0
    f.defvjp(lambda x: (x * 1.0, None), lambda _, g: (g * 7.0,))
    assert gradient(X)[0] == 7.0


def test_what_the_rules_of_a_training_step_read():
    f = _with_rules(lambda x: x * 1.0, lambda x: (x * 1.0, None), lambda _, g: (g * scale,))
    weights = np.zeros(3)
    step = wg.TrainStep(lambda w: np.sum(f(w)), weights, wg.optim.SGD(1.0))
    step()
    set_global("scale", 5.0)
    step()
    assert (step.model == -7.0).all()


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


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.default_rng().normal(size=3),
        lambda: np.random.Generator(np.random.PCG64()).normal(size=3),
        lambda: np.random.RandomState().normal(size=3),
    ],
)
def test_a_generator_that_is_made_inside_without_a_seed(draw):
    with pytest.warns(UserWarning, match=r"made inside the function .*test_captured_values.py"):
        wg.compile(lambda x: x * draw())(X)
    step = wg.TrainStep(lambda w: np.sum(w * draw()), np.ones(3), wg.optim.SGD(0.1))
    with pytest.warns(UserWarning, match="made inside the function"):
        step()


def test_a_generator_that_is_made_inside_with_a_seed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wg.compile(lambda x: x * np.random.default_rng(3).normal(size=3))(X)
        wg.compile(lambda x: x * np.random.RandomState(3).normal(size=3))(X)


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


def test_fields_that_are_read_without_their_names():
    hyper = Hyper()
    compiled = wg.compile(lambda x: x * sum(dataclasses.astuple(hyper)))
    assert compiled(X)[0] == 2.0
    hyper.updates = 1
    assert compiled(X)[0] == 3.0


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
