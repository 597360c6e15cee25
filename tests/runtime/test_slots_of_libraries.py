"""Arrays that an object of a library has in slots, as the coefficients of a spline."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import wengert as wg
from wengert.errors import TraceError


def test_other_coefficients_of_a_spline_are_noticed():
    x = np.linspace(0, 5, 6)
    spline = CubicSpline(x, np.sin(x))
    function = wg.compile(lambda a: a * spline(1.0))
    assert function(2.0) == 2 * spline(1.0)
    spline.c = spline.c * 2
    assert function(2.0) == 2 * spline(1.0)
    spline.c[:] = 0.0
    with pytest.raises(TraceError, match=r"'spline\._c' was changed"):
        function(2.0)
