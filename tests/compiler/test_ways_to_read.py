"""Ways in which a function can read something from outside: changes are seen in the next call."""

from __future__ import annotations

import array
import configparser
import ctypes
import enum
import functools
import importlib
import sys
import types
from collections import deque
from contextvars import ContextVar

import numpy as np
import pytest

import wengert as wg

x = np.ones(3)
K = 1.0
SETTINGS, PACKAGE = "wengert_test_settings", "wengert_test_package"
RELATIVE = """
def of_module(x):
    from . import inner
    return x * inner.K

def of_value(x):
    from .inner import K
    return x * K
"""


@pytest.fixture
def modules(tmp_path, monkeypatch):
    (tmp_path / f"{SETTINGS}.py").write_text("K = 1.0\n")
    (tmp_path / PACKAGE).mkdir()
    for name, text in (("__init__", ""), ("inner", "K = 1.0\n"), ("relative", RELATIVE)):
        (tmp_path / PACKAGE / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in [name for name in sys.modules if name.startswith("wengert_test_")]:
        del sys.modules[name]


def imported(x):
    import wengert_test_settings

    return x * wengert_test_settings.K


def taken(x):
    from wengert_test_settings import K

    return x * K


def looked_up(x):
    return x * sys.modules["wengert_test_settings"].K


def imported_by_name(x):
    return x * importlib.import_module("wengert_test_settings").K


def from_package(x):
    from wengert_test_package import inner

    return x * inner.K


def dotted(x):
    import wengert_test_package.inner

    return x * wengert_test_package.inner.K


def require_seen(f, change, argument=x):
    for call in (
        wg.compile(f),
        wg.TrainStep(lambda w, x: np.sum(w * f(x)), x, wg.optim.SGD(0.0)),
    ):
        change(1.0)
        assert np.sum(call(argument)) == 3.0
        change(10.0)
        assert np.sum(call(argument)) == 30.0
    change(1.0)


@pytest.mark.parametrize("f", [imported, taken, looked_up, imported_by_name])
def test_a_module_that_a_function_imports(f, modules):
    if f is looked_up:
        importlib.import_module(SETTINGS)
    compiled = wg.compile(f)  # the module is imported when it is recorded
    assert np.sum(compiled(x)) == 3.0
    sys.modules[SETTINGS].K = 10.0
    assert np.sum(compiled(x)) == 30.0


@pytest.mark.parametrize("way", ["of_module", "of_value", "from_package", "dotted"])
def test_a_module_of_a_package(way, modules):
    own = importlib.import_module(f"{PACKAGE}.relative")
    f = getattr(own, way, None) or globals()[way]
    inner = importlib.import_module(f"{PACKAGE}.inner")
    require_seen(f, lambda k: setattr(inner, "K", k))


def test_globals_by_text():
    require_seen(lambda x: x * globals()["K"], lambda k: globals().update(K=k))


def test_a_view_of_a_dict():
    own = {"k": 1.0}
    view = types.MappingProxyType(own)
    require_seen(lambda x: x * view["k"], lambda k: own.update(k=k))


@pytest.mark.parametrize("shape", [(2,), (1, 2), ()])
def test_an_array_of_objects(shape):
    objects = np.empty(shape, object)

    def change(k):
        objects[(0,) * len(shape)] = k

    require_seen(lambda x: x * objects[(0,) * objects.ndim], change)


def test_keywords_of_a_partial():
    f = functools.partial(lambda x, k: x * k, k=1.0)
    require_seen(f, lambda k: f.keywords.update(k=k))


def test_defaults():
    def f(x, k=1.0):
        return x * k

    def g(x, *, k=1.0):
        return x * k

    require_seen(lambda x: f(x), lambda k: setattr(f, "__defaults__", (k,)))
    require_seen(lambda x: g(x), lambda k: g.__kwdefaults__.update(k=k))
    require_seen(lambda x: g(x), lambda k: setattr(g, "__kwdefaults__", {"k": k}))


def test_containers_of_the_standard_library():
    queue, numbers = deque([1.0]), array.array("d", [1.0])
    variable = ContextVar("variable", default=1.0)
    require_seen(lambda x: x * queue[0], lambda k: queue.__setitem__(0, k))
    require_seen(lambda x: x * numbers[0], lambda k: numbers.__setitem__(0, k))
    require_seen(lambda x: x * variable.get(), variable.set)


# What classes, modules and objects of other kinds hold.


class Singleton(type):
    """Makes one object of each class, and has attributes and items for it."""

    made: dict = {}  # noqa: RUF012  # shared on purpose

    def __call__(cls, *args):
        if cls not in cls.made:
            cls.made[cls] = super().__call__(*args)
        return cls.made[cls]

    @property
    def scale(cls):
        return cls.factor

    def __getitem__(cls, name):
        return cls.table[name]


class Settings(metaclass=Singleton):
    factor = 1.0
    table: dict = {"k": 1.0}  # noqa: RUF012

    def __init__(self):
        self.nu = 1.0


class Material(enum.Enum):
    STEEL = {"E": 1.0}  # noqa: RUF012

    def __init__(self, value):
        self.nu = 1.0


class Unit:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return self.name

    def __repr__(self):
        return self.name


class Marked(np.ndarray):
    factor = 1.0


def _module():
    made = types.ModuleType("wengert_test_not_registered")
    exec("k = 1.0\nclass SI:\n    g = 1.0\ndef scaled(x): return x * k", made.__dict__)
    return made


def _config():
    made = configparser.ConfigParser()
    made.read_string("[fluid]\nnu = 1.0")
    return made


MODULE, CONFIG, UNIT, MARKED = _module(), _config(), Unit("one"), np.ones(3).view(Marked)
FACTORS = {"one": 1.0, "five": 5.0}
BUFFER = (ctypes.c_double * 2)(1.0, 1.0)
BASE = np.ones(2)
VIEW = memoryview(BASE)
FORMULA = "x * FORMULA_FACTOR"
FORMULA_FACTOR = 1.0

HELD = {
    "a metaclass that is called": (
        lambda x: x * Settings().nu,
        lambda k: setattr(Settings(), "nu", k),
    ),
    "a property of a metaclass": (
        lambda x: x * Settings.scale,
        lambda k: setattr(Settings, "factor", k),
    ),
    "items of a class": (lambda x: x * Settings["k"], lambda k: Settings.table.update(k=k)),
    "a module that is not registered": (lambda x: x * MODULE.k, lambda k: setattr(MODULE, "k", k)),
    "its functions": (lambda x: MODULE.scaled(x), lambda k: setattr(MODULE, "k", k)),
    "its classes": (lambda x: x * MODULE.SI.g, lambda k: setattr(MODULE.SI, "g", k)),
    "the value of a member": (
        lambda x: x * Material.STEEL.value["E"],
        lambda k: Material.STEEL.value.update(E=k),
    ),
    "an attribute of a member": (
        lambda x: x * Material.STEEL.nu,
        lambda k: setattr(Material.STEEL, "nu", k),
    ),
    "str": (lambda x: x * FACTORS[str(UNIT)], lambda k: setattr(UNIT, "name", NAMES[k])),
    "a formatted text": (
        lambda x: x * FACTORS[f"{UNIT}"],
        lambda k: setattr(UNIT, "name", NAMES[k]),
    ),
    "repr": (lambda x: x * FACTORS[repr(UNIT)], lambda k: setattr(UNIT, "name", NAMES[k])),
    "a config": (
        lambda x: x * CONFIG.getfloat("fluid", "nu"),
        lambda k: CONFIG.set("fluid", "nu", str(k)),
    ),
    "a section of a config": (
        lambda x: x * float(CONFIG["fluid"]["nu"]),
        lambda k: CONFIG.set("fluid", "nu", str(k)),
    ),
    "a formula": (lambda x: eval(FORMULA), lambda k: globals().update(FORMULA_FACTOR=k)),
    "an attribute of an array": (
        lambda x: x * MARKED.factor,
        lambda k: setattr(MARKED, "factor", k),
    ),
    "an array of ctypes": (lambda x: x * BUFFER[0], lambda k: BUFFER.__setitem__(0, k)),
    "a memoryview": (lambda x: x * VIEW[0], lambda k: BASE.__setitem__(0, k)),
}
NAMES = {1.0: "one", 5.0: "five"}


@pytest.mark.parametrize("way", HELD)
def test_what_else_holds_values(way):
    f, change = HELD[way]
    change(1.0)
    compiled = wg.compile(f)
    assert compiled(x)[0] == 1.0
    change(5.0)
    assert compiled(x)[0] == 5.0
    change(1.0)


def test_a_module_that_raises_what_it_likes():
    lazy = types.ModuleType("wengert_test_lazy")
    exec("values = {'k': 2.0}\ndef __getattr__(name): return values[name]", lazy.__dict__)
    assert wg.compile(lambda x: x * lazy.k)(x)[0] == 2.0


class Counting:
    """An object that shows a counter, and does not compute with it."""

    def __init__(self):
        self.scale, self.calls = 2.0, 0

    def __repr__(self):
        return f"Counting({self.calls})"

    def __call__(self, x):
        if x.ndim > 5:
            raise ValueError(f"{self} takes no such array")
        return x * self.scale


def test_what_is_only_shown_in_errors_does_not_count():
    counting, recordings = Counting(), []

    def f(x):
        recordings.append(x)
        return counting(x)

    compiled = wg.compile(f)
    for _ in range(3):
        assert compiled(x)[0] == 2.0
        counting.calls += 1
    assert len(recordings) == 1
