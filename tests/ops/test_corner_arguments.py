"""Arguments at the edge of what NumPy's functions take: no axes, no elements, n = 0, NaN, a dtype.

Each call is made on a Tensor that is differentiated and on one that is traced, and some are
compiled. Values, shapes and dtypes are NumPy's.
"""

import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.core.bind import opened
from wengert.core.tensor import Tensor
from wengert.core.types import type_of
from wengert.interpret.replay import replay
from wengert.interpret.tape import Tape
from wengert.interpret.trace import trace_flat

RNG = np.random.default_rng(7)
ARRAYS = {
    "number": np.array(1.5),
    "whole number": np.array(3),
    "line": RNG.normal(size=5),
    "row": RNG.normal(size=(1, 5)),
    "column": RNG.normal(size=(5, 1)),
    "matrix": RNG.normal(size=(3, 4)),
    "cube": RNG.normal(size=(2, 3, 4)),
    "none": np.zeros(0),
    "no rows": np.zeros((0, 3)),
    "no columns": np.zeros((3, 0)),
    "integers": np.array([[3, 1], [2, -7]]),
    "small integers": np.array([100, 100, -128], np.int8),
    "bools": np.array([[True, False], [True, True]]),
    "float32": RNG.normal(size=(3, 4)).astype(np.float32),
    "a NaN": np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]]),
    "infinities": np.array([np.nan, 1.0, 2.0, np.inf]),
}
AXES = (None, 0, -1, 1, (), (0,), (0, 1), (-1, 0), (0, 0), 5, -5)
REDUCTIONS = (
    *("sum", "prod", "mean", "max", "min", "any", "all", "argmax", "argmin", "var", "std"),
    *("count_nonzero", "ptp", "median", "nansum", "nanmean"),
)


def outcome(call):
    """What a call returns, or that it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = call()
        except (ValueError, TypeError, IndexError):
            return None
    return [np.asarray(each) for each in several(found)]


def several(found):
    return found if isinstance(found, list | tuple) else [found]


def differentiated(f, *arrays):
    tape = Tape()
    with opened(tape):
        out = f(*(tape.watch(x) for x in arrays))
        return [each._value if isinstance(each, Tensor) else each for each in several(out)]


def traced(f, *arrays):
    names = [f"x{i}" for i in range(len(arrays))]
    graph, _ = trace_flat(lambda *xs: several(f(*xs)), [type_of(x) for x in arrays], names)
    return replay(graph, arrays)


def require_numpys(f, *arrays, ways=(differentiated, traced), about=""):
    expected = outcome(lambda: f(*arrays))
    for way in ways:
        found = outcome(lambda way=way: way(f, *arrays))
        said = f"{about} {way.__name__}: NumPy {expected}, ours {found}"
        assert (found is None) == (expected is None), said
        for ours, theirs in zip(found or [], expected or [], strict=True):
            assert ours.shape == theirs.shape, said
            assert ours.dtype == theirs.dtype or theirs.dtype == np.float16, said
            rtol = 2e-3 if theirs.dtype == np.float16 else 1e-6
            np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-12, err_msg=said)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_axes_of_reductions(name):
    function = getattr(np, name)
    for kind, x in ARRAYS.items():
        for axis in AXES:
            if name == "median" and axis == () and 0 in x.shape:
                continue  # NumPy fails on its own reshape
            if name == "nanmean" and kind == "whole number" and axis in (0, -1):
                continue  # NumPy refuses an axis of integers here, and not of floats
            for keepdims in (False, True):
                require_numpys(
                    lambda x, a=axis, k=keepdims: function(x, axis=a, keepdims=k),
                    x,
                    about=f"{name} of {kind}, axis {axis}, keepdims {keepdims},",
                )


CALLS = {
    "sum as float32": lambda x: np.sum(x, dtype=np.float32),
    "product as float32": lambda x: np.prod(x, axis=0, dtype=np.float32),
    "mean as float32": lambda x: np.mean(x, dtype=np.float32),
    "trace as float32": lambda x: np.trace(x, dtype=np.float32),
    "added up": np.add.reduce,
    "added up over no axes": lambda x: np.add.reduce(x, axis=()),
    "largest": np.maximum.reduce,
    "running sum": np.cumsum,
    "running sum along an axis": lambda x: np.cumsum(x, axis=0),
    "sizes": lambda x: (np.size(x), np.size(x, -1), np.size(x, (0, 1))),
    "no differences": lambda x: np.diff(x, n=0),
    "no differences of what joins": lambda x: np.diff(x, n=0, prepend=0, append=[1.0, 2.0]),
    "no differences along no axis": lambda x: np.diff(x, n=0, axis=None),
    "differences with a number before": lambda x: np.diff(x, prepend=0),
    "differences with a float behind": lambda x: np.diff(x, n=2, append=1.5),
    "differences turned around": lambda x: np.diff(x, n=-1),
    "covariance": np.cov,
    "covariance of columns": lambda x: np.cov(x, rowvar=False),
    "covariance of both": lambda x: np.cov(x, x[::-1], rowvar=False),
    "covariance with no freedom": lambda x: np.cov(x, ddof=9),
    "biased covariance": lambda x: np.cov(x, bias=True),
    "polynomial": lambda x: np.polyval([1.0, 2.0, 3.0], x),
    "polynomial of integers": lambda x: np.polyval([1, 2], x),
    "polynomial of nothing": lambda x: np.polyval([], x),
    "coefficients": lambda x: np.polyval(x, 2.0),
    "line of points": lambda x: np.linspace(x, 2, 4),
    "line of points without its end": lambda x: np.linspace(0, x, 4, endpoint=False),
    "line of one point": lambda x: np.linspace(x, 2, 1),
    "line of no points": lambda x: np.linspace(x, 2, 0),
    "line of fewer points": lambda x: np.linspace(x, 2, -1),
    "line of equal points": lambda x: np.linspace(x, x, 2),
    "average with weights": lambda x: np.average(x, axis=0, weights=np.arange(1.0, 4.0)),
    "average with weights of all": lambda x: np.average(x, weights=np.ones(x.shape)),
    "average with weights of rows": lambda x: np.average(x, weights=[1.0, 2.0, 3.0]),
    "cross product": lambda x: np.cross(x[..., :3], x[..., :3], axis=None),
    "close": lambda x: np.isclose(x, x[..., ::-1]),
    "close, NaN too": lambda x: np.isclose(x, x, equal_nan=True),
    "cut unevenly": lambda x: np.array_split(x, np.int64(2)),
    "limited widely": lambda x: np.clip(x, -1000, 1000),
    "correlated with a list": lambda x: np.correlate(x, [1.0, 2.0]),
    "folded with a list": lambda x: np.convolve(x, [1.0, 2.0]),
    "diagonal": lambda x: np.einsum("ii", x),
    "heaviside": lambda x: np.heaviside(x, x),
    "angles": lambda x: (np.radians(x), np.deg2rad(x), np.degrees(x), np.rad2deg(x)),
    "nearest": np.rint,
    "sizes without signs": np.fabs,
    "largest norm": lambda x: np.linalg.norm(x, np.inf, axis=0),
}
UNLIKE = {  # on purpose
    ("cross product", "integers"): "vectors of two are not taken",
    ("cross product", "bools"): "vectors of two are not taken",
    **{
        ("average with weights of all", kind): "no weights are 0, which NumPy looks for"
        for kind in ("none", "no rows", "no columns")
    },
    ("limited widely", "bools"): "NumPy has no bounds for bools",
    ("largest norm", "integers"): "norms are of floats",
    ("largest norm", "small integers"): "norms are of floats",
    ("largest norm", "bools"): "norms are of floats",
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    for kind, x in ARRAYS.items():
        if (name, kind) not in UNLIKE:
            require_numpys(CALLS[name], x, about=f"{name} of {kind},")


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
def test_rounding_keeps_integers(decimals):
    for x in (np.array([1234, -1250, 1350, 7]), np.array([15, -25, 35], np.int8)):
        require_numpys(lambda x: np.round(x, decimals), x, ways=(differentiated, traced))
    for x in (RNG.normal(size=5) * 100, (RNG.normal(size=5) * 100).astype(np.float32)):
        require_numpys(lambda x: np.round(x, decimals), x)


def test_whole_points_are_rounded_down():
    for ends in ((-2.5, 5.0), (0.5, -7.0)):
        for points in (lambda a, b: np.linspace(a, b, 4, dtype=int),):
            require_numpys(points, *map(np.asarray, ends))
        assert np.array_equal(wg.linspace(*ends, 4, dtype=int), np.linspace(*ends, 4, dtype=int))
    single = np.ones(2, np.float32)
    assert wg.linspace(single, single, 3).dtype == np.float32
    assert wg.linspace(1, 2, 3).dtype == np.float64


def test_reciprocals_of_integers():
    x = np.array([1, -1, 2, -7, 127], np.int8)
    require_numpys(np.reciprocal, x)
    assert wg.reciprocal(x).dtype == np.float64


def test_a_number_has_no_positions_that_are_not_zero():
    with pytest.raises(ValueError, match="nonzero: given a number"):
        wg.nonzero(np.array(2.0))
    with pytest.raises(ValueError, match="nonzero: given a number"):
        wg.grad(lambda x: x * len(x.nonzero()))(2.0)


# NaN.

NUMBERS = np.array(
    [
        [np.nan, 1.0, 2.0, 3.0],
        [4.0, np.nan, np.nan, 5.0],
        [3.0, 2.0, 1.0, 0.0],
        [np.inf, -np.inf, 1.0, np.nan],
        [np.nan] * 4,
    ]
)
ORDERS = {
    "median": lambda x: np.median(x, axis=-1),
    "median of columns": lambda x: np.median(x, axis=0, keepdims=True),
    "median of all": np.median,
    "median of three": lambda x: np.median(x[:, :3], axis=1),
    "sort": np.sort,
    "sort of columns": lambda x: np.sort(x, axis=0),
    "argsort": lambda x: np.argsort(x, kind="stable"),
    "max": lambda x: np.max(x, axis=1),
    "min": lambda x: np.min(x, axis=0),
    "argmax": lambda x: np.argmax(x, axis=1),
    "argmin": lambda x: np.argmin(x, axis=0),
    "argmax of all": np.argmax,
    "ptp": lambda x: np.ptp(x, axis=1),
    "maximum": lambda x: np.maximum(x, x[::-1]),
    "minimum": lambda x: np.minimum(x, 1.5),
    "clip": lambda x: np.clip(x, 0, 2),
    "clip to NaN": lambda x: np.clip(x, np.nan, 2),
    "searchsorted": lambda x: np.searchsorted([0.0, 1.0, np.nan], x),
    "nansum": lambda x: np.nansum(x, axis=1),
    "nanmean": lambda x: np.nanmean(x, axis=1),
    "sign": np.sign,
    "any": lambda x: np.any(x, axis=1),
    "count": lambda x: np.count_nonzero(x, axis=1),
    "mean": lambda x: np.mean(x, axis=0),
}


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_order_among_nan(name, dtype):
    def compiled(f, x):
        return wg.compile(lambda x: f(x))(x)

    require_numpys(ORDERS[name], NUMBERS.astype(dtype), ways=(differentiated, traced, compiled))


def test_the_power_of_a_negative_number_has_no_slope_in_the_exponent():
    def slope(x, y):
        with np.errstate(all="ignore"):
            return wg.grad(lambda y: x**y)(y)

    for x, y in ((-0.5, 2000.0), (-2.0, -3000.0), (-np.inf, -1.0), (-2.0, 3.0)):
        assert np.isnan(slope(x, y)), (x, y)
        assert np.isnan(wg.compile(wg.grad(lambda y, x: x**y))(np.array(y), np.array(x)))
    for x, y in ((0.0, 2.0), (np.inf, -1.0), (0.5, 2000.0)):
        assert slope(x, y) == 0
        assert wg.compile(wg.grad(lambda y, x: x**y))(np.array(y), np.array(x)) == 0
