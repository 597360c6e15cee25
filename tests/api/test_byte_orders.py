"""Arrays in the other byte order, as files of FITS and NetCDF have them: they count as the numbers
they hold, as arguments and as constants.
"""

import numpy as np
import pytest

import wengert as wg
from wengert.errors import DTypeError, TraceError

NATIVE = np.array([1.0, 2.0, 4.0])
SWAPPED = NATIVE.astype(NATIVE.dtype.newbyteorder("S"))
ROWS = np.array([2, 0, 0]).astype(np.dtype("int64").newbyteorder("S"))
MATRIX = np.diag([1.0, 2.0, 3.0]).astype(SWAPPED.dtype)

FUNCTIONS = {
    "times": lambda a, x: a * x,
    "reflected": lambda a, x: x * a,
    "reductions": lambda a, x: np.sum(a * x) + wg.sum(x) + wg.max(a),
    "products": lambda a, x: a @ MATRIX @ x,
    "solve": lambda a, x: np.linalg.solve(MATRIX, a) * x,
    "rows": lambda a, x: a[ROWS] * wg.asarray(x)[ROWS],
    "joined": lambda a, x: np.concatenate([a, x]),
    "chosen": lambda a, x: np.where(x > 1, a, x),
    "interpolated": lambda a, x: np.interp(a, x, x),
    "likely": lambda a, x: wg.distributions.Normal(x, 1.0).log_prob(a),
    "scanned": lambda a, x: wg.scan(lambda c, y: (c + y * a, c), a, x)[0],
    "branches": lambda a, x: wg.cond(a[0] > 0, lambda: x, lambda: a),
    "solved": lambda a, x: wg.odeint(lambda y, t: -y * a, x, np.array([0, 0.5], SWAPPED.dtype)),
    "returned": lambda a, x: (a, x)[1],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_constants_count_as_the_numbers_they_hold(name):
    function = FUNCTIONS[name]
    with wg.eager():
        expected = wg.compile(lambda a: function(a, NATIVE))(NATIVE)
    for call in (lambda a: function(a, SWAPPED), wg.compile(lambda a: function(a, SWAPPED))):
        result = call(NATIVE)
        np.testing.assert_allclose(result, expected, rtol=1e-12)
    assert result.dtype == np.float64


def test_gradients_by_numpy_and_compiled():
    def loss(a, x):
        return np.sum((a * x @ MATRIX - 1) ** 2) + wg.sum(x) * wg.sum(a[ROWS])

    expected = wg.grad(lambda a: loss(a, NATIVE))(NATIVE)
    for gradient in (wg.grad(loss), wg.compile(wg.grad(loss))):
        np.testing.assert_allclose(gradient(NATIVE, SWAPPED), expected, rtol=1e-12)
        np.testing.assert_allclose(gradient(SWAPPED, SWAPPED), expected, rtol=1e-12)
    closed = wg.compile(wg.grad(lambda a: loss(a, SWAPPED)))
    np.testing.assert_allclose(closed(NATIVE), expected, rtol=1e-12)


def test_fits_read_them_from_outside():
    def loss(m):
        return wg.mean((m["w"] * SWAPPED - 2 * SWAPPED) ** 2)

    start = {"w": np.array(1.0)}
    found = wg.optim.LBFGS(line_search_fn="strong_wolfe").minimize(loss, start)
    np.testing.assert_allclose(found.tree["w"], 2.0, rtol=1e-6)
    assert wg.TrainStep(loss, start, wg.optim.SGD(0.01))() == 7.0


def test_a_change_is_noticed():
    data = SWAPPED.copy()
    function = wg.compile(lambda a: a * data)
    function(1.0)
    data *= 2
    with pytest.raises(TraceError, match="'data' was changed"):
        function(1.0)


def test_weights_are_refused_with_the_dtype_that_they_need():
    with pytest.raises(DTypeError, match=r"byte order of this machine: x\.astype\(np\.float64\)"):
        wg.optim.Adam(0.1).init({"w": SWAPPED})
