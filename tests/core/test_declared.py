"""What functions declare is what inspect says of them, and what Python lets them be called with."""

from __future__ import annotations

import functools
import inspect

import pytest

import wengert as wg
from wengert.core.signatures.declared import can_take, declared


def decorated(f):
    return functools.wraps(f)(lambda *args, **kwargs: f(*args, **kwargs))


FUNCTIONS = {
    "nothing": lambda: 0,
    "plain": lambda x, y: 0,
    "defaults": lambda x, y=2, z=None: 0,
    "slash": lambda x, y=1, /, z=2: 0,
    "rest": lambda x, *rest: 0,
    "by name": lambda x, *, axis, out=None: 0,
    "all kinds": lambda a, /, b, *c, d, e=1, **f: 0,
    "others": lambda x, **others: 0,
    "decorated": decorated(lambda x, *, axis=None: 0),
    "partial": functools.partial(lambda x, y: 0, 1),
    "method": "text".join,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_are_those_of_inspect(name):
    found = inspect.signature(FUNCTIONS[name]).parameters.values()
    assert declared(FUNCTIONS[name]) == [(p.name, int(p.kind), p.default) for p in found]


def test_the_definitions_of_ops_are_read_like_that():
    for op in wg.op:
        if op.call.definition is not None:
            found = inspect.signature(op.call.definition).parameters
            assert [name for name, _, _ in declared(op.call.definition)] == [*found]


@pytest.mark.parametrize("named", [(), ("axis",), ("y",), ("axis", "d"), ("x",)])
@pytest.mark.parametrize("places", range(4))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_can_be_taken_is_what_binds(name, places, named):
    try:
        inspect.signature(FUNCTIONS[name]).bind(*range(places), **dict.fromkeys(named))
    except TypeError:
        binds = False
    else:
        binds = True
    assert can_take(FUNCTIONS[name], places, named) is binds
