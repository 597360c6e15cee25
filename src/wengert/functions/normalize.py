"""Softmax and the norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.define import composite, function
from wengert.core.dims import Size
from wengert.core.op_parts.batching import along
from wengert.core.op_parts.broadcast import canonical_axes, canonical_axis
from wengert.core.op_parts.samples import sample
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import DTypeError, ShapeError
from wengert.functions.parameter import canonical_number
from wengert.functions.statistics import Axes, as_float, count, root_of_squares

_AXIS_SAMPLES = (
    sample((3, 4)),
    sample((2, 3, 4), axis=0),
    sample((2, 3, 4), axis=-2),
    sample((0, 3)),
    sample((3, 0)),
)


def _along(name: str) -> Any:
    return lambda x, axis: {"axis": canonical_axis(name, axis, x.ndim)}


def _same_shape(x: Any, axis: int) -> ArrayType:
    return ArrayType(x.shape, dtypes.floating(x.dtype))


def _below_highest(x: Any, axis: int) -> Any:
    """x less its largest element along the axis: exponentials of it never overflow."""
    return x - op.stop_gradient(op.max(x, axis, True))


def _softmax_derivative(d: Any, out: Any, axis: int) -> Any:
    """Tangent or cotangent: the Jacobian diag(p) - p pᵀ is symmetric. A row of zeros stays one."""
    product = op.pull(d, out)
    return product - op.pull(op.sum(product, axis, True), out)


def _softmax_of_array(x: Any, axis: int) -> Any:
    """Softmax of a NumPy array, in fewer steps than the op by op way."""
    if x.dtype.kind != "f":
        x = x.astype(dtypes.floating(x.dtype))
    if x.shape[axis] == 0:
        return x
    powers = np.exp(x - np.maximum.reduce(x, axis=axis, keepdims=True))
    return np.divide(powers, np.add.reduce(powers, axis=axis, keepdims=True), out=powers)


@composite(
    numpy=_softmax_of_array,
    type=_same_shape,
    canonical=_along("softmax"),
    vjp=lambda g, out, _x, axis: _softmax_derivative(g, out, axis),
    jvp=lambda d, out, _x, axis: _softmax_derivative(d[0], out, axis),
    samples=_AXIS_SAMPLES,
    batch=along("axis"),
)
def softmax(x: Any, /, axis: int = -1) -> Any:
    """Exponentials along the axis, divided by their sum. NaN where all of them are -inf.

    >>> wg.softmax(np.array([0.0, 0.0, -np.inf]))
    array([0.5, 0.5, 0. ])
    """
    x = as_float(x)
    if x.shape[axis] == 0:
        return x
    powers = op.exp(_below_highest(x, axis))
    return powers / op.sum(powers, axis, True)


@composite(
    type=_same_shape,
    canonical=_along("log_softmax"),
    vjp=lambda g, out, _x, axis: g - op.pull(op.sum(g, axis, True), op.exp(out)),
    jvp=lambda d, out, _x, axis: d[0] - op.sum(op.pull(d[0], op.exp(out)), axis, True),
    samples=_AXIS_SAMPLES,
    batch=along("axis"),
)
def log_softmax(x: Any, /, axis: int = -1) -> Any:
    """Logarithm of `softmax`, exact where that underflows.

    >>> wg.log_softmax(np.array([0.0, -1000.0]))
    array([    0., -1000.])
    """
    x = as_float(x)
    if x.shape[axis] == 0:
        return x
    shifted = _below_highest(x, axis)
    return shifted - op.log(op.sum(op.exp(shifted), axis, True))


def _centred(x: Any, axis: Axes, centred: bool) -> Any:
    return x - op.mean(x, axis, True) if centred else x


def _spread(x: Any, axis: Axes, eps: float, centred: bool) -> Any:
    """The root of the mean square along the axes plus eps: of deviations, or of x itself."""
    square = op.var(x, axis, 0, True) if centred else op.mean(op.square(x), axis, True)
    return root_of_squares(_centred(x, axis, centred), square + eps, axis, count(x, axis), eps)


def _unit(x: Any, axis: Axes, eps: float, centred: bool) -> Any:
    return op.standardize(x, axis, eps) if centred else op.rescale(x, axis, eps)


def _inverse_vjp(g: Any, out: Any, x: Any, axis: Axes, eps: float, centred: bool) -> Any:
    # Factor by factor: the square of the inverse may be no float.
    scale = op.pull(op.pull(op.divide(g, count(x, axis)), out), -out)
    return op.pull(scale, _unit(x, axis, eps, centred))


def _inverse_jvp(d: Any, out: Any, x: Any, axis: Axes, eps: float, centred: bool) -> Any:
    moved = op.pull(op.pull(d[0], out), _unit(x, axis, eps, centred))
    return op.pull(op.mean(moved, axis, True), -out)


def _eps(name: str, eps: Any) -> float:
    return canonical_number(name, "eps", eps, lambda number: number >= 0, "a number >= 0")


def _over(name: str) -> Any:
    def canonical(x: Any, *_rest: Any, axis: Any, eps: float, **more: Any) -> dict[str, Any]:
        flags = {flag: bool(value) for flag, value in more.items()}
        return {"axis": canonical_axes(name, axis, x.ndim), "eps": _eps(name, eps), **flags}

    return canonical


@composite(
    canonical=_over("inverse_spread"),
    vjp=_inverse_vjp,
    jvp=_inverse_jvp,
    samples=(
        sample((3, 4), axis=(1,), eps=1e-5, centred=True),
        sample((2, 3, 4), axis=(0, 2), eps=0.1, centred=False),
    ),
    space="hidden",
    batch=along("axis"),
)
def inverse_spread(x: Any, /, axis: Axes, eps: float, centred: bool) -> Any:
    """1 / sqrt(variance + eps) along the axes; of the mean of squares where not `centred`."""
    return 1 / _spread(x, axis, eps, centred)


def _unit_derivative(d: Any, out: Any, x: Any, axis: Axes, eps: float, centred: bool) -> Any:
    """Tangent or cotangent: the Jacobian is symmetric."""
    along = op.pull(op.mean(op.pull(d, out), axis, True), out)
    d = d - op.mean(d, axis, True) - along if centred else d - along
    return op.pull(d, op.inverse_spread(x, axis, eps, centred))


@composite(
    type=lambda x, axis, eps: ArrayType(x.shape, dtypes.floating(x.dtype)),
    canonical=_over("standardize"),
    vjp=lambda g, out, x, axis, eps: _unit_derivative(g, out, x, axis, eps, True),
    jvp=lambda d, out, x, axis, eps: _unit_derivative(d[0], out, x, axis, eps, True),
    samples=(sample((3, 4)), sample((2, 3, 4), axis=(0, 2)), sample((3, 4), axis=0, eps=0.1)),
    batch=along("axis"),
)
def standardize(x: Any, /, axis: Any = -1, eps: float = 1e-5) -> Any:
    """Elements less their mean along the axes, divided by sqrt(variance + eps).

    >>> wg.standardize(np.array([1.0, 2.0, 3.0]), eps=0.0)
    array([-1.22474487,  0.        ,  1.22474487])
    """
    x = as_float(x)
    return _centred(x, axis, True) / _spread(x, axis, eps, True)


@composite(
    type=lambda x, axis, eps: ArrayType(x.shape, dtypes.floating(x.dtype)),
    canonical=_over("rescale"),
    vjp=lambda g, out, x, axis, eps: _unit_derivative(g, out, x, axis, eps, False),
    jvp=lambda d, out, x, axis, eps: _unit_derivative(d[0], out, x, axis, eps, False),
    samples=(sample((3, 4), axis=(1,), eps=1e-6), sample((2, 3, 4), axis=(0, 2), eps=0.1)),
    space="hidden",
    batch=along("axis"),
)
def rescale(x: Any, /, axis: Axes, eps: float) -> Any:
    """Elements divided by sqrt(mean of squares along the axes + eps)."""
    x = as_float(x)
    return x / _spread(x, axis, eps, False)


def _own_sizes(name: str, what: str, y: Any, x: Any, axis: Axes) -> tuple[Size, ...]:
    """The sizes of a scale or shift, one per axis of x that it belongs to."""
    sizes = tuple(x.shape[number] for number in axis)
    own = (1,) * (len(sizes) - len(y.shape)) + tuple(y.shape)
    if len(own) != len(sizes) or any(
        n not in (1, size) for n, size in zip(own, sizes, strict=True)
    ):
        raise ShapeError(
            f"{name}: {what} has shape {tuple(y.shape)}; it must broadcast to {sizes}, the sizes "
            f"of axes {axis} of x. Reshape it."
        )
    if not dtypes.is_float(y.dtype):
        raise DTypeError(
            f"{name}: {what} has dtype {y.dtype}; it must be float32 or float64. "
            "Convert it with astype."
        )
    return own


def _placed(name: str, what: str, y: Any, x: Any, axis: Axes) -> Any:
    """A scale or shift for these axes of x, with axes of size 1 where x has others."""
    sizes = dict(zip(axis, _own_sizes(name, what, y, x, axis), strict=True))
    shape = tuple(sizes.get(number, 1) for number in range(len(x.shape)))
    broadcasts = not y.shape or shape[-len(y.shape) :] == tuple(y.shape)
    return y if broadcasts else op.reshape(y, shape)


def _affine(name: str, y: Any, scale: Any, shift: Any, axis: Axes) -> Any:
    if scale is not None:
        y = y * _placed(name, "scale", scale, y, axis)
    return y if shift is None else y + _placed(name, "shift", shift, y, axis)


def _affine_type(name: str, over_rest: bool) -> Any:
    def rule(x: Any, scale: Any, shift: Any, axis: Axes, eps: float) -> ArrayType:
        t = ArrayType(x.shape, dtypes.floating(x.dtype))
        for what, y in (("scale", scale), ("shift", shift)):
            if y is not None:
                _own_sizes(name, what, y, x, _others(x, axis) if over_rest else axis)
                t = t.with_dtype(dtypes.promote(t, y))
        return t

    return rule


def _others(x: Any, axis: Axes) -> Axes:
    return tuple(number for number in range(len(x.shape)) if number not in axis)


@composite(
    type=_affine_type("layer_norm", over_rest=False),
    canonical=_over("layer_norm"),
    samples=(
        sample((3, 4), None, None),
        sample((2, 3, 4), (4,), (4,)),
        sample((2, 3, 4), (2, 4), None, axis=(0, 2)),
        sample((3, 4), (), (1,), eps=0.1),
    ),
)
def layer_norm(
    x: Any, scale: Any = None, shift: Any = None, /, axis: Any = -1, eps: float = 1e-5
) -> Any:
    """Elements brought to mean 0 and variance 1 along the axes, then times scale plus shift.

    What is divided by is sqrt(variance + eps). `scale` and `shift` have the sizes of the axes.

    >>> wg.layer_norm(np.array([[1.0, 3.0], [5.0, 5.0]]), eps=0.0625, shift=np.array([0.0, 10.0]))
    array([[-0.9701425, 10.9701425],
           [ 0.       , 10.       ]])
    """
    return _affine("layer_norm", op.standardize(x, axis, eps), scale, shift, axis)


@composite(
    type=_affine_type("batch_norm", over_rest=True),
    canonical=_over("batch_norm"),
    samples=(
        sample((5, 3), None, None),
        sample((5, 3), (3,), (3,)),
        sample((4, 2, 3), (2, 3), (3,)),
        sample((4, 2, 3), (3,), None, axis=(0, 1)),
    ),
)
def batch_norm(
    x: Any, scale: Any = None, shift: Any = None, /, axis: Any = 0, eps: float = 1e-5
) -> Any:
    """Each feature brought to mean 0 and variance 1 over the batch, then times scale plus shift.

    The statistics are those of this batch, over the first axis or the ones given, and every other
    axis is one of features; `scale` and `shift` have the sizes of those.
    `batch_norm_with_statistics` returns mean and variance too, to keep running averages of them.

    >>> wg.batch_norm(np.array([[1.0, 5.0], [3.0, 9.0]]), eps=0.0)
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    return _affine("batch_norm", op.standardize(x, axis, eps), scale, shift, _others(x, axis))


@function()
def batch_norm_with_statistics(
    x: Any, scale: Any = None, shift: Any = None, /, axis: Any = 0, eps: float = 1e-5
) -> tuple[Any, Any, Any]:
    """`batch_norm`, and the mean and variance of every feature that it divided out.

    The variance is that of all elements (correction 0).

    >>> y, mean, var = wg.batch_norm_with_statistics(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> mean, var
    (array([2., 5.]), array([1., 0.]))
    """
    return batch_norm(x, scale, shift, axis, eps), op.mean(x, axis), op.var(x, axis)


def _rms_type(x: Any, scale: Any, axis: Axes, eps: float) -> ArrayType:
    t: ArrayType = _affine_type("rms_norm", over_rest=False)(x, scale, None, axis, eps)
    return t


@composite(
    type=_rms_type,
    canonical=_over("rms_norm"),
    samples=(
        sample((3, 4), None),
        sample((2, 3, 4), (4,)),
        sample((2, 3, 4), (3, 4), axis=(1, 2), eps=0.1),
    ),
)
def rms_norm(x: Any, scale: Any = None, /, axis: Any = -1, eps: float = 1e-6) -> Any:
    """Elements divided by their root mean square along the axes, then times scale.

    What is divided by is sqrt(mean of squares + eps). `scale` has the sizes of the axes.

    >>> wg.rms_norm(np.array([1.0, 7.0]), eps=0.0)
    array([0.2, 1.4])
    """
    return _affine("rms_norm", op.rescale(x, axis, eps), scale, None, axis)
