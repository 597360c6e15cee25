"""Draws from distributions, each a function of uniform numbers: what depends on parameters can be
differentiated by them, through quantiles that are found by implicit differentiation where there is
no formula.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.bind import located
from wengert.core.define import function
from wengert.core.dims import Shape, Size
from wengert.core.op_parts.broadcast import broadcast_shapes, canonical_axis
from wengert.core.signatures.shapes import canonical_shape
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.values.number import is_traced_number
from wengert.errors import DTypeError, ShapeError
from wengert.interpret.mistakes.rows_of_probabilities import note_rows_of_probabilities
from wengert.ops.drawing.draw_checks import (
    SUM_ERROR,
    drawable_probabilities,
    drawn_classes,
)
from wengert.ops.drawing.generator import drawn
from wengert.ops.random import keys_of_each, require_real, words_for


def _open_unit(key: Any, shape: Any, dtype: Any) -> Any:
    """Numbers between 0 and 1, neither of which occurs; small ones keep all their bits."""
    words = words_for(dtype)
    scale = 2.0 ** (-8 * words.itemsize)
    unit = op.astype(op.random_bits(key, shape, words), dtype) * scale + scale / 2
    return op.minimum(unit, 1 - float(np.finfo(dtype).epsneg))


def _full_shape(name: str, shape: Any, *parameters: Any) -> Shape:
    """The shape of a draw: that of its parameters together, unless one is given that holds them."""
    together = broadcast_shapes(name, [x.shape for x in parameters])
    if shape is None:
        return together
    wanted = canonical_shape(name, shape)
    if broadcast_shapes(name, [wanted, together]) != wanted:
        error = ShapeError(
            f"{name}: shape {wanted} was given for parameters of shape {tuple(together)}; these "
            "must broadcast to it. Put the new axes first."
        )
        raise located(error, parameters)
    return wanted


def _parameter(x: Any, dtype: Any) -> Any:
    return op.astype(op.asarray(x), dtype)


def strong_dtypes(*parameters: Any) -> list[Any]:
    """The float dtypes of those parameters that are arrays or scalars of NumPy: Python numbers give
    way to these.
    """
    return [
        dtypes.floating(op.asarray(x).dtype)
        for x in parameters
        if isinstance(x, np.generic) or not dtypes.is_weak(x)
    ]


def draw_dtype(name: str, dtype: Any, *parameters: Any) -> Any:
    """That of a draw: the one asked for, or that of its parameters, or float32 if these are Python
    numbers.
    """
    if dtype is not None:
        return require_real(name, dtype)
    return np.result_type(*(strong_dtypes(*parameters) or [dtypes.float32]))


def is_known(x: Any) -> bool:
    """Whether something is a number or an array, and not a value of a recording."""
    return isinstance(x, int | float | np.ndarray | np.generic) and not is_traced_number(x)


def require_positive(name: str, **parameters: Any) -> None:
    """Refuse what is known to be no positive number: of a recording's values nothing is known."""
    for parameter, x in parameters.items():
        if not is_known(x):
            continue
        given = np.asarray(x)
        wrong = ~((given > 0) & (given < math.inf))
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            where = f" at position {place}" if place else ""
            raise ValueError(
                f"{name}: {parameter}={given[wrong][0]} was given{where}; it must be a positive "
                "number. Choose one."
            )


@function(space="random", entry="split_key")
@drawn
def split(key: Any, count: int = 2) -> Any:
    """Unrelated keys, as the rows of an array.

    >>> first, second = wg.random.split(wg.random.key(0))
    >>> wg.random.split(wg.random.key(0), 3).shape
    (3, 2)
    """
    if not hasattr(count, "__index__") or count < 1:
        raise ValueError(
            f"split: count={count!r} was given; it is a positive integer. Pass how many keys you "
            "need."
        )
    return keys_of_each("split", key, operator.index(count))


@function(space="random")
@drawn
def exponential(key: Any, shape: Any = (), dtype: Any = np.float32) -> Any:
    """Numbers drawn from the exponential distribution of mean 1; never 0.

    >>> bool((wg.random.exponential(wg.random.key(0), (100,)) > 0).all())
    True
    """
    return -op.log(_open_unit(key, shape, require_real("exponential", dtype)))


@function(space="random")
@drawn
def gumbel(key: Any, shape: Any = (), dtype: Any = np.float32) -> Any:
    """Numbers drawn from the Gumbel distribution: the largest of many exponential ones, centred.

    >>> wg.random.gumbel(wg.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return -op.log(-op.log(_open_unit(key, shape, require_real("gumbel", dtype))))


@function(space="random")
@drawn
def categorical(key: Any, logits: Any, shape: Any = None, axis: int = -1) -> Any:
    """Indices along the axis, each drawn with the probability that softmax gives to its logit.

    The shape is that of the logits without the axis, or one that it broadcasts to.

    >>> wg.random.categorical(wg.random.key(0), np.array([[0.0, -np.inf], [-np.inf, 0.0]]))
    array([0, 1])
    """
    logits = op.asarray(logits)
    if not logits.shape:
        error = ShapeError(
            "categorical: given one number; an axis of logits is needed. Pass an array."
        )
        raise located(error, [logits])
    if logits.dtype.kind != "f":
        logits = op.astype(logits, dtypes.float32)
    if type(logits) is not Tensor and np.isnan(logits).any():
        raise ValueError(
            "categorical: logits hold NaN; each must be a number or -inf. Check where they come "
            "from, as with np.isnan(logits)."
        )
    logits = op.moveaxis(logits, canonical_axis("categorical", axis, logits.ndim), -1)
    note_rows_of_probabilities("categorical", logits)
    full = _full_shape("categorical", shape, logits[..., 0])
    return drawn_classes(logits, gumbel(key, (*full, logits.shape[-1]), logits.dtype))


@function(space="random")
@drawn
def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Logarithms of numbers drawn from the gamma distribution of shape a: finite where these
    underflow, as they do for small a.

    >>> bool(np.isfinite(wg.random.loggamma(wg.random.key(0), 1e-3, (9,))).all())
    True
    """
    require_positive("loggamma", a=a)
    wanted = draw_dtype("loggamma", dtype, a)
    a = _parameter(a, dtypes.float64)
    full = _full_shape("loggamma", shape, a)
    # In float64 for every dtype: the tails are as long as a quantile of 53 bits makes them.
    quantile = _open_unit(key, full, dtypes.float64)
    return op.astype(op.log_gammaincinv(op.broadcast_to(a, full), quantile), wanted)


@function(space="random")
@drawn
def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Numbers drawn from the gamma distribution of shape a and scale 1; the shape is that of a by
    default. They can be differentiated by a.

    >>> x = wg.random.gamma(wg.random.key(0), np.array([0.5, 2.0, 9.0]), (1000, 3))
    >>> np.abs(x.mean(axis=0) - [0.5, 2.0, 9.0]) < 0.3
    array([ True,  True,  True])
    """
    require_positive("gamma", a=a)
    return op.exp(loggamma(key, a, shape, dtype))


@function(space="random")
@drawn
def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Numbers between 0 and 1 drawn from the beta distribution. They can be differentiated by a and
    b.

    >>> x = wg.random.beta(wg.random.key(0), 2.0, 6.0, (1000,))
    >>> bool(abs(x.mean() - 0.25) < 0.03)
    True
    """
    require_positive("beta", a=a)
    require_positive("beta", b=b)
    wanted = draw_dtype("beta", dtype, a, b)
    a, b = _parameter(a, dtypes.float64), _parameter(b, dtypes.float64)
    full = _full_shape("beta", shape, a, b)
    first, second = (
        loggamma(op.fold_in(key, i), x, full, dtypes.float64) for i, x in enumerate((a, b))
    )
    return op.astype(op.sigmoid(first - second), wanted)


@function(space="random")
@drawn
def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Rows of positive numbers that add up to 1, from the Dirichlet distribution: the last axis of
    alpha is that of the rows, and `shape` the shape of all others. They can be differentiated.

    >>> wg.random.dirichlet(wg.random.key(0), np.ones(3), (2,)).sum(axis=1)
    array([1., 1.])
    """
    wanted = draw_dtype("dirichlet", dtype, alpha)
    alpha = _parameter(alpha, dtypes.float64)
    if not alpha.shape:
        error = ShapeError("dirichlet: given one number as alpha; a vector is needed. Pass one.")
        raise located(error, [alpha])
    full = (*_full_shape("dirichlet", shape, alpha[..., 0]), alpha.shape[-1])
    logarithms = loggamma(key, alpha, full, dtypes.float64)
    return op.astype(op.softmax(logarithms, axis=-1), wanted)


@function(space="random")
@drawn
def poisson(key: Any, rate: Any, shape: Any = None, dtype: Any = np.int64) -> Any:
    """Whole numbers drawn from the Poisson distribution of this mean, up to 1e15. They are steps of
    the rate, and have no derivative by it.

    >>> x = wg.random.poisson(wg.random.key(0), 4.0, (1000,))
    >>> x.dtype, bool(abs(x.mean() - 4) < 0.3)
    (dtype('int64'), True)
    """
    if is_known(rate) and not np.all((np.asarray(rate) >= 0) & (np.asarray(rate) < 1e15)):
        raise ValueError(
            f"poisson: rate={rate} was given; it must lie between 0 and 1e15. Choose another."
        )
    wanted = dtypes.canonical("poisson", dtype)
    rate = _parameter(rate, dtypes.float64)
    full = _full_shape("poisson", shape, rate)
    quantile = _open_unit(key, full, dtypes.float64)
    return op.astype(op.poisson_quantile(op.broadcast_to(rate, full), quantile), wanted)


@function(space="random")
@drawn
def truncated_normal(key: Any, low: Any, high: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Numbers of the standard normal distribution between low and high. They can be differentiated
    by both. Bounds that a recorded function computes give NaN where low is not less than high.

    >>> x = wg.random.truncated_normal(wg.random.key(0), 3.0, 4.0, (1000,))
    >>> bool(((x >= 3) & (x <= 4)).all())
    True
    """
    if is_known(low) and is_known(high) and not np.all(np.less(low, high)):
        raise ValueError(
            f"truncated_normal: low={low} and high={high} were given; low must be less than high. "
            "Exchange or change them."
        )
    wanted = draw_dtype("truncated_normal", dtype, low, high)
    low, high = _parameter(low, dtypes.float64), _parameter(high, dtypes.float64)
    full = _full_shape("truncated_normal", shape, low, high)
    share = _open_unit(key, full, dtypes.float64)
    # In the left tail probabilities keep their digits: the right one is reflected.
    right = op.greater(low, 0)
    first, last = op.where(right, -high, low), op.where(right, -low, high)
    below, above = op.ndtr(first), op.ndtr(last)
    inside = op.clip(op.ndtri(below + share * (above - below)), first, last)
    x = op.where(right, -inside, inside)
    if not isinstance(x, Tensor):
        return op.astype(x, wanted)
    return op.astype(op.where(op.less(low, high), x, math.nan), wanted)


@function(space="random")
@drawn
def choice(key: Any, options: Any, shape: Any = (), replace: bool = True, p: Any = None) -> Any:
    """Rows of an array, or integers below a number, drawn evenly or with the probabilities p.

    Without `replace` no one is drawn twice.

    >>> sorted(wg.random.choice(wg.random.key(0), 4, (4,), replace=False).tolist())
    [0, 1, 2, 3]
    """
    wanted = canonical_shape("choice", shape)
    rows = None if isinstance(options, int) else op.asarray(options)
    if rows is not None and not rows.shape:
        error = DTypeError(
            "choice: given one number that is no Python integer; options are an array or an "
            "integer. Pass one of these."
        )
        raise located(error, [rows])
    count: Size = options if rows is None else rows.shape[0]
    if is_known(count) and count < 1:
        raise ValueError(
            f"choice: {count} options were given; there must be one at least. Pass some."
        )
    places = _places(key, count, wanted, replace, p)
    return places if rows is None else op.take(rows, places, axis=0)


def _first_of(order: Any, wanted: Shape, count: Size) -> Any:
    """The first of an order of all options, in a shape: there must be so many."""
    size = math.prod(int(each) for each in wanted)
    if size > int(count):
        raise ValueError(
            f"choice: shape {wanted} was given for {count} options and replace=False; there must "
            "be enough of them. Draw fewer, or with replace=True."
        )
    return op.reshape(order[:size], wanted)


def _require_probabilities(p: Any, apart: int | None) -> None:
    """Refuse what are no probabilities, as NumPy does; and too few of them that are not 0, where so
    many options are drawn apart.
    """
    wrong = p[~(p >= 0)]  # NaN, too
    if wrong.size:
        raise ValueError(
            f"choice: p holds {wrong[0]}; probabilities are 0 or more. Check where they come from."
        )
    total = float(np.sum(p, dtype=np.float64))
    if not abs(total - 1) <= SUM_ERROR:
        raise ValueError(
            f"choice: the sum of p is {total:.9g}; probabilities have the sum 1. Pass "
            "p / np.sum(p)."
        )
    possible = np.count_nonzero(p)
    if apart is not None and possible < apart:
        raise ValueError(
            f"choice: {apart} were to be drawn without replacement, and p has {possible} "
            "probabilities that are not 0; there must be enough of them. Draw fewer, or with "
            "replace=True."
        )


def _places(key: Any, count: Size, wanted: Shape, replace: bool, p: Any) -> Any:
    if p is None:
        if replace:
            return op.randint(key, wanted, 0, count)
        return _first_of(op.permutation(key, count), wanted, count)
    p = op.asarray(p)
    if tuple(p.shape) != (count,):
        error = ShapeError(
            f"choice: given p of shape {tuple(p.shape)} for {count} options; one probability for "
            "each is needed. Pass a vector of them."
        )
        raise located(error, [p])
    if isinstance(p, np.ndarray):
        _require_probabilities(p, None if replace else math.prod(map(int, wanted)))
    else:
        p = drawable_probabilities(p)
    with np.errstate(divide="ignore"):  # of what is never drawn
        logits = op.log(op.astype(p, dtypes.float64))
    if replace:
        return op.argmax(logits + gumbel(key, (*wanted, count), dtypes.float64), axis=-1)
    noisy = logits + gumbel(key, (count,), dtypes.float64)
    return _first_of(op.argsort(-noisy), wanted, count)
