"""Later calls: they skip what the first one looked at, and must miss nothing."""

from __future__ import annotations

import gc
import itertools
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from compiler.running import bits


@dataclass
class Model:
    w: Any
    b: Any
    rate: float = 0.5


@dataclass
class Other:
    w: Any
    b: Any
    rate: float = 0.5


class Pair(NamedTuple):
    w: Any
    b: Any


class OtherPair(NamedTuple):
    w: Any
    b: Any


W, B = np.arange(6.0).reshape(2, 3), np.array([1.0, -2.0, 3.0])


def parts(tree: Any) -> Any:
    """The two arrays of any of the trees below."""
    if isinstance(tree, dict):
        return tree["w"], tree["b"]
    return (tree.w, tree.b) if hasattr(tree, "w") else tree


def kind_of(tree: Any) -> Any:
    """A result that shows which kind of tree was given: code for another kind would be seen."""
    w, b = parts(tree)
    return {"kind": type(tree).__name__, "tree": tree, "value": w * 2 + b}


TREES: dict[str, Callable[[], Any]] = {
    "tuple": lambda: (W, B),
    "list": lambda: [W, B],
    "dict": lambda: {"w": W, "b": B},
    "dict_turned": lambda: {"b": B, "w": W},
    "dict_more": lambda: {"w": W, "b": B, "rate": 0.5},
    "ordered": lambda: OrderedDict(w=W, b=B),
    "dataclass": lambda: Model(W, B),
    "dataclass_with_another_number": lambda: Model(W, B, 0.25),
    "dataclass_with_an_integer": lambda: Model(W, B, 1),
    "dataclass_with_a_one": lambda: Model(W, B, 1.0),
    "dataclass_with_true": lambda: Model(W, B, True),
    "another_dataclass": lambda: Other(W, B),
    "named": lambda: Pair(W, B),
    "named_otherwise": lambda: OtherPair(W, B),
    "float32": lambda: (W.astype(np.float32), B.astype(np.float32)),
    "mixed": lambda: (W.astype(np.float32), B),
    "integers": lambda: (W.astype(int), B.astype(int)),
    "one_row": lambda: (W[:1], B),
    "no_row": lambda: (W[:0], B),
    "more_axes": lambda: (W[None], B),
    "scalars": lambda: (np.float64(2), np.float64(3)),
    "small": lambda: (np.array(2.0), np.array(3.0)),
    "tied": lambda: (B, B),
}


def require_same(found: Any, expected: Any) -> None:
    ours, structure = wg.tree.flatten(found)
    theirs, eager = wg.tree.flatten(expected)
    assert str(structure) == str(eager)
    assert structure == eager
    for x, y in zip(ours, theirs, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        assert np.array_equal(x, y)


@pytest.mark.parametrize("one", TREES)
def test_each_tree_keeps_its_own_program(one):
    """After calls with one tree, calls with any other give what it gives."""
    compiled = wg.compile(kind_of)
    for _ in range(3):
        require_same(compiled(TREES[one]()), kind_of(TREES[one]()))
    for other in TREES.values():
        for _ in range(2):
            require_same(compiled(other()), kind_of(other()))
        require_same(compiled(TREES[one]()), kind_of(TREES[one]()))


STATICS = [0, 0.0, -0.0, False, 1, 1.0, True, 2, "a", "b", None, np.nan, np.inf, (1, 2), (1.0, 2)]


def with_static(x: Any, k: Any) -> Any:
    if isinstance(k, bool | int | float):
        return x * k, np.copysign(1.0, k), x.dtype.name
    return x, k


def test_static_values_are_told_apart():
    for options in ({}, {"static": "k"}):
        compiled = wg.compile(with_static, **options)
        for _, k in itertools.product(range(3), STATICS):
            for x in (np.arange(3), np.array([1.0, -1.0])):
                found, expected = compiled(x, k), with_static(x, k)
                assert bits(found) == bits(expected), f"times {k!r}"
                assert wg.tree.flatten(found)[1] == wg.tree.flatten(expected)[1], f"times {k!r}"
                assert found[0].dtype == expected[0].dtype, f"times {k!r}"


def test_references_are_given_back():
    """Neither calls that succeed nor those that fail keep an argument or a result."""

    def function(p: Any, i: Any) -> Any:
        return {"y": p["w"] * p["k"] + 1, "z": [p["w"][i], p["name"], None, 3]}

    compiled = wg.compile(function)
    w, good, bad = np.ones((3, 2)), np.array([0, 2]), np.array([0, 7])
    key, name = "w", "some name"
    p = {key: w, "k": 2.5, "name": name}
    things = [p, w, good, bad, key, name, None, p["k"]]
    compiled(p, good)
    gc.collect()
    before = [sys.getrefcount(x) for x in things]
    for _ in range(300):
        found = compiled(p, good)
        with pytest.raises(IndexError):
            compiled(p, bad)
        with pytest.raises(KeyError):
            compiled({"k": 2.5}, good)
    counts = sys.getrefcount(found["y"]), sys.getrefcount(found["z"])
    assert counts == (2, 2), "someone keeps a result"
    del found
    gc.collect()  # errors hold their calls in cycles
    after = [sys.getrefcount(x) for x in things]
    for x, one, other in zip(things, before, after, strict=True):
        assert abs(other - one) < 100, f"{x!r} has {other - one} more references"


def test_an_array_that_changes_between_calls():
    """Shape, dtype and flags are looked at in every call."""
    compiled = wg.compile(lambda x: wg.sum(x) + x)
    x = np.arange(6.0)
    for _ in range(3):
        require_same(compiled(x), np.sum(x) + x)
    for change in (
        lambda x: setattr(x, "shape", (2, 3)),
        lambda x: setattr(x, "shape", (3, 2)),
        lambda x: x.fill(7),
        lambda x: x.setflags(write=False),
    ):
        change(x)
        for _ in range(2):
            require_same(compiled(x), np.sum(x) + x)
    donating = wg.compile(lambda x: x + 1, donate=0)
    y = np.ones(3)
    for _ in range(3):
        donating(y)
    y.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        donating(y)
    assert np.array_equal(y, np.full(3, 4.0))


def test_subclasses_and_odd_strides():
    class Marked(np.ndarray):
        pass

    compiled = wg.compile(lambda x: x * 2)
    x = np.arange(4.0)
    wide = np.lib.stride_tricks.as_strided(np.arange(40.0), (1, 4), (9999, 8))
    for _ in range(3):
        require_same(compiled(x), x * 2)
        found = compiled(x.view(Marked))
        assert type(found) is np.ndarray
        require_same(found, x * 2)
        require_same(compiled(wide), np.arange(4.0)[None] * 2)


def test_threads_with_long_and_short_calls():
    """Calls that give the interpreter to others while they run, and that fail among them."""

    def function(x: Any, i: Any) -> Any:
        y = np.tanh(x @ x.T) @ x
        last, _ = wg.scan(lambda c, row: (c + row, None), y[0], y)
        return wg.sum(y, axis=0), y[i], last, y[::-1]

    compiled = wg.compile(function, dims={"x": {0: wg.Dim("n")}})
    rng = np.random.default_rng(3)
    inputs = [rng.uniform(-1, 1, (n, 40)) for n in (300, 3, 150, 20)]
    good, bad = np.array([0, 1]), np.array([0, 999])
    expected = [bits(compiled(x, good)) for x in inputs]
    wrong: list[Any] = []

    def work(number: int) -> None:
        for turn in range(25):
            i = (number + turn) % len(inputs)
            try:
                if bits(compiled(inputs[i], good)) != expected[i]:
                    wrong.append(i)
                if turn % 5 == 0:
                    with pytest.raises(IndexError):
                        compiled(inputs[i], bad)
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong, wrong[:3]


def test_many_executables_of_one_function():
    """More kinds of arguments than are looked at first."""
    compiled = wg.compile(lambda x: wg.sum(x) * x)
    arrays = [np.arange(float(n)) for n in range(1, 13)]
    for _ in range(3):
        for x in arrays:
            require_same(compiled(x), np.sum(x) * x)
