"""x[key]: NumPy's values, and the gradients that belong to them."""

import numpy as np
import pytest
from levels import drawn, pullback, pushforward, require_same, traced

import wengert as wg
from wengert.core.table import op
from wengert.errors import TraceError


def scattered(x, key, g):
    """The gradient of x[key]: g added where the elements came from."""
    gx = np.zeros_like(x)
    np.add.at(gx, key, g)
    return gx


i = np.array
MASK = np.arange(60).reshape(3, 4, 5) % 3 == 0

# For an array of shape (3, 4, 5).
KEYS = {
    "int": 1,
    "negative int": -1,
    "NumPy int": np.int32(2),
    "0-d array": np.array(1),
    "all ints": (1, -2, 3),
    "empty tuple": (),
    "ellipsis": ...,
    "ellipsis first": (..., 2),
    "ellipsis between": (1, ..., -1),
    "ellipsis over nothing": (1, 2, ..., 3),
    "new axis": None,
    "new axes": (None, slice(None), None, 1, None),
    "new axis after ellipsis": (..., None),
    "slice": slice(1, 3),
    "slice of slices": (slice(1, None), slice(None, -1), slice(0, 4)),
    "steps": (slice(None, None, 2), slice(1, None, 3), slice(None, None, 5)),
    "backwards": slice(None, None, -1),
    "backwards steps": (slice(2, 0, -1), slice(None, None, -3), slice(-1, -6, -2)),
    "out of range slice": (slice(-100, 100), slice(2, 100), slice(100, -100, -1)),
    "empty slice": (slice(2, 1), slice(0, 0)),
    "empty backwards slice": (slice(None), slice(0, 3, -1)),
    "int and slice": (slice(None), 2, slice(1, 4)),
    "NumPy slice": slice(np.int64(0), np.int64(2)),
    "array": i([0, 2, 0]),
    "list": [2, 0, 2, 2],
    "empty list": [],
    "nested list": [[0, 1], [-1, 0]],
    "nested empty list": [[], []],
    "negative array": i([-1, -3, 0, -1]),
    "2-d array": i([[0, 1], [2, 0]]),
    "int8 array": i([1, -1], np.int8),
    "uint64 array": i([1, 2], np.uint64),
    "array on the second axis": (slice(None), i([3, 0, 3])),
    "array on the last axis": (..., i([[4, 0], [1, 1]])),
    "two arrays": (i([0, 2, 0]), i([1, 1, 1])),
    "two arrays on later axes": (slice(None), i([0, 3, 3]), i([-1, 2, 2])),
    "three arrays": (i([0, 2, 2]), i([1, 1, 1]), i([4, 0, 0])),
    "broadcast arrays": (i([[0], [2]]), i([1, 3, 1])),
    "arrays apart": (i([0, 2, 0]), slice(None), i([1, 4, 1])),
    "arrays apart, broadcast": (i([[0], [1]]), slice(1, 3), i([1, 4, 1])),
    "array and int": (i([0, 2, 2]), 1),
    "int and array": (1, i([0, 2, 2])),
    "int and array apart": (1, slice(None), i([0, 2, 2])),
    "array and int apart": (i([0, 2, 2]), slice(None), -1),
    "array, int, slice": (i([0, 0]), 3, slice(None, None, -2)),
    "int between arrays": (i([0, 2]), 3, i([1, 1])),
    "array and slice": (i([2, 2]), slice(1, 3)),
    "slice and array": (slice(None, None, 2), i([0, 3, 1])),
    "array and new axis": (i([0, 2]), None),
    "new axis between arrays": (i([0, 2]), None, i([1, 1])),
    "new axis and arrays": (None, i([0, 2]), i([1, 1])),
    "new axis between slices": (slice(None), None, i([1, 0, 1])),
    "array and ellipsis": (i([1, 1]), ..., 2),
    "ellipsis between arrays": (i([1, 1]), ..., i([2, 0])),
    "ellipsis over nothing between arrays": (i([1, 1]), i([0, 3]), ..., i([2, 0])),
    "ellipsis over nothing between array and int": (slice(None), i([0, 3, 3]), ..., 0),
    "ellipsis over nothing between int and array": (slice(None), -1, ..., i([[0, 4]])),
    "ellipsis over nothing between mask and int": (slice(None), MASK[0, :, 1], ..., 2),
    "ellipsis over nothing before arrays": (slice(None), ..., i([0, 3, 3]), 0),
    "ellipsis over nothing after arrays": (slice(None), i([0, 3, 3]), 0, ...),
    "array of no elements": (np.zeros((0, 2), int), slice(None)),
    "mask": MASK,
    "mask of one axis": np.array([True, False, True]),
    "mask of two axes": MASK[:, :, 0],
    "mask of later axes": (slice(None), MASK[0]),
    "mask of the last axis": (..., np.array([True, False, True, True, False])),
    "mask of nothing": np.zeros((3, 4), bool),
    "list mask": [True, False, True],
    "mask and int": (np.array([True, False, True]), 1),
    "mask and slice": (np.array([True, False, True]), slice(None, None, -1)),
    "mask and array": (np.array([True, False, True]), i([1, 3])),
    "mask and array apart": (np.array([True, False, True]), slice(None), i([4, 4])),
    "two masks": (np.array([True, False, True]), np.array([True, False, False, True])),
    "true": True,
    "false": False,
    "truth value and slice": (slice(1, 3), np.True_),
    "truth value and array": (True, i([0, 2, 0])),
}
X = drawn((3, 4, 5))


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_getitem(key):
    expected = X[key]
    g = np.asarray(drawn(np.shape(expected), 1))
    value, gx = pullback(lambda x: x[key], X, g)
    require_same(np.asarray(value), np.asarray(expected))
    require_same(gx, scattered(X, key, g))


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_getitem_traced(key):
    require_same(traced(lambda x: x[key], X), np.asarray(X[key]))
    g = np.asarray(drawn(np.shape(X[key]), 1))
    require_same(
        traced(lambda x, g: pullback(lambda x: x[key], x, g)[1], X, g), scattered(X, key, g)
    )


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_getitem_forward(key):
    require_same(
        pushforward(lambda x: x[key], X, drawn(X.shape, 2)), np.asarray(drawn(X.shape, 2)[key])
    )


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_getitem_second_order(key):
    """The gradient of sum(x[key]³ w) has the derivative 6 x v w along v."""
    weights, dx = drawn(np.shape(X[key]), 1), drawn(X.shape, 2)

    def gradient(x):
        return pullback(lambda x: x[key] * x[key] * x[key], x, weights)[1]

    expected = scattered(X, key, 6 * X[key] * dx[key] * weights)
    assert np.allclose(pushforward(gradient, X, dx), expected, rtol=1e-12, atol=1e-12)
    assert np.allclose(pullback(gradient, X, dx)[1], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_getitem_keeps_the_dtype(dtype):
    x = (X > 0).astype(dtype)
    for key in ((slice(1), [0, 0]), 1, slice(None, None, -1), MASK):
        require_same(traced(lambda x, key=key: x[key], x), x[key])


# Indices that are computed.


@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (0,)])
@pytest.mark.parametrize(
    "key",
    [
        lambda t: t,
        lambda t: (slice(None), t),
        lambda t: (t, t),
        lambda t: (t, slice(1, 3), t),
        lambda t: (1, t),
        lambda t: (..., t, None),
        lambda t: (t, [[0], [1]]) if t.shape == () else t,
    ],
)
def test_traced_indices(key, shape):
    index = np.random.default_rng(4).integers(-3, 3, shape)
    require_same(traced(lambda x, t: x[key(t)], X, index), np.asarray(X[key(index)]))
    g = np.asarray(drawn(np.shape(X[key(index)]), 1))
    gx = traced(lambda x, t, g: pullback(lambda x: x[key(t)], x, g)[1], X, index, g)
    require_same(gx, scattered(X, key(index), g))


def test_a_mask_of_values_that_are_differentiated():
    value, gx = pullback(lambda x: x[x > 0], X, np.ones(int((X > 0).sum())))
    require_same(value, X[X > 0])
    require_same(gx, (X > 0).astype(float))


def test_a_traced_mask_is_refused():
    with pytest.raises(
        TraceError, match=r"getitem: a mask that is traced .* wg.where\(mask, x, 0\)"
    ):
        traced(lambda x: x[wg.greater(x, 0)], X)
    with pytest.raises(TraceError, match=r"nonzero: .* wg.where\(mask, x, 0\)"):
        traced(lambda x: wg.nonzero(x)[0], X)
    require_same(traced(lambda x: wg.where(wg.greater(x, 0), x, 0), X), np.where(X > 0, X, 0))


def test_a_traced_float_is_no_index():
    with pytest.raises(IndexError, match="getitem: an index of dtype float64 was given"):
        traced(lambda x: X[0] * x[x[0, 0]], X)


# Refusals.

REFUSED = {
    "index 3 was given for axis 0 of size 3; an index must lie between -3 and 2": 3,
    "index -5 was given for axis 1 of size 4": (0, -5),
    "index 7 was given for axis 1 of size 4": (slice(None), [0, 7]),
    "index -4 was given for axis 0 of size 3": ([0, -4], [0, 0]),
    "4 indices were given for an array of 3 axes": (0, 0, 0, 0),
    "2 Ellipses were given": (..., ...),
    r"a mask of shape \(2,\) was given for axes of shape \(3,\)": np.array([True, False]),
    "an index of dtype float64 was given": [0.5],
    "index 1.0 was given": 1.0,
    "index 'w' was given": "w",
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    key = REFUSED[message]
    with pytest.raises(IndexError, match=message):
        pullback(lambda x: x[key], X, X)
    with pytest.raises(IndexError, match=rf"{message}.*\(test_indexing.py:\d+\)"):
        traced(lambda x: x[key], X)


def test_step_zero_is_refused():
    with pytest.raises(ValueError, match="step 0"):
        traced(lambda x: x[::0], X)


def test_traced_indices_are_checked_when_they_run():
    with pytest.raises(IndexError, match="getitem: index 3 was given for axis 0 of size 3"):
        traced(lambda x, t: x[t], X, np.array([0, 3]))
    with pytest.raises(IndexError, match="scatter_add: index -9 was given for axis 0 of size 3"):
        traced(lambda x, t: wg.scatter_add(x, t, 1.0), X, np.array([0, -9]))


def test_a_list_of_tensors_is_one_index():
    found = traced(lambda x, t: x[[t, t - 1]], X, np.array(1))
    assert np.array_equal(found, X[[1, 0]])


def test_a_traced_bound_is_refused():
    with pytest.raises(TraceError, match=r"a slice with a Tensor as a bound .* wg\.take"):
        traced(lambda x, t: x[t:], X, np.array(1))
    take = traced(lambda x, t: wg.take(x, t + wg.arange(2), axis=0), X, np.array(1))
    require_same(take, X[1:3])


def test_assignment_is_refused():
    def assign(x):
        x[0] = 1.0

    with pytest.raises(TraceError, match="never changed in place"):
        traced(assign, X)


def test_iteration_and_unpacking():
    require_same(traced(lambda x: sum(row * k for k, row in enumerate(x)), X), X[1] + 2 * X[2])
    first, _, last = wg.unstack(X)
    require_same(first, X[0])
    require_same(last, X[2])


def test_no_axes():
    assert op.getitem(np.array(2.0), ()) == 2.0
    assert traced(lambda x: x[()], np.array(2.0)) == 2.0
    require_same(traced(lambda x: x[None], np.array(2.0)), np.array([2.0]))
    require_same(traced(lambda x: x[...], np.array(2.0)), np.array(2.0))


TABLE = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "read",
    [
        lambda t, i, j: t[i],
        lambda t, i, j: t[i, j],
        lambda t, i, j: t[i, :, j],
        lambda t, i, j: t[..., j],
        lambda t, i, j: t[1:][:, i, j + 1],
        lambda t, i, j: t[0, i, j] * 2,
    ],
)
def test_constants_are_indexed_by_traced_integers(read):
    def f(i, j):
        return read(wg.asarray(TABLE), i, j)

    i, j = np.array([0, 1, -1]), np.array([[2], [0]])
    np.testing.assert_array_equal(wg.compile(f)(i, j), read(TABLE, i, j))
    np.testing.assert_array_equal(wg.compile(f)(i[0], j[0, 0]), read(TABLE, i[0], j[0, 0]))


def test_constants_stay_arrays():
    def f(x):
        table = wg.asarray(TABLE)
        small = wg.asarray(np.arange(3, dtype=np.int8))
        assert table[0, 1, 2] == 6.0
        assert float(table.sum()) == TABLE.sum()
        return x * table[0, 0, :3] + wg.exp(small)

    expected = np.ones(3) * TABLE[0, 0, :3] + np.exp(np.arange(3, dtype=np.float32))
    np.testing.assert_allclose(wg.compile(f)(np.ones(3)), expected, rtol=1e-6)
