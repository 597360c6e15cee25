"""Recipes as bytes, and back."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from compiler import bit_programs

import wengert as wg
from wengert.codegen.kernel import ConstantArray, Layout
from wengert.runtime.caching.cache_recipe import (
    Recipe,
    Unkeepable,
    Unreadable,
    from_bytes,
    to_bytes,
)


def same(one, other) -> bool:
    """Whether values are equal, of the same types, all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and (one == other).all()
    if dataclasses.is_dataclass(one):
        return same(vars_of(one), vars_of(other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def vars_of(x) -> dict:
    return {field.name: getattr(x, field.name) for field in dataclasses.fields(x)}


@pytest.mark.parametrize("name", list(bit_programs.cases(np.float64)))
def test_there_and_back(name):
    function, args = bit_programs.cases(np.float64)[name]
    recipe = wg.compile(function).executable(*args).recipe
    assert same(from_bytes(to_bytes(recipe)), recipe)
    assert to_bytes(from_bytes(to_bytes(recipe))) == to_bytes(recipe)


def test_open_sizes_and_what_is_printed():
    n = {"x": {0: wg.Dim("n")}}
    compiled = wg.compile(lambda x: wg.debug(x[1:] * 2, "x"), dims=n)
    recipe = compiled.executable(np.ones(4)).recipe
    assert recipe.least == {"n": 2}
    assert recipe.layout.printer is not None
    assert same(from_bytes(to_bytes(recipe)), recipe)


def test_constants_are_aligned_however_long_the_rest_is(recipe):
    for length in range(1, 20):
        changed = dataclasses.replace(recipe, images=(b"x" * length,))
        (constant,) = from_bytes(to_bytes(changed)).layout.slots
        assert constant.value.flags.aligned
        assert constant.value.flags.c_contiguous


@pytest.fixture
def recipe() -> Recipe:
    known = wg.compile(np.tanh).executable(np.ones(3)).recipe
    layout = Layout(["n"], [ConstantArray(np.arange(6.0).reshape(2, 3))], [2])
    return dataclasses.replace(known, layout=layout)


def test_what_is_no_plain_data(recipe):
    for value in (object(), 1.5, np.array([object()]), lambda: None):
        with pytest.raises(Unkeepable, match="cannot be kept"):
            to_bytes(dataclasses.replace(recipe, least={"n": value}))


def test_bytes_that_are_no_recipe(recipe):
    whole = to_bytes(recipe)
    for body in (b"", b"\0" * 8, whole[:-1], whole[:40], b"\xff" * 50, b"\2" + bytes(7) + b"[]"):
        with pytest.raises(Unreadable):
            from_bytes(body)
    for old, new in ((b'"Recipe"', b'"Resipe"'), (b'"grows"', b'"grown"'), (b'"<f8"', b'"<q9"')):
        assert whole.count(old) == 1
        with pytest.raises(Unreadable):
            from_bytes(whole.replace(old, new))


@pytest.mark.parametrize(
    "text", [b"[" * 100_000, b'{"tuple":' * 100_000, b'{"tuple":[' * 600 + b"]}" * 600, b"9" * 5000]
)
def test_a_forged_recipe_is_none(text):
    with pytest.raises(Unreadable):
        from_bytes(len(text).to_bytes(8, "little") + text)


def test_only_classes_of_ours_are_made(recipe):
    whole = to_bytes(recipe)
    with pytest.raises(Unreadable):
        from_bytes(whole.replace(b'"ConstantArray"', b'"Popen00000000"'))
