"""Series of pandas, tensors of torch and arrays of users' classes among operands: by position.
Arrays with arithmetic of their own, as those with units, are refused.
"""

from __future__ import annotations

import enum
import fractions

import numpy as np
import pytest

import wengert as wg

x = np.ones(3)


class Marked(np.ndarray):
    """An array that carries something, and computes as others do."""


class Length(np.ndarray):
    """An array that knows its unit: NumPy computes in metres with it."""

    unit = 1000.0

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [y.view(np.ndarray) * y.unit if isinstance(y, Length) else y for y in inputs]
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
    "a subclass": lambda values: np.array(values).view(Marked),
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
    with pytest.raises(
        wg.errors.DTypeError, match="given a dict as an operand, which holds numbers"
    ):
        wg.grad(lambda x: wg.sum(x * {"a": 1.0}))(x)


LENGTHS = x.view(Length)
REFUSING = {
    "compile": lambda: wg.compile(lambda a, b: a + b)(LENGTHS, x),
    "compile, a constant": lambda: wg.compile(lambda a: a * LENGTHS)(x),
    "grad": lambda: wg.grad(lambda a: np.sum(a))(LENGTHS),
    "grad, another argument": lambda: wg.grad(lambda a, b: np.sum(a * b["c"]))(x, {"c": LENGTHS}),
    "grad, a constant": lambda: wg.grad(lambda a: np.sum(a * LENGTHS))(x),
    "vmap": lambda: wg.vmap(lambda a: a)(LENGTHS),
    "an op": lambda: wg.exp(LENGTHS),
    "TrainStep, a model": lambda: wg.TrainStep(lambda w: np.sum(w), LENGTHS, wg.optim.SGD(0.1)),
    "TrainStep, a batch": lambda: _step()(LENGTHS),
    "TrainStep, a run": lambda: _step().run(LENGTHS, batch_size=3, epochs=1),
}


def _step():
    return wg.TrainStep(lambda w, x: np.mean(w * x), np.ones(()), wg.optim.SGD(0.1), compiled=False)


@pytest.mark.parametrize("way", REFUSING)
def test_units_are_refused(way):
    assert np.add(LENGTHS, x)[0] == 1001
    with pytest.raises(TypeError, match="Length"):
        REFUSING[way]()


def test_units_are_refused_in_eager_functions():
    with wg.eager(), pytest.raises(TypeError, match="'a' is an array of class Length"):
        wg.compile(lambda a: a + 1)(LENGTHS)


class Quantity:
    """A number with a unit, no array."""

    def __init__(self, value, unit):
        self.value, self.unit = value, unit

    def __rmul__(self, other):
        return Quantity(other * self.value, self.unit)


def test_classes_that_have_the_other_side_of_an_operator_answer():
    g = Quantity(9.81, "m/s2")
    assert wg.grad(lambda x: (x * g).value)(2.0) == 9.81
    assert wg.compile(lambda x: (x * g).value)(2.0) == 19.62
    with pytest.raises(wg.errors.DTypeError, match=r"float\(x\) of one number"):
        wg.grad(lambda x: x * fractions.Fraction(1, 3))(2.0)
