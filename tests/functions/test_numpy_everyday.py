"""NumPy's everyday names on Tensors: values as NumPy's, and gradients by differences."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from functions.test_numpy_names import recorded
from wengert.errors import DTypeError, ShapeError, TraceError

RNG = np.random.default_rng(3)
X, Y, Z, V = (RNG.normal(size=shape) for shape in ((3, 5), (3, 5), (2, 3, 4), (6,)))
HOLES = np.where(RNG.random((4, 5)) < 0.3, np.nan, RNG.normal(size=(4, 5)))
HOLES[:, 0] = np.nan
COUNTS = np.array([0, 3, 1, 3, 3, 0])
WHOLE = np.array([[7, -7, 3], [-2, 5, 0]])
NAN = ("nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanstd", "nanvar", "nanmedian")
METHODS = ("linear", "lower", "higher", "midpoint", "nearest")

# A call of x, and the x it is called with.
CALLS = {
    **{f"np.{name}(x)": HOLES for name in NAN},
    **{f"np.{name}(x, axis=0)": HOLES for name in NAN},
    **{f"np.{name}(x, axis=1, keepdims=True)": HOLES for name in NAN},
    **{f"np.{name}(x, 1)": Y for name in NAN},
    **{f"np.{name}(x)": WHOLE for name in NAN},
    **{f"np.{name}(x, axis=1, ddof=1)": HOLES for name in ("nanstd", "nanvar")},
    "np.nancumsum(x) + np.nancumprod(x)": HOLES,
    "np.nancumsum(x, axis=1)": HOLES,
    "np.nanquantile(x, [0.1, 0.5, 1.0], axis=0)": HOLES,
    "np.nanpercentile(x, 30, axis=1, keepdims=True)": HOLES,
    **{f"np.quantile(x, 0.3, method={m!r})": X for m in METHODS},
    **{f"np.nanquantile(x, 0.6, method={m!r})": HOLES for m in METHODS},
    "np.quantile(x, [[0.0, 0.25], [0.5, 1.0]], axis=1)": X,
    "np.quantile(x, 0.4, axis=(0, 2), keepdims=True)": Z,
    "np.quantile(x, 0.4)": HOLES,
    "np.quantile(x, 0.5)": WHOLE,
    "np.percentile(x, [5, 95])": X,
    "np.median(x, axis=(0, 2))": Z,
    "np.median(x)": np.array([3.0, np.nan, 1.0]),
    "np.fmax(x, 0.1) + np.fmin(0.2, x)": HOLES,
    "np.fmax(x, 1)": WHOLE,
    "np.fmod(x, 0.7) + np.fmod(1.5, x)": X,
    "np.fmod(x, -3)": WHOLE,
    "np.divmod(x, 0.7)[0] + np.divmod(x, 0.7)[1]": X,
    "divmod(x, 0.7)[1] + divmod(2.0, x)[0]": X,
    "np.modf(x * 3)[0]": X,
    "np.modf(x)[1]": np.array([-0.0, 2.5, -2.5, np.inf, -np.inf, np.nan]),
    "np.float_power(x, 2)": X.astype(np.float32),
    "np.nextafter(x, 2.0)": X,
    "np.nextafter(x, -np.inf)": np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324]),
    **{f"np.rot90(x, {k})": X for k in range(-1, 5)},
    "np.rot90(x, axes=(2, 0))": Z,
    "np.interp(x, np.array([-1.0, 0.0, 0.5, 2.0]), np.array([3.0, 1.0, 4.0, 1.0]))": X,
    "np.interp(x, np.array([-1.0, 0.0]), np.array([3.0, 1.0]), left=-9.0, right=7.0)": X,
    "np.interp(np.array([-3.0, -1.0, 0.2, 2.0, 9.0]), [-1.0, 0.0, 2.0], x[:3])": V,
    "np.interp(0.3, np.array([0.0]), x[:1])": V,
    "np.interp(np.linspace(-9, 9, 20), np.sort(x), np.arange(6.0))": V,
    "np.gradient(x)": V,
    "np.gradient(x, 0.5, edge_order=2)": V,
    "np.gradient(x, np.array([0.0, 1.0, 1.5, 3.0, 3.5, 9.0]))": V,
    "np.gradient(x, np.array([0.0, 1.0, 1.5, 3.0, 3.5, 9.0]), edge_order=2)": V,
    "np.gradient(x, axis=1)": X,
    "np.stack(np.gradient(x, 2.0, 0.5))": X,
    "np.gradient(np.arange(6.0) ** 2, np.cumsum(np.exp(x)))": V,
    "np.unwrap(x * 4)": V,
    "np.unwrap(x * 4, axis=0, period=3.0)": X,
    "np.unwrap(x * 4, discont=4.0)": V,
    "np.fft.fftshift(x) + np.fft.ifftshift(x)": X,
    "np.fft.fftshift(x, axes=1)": X,
    "np.fft.ifftshift(x, axes=(0, 2))": Z,
    "np.lib.stride_tricks.sliding_window_view(x, 3)": V,
    "np.lib.stride_tricks.sliding_window_view(x, (2, 3))": X,
    "np.lib.stride_tricks.sliding_window_view(x, 2, axis=1)": Z,
    "np.bincount(COUNTS, weights=x)": V,
    "np.bincount(COUNTS, weights=x, minlength=9)": V,
    "np.histogram(x, bins=[-1.0, 0.0, 0.5, 2.0])[0]": X,
    "np.histogram(x, bins=5, range=(-2, 2))[0]": X,
    "np.histogram(x, 5, (-2, 2))[1]": X,
    "np.histogram(x, bins=4, range=(0, 1), density=True)[0]": np.linspace(0, 1, 9),
    "np.histogram(COUNTS, bins=4, range=(0, 3), weights=x)[0]": V,
    "np.histogram(COUNTS, bins=3, weights=x)[0]": V,
    "np.histogram(COUNTS, weights=x)[1]": V,
    "np.vander(x)": V,
    "np.vander(x, 3, increasing=True)": V,
    "np.logspace(x[0], x[1], 5)": V,
    "np.logspace(0, x[1], 4, endpoint=False, base=2.0)": V,
    "np.partition(x, 2)[2]": V,
    "np.partition(x, 1, axis=0)[1]": X,
    "x[np.argpartition(x, 3)[3]]": V,
    "np.piecewise(x, [x < -0.5, x > 0.5], [-1.0, lambda x: x**2, lambda x: x * 3])": X,
    "np.piecewise(x, [x < 0], [lambda x: -x])": X,
    "np.corrcoef(x)": X,
    "np.corrcoef(x, rowvar=False)": Y,
    "np.corrcoef(x, np.arange(6.0) ** 2)": V,
    **{
        f"np.{name}.reduce(x)": X
        for name in ("add", "multiply", "maximum", "minimum", "logaddexp", "logical_or")
    },
    "np.add.reduce(x, axis=None) + np.logaddexp.reduce(x, axis=1, keepdims=True)": X,
    **{
        f"np.{name}.accumulate(x, axis={axis})": X
        for name in ("add", "multiply", "maximum", "minimum", "logaddexp")
        for axis in (0, 1, -1)
    },
    "np.maximum.accumulate(x, axis=1)": WHOLE,
    "np.maximum.accumulate(x)": np.array([1.0, np.nan, 3.0]),
    "np.sinc(x) + np.logaddexp2(x, 1.0)": X,
}
NAMES = {"np": np, "wg": wg, "X": X, "COUNTS": COUNTS}


def evaluated(call, x):
    return eval(call, NAMES | {"x": x})


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_function_answers_as_numpy_does(call):
    with np.errstate(all="ignore"):
        expected = np.asarray(evaluated(call, CALLS[call]))
        found = np.asarray(recorded(lambda x: evaluated(call, x), CALLS[call]))
        watched = wg.vjp(lambda x: evaluated(call, x) * 1.0, CALLS[call] * 1.0)[0]
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(watched, expected, rtol=1e-12, atol=1e-13)


SMOOTH = [c for c, x in CALLS.items() if x is X or x is V or x is Z if "nextafter" not in c]


@pytest.mark.parametrize("call", SMOOTH)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_its_gradient(call):
    x = CALLS[call]
    with np.errstate(all="ignore"):
        shape = np.shape(evaluated(call, x))
        g, dx = (
            np.random.default_rng(1).normal(size=shape),
            np.random.default_rng(2).normal(size=x.shape),
        )
        gradient = wg.grad(lambda x: wg.sum(evaluated(call, x) * g))(x)
        above, below = (np.sum(evaluated(call, x + s * 1e-6 * dx) * g) for s in (1, -1))
    np.testing.assert_allclose(np.sum(gradient * dx), (above - below) / 2e-6, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("call", ["np.nanmax(x, axis=1)", "np.nanstd(x, axis=1)", "np.nanmean(x)"])
def test_a_hole_has_no_gradient(call):
    row = np.array([[1.0, np.nan, 3.0], [2.0, 2.0, np.nan]])
    gradient = wg.grad(lambda x: wg.sum(evaluated(call, x)))(row)
    assert np.isfinite(gradient).all()
    assert (gradient[np.isnan(row)] == 0).all()


@pytest.mark.parametrize(
    "call",
    [
        "np.quantile(x, [0.2, 0.9], axis=0)",
        "np.nanmedian(x, axis=1)",
        "np.interp(x, np.array([-1.0, 0.0, 0.5]), x[0, :3] * 2)",
        "np.gradient(x, 0.3, axis=1)",
        "np.maximum.accumulate(x, axis=1) + np.logaddexp.accumulate(x, axis=1)",
        "np.histogram(x, bins=5, range=(-2, 2))[0]",
        "np.nextafter(x, 2.0) + np.fmod(x, 0.7)",
        "np.unwrap(x * 4)",
    ],
)
def test_compiled(call):
    expected = evaluated(call, X)
    np.testing.assert_allclose(wg.compile(lambda x: evaluated(call, x))(X), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "call",
    [
        "wg.median(x)",
        "np.median(x, axis=0, keepdims=True)",
        "np.percentile(x, [0, 12.5, 77.7, 100], axis=0)",
        "np.nanquantile(x, 0.3, axis=0)",
        *(f"wg.quantile(x, [0.13, 0.8], axis=0, method={m!r})" for m in METHODS),
    ],
)
def test_quantiles_along_an_open_axis_are_one_program_with_the_bits_of_each_size(call, dtype):
    def squares(x):
        return wg.sum(evaluated(call, x) ** 2)

    def compiled(dims):
        return [wg.compile(f, dims=dims) for f in (lambda x: evaluated(call, x), wg.grad(squares))]

    opened = compiled({"x": {0: wg.Dim("n")}})
    for size in (5, 6, 1, 2, 3, 17, 60):
        x = np.random.default_rng(size).normal(size=(size, 3)).astype(dtype)
        x[0] = x[-1]  # equal neighbours
        if size == 6:
            x[2, 1], x[3, 2] = np.nan, np.inf
        for found, expected in zip(opened, compiled({"x": {}}), strict=True):
            np.testing.assert_array_equal(found(x), expected(x))
        rounding = 1e-5 if dtype is np.float32 else 1e-13
        with np.errstate(invalid="ignore"):
            expected = evaluated(call.replace("wg.", "np."), x)
        if not np.isinf(x).any():  # what lies between infinite ones is NaN in NumPy
            np.testing.assert_allclose(opened[0](x), expected, rtol=rounding, atol=rounding)
    assert [len(each.programs) for each in opened] == [1, 1]


def test_quantiles_of_no_elements_are_refused_along_an_open_axis():
    compiled = wg.compile(lambda x: wg.quantile(x, 0.3), dims={"x": {0: wg.Dim("n")}})
    assert compiled(np.ones(2)) == 1
    with pytest.raises(ShapeError, match=r"quantile: given shape \(0,\).*elements is needed"):
        compiled(np.ones(0))


def test_functions_of_wg():
    assert wg.median(np.array([3.0, 1.0, 2.0])) == 2.0
    assert wg.median(np.array([1.0, np.inf, np.inf])) == np.inf
    assert wg.interp(0.25, [0.0, 1.0], [0.0, 8.0]) == 2.0
    np.testing.assert_array_equal(wg.bincount(COUNTS), np.bincount(COUNTS))
    counted = wg.compile(lambda x, w: wg.bincount(x, w, length=4))(COUNTS, V)
    np.testing.assert_allclose(counted, np.bincount(COUNTS, V), rtol=1e-14)
    with pytest.raises(IndexError):
        wg.bincount(COUNTS, length=2)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        ("np.quantile(X, x)", DTypeError, "quantile: q is a Tensor; .*Pass numbers"),
        ("np.quantile(x, 1.5)", ValueError, "quantile: q=1.5 was given; .*between 0 and 1"),
        ("np.quantile(x, 0.5, method='weibull')", ShapeError, "quantile: .*'weibull'.*'linear'"),
        ("np.nanquantile(x, 0.5, method='weibull')", ShapeError, "np.nanquantile: .*'weibull'"),
        ("np.bincount(wg.astype(x, int))", TraceError, r"bincount: .*Write wg\.bincount\(x, "),
        ("wg.bincount(x)", ShapeError, "bincount: given float64.*a vector of integers"),
        ("np.histogram(x)", TraceError, "np.histogram: given bins=10 .*the edges must be known"),
        ("np.interp(0.5, x, X)", ShapeError, "interp: given points of shapes .*one length"),
        ("np.interp(x, x, x, period=3)", TraceError, "np.interp: .*its period argument"),
        ("np.gradient(x, 1.0, 2.0)", ShapeError, "np.gradient: given 2 spacings for 1 axes"),
        ("np.gradient(x[:1])", ShapeError, "np.gradient: given 1 elements along axis 0"),
        ("np.rot90(x)", ShapeError, "rot90: given shape .*two different axes"),
        (
            "np.piecewise(x, [x > 0], [1, 2, 3])",
            ShapeError,
            "np.piecewise: given 1 conditions and 3",
        ),
        (
            "np.lib.stride_tricks.sliding_window_view(x, 9)",
            ShapeError,
            "np.sliding_window_view: .*one size per axis",
        ),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        recorded(lambda x: evaluated(call, x), V)


@pytest.mark.parametrize("name", ["partition", "argpartition"])
@pytest.mark.parametrize(("kth", "axis"), [(3, -1), (-4, 0), ([0, 9], -1), (3, None)])
def test_a_place_that_the_axis_does_not_have_is_refused(name, kth, axis):
    x, f = np.array([3.0, 1.0, 2.0]), getattr(np, name)
    calls = [lambda x: f(x, kth, axis), wg.compile(lambda x: f(x, kth, axis))]
    for call in calls:
        with pytest.raises(ValueError, match="kth"):
            call(x)


@pytest.mark.parametrize("dtype", [np.int8, np.int64])
def test_remainders_of_the_smallest_integer_are_those_of_numpy(dtype):
    info = np.iinfo(dtype)
    x = np.repeat(np.array([info.min, info.max, -7, 7, 0], dtype), 5)
    y = np.tile(np.array([10, -10, 7, -1, info.min], dtype), 5)
    found = wg.compile(lambda x, y: np.fmod(x, y))(x, y)
    np.testing.assert_array_equal(found, np.fmod(x, y))
    assert found.dtype == dtype


def test_small_integers_become_what_numpy_makes_of_them():
    x = np.array([10, 3, -7], np.int8)

    def several(x):
        return np.vander(x, 4), np.gradient(x), np.unwrap(x)

    for found, expected in zip(wg.compile(several)(x), several(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-15)
        assert found.dtype == expected.dtype


def test_nan_to_num_in_place_is_refused():
    def loss(w, x):
        y = w * x
        np.nan_to_num(y, copy=False, nan=0.0)
        return np.sum(y)

    x = np.array([1.0, np.nan, 2.0])
    for run in (wg.compile(loss), wg.grad(loss)):
        with pytest.raises(TraceError, match=r"never changed in place: write x = np\.nan_to_num"):
            run(2.0, x)
    assert float(wg.grad(lambda w: np.sum(np.nan_to_num(w * x, copy=True)))(2.0)) == 3
