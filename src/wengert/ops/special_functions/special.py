"""Special functions of one number: the error, gamma and Bessel functions, which NumPy has not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import promotion
from wengert.core.define import elementwise
from wengert.core.dtypes import DType, int64, uint64
from wengert.core.emit import on_arrays
from wengert.core.op_parts.samples import Integers, Real, sample, uniform
from wengert.core.special_functions import (
    bessel,
    bessel_waves,
    error_functions,
    numpy_special,
)
from wengert.core.table import op
from wengert.core.types import Value
from wengert.errors import DTypeError


def _gauss(x: Any) -> Any:
    """2/√π · exp(-x²)."""
    return 2 / math.sqrt(math.pi) * op.exp(-(x * x))


@elementwise(
    numpy=numpy_special.erf,
    dtypes=promotion.inexact,
    partials=lambda _out, x: _gauss(x),
    emit=lambda e, x: e.erf(x),
    samples=uniform((-2, 2)),
)
def erf(x: Any, /) -> None:
    """The error function of each element.

    >>> wg.erf(np.array([-1.0, 0.0, 1.0]))
    array([-0.84270079,  0.        ,  0.84270079])
    """


@elementwise(
    numpy=numpy_special.erfc,
    dtypes=promotion.inexact,
    partials=lambda _out, x: -_gauss(x),
    emit=lambda e, x: e.erfc(x),
    samples=uniform((-2, 2)),
)
def erfc(x: Any, /) -> None:
    """1 - erf(x) of each element, accurate for large x.

    >>> wg.erfc(np.array([0.0, 1.0, 10.0]))
    array([1.00000000e+00, 1.57299207e-01, 2.08848758e-45])
    """


def _algorithm(algorithm: Any) -> dict[str, Any]:
    """An op of one operand that NumPy and native code compute in the same way."""

    def emit(e: Any, x: Any) -> Any:
        return e.in_double(algorithm, x)

    return {"numpy": on_arrays(emit), "emit": emit, "dtypes": promotion.inexact}


@elementwise(
    **_algorithm(error_functions.erfc_scaled),
    partials=lambda out, x: 2 * x * out - 2 / math.sqrt(math.pi),
    samples=uniform((-2, 3)),
)
def erfcx(x: Any, /) -> None:
    """exp(x²) · erfc(x) of each element: erfc without its underflow for large x.

    >>> wg.erfcx(np.array([0.0, 1.0, 100.0]))
    array([1.        , 0.42758358, 0.00564161])
    """


@elementwise(
    **_algorithm(error_functions.erf_inverse),
    partials=lambda out, _y: math.sqrt(math.pi) / 2 * op.exp(out * out),
    samples=uniform((-0.95, 0.95)),
    at=[((1.0,), math.inf, (math.inf,), "the limit from the left")],
)
def erfinv(y: Any, /) -> None:
    """The x with erf(x) = y for each y from -1 to 1; NaN beyond.

    >>> wg.erfinv(np.array([-0.5, 0.0, 0.5]))
    array([-0.47693628,  0.        ,  0.47693628])
    """


@elementwise(
    **_algorithm(error_functions.erfc_inverse),
    partials=lambda out, _q: -math.sqrt(math.pi) / 2 * op.exp(out * out),
    samples=uniform((0.05, 1.95)),
    at=[((0.0,), math.inf, (-math.inf,), "the limit from the right")],
)
def erfcinv(q: Any, /) -> None:
    """The x with erfc(x) = q for each q from 0 to 2, accurate for small q; NaN beyond.

    >>> wg.erfcinv(np.array([1.0, 0.5, 1e-30]))
    array([0.        , 0.47693628, 8.14861622])
    """


@elementwise(
    **_algorithm(error_functions.normal_distribution),
    partials=lambda _out, x: op.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi)),
    samples=uniform((-3, 3)),
)
def ndtr(x: Any, /) -> None:
    """The probability that a standard normal number is below each element.

    >>> wg.ndtr(np.array([-1.96, 0.0, 1.96]))
    array([0.0249979, 0.5      , 0.9750021])
    """


@elementwise(
    **_algorithm(error_functions.log_normal_distribution),
    partials=lambda _out, x: math.sqrt(2 / math.pi) / op.erfcx(x * -math.sqrt(0.5)),
    samples=uniform((-4, 3)),
    at=[((-math.inf,), -math.inf, (math.inf,), "in the left tail the slope is next to -x")],
)
def log_ndtr(x: Any, /) -> None:
    """The logarithm of `ndtr`, accurate in both tails.

    >>> wg.log_ndtr(np.array([0.0, -40.0]))
    array([-6.93147181e-01, -8.04608442e+02])
    """


def _emit_ndtri(e: Any, p: Any) -> Any:
    root = e.in_double(error_functions.erfc_inverse, e.add(p, p))
    return e.sub(e.const(0), e.mul(e.const(math.sqrt(2)), root))


@elementwise(
    numpy=on_arrays(_emit_ndtri),
    dtypes=promotion.inexact,
    partials=lambda out, _p: math.sqrt(2 * math.pi) * op.exp(out * out * 0.5),
    emit=_emit_ndtri,
    samples=uniform((0.05, 0.95)),
    at=[((0.0,), -math.inf, (math.inf,), "the limit from the right")],
)
def ndtri(p: Any, /) -> None:
    """The x with ndtr(x) = p for each p from 0 to 1: quantiles of the normal distribution.

    >>> wg.ndtri(np.array([0.025, 0.5]))
    array([-1.95996398,  0.        ])
    """


@elementwise(
    **_algorithm(bessel.i0_scaled),
    partials=lambda out, x: op.i1e(x) - op.sign(x) * out,
    samples=(*uniform((0.2, 12)), *uniform((-9, -0.2))),
    at=[((0.0,), 1.0, (0.0,), "the middle of both slopes, as of abs")],
)
def i0e(x: Any, /) -> None:
    """exp(-abs(x)) times the modified Bessel function of order 0 of each element.

    >>> wg.i0e(np.array([0.0, 1.0, 1000.0]))
    array([1.        , 0.46575961, 0.01261724])
    """


@elementwise(
    **_algorithm(bessel.i1_scaled),
    partials=lambda out, x: op.i0e(x) - op.i1e_over_x(x) - op.sign(x) * out,
    samples=(*uniform((0.2, 12)), *uniform((-9, -0.2))),
    at=[((0.0,), 0.0, (0.5,), "that of x / 2")],
)
def i1e(x: Any, /) -> None:
    """exp(-abs(x)) times the modified Bessel function of order 1 of each element.

    >>> wg.i1e(np.array([0.0, 1.0, 1000.0]))
    array([0.        , 0.20791042, 0.01261093])
    """


def _i1e_over_x_slope(out: Any, x: Any) -> Any:
    zero = op.equal(x, 0)
    rising = (op.i0e(x) - 2 * out) / op.where(zero, 1, x)
    return op.where(zero, 0, rising - op.sign(x) * out)


@elementwise(
    **_algorithm(bessel.i1_scaled_over_x),
    partials=_i1e_over_x_slope,
    samples=(*uniform((0.2, 12)), *uniform((-9, -0.2))),
    space="hidden",
)
def i1e_over_x(x: Any, /) -> None:
    """i1e(x) / x of each element, which is 1/2 at 0: a part of the derivative of i1e."""


@elementwise(
    **_algorithm(bessel_waves.j0),
    partials=lambda _out, x: -op.j1(x),
    samples=(*uniform((0.2, 20)), *uniform((-9, -0.2))),
)
def j0(x: Any, /) -> None:
    """The Bessel function of order 0 of each element.

    >>> wg.j0(np.array([0.0, 1.0, 10.0]))
    array([ 1.        ,  0.76519769, -0.24593576])
    """


@elementwise(
    **_algorithm(bessel_waves.j1),
    partials=lambda _out, x: op.j0(x) - op.j1_over_x(x),
    samples=(*uniform((0.2, 20)), *uniform((-9, -0.2))),
    at=[((0.0,), 0.0, (0.5,), "that of x / 2")],
)
def j1(x: Any, /) -> None:
    """The Bessel function of order 1 of each element.

    >>> wg.j1(np.array([0.0, 1.0, 10.0]))
    array([0.        , 0.44005059, 0.04347275])
    """


@elementwise(
    **_algorithm(bessel_waves.j1_over_x),
    partials=lambda out, x: op.where(
        op.equal(x, 0), 0, (op.j0(x) - 2 * out) / op.where(op.equal(x, 0), 1, x)
    ),
    samples=(*uniform((0.2, 20)), *uniform((-9, -0.2))),
    space="hidden",
)
def j1_over_x(x: Any, /) -> None:
    """j1(x) / x of each element, which is 1/2 at 0: a part of the derivative of j1."""


@elementwise(
    **_algorithm(bessel_waves.y0),
    partials=lambda _out, x: -op.y1(x),
    samples=uniform((0.2, 20)),
    at=[((0.0,), -math.inf, (math.inf,), "the limit from the right")],
)
def y0(x: Any, /) -> None:
    """The Bessel function of the second kind, of order 0, of each element; NaN below 0.

    >>> wg.y0(np.array([1.0, 10.0]))
    array([0.08825696, 0.05567117])
    """


@elementwise(
    **_algorithm(bessel_waves.y1),
    partials=lambda out, x: op.y0(x) - out / x,
    samples=uniform((0.2, 20)),
)
def y1(x: Any, /) -> None:
    """The Bessel function of the second kind, of order 1, of each element; NaN below 0.

    >>> wg.y1(np.array([1.0, 10.0]))
    array([-0.78121282,  0.24901542])
    """


def _whole_orders(name: str, operands: Sequence[Value]) -> tuple[list[DType], DType]:
    """Orders are integers, and the function is in the dtype of x alone."""
    n, x = operands
    order = type(n) if isinstance(n, bool | int | float) else n.dtype
    if np.dtype(order).kind not in "iu":
        raise DTypeError(
            f"{name}: given orders of dtype {np.dtype(order)}; the order n must be an integer. "
            "Convert it with astype."
        )
    _, result = promotion.inexact(name, [x])
    # The largest of uint64 are orders without a result, not negative ones.
    return [uint64 if np.dtype(order) == uint64 else int64, result], result


def _of_whole_order(algorithm: Any) -> dict[str, Any]:
    """An op of integers n and of numbers x, with the slope (f[n - 1] - f[n + 1]) / 2."""

    def emit(e: Any, n: Any, x: Any) -> Any:
        return e.in_double(algorithm, n, x)

    def computed(n: Any, x: Any) -> Any:
        if np.asarray(n).dtype.kind not in "iu":
            raise TypeError  # worded by the dtype rule
        of_orders = on_arrays(lambda e, x: emit(e, np.asarray(n), x))
        return of_orders(np.broadcast_arrays(x, n)[0] if np.ndim(n) else x)

    def slope(n: Any, x: Any) -> Any:
        f = op[algorithm.__name__]
        return 0.5 * (f(op.subtract(n, 1), x) - f(op.add(n, 1), x))

    return {
        "numpy": computed,
        "emit": emit,
        "dtypes": _whole_orders,
        "partials": lambda _out, n, x: (0, lambda: slope(n, x)),
    }


@elementwise(
    **_of_whole_order(bessel_waves.jn),
    samples=(
        sample(Integers((3, 4), -3, 6), Real((3, 4), 0.3, 9)),
        sample(Integers((2, 1), 0, 4), Real((3,), -4, -0.5)),
        sample(Integers((), 1, 3), Real((), 0.3, 4)),
    ),
)
def jn(n: Any, x: Any, /) -> None:
    """The Bessel function of integer order n of each x; NaN for orders beyond 10,000.

    >>> wg.jn(np.array([0, 1, 2]), 1.0)
    array([0.76519769, 0.44005059, 0.11490348])
    """


@elementwise(
    **_of_whole_order(bessel_waves.yn),
    samples=(
        sample(Integers((3, 4), -3, 6), Real((3, 4), 0.5, 9)),
        sample(Integers((2, 1), 0, 4), Real((3,), 0.5, 4)),
        sample(Integers((), 1, 3), Real((), 0.5, 4)),
    ),
)
def yn(n: Any, x: Any, /) -> None:
    """The Bessel function of the second kind, of integer order n, of each x.

    NaN below 0, and for orders beyond 10,000.

    >>> wg.yn(2, np.array([1.0, 10.0]))
    array([-1.65068261, -0.00586808])
    """


@elementwise(
    numpy=numpy_special.lgamma,
    dtypes=promotion.inexact,
    partials=lambda _out, x: op.digamma(x),
    emit=lambda e, x: e.lgamma(x),
    samples=(*uniform((0.3, 4)), *uniform((-1.8, -1.2))),
)
def lgamma(x: Any, /) -> None:
    """log |Γ(x)| of each element.

    >>> wg.lgamma(np.array([1.0, 0.5, 100.0]))
    array([  0.        ,   0.57236494, 359.13420537])
    """


@elementwise(
    numpy=numpy_special.digamma,
    dtypes=promotion.inexact,
    partials=lambda _out, x: op.polygamma(1, x),
    emit=lambda e, x: e.digamma(x),
    samples=(*uniform((0.3, 4)), *uniform((-1.8, -1.2))),
)
def digamma(x: Any, /) -> None:
    """The derivative of log Γ at each element.

    >>> wg.digamma(np.array([1.0, 10.0]))
    array([-0.57721566,  2.25175259])
    """


def _polygamma(n: Any, x: Any) -> Any:
    if np.asarray(n).dtype.kind not in "iu":
        raise TypeError  # worded by the dtype rule
    return numpy_special.polygamma(n, x)


@elementwise(
    numpy=_polygamma,
    dtypes=_whole_orders,
    partials=lambda _out, n, x: (0, lambda: op.polygamma(op.add(n, 1), x)),
    emit=lambda e, n, x: e.polygamma(n, x),
    samples=(
        sample(Integers((3, 4), 0, 4), Real((3, 4), 0.3, 4)),
        sample(Integers((2, 1), 0, 4), Real((3,), -1.8, -1.2)),
        sample(Integers((), 1, 3), Real((), 0.3, 4)),
    ),
)
def polygamma(n: Any, x: Any, /) -> None:
    """The n-th derivative of digamma at each x, for integers n >= 0; NaN for negative n.

    >>> wg.polygamma(1, np.array([1.0, 10.0]))
    array([1.64493407, 0.10516634])
    """
