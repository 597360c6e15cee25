"""NumPy's statistics, under its names and with its defaults."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.bind import located
from wengert.core.dims import Dim
from wengert.core.table import op
from wengert.errors import DTypeError, ShapeError
from wengert.functions.statistics import averageable


def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return op.max(x, axis, keepdims) - op.min(x, axis, keepdims)


def var(
    x: Any, axis: Any = None, correction: float = 0, keepdims: bool = False, dtype: Any = None
) -> Any:
    return op.var(_as_spread("var", x, dtype), axis, correction, keepdims)


def std(
    x: Any, axis: Any = None, correction: float = 0, keepdims: bool = False, dtype: Any = None
) -> Any:
    return op.std(_as_spread("std", x, dtype), axis, correction, keepdims)


def _as_spread(name: str, x: Any, dtype: Any) -> Any:
    if dtype is None:
        return x
    if np.dtype(dtype).kind != "f":
        error = DTypeError(
            f"np.{name}: dtype {np.dtype(dtype)} was given; a spread is a float. Convert the "
            "result with astype."
        )
        raise located(error, [x])
    return op.astype(x, dtype)


def average(x: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Any:
    if weights is None:
        return op.mean(x, axis, keepdims)
    weights = _spread_weights(x, axis, op.asarray(weights))
    dtype = np.result_type(averageable(x).dtype, weights.dtype)
    x, weights = op.astype(x, dtype), op.broadcast_to(op.astype(weights, dtype), x.shape)
    return op.sum(x * weights, axis, keepdims) / op.sum(weights, axis, keepdims)


def _spread_weights(x: Any, axis: Any, weights: Any) -> Any:
    """Weights of the shape of x, or of the axes that are averaged, to broadcast against x."""
    if tuple(weights.shape) == tuple(x.shape):
        return weights
    axes = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    known = () if axis is None else tuple(a % x.ndim for a in axes if -x.ndim <= a < x.ndim)
    if not known or tuple(weights.shape) != tuple(x.shape[each] for each in known):
        error = ShapeError(
            f"np.average: given shape {tuple(x.shape)}, axis {axis} and weights of shape "
            f"{tuple(weights.shape)}; weights have the shape of the array, or of the axes that are "
            "averaged. Name the axis, or broadcast them first."
        )
        raise located(error, [x, weights])
    sorted_weights = op.permute_dims(weights, tuple(int(i) for i in np.argsort(known)))
    shape = tuple(size if each in known else 1 for each, size in enumerate(x.shape))
    return op.reshape(sorted_weights, shape)


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    dtype: Any = None,
) -> Any:
    parts = [op.asarray(each) for each in (m, y) if each is not None]
    for x in parts:
        if x.ndim > 2:
            error = ShapeError(
                f"np.cov: given shape {tuple(x.shape)}; at most two axes are needed, of variables "
                "and of observations. Reshape it first."
            )
            raise located(error, parts)
    kind = np.result_type(*(x.dtype for x in parts), np.float64) if dtype is None else dtype
    rows = [_variables(op.astype(x, kind), rowvar, second=i > 0) for i, x in enumerate(parts)]
    x = rows[0] if len(rows) == 1 else op.concat(rows, axis=0)
    x = x - op.mean(x, 1, True)
    freedom = x.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    if isinstance(freedom, Dim):
        freedom = op.astype(op.maximum(freedom, 0), x.dtype)
    else:
        freedom = max(freedom, 0)
    return op.squeeze(op.divide(x @ x.mT, freedom))


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    spread = cov(x, y, rowvar, dtype=dtype)
    if not spread.ndim:
        return spread / spread
    root = op.sqrt(op.diagonal(spread))
    return op.clip(spread / root[:, None] / root[None, :], -1, 1)


def _variables(x: Any, rowvar: bool, second: bool) -> Any:
    """One row per variable. A single row is the observations of one, of the first array if 1-d."""
    rows = op.reshape(x, (1,) * (2 - x.ndim) + tuple(x.shape))
    stays = rows.shape[0] == 1 if second else x.ndim == 1
    return rows if rowvar or stays else rows.mT


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    y = op.moveaxis(y, axis, -1)
    widths = dx if x is None else op.diff(x if np.ndim(x) == 1 else op.moveaxis(x, axis, -1))
    return op.sum((y[..., 1:] + y[..., :-1]) * widths / 2, -1)


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    ends = [end if end is None else op.asarray(end) for end in (prepend, append)]
    return op.diff(x, n, axis, *ends)  # not weak, even if they are Python's numbers
