"""Elementwise ops where calculus or floating point leaves a choice, and how exact they are."""

import itertools
import math
import operator

import mpmath
import numpy as np
import pytest

import wengert as wg
from wengert.core.special_functions import numpy_special

inf, nan = math.inf, math.nan
OURS = [op for op in wg.op if op.kind == "elementwise"]


def gradient(f, *xs):
    """Gradients of a scalar function at floats, as floats."""
    return tuple(map(float, wg.grad(f, argnums=tuple(range(len(xs))))(*map(np.float64, xs))))


@pytest.mark.parametrize("op", [op for op in OURS if op.at], ids=lambda op: op.name)
@pytest.mark.parametrize("shape", [(), (2,)])
def test_points_of_convention(op, shape):
    for point, value, slopes, reason in op.at:
        xs = [np.full(shape, x) for x in point]
        with np.errstate(all="ignore"):
            out, pullback = wg.vjp(op, *xs)
            found = pullback(np.ones(shape))
            columns = [
                wg.jvp(op, xs, [np.full(shape, float(i == j)) for j in range(len(xs))])[1]
                for i in range(len(xs))
            ]
        np.testing.assert_array_equal(out, np.full(shape, value), reason)
        for slope, gx, dy in zip(slopes, found, columns, strict=True):
            np.testing.assert_array_equal(gx, np.full(shape, slope), reason)
            np.testing.assert_array_equal(dy, np.full(shape, slope), reason)


# Powers.


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.0, 1.0, 2.0, 3.0, np.array(3.0), np.array(2)])
@pytest.mark.parametrize("x", [0.0, -0.0, -1.5, 2.0])
def test_power_with_a_constant_exponent(x, exponent):
    n = float(exponent)
    for order in range(4):
        f = lambda x: x**exponent  # noqa: E731
        for _ in range(order):
            f = wg.grad(f)
        falling = math.prod(n - i for i in range(order))
        expected = falling * x ** (n - order) if falling else 0.0
        assert float(f(np.float64(x))) == pytest.approx(expected, rel=1e-14), order


def test_power_with_a_python_exponent_keeps_float32():
    for exponent in (0, 1, 2, 3, -1, 0.5, 2.5):
        g = wg.grad(lambda x, exponent=exponent: wg.sum(x**exponent))(np.ones(3, np.float32))
        assert g.dtype == np.float32
    g = wg.grad(lambda x: wg.sum(2.0**x))(np.ones(3, np.float32))
    assert g.dtype == np.float32
    np.testing.assert_allclose(g, 2 * math.log(2), rtol=1e-6)


def test_power_crosses_zero_exponent_without_losing_the_mixed_derivative():
    """∂²/∂x∂y x^y at y = 0 is 1/x, though ∂/∂x is 0 there."""
    mixed = wg.grad(wg.grad(wg.power, argnums=0), argnums=1)
    assert float(mixed(2.0, 0.0)) == pytest.approx(0.5)
    other = wg.grad(wg.grad(wg.power, argnums=1), argnums=0)
    assert float(other(2.0, 0.0)) == pytest.approx(0.5)


def test_power_of_zero_base_by_exponent():
    assert gradient(wg.power, 0.0, 2.5) == (0.0, 0.0)
    assert float(wg.hessian(lambda y: 0.0**y)(np.float64(2.5))) == 0.0
    with np.errstate(all="ignore"):
        assert gradient(wg.power, 0.0, -1.0)[1] == -inf  # it does grow without bound there


def test_negative_power_of_integers_is_worded():
    with pytest.raises(wg.errors.DTypeError, match="power: given integers and a negative exponent"):
        wg.power(np.array([1, 2]), -1)
    np.testing.assert_array_equal(wg.power(np.array([2, 3]), 2), [4, 9])
    np.testing.assert_array_equal(wg.pow(2.0, np.array([1.0, 2.0])), [2.0, 4.0])


# Zeros win, infinities do not spoil.


def test_division_by_a_python_zero():
    with np.errstate(all="ignore"):
        assert gradient(lambda x: x / 0, 1.0) == (inf,)
        assert gradient(lambda x: wg.where(x > 0, x / 0, 0.0), -1.0) == (0.0,)


@pytest.mark.parametrize("shape", [(), (3,)])
def test_where_shields_from_a_pole(shape):
    f = lambda x: wg.sum(wg.where(x > 0, x * wg.log(x), 0))  # noqa: E731
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(wg.grad(f)(np.zeros(shape)), 0)
        np.testing.assert_array_equal(wg.hvp(f, (np.zeros(shape),), (np.ones(shape),)), 0)


def test_hypot_and_atan2_do_not_overflow():
    for scale in (1e-300, 1.0, 1e300):
        np.testing.assert_allclose(gradient(wg.hypot, 3 * scale, 4 * scale), (0.6, 0.8))
        turn = np.multiply(gradient(wg.atan2, 3 * scale, 4 * scale), scale)
        np.testing.assert_allclose(turn, (4 / 25, -3 / 25))
    assert np.all(np.isfinite(wg.hessian(lambda v: wg.hypot(v[0], v[1]))(np.array([3.0, 4.0]))))


def test_logaddexp_is_exact_at_and_around_a_tie():
    assert gradient(wg.grad(wg.logaddexp), 1.0, 1.0) == (0.25, -0.25)
    assert gradient(wg.logaddexp, 0.0, -40.0)[1] == pytest.approx(math.exp(-40), rel=1e-14)


def test_sigmoid_is_stable():
    x = np.array([-745.0, -30.0, 0.0, 30.0, 745.0])
    expected = [float(1 / (1 + mpmath.exp(-v))) for v in x]
    np.testing.assert_allclose(wg.sigmoid(x), expected, rtol=4e-16, atol=5e-324)


def test_clip_with_arrays_and_missing_bounds():
    x, low, high = np.array([-3.0, 0.0, 3.0]), np.array([-1.0]), np.array([[1.0], [2.0]])
    out, pullback = wg.vjp(wg.clip, x, low, high)
    np.testing.assert_array_equal(out, np.clip(x, low, high))
    gx, glow, ghigh = pullback(np.ones((2, 3)))
    np.testing.assert_array_equal(gx, [0, 2, 0])
    np.testing.assert_array_equal(glow, [2])
    np.testing.assert_array_equal(ghigh, [[1], [1]])
    np.testing.assert_array_equal(wg.clip(x, max=1), [-3, 0, 1])
    np.testing.assert_array_equal(wg.grad(lambda x: wg.sum(wg.clip(x, min=0)))(x), [0, 1, 1])
    np.testing.assert_array_equal(wg.grad(lambda x: wg.sum(wg.clip(x)))(x), 1)
    assert wg.grad(lambda x: wg.sum(x.clip(0, 1)))(x.astype(np.float32)).dtype == np.float32


# Values and dtypes.


def test_remainder_follows_python():
    for x, y in itertools.product((-7.5, -3.0, 0.0, 3.0, 7.5), (-2.0, 2.0)):
        assert float(wg.remainder(x, y)) == x % y
        assert float(wg.floor_divide(x, y)) == x // y


def test_rounding():
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])
    np.testing.assert_array_equal(wg.round(x), [-2, -2, 0, 0, 2, 2])
    for f in (wg.floor, wg.ceil, wg.trunc, wg.round):
        assert f(np.array([1, 2], np.int8)).dtype == np.int8


def test_shifts_are_defined_for_every_amount():
    x = np.array([5, -5])
    np.testing.assert_array_equal(wg.bitwise_left_shift(x, 64), [0, 0])
    np.testing.assert_array_equal(wg.bitwise_right_shift(x, 64), [0, -1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", [op for op in OURS if op.differentiable], ids=lambda op: op.name)
def test_derivatives_keep_the_dtype(op, dtype):
    """With arrays, and with Python numbers for all operands but one."""
    operands = op.samples[0].draw(np.random.default_rng(1), dtype)
    moving = [i for i, x in enumerate(operands) if x is not None and x.dtype == dtype]
    for i in moving:
        weak = [
            x if j == i or x is None or x.dtype.kind != "f" else 1.25
            for j, x in enumerate(operands)
        ]
        for others in (operands, weak):
            f = lambda x, others=others, i=i: op(*others[:i], x, *others[i + 1 :])  # noqa: E731
            out, pullback = wg.vjp(f, operands[i])
            assert out.dtype == dtype
            assert pullback(np.ones_like(out))[0].dtype == dtype
            assert wg.jvp(f, (operands[i],), (np.ones_like(operands[i]),))[1].dtype == dtype


OPERATORS = {
    operator.add: 2, operator.sub: 2, operator.mul: 2, operator.truediv: 2, operator.floordiv: 2,
    operator.mod: 2, operator.pow: 2, operator.neg: 1, operator.pos: 1, operator.abs: 1,
    operator.eq: 2, operator.ne: 2, operator.lt: 2, operator.le: 2, operator.gt: 2, operator.ge: 2,
    operator.and_: 2, operator.or_: 2, operator.xor: 2, operator.invert: 1, operator.lshift: 2,
    operator.rshift: 2,
}  # fmt: skip


@pytest.mark.parametrize("symbol", OPERATORS, ids=lambda symbol: symbol.__name__)
def test_operators_on_tensors(symbol):
    """On traced integers, with Tensors and numbers on either side."""
    x, y = np.array([5, 6, 7]), np.array([1, 2, 3])
    calls = [lambda x, y: symbol(x, y), lambda x, y: symbol(x, 2), lambda x, y: symbol(2, y)]
    if OPERATORS[symbol] == 1:
        calls = [lambda x, y: symbol(x)]
    for call in calls:
        (found,) = wg.trace(call, x, y).run(x=x, y=y)
        np.testing.assert_array_equal(found, call(x, y))
        assert found.dtype == call(x, y).dtype


@pytest.mark.parametrize(
    "ufunc",
    [np.arcsin, np.absolute, np.power, np.mod, np.true_divide, np.reciprocal, np.rint, np.floor],
    ids=lambda ufunc: ufunc.__name__,
)
def test_numpy_spellings(ufunc):
    x = np.array([0.3, 0.7])
    call = lambda x: ufunc(*[x] * ufunc.nin)  # noqa: E731
    (found,) = wg.trace(call, x).run(x=x)
    np.testing.assert_array_equal(found, call(x))


# Special functions, against 40 digits.

REFERENCES = {
    "erf": (mpmath.erf, [(-6, 6), (-1e-8, 1e-8), (0.99, 1.01)]),
    "erfc": (mpmath.erfc, [(-6, 6), (5, 26)]),
    "lgamma": (
        lambda x: mpmath.log(abs(mpmath.gamma(x))),
        [(0, 1), (0.999, 1.001), (1.999, 2.001), (2, 11), (10, 200), (1e9, 1e10), (-0.9, -0.1)],
    ),
    "digamma": (
        mpmath.digamma,
        [(0, 1), (1, 3), (1.4615, 1.4617), (3, 11), (10, 200), (1e9, 1e10), (-0.4, -0.1)],
    ),
}


def worst(found, reference, xs):
    with mpmath.workdps(40):
        exact = [reference(mpmath.mpf(float(x))) for x in xs]
        return max(float(abs(y / e - 1)) for y, e in zip(map(float, found), exact, strict=True))


@pytest.mark.parametrize("name", REFERENCES)
def test_special_functions_are_accurate(name):
    reference, intervals = REFERENCES[name]
    rng = np.random.default_rng(5)
    for low, high in intervals:
        xs = rng.uniform(low, high, 60)
        assert worst(getattr(wg, name)(xs), reference, xs) < 2e-15, (low, high)
    xs = rng.uniform(*intervals[0], 60).astype(np.float32)
    single = getattr(wg, name)(xs)
    assert single.dtype == np.float32
    assert worst(single, reference, xs) < 6.1e-8


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12])
def test_polygamma_is_accurate(n):
    rng = np.random.default_rng(6)
    for low, high in [(0.01, 1), (1, 12), (12, 500), (-0.4, -0.1), (-4.9, -4.7)]:
        xs = rng.uniform(low, high, 20)
        assert worst(wg.polygamma(n, xs), lambda x: mpmath.polygamma(n, x), xs) < 1e-14, (low, high)


def test_special_values():
    at = lambda f, *xs: [float(y) for y in f(np.array(xs))]  # noqa: E731
    assert at(numpy_special.erf, inf, -inf, 0.0) == [1, -1, 0]
    assert at(numpy_special.erfc, inf, -inf, 0.0) == [0, 2, 1]
    assert at(numpy_special.lgamma, 1.0, 2.0, 0.0, -3.0, inf, -inf) == [
        0,
        0,
        inf,
        inf,
        inf,
        inf,
    ]
    np.testing.assert_array_equal(
        at(numpy_special.digamma, 0.0, -0.0, -2.0, inf), [-inf, inf, nan, inf]
    )
    for name in REFERENCES:
        assert math.isnan(getattr(wg, name)(nan))
        assert getattr(wg, name)(np.empty((0, 2))).shape == (0, 2)


def test_lgamma_has_derivatives_of_any_order():
    f = wg.lgamma
    for order in range(1, 6):
        f = wg.grad(f)
        expected = float(mpmath.polygamma(order - 1, 1.7))
        assert float(f(1.7)) == pytest.approx(expected, rel=1e-13), order


def test_polygamma_needs_an_integer_order():
    message = "polygamma: given orders of dtype float64; the order n must be an integer"
    with pytest.raises(wg.errors.DTypeError, match=message):
        wg.polygamma(1.0, np.ones(2))
    assert math.isnan(wg.polygamma(-1, 1.0))
    assert wg.polygamma(np.array([[0], [1]]), np.ones(3, np.float32)).dtype == np.float32
