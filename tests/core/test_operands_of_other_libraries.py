"""Series of pandas, tensors of torch and arrays of users' classes among operands: by position."""

from __future__ import annotations

import enum

import numpy as np
import pytest

import wengert as wg

x = np.ones(3)


class Reversing(np.ndarray):
    """An array with a meaning of its own in NumPy's functions."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [np.asarray(y)[::-1] if isinstance(y, Reversing) else y for y in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)


def _series(values):
    pd = pytest.importorskip("pandas")
    return pd.Series(values, index=range(len(values))[::-1])


def _torch(values):
    return pytest.importorskip("torch").tensor(values, dtype=pytest.importorskip("torch").float64)


MADE = {
    "pandas": _series,
    "polars": lambda values: pytest.importorskip("polars").Series(values),
    "torch": _torch,
    "a subclass": lambda values: np.array(values).view(Reversing),
}
BEHIND = {
    "*": lambda x, c: x * c,
    "@": lambda x, c: (x @ c) * x,
    "np.multiply": lambda x, c: np.multiply(x, c),
    "np.where": lambda x, c: np.where(np.asarray(c) > 15, x * c, x),
    "twice": lambda x, c: x * c * c,
    "x[mask]": lambda x, c: x[c > 15] * 2.0,
}
BEFORE = {  # what the other library leaves to us
    "*": lambda x, c: c * x,
    "-": lambda x, c: c - x,
    "/": lambda x, c: c / x,
    "np.multiply": lambda x, c: np.multiply(c, x),
}


def _agree(function, constant):
    plain = np.asarray(constant)
    value, pull = wg.vjp(lambda x: function(x, constant), x)
    expected, pull_expected = wg.vjp(lambda x: function(x, plain), x)
    assert type(value) is np.ndarray
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(pull(value)[0], pull_expected(expected)[0])
    tangent = wg.jvp(lambda x: function(x, constant), (x,), (x,))[1]
    assert type(tangent) is np.ndarray
    many = wg.vmap(lambda x: function(x, constant))(np.stack([x, x]))
    np.testing.assert_array_equal(many, [expected, expected])


@pytest.mark.parametrize("way", BEHIND)
@pytest.mark.parametrize("library", MADE)
def test_constants_count_by_position(library, way):
    if (library, way) == ("a subclass", "x[mask]"):
        pytest.skip("its comparison is its own")
    _agree(BEHIND[way], MADE[library]([30.0, 20.0, 10.0]))


@pytest.mark.parametrize("way", BEFORE)
def test_a_series_before_a_tensor(way):
    _agree(BEFORE[way], _series([30.0, 20.0, 10.0]))
    if way != "np.multiply":
        _agree(BEFORE[way], pytest.importorskip("pandas").DataFrame({"a": x, "b": x, "c": x}))


def test_labels_are_never_aligned():
    pd = pytest.importorskip("pandas")
    one, other = pd.Series([1.0, 2.0, 3.0]), pd.Series([30.0, 20.0, 10.0], index=[2, 1, 0])
    np.testing.assert_array_equal(wg.grad(lambda x: x @ one + x @ other)(x), [31, 22, 13])
    np.testing.assert_array_equal(wg.multiply(one, other), [30, 40, 30])
    apart = pd.Series([1.0, 1.0, 1.0], index=[5, 6, 7])
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x * one * apart))(x), [1, 2, 3])
    assert type(wg.exp(one)) is np.ndarray
    assert wg.mse(one, other) == np.mean((one.to_numpy() - other.to_numpy()) ** 2)


def test_numbers_of_their_own_class_are_numbers():
    class Level(enum.IntEnum):
        TWO = 2

    assert wg.grad(lambda x: x**Level.TWO)(np.float32(3.0)) == np.float32(6.0)
    assert wg.multiply(np.float32(3.0), Level.TWO).dtype == np.float32


def test_what_is_no_array_is_still_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(wg.errors.DTypeError, match="operands are dense"):
        wg.grad(lambda x: np.sum(wg.multiply(x, sparse.eye_array(3))))(x)
    with pytest.raises(wg.errors.DTypeError, match="which holds arrays"):
        wg.grad(lambda x: wg.sum(x * {"a": 1.0}))(x)
