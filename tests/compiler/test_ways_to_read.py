"""Ways in which a function can read something from outside: changes are seen in the next call."""

from __future__ import annotations

import array
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
