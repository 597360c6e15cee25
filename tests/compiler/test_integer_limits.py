"""Integers near the ends of their ranges: what NumPy gives, eagerly, traced and compiled."""

import itertools

import numpy as np
import pytest
from levels import traced

import wengert as wg
from wengert.core.dtypes import INTEGERS

COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


def limits(dtype):
    info = np.iinfo(dtype)
    special = [info.min, info.max, info.max - 1, info.min + 1, 0, 1, 2, info.max // 2 + 1]
    return np.array([*special, *[-1, -2] * (info.min < 0), *[3, 4] * (info.min == 0)], dtype)


def require_equal(function, *arrays, rtol=0.0):
    """A function of arrays that gives a list of results, on every way."""
    expected = function(*arrays)
    ways = {"compiled": wg.compile(lambda *xs: function(*xs))(*arrays)}
    ways["traced"] = [
        traced(lambda *xs, i=i: function(*xs)[i], *arrays) for i in range(len(expected))
    ]
    for way, found in ways.items():
        for number, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
            assert ours.dtype == np.asarray(theirs).dtype, (way, number)
            np.testing.assert_allclose(ours, theirs, rtol=rtol, err_msg=f"{way} {number}")


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_averages_do_not_wrap_around(dtype):
    """A mean, or what is made of one, has the size of its elements."""
    x = np.full((3, 4), np.iinfo(dtype).max, dtype)
    x[0, 1] = np.iinfo(dtype).max // 2
    weights = np.array([1, 2, 3], dtype)

    def averages(x, weights):
        return [
            np.mean(x),
            x.mean(axis=0),
            np.var(x),
            np.var(x, axis=0, ddof=1),
            np.std(x, axis=1),
            np.average(x),
            np.average(x, axis=0, weights=weights),
            np.nanmean(x, axis=0),
            np.median(x),
            np.median(x, axis=0),
            np.cov(x[:, :2]),
            np.linspace(x[0], x[0][::-1], 3),
            np.trapezoid(x[0], axis=0),
        ]

    require_equal(averages, x, weights, rtol=1e-13)
    with np.errstate(all="ignore"):
        for ours, theirs in ((wg.mean, np.mean), (wg.var, np.var), (wg.std, np.std)):
            np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-13)


def test_a_spread_over_an_open_axis_of_small_integers():
    """How many there are does not fit into their dtype."""
    compiled = wg.compile(lambda x: np.var(x, ddof=0.5), dims={"x": {0: wg.Dim("n")}})
    for count in (300, 7):
        x = np.arange(count).astype(np.int8)
        np.testing.assert_allclose(compiled(x), np.var(x, ddof=0.5), rtol=1e-12)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_sums_and_products_wrap_around_as_numpys(dtype):
    x = np.concatenate([limits(dtype), limits(dtype)[::-1]]).reshape(4, 5)

    def folds(x):
        kinds = ("int8", "uint64", "int32", "bool")
        return [
            *(fold(x, axis=0) for fold in (np.sum, np.prod, np.cumsum, np.cumprod, np.ptp)),
            *(fold(x, dtype=kind) for fold in (np.sum, np.prod) for kind in kinds),
            *(np.cumsum(x, axis=1, dtype=kind) for kind in kinds),
            *(np.max(x, axis=1), np.min(x), np.argmax(x), np.sort(x, axis=0), np.diff(x)),
            *(np.abs(x), np.negative(x), np.square(x), np.sign(x), np.clip(x, 1, 100)),
            *(np.round(x), np.floor(x), np.trace(x, dtype=kinds[0]), x @ x.T, np.dot(x, x[0])),
            *(np.einsum("ij,kj->ik", x, x), np.vdot(x, x), np.outer(x[0], x[1])),
        ]

    with np.errstate(all="ignore"):
        require_equal(folds, x)


@pytest.mark.parametrize("first", INTEGERS, ids=str)
def test_comparisons_of_integers_are_exact(first):
    """No float stands between an int64 and a uint64."""
    pairs = []
    for second in INTEGERS:
        rows = list(itertools.product(limits(first), limits(second)))
        columns = zip(*rows, strict=True)
        pairs += [np.array(x, d) for x, d in zip(columns, (first, second), strict=True)]

    def compare(*xs):
        return [f(x, y) for x, y in zip(xs[::2], xs[1::2], strict=True) for f in COMPARISONS]

    require_equal(compare, *pairs)
    for found, (x, y) in zip(
        compare(*pairs)[2 :: len(COMPARISONS)],
        zip(pairs[::2], pairs[1::2], strict=True),
        strict=True,
    ):
        assert found.tolist() == [int(a) < int(b) for a, b in zip(x, y, strict=True)]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_comparisons_with_numbers_outside_of_the_range(dtype):
    numbers = (-1, -129, 256, 2**31, -(2**31) - 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63))

    def compare(x):
        return [f(*pair) for n in numbers for f in COMPARISONS for pair in ((x, n), (n, x))]

    require_equal(compare, limits(dtype))


def test_differences_of_integers_in_isclose():
    x, y = np.array([0, 255, 7], np.uint8), np.array([255, 0, 7], np.uint8)
    require_equal(lambda x, y: [np.isclose(x, y)], x, y)


def test_einsum_of_integers_and_floats():
    """Operands are converted before they are summed."""
    x, y = np.full((2, 3), 2**63, np.uint64), np.array([[1, -2, 5]], np.int8)
    require_equal(lambda x, y: [np.einsum("ij,kl->", x, y)], x, y, rtol=1e-14)
