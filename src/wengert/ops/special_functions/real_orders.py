"""The modified Bessel function of real order, with derivatives by the order and by x.

By x the derivative follows from the neighbouring orders. By the order it is the algorithm itself,
run on power series: `ive_slope`, to any order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core import promotion
from wengert.core.bind import located
from wengert.core.define import elementwise, function
from wengert.core.emit import on_arrays
from wengert.core.op_parts.samples import Real, sample, uniform
from wengert.core.special_functions import bessel_orders
from wengert.core.table import op

_MOST_SLOPES = 16  # of a derivative by the order: code grows with its square


def _emit_scaled(e: Any, v: Any, x: Any) -> Any:
    return e.in_double(bessel_orders.scaled_bessel, v, x)


def _scaled_slope(out: Any, v: Any, x: Any) -> Any:
    """By x. Far from order 0 without a quotient by x, which may be 0."""
    above = op.scaled_bessel(v + 1, x)
    outer = op.greater_equal(op.abs(v), 1)
    middle = 0.5 * (op.scaled_bessel(op.where(outer, v - 1, 1), x) + above)
    inner = op.logical_or(outer, op.equal(v, 0))
    rising = op.where(inner, 0, v) / op.where(inner, 1, x)
    steep = op.where(op.equal(x, 0), op.where(inner, 0, math.inf), rising * out)
    return op.where(outer, middle, above + steep) - op.sign(x) * out


_SAMPLES = (*uniform((0.1, 4), (0.3, 9)), sample(Real((4,), 31, 90), Real((3, 1), 4, 60)))


@elementwise(
    numpy=on_arrays(_emit_scaled),
    emit=_emit_scaled,
    dtypes=promotion.inexact,
    partials=lambda out, v, x: (
        lambda: op.ive_slope(v, x, times=1),
        lambda: _scaled_slope(out, v, x),
    ),
    samples=_SAMPLES,
    at=[((2.0, 0.0), 0.0, (0.0, 0.0), "flat at 0 from order 1 on, where 1 itself has slope 1/2")],
    space="hidden",
)
def scaled_bessel(v: Any, x: Any, /) -> None:
    """exp(-abs(x)) times the modified Bessel function of order v."""


def _emit_slope(e: Any, v: Any, x: Any, *, times: int = 1) -> Any:
    return e.in_double(bessel_orders.slope(times), v, x)


def _canonical_times(_v: Any, _x: Any, times: Any) -> dict[str, int]:
    if not 1 <= times <= _MOST_SLOPES or int(times) != times:
        raise ValueError(
            f"ive_slope: {times!r} derivatives by the order were asked for; there are those from 1 "
            f"to {_MOST_SLOPES}. Choose one."
        )
    return {"times": int(times)}


def _slope_by_x(out: Any, v: Any, x: Any, times: int) -> Any:
    """The derivative of I' = I[v + 1] + v/x · I[v] by v, of order `times`."""
    below = op.scaled_bessel(v, x) if times == 1 else op.ive_slope(v, x, times=times - 1)
    return op.ive_slope(v + 1, x, times=times) + (v * out + times * below) / x - out


@elementwise(
    numpy=on_arrays(_emit_slope),
    emit=_emit_slope,
    dtypes=promotion.inexact,
    canonical=_canonical_times,
    partials=lambda out, v, x, *, times: (
        lambda: op.ive_slope(v, x, times=times + 1),
        lambda: _slope_by_x(out, v, x, times),
    ),
    samples=tuple(
        sample(Real(shape, 0.1, 4), Real(shape, 0.3, 9), times=1) for shape in ((3, 4), (), (0, 3))
    ),
    tolerance=1e-8,
    space="hidden",
)
def ive_slope(v: Any, x: Any, /, times: int = 1) -> None:
    """The derivative of ive by the order, taken `times` times; for orders and x from 0 on."""


def _require_known(name: str, v: Any, x: Any) -> None:
    """Refuse orders that have no value here, where they are known."""
    if isinstance(v, int | float | np.ndarray | np.generic) and np.asarray(v).dtype.kind in "iuf":
        known = np.asarray(v)
        if np.any((known < 0) & (known != np.floor(known))):
            error = ValueError(
                f"{name}: given an order below 0 that is no whole number; the order v must be 0 or "
                f"more, or whole. Write it with orders above 0, as in {name}(v + 2, x) + 2 * (v + "
                f"1) / x * {name}(v + 1, x)."
            )
            raise located(error, [v, x])


@function()
def ive(v: Any, x: Any) -> Any:
    """exp(-abs(x)) times the modified Bessel function of each order v, which is any number from 0
    on, at each x. Below 0, orders and x need whole orders; elsewhere it is NaN.

    >>> wg.ive(np.array([0.0, 0.5, 40.0]), 2.0)
    array([3.08508323e-01, 2.76928045e-01, 1.69963413e-49])
    """
    _require_known("ive", v, x)
    return op.scaled_bessel(v, x)


@function()
def iv(v: Any, x: Any) -> Any:
    """The modified Bessel function of each order v at each x: `ive` without its factor. It
    overflows above 713, where `ive` does not.

    >>> wg.iv(np.array([0.0, 0.5, 40.0]), 2.0)
    array([2.27958530e+00, 2.04623686e+00, 1.25586919e-48])
    """
    _require_known("iv", v, x)
    return op.scaled_bessel(v, x) * op.exp(op.abs(op.asarray(x)))
