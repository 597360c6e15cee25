"""Functions of complex numbers, of the real numbers that there are here."""

from __future__ import annotations

from typing import Any

from wengert.core.define import function
from wengert.core.table import op


@function()
def real(x: Any, /) -> Any:
    """The real part: the numbers themselves, there are no complex ones.

    >>> wg.real(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return op.asarray(x)


@function()
def imag(x: Any, /) -> Any:
    """The imaginary part: zeros, there are no complex numbers.

    >>> wg.imag(np.array([1.0, 2.0]))
    array([0., 0.])
    """
    return op.zeros_like(x)


@function()
def conj(x: Any, /) -> Any:
    """The complex conjugate: the numbers themselves, there are no complex ones.

    >>> wg.conj(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return op.asarray(x)
