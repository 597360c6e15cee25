"""The special functions against SciPy and mpmath over their whole domain, eager and compiled."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special

import wengert as wg

N = 2000
INFINITE = float("inf")


def drawn() -> dict[str, tuple[Any, ...]]:
    """Operands that reach every branch of each function."""
    rng = np.random.default_rng(5)

    def powers(low: float, high: float) -> Any:
        return 10 ** rng.uniform(low, high, N)

    near_one = 1 - powers(-16, 0)
    unit = rng.uniform(0, 1, N)
    a, b = powers(-4, 2), powers(-4, 2)
    wide = np.concatenate([rng.uniform(-36, 36, N), powers(-10, 3), -powers(-10, 1.3)])
    ratios = np.concatenate([unit, powers(-9, 0), near_one])
    return {
        "gammainc": (
            np.tile(a, 2),
            np.concatenate([powers(-3, 2), a * (1 + rng.normal(size=N) / 9)]),
        ),
        "gammaincc": (
            np.tile(a, 2),
            np.concatenate([powers(-3, 2), a * 10 ** rng.uniform(-1, 1, N)]),
        ),
        "betainc": (np.tile(a, 3), np.tile(b, 3), ratios),
        "erfinv": (np.concatenate([2 * unit - 1, near_one, -near_one]),),
        "erfcinv": (np.concatenate([2 * unit, powers(-300, 0)]),),
        "erfcx": (wide[wide > -26],),
        "ndtr": (wide,),
        "ndtri": (np.concatenate([unit, powers(-300, 0), near_one]),),
        "log_ndtr": (np.concatenate([wide, -powers(0, 8)]),),
        "i0e": (wide,),
        "i1e": (wide,),
        "ive": (
            np.concatenate([rng.uniform(0, 60, N), powers(-3, 4), rng.integers(-9, 60, N)]),
            np.concatenate([rng.uniform(0, 60, N), powers(-3, 5), powers(-1, 3.3)]),
        ),
        "xlogy": (rng.normal(size=N), powers(-300, 300)),
        "log_sigmoid": (wide,),
    }


DRAWN = drawn()
THEIRS = {"log_sigmoid": scipy.special.log_expit}


def assert_close(found: Any, expected: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=1e-290)


@pytest.mark.parametrize("name", DRAWN)
def test_scipys_values(name):
    ours, operands = getattr(wg, name), DRAWN[name]
    expected = THEIRS.get(name, getattr(scipy.special, name, None))(*operands)
    eager = ours(*operands)
    assert_close(eager, expected)
    assert_close(wg.compile(ours)(*operands), eager, 1e-11)
    with np.errstate(over="ignore"):
        single = [np.asarray(x, np.float32) for x in operands]
    wide = ours(*(np.asarray(x, np.float64) for x in single))
    found = wg.compile(ours)(*single)
    assert found.dtype == np.float32
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, wide.astype(np.float32), rtol=3e-7, atol=1e-37)


EDGES = {
    "gammainc": [
        (0, 0),
        (0, 1),
        (1, 0),
        (INFINITE, 1),
        (1, INFINITE),
        (INFINITE, INFINITE),
        (-1, 1),
    ],
    "gammaincc": [
        (0, 0),
        (0, 1),
        (1, 0),
        (INFINITE, 1),
        (1, INFINITE),
        (INFINITE, INFINITE),
        (1, -1),
    ],
    "betainc": [
        *((0, 1, 0.5), (1, 0, 0.5), (0, 0, 0.5), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1)),
        *((INFINITE, 1, 0.5), (1, INFINITE, 0.5), (INFINITE, INFINITE, 0.5), (INFINITE, 1, 1)),
        *((1, INFINITE, 0), (1, 1, -1), (1, 1, 2), (-1, 1, 0.5), (0, 0, 0), (2, 3, np.nan)),
    ],
    "erfinv": [(-1,), (0,), (1,), (1.5,), (np.nan,)],
    "erfcinv": [(0,), (1,), (2,), (-0.5,), (2.5,), (np.nan,)],
    "erfcx": [(INFINITE,), (-INFINITE,), (0,), (np.nan,), (1e308,)],
    "ndtr": [(-INFINITE,), (0,), (INFINITE,), (np.nan,)],
    "ndtri": [(0,), (0.5,), (1,), (-0.5,), (1.5,), (np.nan,)],
    "log_ndtr": [(-INFINITE,), (0,), (INFINITE,), (np.nan,), (-1e100,)],
    "i0e": [(0,), (INFINITE,), (-INFINITE,), (np.nan,)],
    "i1e": [(0,), (INFINITE,), (-INFINITE,), (np.nan,)],
    "xlogy": [(0, 0), (0, INFINITE), (0, np.nan), (1, 0), (np.nan, 1), (0, -1)],
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    operands = [np.array(column, float) for column in zip(*EDGES[name], strict=True)]
    expected = getattr(scipy.special, name)(*operands)
    for ours in (getattr(wg, name), wg.compile(getattr(wg, name))):
        np.testing.assert_allclose(ours(*operands), expected, rtol=1e-15, atol=0)


BESSEL = [1e-300, 1e-5, 0.3, 2.404825557695773, 3.8317, 7.9, 8.5, 20.0, 50.0, 100.3, 1e3, 1e5]


@pytest.mark.parametrize("kind", ["j", "y"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, -3, 10, 50, 300])
def test_bessel_functions(kind, n):
    """In mpmath's numbers; near a zero of the wave, to its height."""
    x, theirs = np.array(BESSEL), {"j": mpmath.besselj, "y": mpmath.bessely}[kind]
    with mpmath.workdps(40):
        expected = np.array([float(theirs(n, each)) for each in x])
    height = np.where(x > abs(n), np.minimum(1, 1 / np.sqrt(x)), 0)
    ours = [lambda x: getattr(wg, f"{kind}n")(n, x)]
    ours += [getattr(wg, f"{kind}{n}")] if n in (0, 1) else []
    for f in ours:
        for run in (f, wg.compile(f)):
            found = run(x)
            finite = found != expected  # infinities are equal
            wrong = np.abs(found[finite] - expected[finite])
            scale = np.maximum(np.abs(expected[finite]), height[finite])
            assert np.all(wrong <= 1e-13 * scale)
        single = wg.compile(f)(x[1:].astype(np.float32))
        assert single.dtype == np.float32
        with np.errstate(over="ignore"):
            wide = f(x[1:].astype(np.float32).astype(float)).astype(np.float32)
        np.testing.assert_allclose(single, wide, rtol=3e-7, atol=1e-37)


def test_bessel_functions_at_their_edges():
    x = np.array([0.0, -0.0, INFINITE, -INFINITE, np.nan, -3.0])
    some = scipy.special.jn(3, -3.0)
    for run in (lambda f: f, wg.compile):
        for f, expected in (
            (wg.j0, [1, 1, 0, 0, np.nan, scipy.special.j0(3)]),
            (wg.j1, [0, 0, 0, 0, np.nan, -scipy.special.j1(3)]),
            (lambda x: wg.jn(3, x), [0, 0, 0, 0, np.nan, some]),
            (lambda x: wg.jn(-3, x), [0, 0, 0, 0, np.nan, -some]),
            (wg.y0, [-INFINITE, -INFINITE, 0, np.nan, np.nan, np.nan]),
            (wg.y1, [-INFINITE, -INFINITE, 0, np.nan, np.nan, np.nan]),
            (lambda x: wg.yn(-2, x), [-INFINITE, -INFINITE, 0, np.nan, np.nan, np.nan]),
            (lambda x: wg.yn(-3, x), [INFINITE, INFINITE, 0, np.nan, np.nan, np.nan]),
            (lambda x: wg.jn(10_001, x), [np.nan] * 6),
        ):
            np.testing.assert_allclose(run(f)(x), expected, rtol=1e-13)


# Where SciPy itself is wrong by more than 1e-10, or far out: mpmath in 40 digits.


def test_modified_bessel_functions_at_their_edges():
    orders = np.array([0.0, 1.0, 2.5, -1.0, -2.0, 3.0, 0.5, 3.0, 0.0])
    x = np.array([0.0, 0.0, 0.0, 2.0, -3.0, -2.0, -1.0, np.nan, 1e-300])
    for compiled in (False, True):
        ours = [wg.compile(f) if compiled else f for f in (wg.ive, wg.iv)]
        assert_close(ours[0](orders, x), scipy.special.ive(orders, x))
        assert_close(ours[1](orders, x), scipy.special.iv(orders, x))
    assert np.isnan(wg.compile(wg.ive)(np.array([-0.5]), np.ones(1))[0])
    with pytest.raises(ValueError, match=r"^ive: given an order below 0 that is no whole number"):
        wg.ive(-0.5, 1.0)
    again = wg.ive(1.5, 1.0) + 2 * 0.5 / 1.0 * wg.ive(0.5, 1.0)  # what the message says
    assert_close(again, scipy.special.ive(-0.5, 1.0))


@pytest.mark.parametrize("v", [0.3, 2.0, 29.5, 31.0, 700.0])
@pytest.mark.parametrize("x", [0.2, 40.0, 900.0])
def test_derivatives_of_ive(v, x):
    if v == 700 and x < 1:
        return  # it underflows
    with mpmath.workdps(40):

        def exact(v, x):
            return mpmath.besseli(v, x, maxterms=10**5) * mpmath.exp(-x)

        found = wg.grad(wg.ive, argnums=(0, 1))(v, x)
        assert_close(found[0], float(mpmath.diff(exact, (v, x), (1, 0))))
        assert_close(found[1], float(mpmath.diff(exact, (v, x), (0, 1))), 1e-9)
        mixed = wg.grad(wg.grad(wg.ive), argnums=1)(v, x)
        assert_close(mixed, float(mpmath.diff(exact, (v, x), (1, 1))), 1e-8)


def test_slopes_of_iv_at_zero():
    gradients = wg.vmap(wg.grad(wg.iv, argnums=1))(
        np.array([0.0, 0.5, 1.0, 1.5, -1.0]), np.zeros(5)
    )
    assert gradients.tolist() == [0.0, INFINITE, 0.5, 0.0, 0.5]


@pytest.mark.parametrize("a", [30.0, 1e3, 1e6, 9e8, 1e12])
@pytest.mark.parametrize("away", [-4.6, -0.5, 0.0, 2.0, 6.0])
def test_gammainc_of_large_a(a, away):
    x = a + away * a**0.5
    lower, upper = _large_gamma(a, x)
    assert_close(wg.gammainc(a, x), lower)
    assert_close(wg.gammaincc(a, x), upper)


def _large_gamma(a: float, x: float) -> tuple[float, float]:
    """By quadrature of the density around its top, in units of its width."""
    with mpmath.workdps(40):
        top, width = mpmath.mpf(a), mpmath.sqrt(a)
        middle = (mpmath.mpf(x) - top) / width

        def density(z: Any) -> Any:
            t = top + z * width
            return mpmath.exp((top - 1) * mpmath.log(t) - t - mpmath.loggamma(top)) * width

        lowest = max(-12, -mpmath.sqrt(a) * (1 - mpmath.mpf(10) ** -30))
        edges = mpmath.linspace(lowest, middle, 9), mpmath.linspace(middle, middle + 16, 9)
        lower, upper = (mpmath.quad(density, each) for each in edges)
        return float(lower), float(upper)


@pytest.mark.parametrize(
    ("a", "b", "x"),
    [
        (286793.0642023931, 1.113089240896372, 0.9999886469648087),
        (404.212731699332, 14.006438011379997, 0.1610996279311141),
        (3.0, 1e-9, 0.9),
        (1e-12, 4e-6, 0.52),
        (26.45529273841603, 0.001163312587837251, 0.9656341605786117),
    ],
)
def test_betainc_where_it_is_hard(a, b, x):
    with mpmath.workdps(40):
        expected = float(mpmath.betainc(mpmath.mpf(a), mpmath.mpf(b), 0, x, regularized=True))
    assert_close(wg.betainc(a, b, x), expected, 2e-11)


def test_betainc_that_does_not_settle_is_no_number():
    assert np.isnan(wg.betainc(1e13, 1e13, 0.5))
    assert_close(wg.betainc(1e8, 1e8, 0.5), 0.5)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(
    ("a", "x"), [(0.01, 0.5), (0.7, 1.4), (2.5, 9.0), (40.0, 38.0), (300.0, 300.0)]
)
def test_derivatives_of_gammainc_by_a(a, x, order):
    with mpmath.workdps(40):
        expected = mpmath.diff(lambda s: mpmath.gammainc(s, 0, x, regularized=True), a, order)
    f = wg.gammainc
    for _ in range(order):
        f = wg.grad(f)
    assert_close(f(a, x), float(expected), 1e-9)


@pytest.mark.parametrize("orders", [(1, 0), (0, 1), (1, 1), (2, 0)])
@pytest.mark.parametrize(
    ("a", "b", "x"),
    [
        (0.2, 0.3, 0.4),
        (2.0, 5.0, 0.9),
        (30.0, 20.0, 0.61),
        (7.0, 5e-4, 0.95),
        *((each, each, x) for each in (0.3, 1.0, 2.0, 10.0, 12.5) for x in (0.25, 0.45, 0.8)),
    ],
)
def test_derivatives_of_betainc_by_a_and_b(a, b, x, orders):
    with mpmath.workdps(50):
        expected = mpmath.diff(
            lambda s, t: mpmath.betainc(s, t, 0, x, regularized=True), (a, b), orders
        )
    f = wg.betainc
    for position, order in enumerate(orders):
        for _ in range(order):
            f = wg.grad(f, argnums=position)
    assert_close(f(a, b, x), float(expected), 1e-8)
    assert_close(wg.compile(f)(a, b, x), float(expected), 1e-8)


def test_slopes_in_the_middle_of_equal_operands():
    """By a and by b they differ in sign alone, and I(a, 1, x) is a power of x."""
    slopes = wg.grad(wg.betainc, argnums=(0, 1))
    assert_close(slopes(1.0, 1.0, 0.5), (-np.log(2) / 2, np.log(2) / 2))
    assert_close(wg.compile(slopes)(1.0, 1.0, 0.5), (-np.log(2) / 2, np.log(2) / 2))
    assert_close(wg.jvp(wg.betainc, (1.0, 1.0, 0.5), (1.0, 0.0, 0.0))[1], -np.log(2) / 2)
    np.testing.assert_allclose(sum(slopes(7.0, 7.0, 0.5)), 0, atol=1e-15)


def test_slopes_at_the_ends():
    assert wg.grad(wg.gammainc, argnums=1)(1.0, 0.0) == 1.0
    assert wg.grad(wg.grad(wg.gammainc, argnums=1), argnums=1)(2.0, 0.0) == 1.0
    assert wg.grad(wg.betainc, argnums=2)(1.0, 3.0, 0.0) == 3.0
    assert wg.grad(wg.grad(wg.log_ndtr))(50.0) == 0.0


def test_orders_of_a_slope_are_whole():
    with pytest.raises(ValueError, match=r"ive_slope: 0 derivatives .* from 1 to 16"):
        wg.op.ive_slope(1.0, 1.0, times=0)
    with pytest.raises(ValueError, match=r"gammainc_slope: order 0 was given; .* from 1 to 16"):
        wg.op.gammainc_slope(1.0, 1.0, order=0)
    with pytest.raises(ValueError, match="that is betainc"):
        wg.op.betainc_slope(1.0, 1.0, 0.5, by_a=0, by_b=0)


@pytest.mark.parametrize(
    "settings", [{"WENGERT_LANES": "4"}, {"WENGERT_LANES": "8"}, {"WENGERT_FUSE": "0"}]
)
def test_same_bits(settings, monkeypatch):
    a, b, x = (column[:333] for column in DRAWN["betainc"])

    def f(a, b, x):
        return wg.betainc(a, b, x) * wg.gammainc(a, b) + wg.ndtri(x)

    gradients = wg.grad(lambda *operands: wg.sum(f(*operands)), argnums=(0, 1, 2))
    before = [*wg.compile(gradients)(a, b, x), wg.compile(f)(a, b, x)]
    alone = wg.compile(f)(a[7:8], b[7:8], x[7:8])  # other elements take other numbers of steps
    assert alone.tobytes() == before[-1][7:8].tobytes()
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    after = [*wg.compile(gradients)(a, b, x), wg.compile(f)(a, b, x)]
    assert [y.tobytes() for y in before] == [y.tobytes() for y in after]


def test_sinc_of_large_numbers():
    x = np.array([1e15 + 0.5, 1e15, -2.5])
    assert_close(wg.sinc(x), [1 / (np.pi * (1e15 + 0.5)), 0.0, 1 / (2.5 * np.pi)])
    assert_close(wg.grad(lambda x: np.sinc(x))(1e-9), -(np.pi**2) / 3 * 1e-9)
