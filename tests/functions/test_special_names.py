"""Names of scipy.special that are lines of ours: values, derivatives and what is compiled."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import wengert as wg

X = np.array([0.0, 0.1, 0.5, 0.9, 3.0, 12.0])
Y = np.array([0.4, 2.0, 0.5, 7.0, 3.0, 0.2])
CALLS = {
    "logit": (X[1:4],),
    "betaln": (X[1:], Y[1:]),
    "xlog1py": (X, Y),
    "entr": (X,),
    "i0": (np.array([-3.0, 0.5, 12.0]),),
    "i1": (np.array([-3.0, 0.5, 12.0]),),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_and_derivatives(name):
    ours, operands = getattr(wg, name), CALLS[name]
    expected = getattr(scipy.special, name)(*operands)
    np.testing.assert_allclose(ours(*operands), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(wg.compile(ours)(*operands), expected, rtol=1e-12, atol=1e-15)
    inside = [np.where(x == 0, 0.3, x) for x in operands]
    wg.check_grads(ours, inside, rtol=1e-5)
    single = [x.astype(np.float32) for x in operands]
    assert ours(*single).dtype == np.float32


def test_edges():
    np.testing.assert_array_equal(wg.logit(np.array([0.0, 1.0, 2.0])), [-np.inf, np.inf, np.nan])
    np.testing.assert_array_equal(wg.entr(np.array([-1.0, np.nan])), [-np.inf, np.nan])
    np.testing.assert_array_equal(wg.xlog1py(0.0, np.array([-1.0, np.nan])), [0.0, np.nan])
