"""What scipy.special has and is a line or two of ours, under the same names."""

from __future__ import annotations

from typing import Any

from wengert.core.define import function
from wengert.core.table import SCIPY_UFUNCS
from wengert.functions.numpy_scipy import scipy_names  # noqa: F401 (fills the table)


@function()
def logit(p: Any) -> Any:
    """log(p / (1 - p)) of each probability: the inverse of sigmoid.

    >>> wg.logit(np.array([0.0, 0.5, 0.75]))
    array([      -inf, 0.        , 1.09861229])
    """
    return SCIPY_UFUNCS["logit"](p)


@function()
def betaln(a: Any, b: Any) -> Any:
    """log |B(a, b)|, the logarithm of Γ(a) Γ(b) / Γ(a + b).

    >>> wg.betaln(np.array([1.0, 2.0]), 3.0)
    array([-1.09861229, -2.48490665])
    """
    return SCIPY_UFUNCS["betaln"](a, b)


@function()
def xlog1py(x: Any, y: Any) -> Any:
    """x * log1p(y), and 0 where x is 0.

    >>> wg.xlog1py(np.array([0.0, 2.0]), np.array([-1.0, 1.0]))
    array([0.        , 1.38629436])
    """
    return SCIPY_UFUNCS["xlog1py"](x, y)


@function()
def entr(x: Any) -> Any:
    """-x * log(x), 0 where x is 0, and -inf below: what a probability adds to the entropy.

    >>> wg.entr(np.array([0.0, 0.5, -1.0]))
    array([0.        , 0.34657359,       -inf])
    """
    return SCIPY_UFUNCS["entr"](x)


@function()
def i0(x: Any) -> Any:
    """The modified Bessel function of order 0 of each element. It overflows above 713, where `i0e`
    does not.

    >>> wg.i0(np.array([0.0, 1.0]))
    array([1.        , 1.26606588])
    """
    return SCIPY_UFUNCS["i0"](x)


@function()
def i1(x: Any) -> Any:
    """The modified Bessel function of order 1 of each element. It overflows above 713, where `i1e`
    does not.

    >>> wg.i1(np.array([0.0, 1.0]))
    array([0.       , 0.5651591])
    """
    return SCIPY_UFUNCS["i1"](x)
