"""Activation functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.define import composite
from wengert.core.dims import divide_exactly
from wengert.core.op_parts.batching import with_leading_axes
from wengert.core.op_parts.broadcast import canonical_axis
from wengert.core.op_parts.samples import sample, uniform
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import ShapeError
from wengert.functions.parameter import canonical_number
from wengert.functions.statistics import as_float

_SAMPLES = uniform((-3, 3))


def _same_shape(x: Any, **_params: Any) -> ArrayType:
    return ArrayType(x.shape, dtypes.floating(x.dtype))


def _number(name: str, parameter: str) -> Any:
    """The canonical form of one number that shapes a function."""

    def canonical(_x: Any, **params: Any) -> dict[str, Any]:
        value = params[parameter]
        return {
            parameter: canonical_number(name, parameter, value, math.isfinite, "a finite number")
        }

    return canonical


@composite(type=_same_shape, samples=_SAMPLES)
def silu(x: Any, /) -> Any:
    """x times its sigmoid, also known as swish.

    >>> wg.silu(np.array([-1.0, 0.0, 2.0]))
    array([-0.26894142,  0.        ,  1.76159416])
    """
    return x * op.sigmoid(x)


def _gelu_form(_x: Any, approximate: str) -> dict[str, str]:
    if approximate not in ("none", "tanh"):
        raise ValueError(
            f"gelu: approximate={approximate!r} was given; it must be 'none' or 'tanh'. Choose one."
        )
    return {"approximate": approximate}


@composite(
    type=_same_shape,
    canonical=_gelu_form,
    samples=(*_SAMPLES, sample((3, 4), approximate="tanh")),
)
def gelu(x: Any, /, approximate: str = "none") -> Any:
    """x times the probability that a standard normal number is less than x.

    `approximate="tanh"` is the older formula with a hyperbolic tangent, right to about 3e-4.

    >>> wg.gelu(np.array([-10.0, 0.0, 1.0]))
    array([-7.61985302e-23,  0.00000000e+00,  8.41344746e-01])
    """
    x = as_float(x)
    if approximate == "tanh":
        # (1 + tanh u) / 2 is the sigmoid of 2 u, which keeps its digits where u is negative.
        return x * op.sigmoid(x * (1 + 0.044715 * (x * x)) * math.sqrt(8 / math.pi))
    return x * op.erfc(x * -math.sqrt(0.5)) * 0.5


@composite(
    type=_same_shape,
    canonical=_number("elu", "alpha"),
    samples=(*_SAMPLES, sample((3, 4), alpha=0.5)),
    at=[((0.0,), 0.0, (1.0,), "the left branch: alpha * exp(0)")],
)
def elu(x: Any, /, alpha: float = 1.0) -> Any:
    """x where it is positive, else alpha * (exp(x) - 1).

    >>> wg.elu(np.array([-1.0, 0.0, 2.0]))
    array([-0.63212056,  0.        ,  2.        ])
    """
    x = as_float(x)
    positive = op.greater(x, 0)
    return op.where(positive, x, op.expm1(op.where(positive, 0, x)) * alpha)


# A fixed point: mean 0, variance 1 (Klambauer et al., Self-Normalizing Neural Networks, 2017).
_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


@composite(
    type=_same_shape,
    samples=_SAMPLES,
    at=[((0.0,), 0.0, (_SELU_SCALE * _SELU_ALPHA,), "the left branch, as in elu")],
)
def selu(x: Any, /) -> Any:
    """`elu` with the scale and alpha that keep mean 0 and variance 1 from layer to layer.

    >>> wg.selu(np.array([-1.0, 0.0, 2.0]))
    array([-1.11133074,  0.        ,  2.10140197])
    """
    return op.elu(x, _SELU_ALPHA) * _SELU_SCALE


def _leaky_slope(x: Any, negative_slope: float) -> Any:
    """1, the slope on the left, or NaN."""
    dtype = dtypes.floating(x.dtype)
    one, slope, unknown = (np.asarray(v, dtype) for v in (1, negative_slope, math.nan))
    return op.where(op.greater(x, 0), one, op.where(op.less_equal(x, 0), slope, unknown))


@composite(
    type=_same_shape,
    canonical=_number("leaky_relu", "negative_slope"),
    vjp=lambda g, _out, x, negative_slope: op.pull(g, _leaky_slope(x, negative_slope)),
    jvp=lambda d, _out, x, negative_slope: op.pull(d[0], _leaky_slope(x, negative_slope)),
    samples=(*_SAMPLES, sample((3, 4), negative_slope=0.2)),
    at=[((0.0,), 0.0, (0.01,), "the slope on the left, as relu'(0) = 0")],
    batch=with_leading_axes,
)
def leaky_relu(x: Any, /, negative_slope: float = 0.01) -> Any:
    """x where it is positive, else x * negative_slope.

    >>> wg.leaky_relu(np.array([-2.0, 3.0])), wg.leaky_relu(np.array([-2.0]), 0.1)
    (array([-0.02,  3.  ]), array([-0.2]))
    """
    x = as_float(x)
    return op.where(op.greater(x, 0), x, x * negative_slope)


@composite(type=_same_shape, samples=_SAMPLES)
def softplus(x: Any, /) -> Any:
    """Logarithm of 1 + exp(x), without overflow.

    >>> wg.softplus(np.array([-1000.0, 0.0, 1000.0]))
    array([0.00000000e+00, 6.93147181e-01, 1.00000000e+03])
    """
    return op.logaddexp(as_float(x), 0)


@composite(type=_same_shape, samples=_SAMPLES)
def log_sigmoid(x: Any, /) -> Any:
    """Logarithm of the sigmoid, without underflow.

    >>> wg.log_sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([-1.00000000e+03, -6.93147181e-01, -0.00000000e+00])
    """
    return -op.logaddexp(-as_float(x), 0)


@composite(type=_same_shape, samples=_SAMPLES)
def mish(x: Any, /) -> Any:
    """x times the hyperbolic tangent of its softplus.

    >>> wg.mish(np.array([-1.0, 0.0, 2.0]))
    array([-0.30340146,  0.        ,  1.94395896])
    """
    return x * op.tanh(op.softplus(x))


@composite(type=_same_shape, samples=_SAMPLES)
def softsign(x: Any, /) -> Any:
    """x divided by 1 + abs(x).

    >>> wg.softsign(np.array([-1.0, 0.0, 3.0]))
    array([-0.5 ,  0.  ,  0.75])
    """
    x = as_float(x)
    return x / (1 + op.abs(x))


@composite(
    type=_same_shape,
    samples=_SAMPLES,
    at=[((1.0,), 1.0, (1.0,), "clip passes the gradient at its bounds")],
)
def hard_tanh(x: Any, /) -> Any:
    """x, but at least -1 and at most 1.

    >>> wg.hard_tanh(np.array([-3.0, 0.5, 2.0]))
    array([-1. ,  0.5,  1. ])
    """
    return op.clip(as_float(x), -1, 1)


def _glu_type(x: Any, axis: int) -> ArrayType:
    half = divide_exactly(x.shape[axis], 2)
    if half is None:
        raise ShapeError(
            f"glu: given shape {tuple(x.shape)}; the size of axis {axis} must be even, as it is "
            "cut into values and gates. Choose another axis?"
        )
    shape = (*x.shape[:axis], half, *x.shape[axis + 1 :])
    return ArrayType(shape, dtypes.floating(x.dtype))


@composite(
    type=_glu_type,
    canonical=lambda x, axis: {"axis": canonical_axis("glu", axis, x.ndim)},
    samples=(sample((3, 4)), sample((4, 3, 1), axis=0)),
)
def glu(x: Any, /, axis: int = -1) -> Any:
    """The first half along the axis times the sigmoid of the second.

    >>> wg.glu(np.array([1.0, 2.0, 0.0, 100.0]))
    array([0.5, 2. ])
    """
    _glu_type(x, axis)
    values, gates = op.split(x, 2, axis)
    return values * op.sigmoid(gates)
