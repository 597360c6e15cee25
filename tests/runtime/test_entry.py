"""The entry point takes the arguments it was made for, and leaves all others to the slow path."""

from __future__ import annotations

import dataclasses
import gc
import pickle
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from runtime.entering import enter, ready, require_equal, require_quick, require_slow
from wengert.runtime.entries import objects

X = np.arange(12.0).reshape(3, 4)


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any = None


class Pair(NamedTuple):
    first: Any
    second: Any


def test_objects_lie_where_we_think():
    assert objects.fits()


def test_where_objects_lie_otherwise(monkeypatch):
    """Without an entry point, the slow path serves."""
    monkeypatch.setattr(objects, "fits", lambda: False)
    compiled = ready(lambda t: {"y": t["x"] * 2}, {"x": X})
    for k in (1, 2):
        found = require_slow(compiled, {"x": X * k})
        assert np.array_equal(found["y"], X * 2 * k)


@pytest.mark.parametrize(
    "argument",
    [
        X,
        (X, X + 1),
        [X, [X * 2], ()],
        {"a": X, "b": {"c": X + 1}, "d": None},
        Pair(X, {"k": X * 3}),
        Layer(X, [X - 1]),
        Layer(Layer(X), {"layers": [Layer(X + 1), Layer(X + 2)]}),
        {"rate": 0.5, "name": "sgd", "x": X, "f": np.tanh},
        (X,) * 3,
        {1: X, (2, 3): X + 1},
    ],
)
def test_trees(argument):
    compiled = ready(lambda t, y: [v * 2 + y for v in wg.tree.leaves(t)], argument, np.ones(4))
    for found in require_quick(compiled, argument, np.full(4, 3.0)):
        assert found.shape == X.shape


@pytest.mark.parametrize(
    "build",
    [
        lambda x: x * 2,
        lambda x: (x * 2, [x + 1], {"a": x, "b": (x - 1, None, 3.0)}),
        lambda x: [],
        lambda x: {"x": x.T, "name": "left"},
        lambda x: Pair(x * 2, x),
        lambda x: (Layer(x * 2, wg.sum(x)), x),
        lambda x: (None, wg.sum(x)),
    ],
)
def test_trees_of_results(build):
    require_quick(ready(build, X), X)


@pytest.mark.parametrize("dtype", "?bBhHiIlLfd")
def test_dtypes(dtype):
    x = X.astype(dtype)
    compiled = ready(lambda x: (x[::-1], x.T), x)
    require_quick(compiled, x)
    assert require_quick(compiled, x + x)[0].dtype == x.dtype
    other = "f" if dtype == "d" else "d"
    assert compiled.executable(x).entry(x.astype(other)) is NotImplemented


def test_what_is_no_plain_array():
    """Arrays that must be converted first are left to Python, which gets them right."""
    compiled = ready(lambda x: (x * 2, wg.sum(x)), X)
    expected = compiled(X)

    class Mine(np.ndarray):
        pass

    unaligned = np.zeros(X.nbytes + 1, np.uint8)[1:].view(X.dtype).reshape(X.shape)
    unaligned[...] = X
    wide = np.zeros((3, 8))
    wide[:, ::2] = X
    for x in (np.asfortranarray(X), wide[:, ::2], X.astype(">f8"), X.view(Mine), unaligned):
        require_equal(require_slow(compiled, x), expected)
    require_equal(compiled(X), expected)


def test_what_is_as_good_as_a_plain_array():
    compiled = ready(lambda x: (x * 2, wg.sum(x)), X)
    fixed = X.copy()
    fixed.flags.writeable = False
    for x in (fixed, np.concatenate([X, X])[3:], pickle.loads(pickle.dumps(X))):
        require_quick(compiled, x)


def test_scalars():
    compiled = ready(lambda x, rate: x * rate, X, np.array(2.0))
    for rate in (np.array(3.0), np.float64(4), np.array(5.0)[()]):
        assert np.array_equal(require_quick(compiled, X, rate), X * rate)
    entry = compiled.executable(X, np.array(2.0)).entry
    for rate in (np.float32(2), np.array([2.0]), np.int64(2), 2.0):
        assert entry(X, rate) is NotImplemented


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2), (1,), ()])
def test_empty_and_small(shape):
    x = np.ones(shape)
    compiled = ready(lambda x: (x + 1, wg.sum(x), np.ravel(x)), x)
    require_quick(compiled, x)


def test_other_shapes_and_counts():
    compiled = ready(lambda *xs: sum(xs), X, X)
    entry = compiled.executable(X, X).entry
    for args in ((X,), (X, X, X), (), (X, X[:2]), (X[0], X[0]), (X, X[None]), (X, None), (X, [X])):
        assert entry(*args) is NotImplemented
    require_quick(compiled, X, X + 1)
    square = np.ones((3, 3))
    entry = ready(lambda x: x * 2, square).latest.entry
    assert entry(square[0]) is NotImplemented
    assert entry(square) is not NotImplemented


def test_other_trees():
    given = {"alpha": X, "beta": [X, X + 1]}
    compiled = ready(lambda t: t["alpha"] * 2 + t["beta"][1], given)
    entry = compiled.executable(given).entry
    for other in (
        {"beta": given["beta"], "alpha": X},
        {"alpha": X},
        {"alpha": X, "beta": given["beta"], "c": X},
        {"alpha": X, "c": given["beta"]},
        {"alpha": X, 1: given["beta"]},
        {"alpha": X, "beta": tuple(given["beta"])},
        {"alpha": X, "beta": [X]},
        [X, given["beta"]],
        None,
    ):
        assert entry(other) is NotImplemented
    joined = "".join  # keys that are equal and no longer the same objects
    y = X + 1
    require_quick(compiled, {joined(["alp", "ha"]): y, joined(["be", "ta"]): [y, X + 2]})


def test_static_values():
    compiled = ready(lambda x, k: x * k, X, 2.5, static="k")
    entry = compiled.executable(X, 2.5).entry
    assert entry(X, 3.5) is NotImplemented
    assert np.array_equal(compiled(X, 3.5), X * 3.5)
    assert np.array_equal(compiled(X, float("2.5")), X * 2.5)
    assert len(compiled.programs) == 2


def test_static_arguments():
    compiled = wg.compile(lambda x, sizes: x[: sizes[0], : sizes[1]], static="sizes")
    sizes = (np.int64(2), 3)
    compiled(X, sizes)
    assert np.array_equal(require_quick(compiled, X, sizes), X[:2, :3])
    assert compiled(X, (np.int64(2), 3)).shape == (2, 3)
    assert compiled(X, (1, 1)).shape == (1, 1)
    assert len(compiled.programs) == 2


def test_tied_arrays():
    """One array at two places of an argument is one value; two arrays are two."""

    def gradient(p: Any) -> Any:
        return wg.grad(lambda p: wg.sum(p["a"] * p["b"] ** 2))(p)

    tied, loose = {"a": X, "b": X}, {"a": X, "b": X + 1}
    compiled = ready(gradient, tied)
    entry = compiled.executable(tied).entry
    assert entry(loose) is NotImplemented
    require_equal(compiled(tied), gradient(tied))
    require_equal(compiled(loose), gradient(loose))
    require_equal(compiled(tied), gradient(tied))
    require_quick(compiled, loose)
    assert compiled.executable(loose).entry(tied) is NotImplemented


def test_many_arrays_are_told_apart():
    arrays = [np.full(2, float(i)) for i in range(41)]
    compiled = ready(lambda xs: xs[0] + xs[-1], arrays)
    entry = compiled.executable(arrays).entry
    for i, j in ((0, 40), (0, 1), (7, 8), (8, 16), (33, 40), (15, 23), (39, 40)):
        same = list(arrays)
        same[j] = same[i]
        assert entry(same) is NotImplemented
    assert np.array_equal(entry(arrays), arrays[0] + arrays[-1])


def test_one_array_in_two_arguments():
    require_quick(ready(lambda x, y: x * y, X, X), X, X)
    require_quick(ready(lambda x, y: x * y, X, X), X, X + 1)


def test_inside_transformations():
    compiled = ready(lambda x: wg.sum(x**2), X)
    assert np.array_equal(wg.grad(compiled)(X), 2 * X)


def test_attributes_that_are_computed():
    """A dataclass may compute a field; the array lives while the program runs."""

    class Computed(Layer):
        def __getattribute__(self, name: str) -> Any:
            found = object.__getattribute__(self, name)
            return found * 2 if type(found) is np.ndarray else found

    compiled = ready(lambda layer: layer.w + 1, Computed(X))
    assert np.array_equal(require_quick(compiled, Computed(X * 3)), X * 6 + 1)
    missing = Computed(X)
    del missing.w
    assert compiled.executable(Computed(X)).entry(missing) is NotImplemented


def test_references_are_given_back():
    """Whatever the entry point answers, it holds on to nothing."""
    key, layer = "a key of its own", Layer(np.ones(3))
    given = {key: np.ones(3), "layer": layer, "list": [np.ones(3)]}
    compiled = ready(lambda t, p: (t[key] * 2, {key: p, "n": 7.5}), given, np.ones(3), donate="p")
    entry = compiled.executable(given, np.ones(3)).entry
    p, wrong = np.ones(3), {**given, "list": [np.ones(4)]}
    things = [
        p,
        key,
        layer,
        layer.w,
        given,
        *given.values(),
        wrong["list"],
        None,
        NotImplemented,
        7.5,
    ]
    gc.collect()
    before = [sys.getrefcount(x) for x in things]
    for _ in range(1000):
        assert entry(given, p)[0] is p
        assert entry(wrong, p) is NotImplemented
        assert entry(given, given[key]) is NotImplemented  # overlaps
        assert entry(given, 3) is NotImplemented
    gc.collect()
    after = [sys.getrefcount(x) for x in things]
    assert all(abs(x - y) < 20 for x, y in zip(before, after, strict=True)), (before, after)


def test_results_are_new_arrays():
    compiled = ready(lambda x: (x, x * 2), X)
    first, second = compiled(X), compiled(X)
    arrays = [X, *first, *second]
    for i, x in enumerate(arrays):
        assert not any(np.shares_memory(x, y) for y in arrays[:i])


def test_failing_programs_raise_every_time():
    x, i = np.arange(3.0), np.array([0, 2])
    compiled = ready(lambda x, i: x[i], x, i)
    require_quick(compiled, x, i)
    for _ in range(3):
        with pytest.raises(IndexError):
            compiled(x, np.array([0, 7]))
        require_quick(compiled, x, i)


def test_nonfinite():
    compiled = ready(lambda p: np.log(p), np.ones(3), nonfinite="raise", donate=0)
    p = np.array([1.0, -1.0, 2.0])
    for _ in range(2):
        with np.errstate(all="ignore"), pytest.raises(wg.errors.NonFiniteError):
            compiled(p)
        assert np.array_equal(p, [1.0, -1.0, 2.0])
    assert enter(compiled, np.ones(3)) is not NotImplemented


def test_a_result_too_large_raises():
    n = wg.Dim("n")
    x = np.ones((2, 1))
    compiled = ready(lambda x: x + x.T, x, dims={"x": {0: n}})
    entry = compiled.latest._entry
    entry._capacity[:] = 1 << 40  # as if there were memory for that
    huge = np.lib.stride_tricks.as_strided(np.ones(1), (1 << 25, 1), (8, 8))
    before = sys.getrefcount(huge)
    with pytest.raises(MemoryError):
        entry.call(huge)
    assert sys.getrefcount(huge) == before
    entry._capacity[:] = 2
    require_quick(compiled, x)
