"""Lengths of gradients, and gradients made shorter: all their formulas, for every caller that
clips.

No square overflows or underflows on the way, and what is not finite is never clipped into silence.
There are three kinds, because what may be assumed differs. *In a step* (`length`, `joint_length`,
`shortened`, `within`) a float64 norm beyond the largest float is refused by the step itself. *Of a
tree of any arrays* (`scaled_length`, `shortened_by_scaled`) it must not matter. *Of one vector, in
place* (`exact_length`, `bring_to_length`) nothing may be allocated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.core.dtypes import float32, float64
from wengert.core.table import op
from wengert.core.types import Value

Array: TypeAlias = np.ndarray[Any, Any]
SMALL = 2.0**-100  # every dtype holds this factor, and what a smaller one is beside it
HIGH = 2.0**512  # above, and with many elements, the norm may be beyond the largest float
LEAST = 2.0**-900  # a sum of squares beside which those that underflow do not count
RANGE = 1000  # exponents of powers of two that have an inverse
TINY = 2.0**-900  # factors below lose digits, or are zero


# In a step.


def length(x: Value) -> Value:
    """The Euclidean length of all elements of an array as one vector, in float64."""
    if x.dtype != float32:
        return op.vector_norm(x)
    wide = op.astype(x, float64)  # in which the square of any float32 fits: one sweep is enough
    return op.sqrt(op.sum(wide * wide))


def joint_length(arrays: Sequence[Value]) -> Value:
    """The length of several arrays as one vector, in float64."""
    lengths = [length(x) for x in arrays]
    return lengths[0] if len(lengths) == 1 else op.vector_norm(op.stack(lengths))


def shortened(g: Value, norm: Value, limit: Value) -> Value:
    """Gradients, or a part of them, scaled by limit / norm where their norm is larger than the
    limit. A norm that is not finite changes nothing: it must be seen, not clipped away.
    """
    longer = op.logical_and(op.greater(norm, limit), op.isfinite(norm))
    factor = op.where(longer, limit / op.where(longer, norm, 1.0), 1.0)
    # A factor too small for the gradients' dtype is two factors.
    first = op.maximum(factor, SMALL)
    second = factor / first
    return g * op.astype(first, g.dtype) * op.astype(second, g.dtype)


def within(g: Value, limit: Value) -> Value:
    """Each element, no further from 0 than the limit."""
    return op.minimum(op.maximum(g, -limit), limit)


# Of a tree of any arrays.


def scaled_length(leaves: Sequence[Value]) -> tuple[Value, Value]:
    """The length of the leaves in float64 times a power of two, and that power: below 1 for
    elements so large that the length itself might overflow.
    """
    leaves = [x for x in leaves if 0 not in x.shape]
    wide = [x for x in leaves if x.dtype == float64]  # others are far from the ends of float64
    down: Any = np.ones(())
    if wide:
        largest = op.max(op.stack([op.max(op.abs(x)) for x in wide]))
        down = op.where(op.greater(largest, HIGH), 1 / HIGH, 1.0)
    lengths = [length(x * down) if x.dtype == float64 else length(x) * down for x in leaves]
    return (op.vector_norm(op.stack(lengths)) if lengths else np.zeros(())), down


def unscaled(norm: Value, down: Value) -> Value:
    """The length itself."""
    with np.errstate(over="ignore"):  # finite elements may have a norm beyond the largest float
        return op.divide(norm, down)


def shortened_by_scaled(x: Value, limit: Any, norm: Value, down: Value) -> Value:
    """One leaf, scaled by limit / norm if the norm, given as `scaled_length` gives it, is finite
    and larger than the limit.
    """
    most = op.astype(op.asarray(limit), float64)
    clips = op.logical_and(op.greater(norm, most * down), op.less(norm, np.inf))
    ratio = most / op.where(clips, norm, 1)
    return op.where(clips, op.astype(op.astype(x, float64) * down * ratio, x.dtype), x)


def within_if_finite(x: Value, limit: Any) -> Value:
    """Each finite element, no further from 0 than the limit; the others as they are."""
    bound = op.astype(op.asarray(limit), x.dtype)
    return op.where(op.isfinite(x), op.clip(x, -bound, bound), x)


# Of one vector, in place.


def sum_of_squares(x: Value, factor: Value) -> Value:
    """Of the elements times a factor, in float64."""
    return op.sum(op.square(op.astype(x, np.float64) * factor))


def exact_length(x: Array, squares: Callable[[Array, Array], Any]) -> tuple[float, int]:
    """(m, e): the length is m · 2^e. Where elements are not finite, neither is m. `squares` is
    `sum_of_squares`, compiled.
    """
    total = float(squares(x, _ONE))
    if LEAST <= total < math.inf:
        return math.sqrt(total), 0
    ends = float(x.min(initial=0)), float(x.max(initial=0))
    if not all(map(math.isfinite, ends)):
        return (math.nan if any(map(math.isnan, ends)) else math.inf), 0
    exponent = max(-RANGE, min(RANGE, math.frexp(max(-ends[0], ends[1]))[1]))
    return math.sqrt(float(squares(x, np.array(2.0**-exponent)))), exponent


def as_number(m: float, e: int) -> float:
    """m · 2^e, infinite where that is more than the largest float."""
    try:
        return math.ldexp(m, e)
    except OverflowError:
        return math.inf


def bring_to_length(x: Array, length: tuple[float, int], wanted: float) -> None:
    """Scale a vector of this length in place, so that it has the wanted one."""
    m, e = length
    factor = math.ldexp(wanted / m, -e) if e >= 0 else wanted / math.ldexp(m, e)
    for each in (factor,) if factor >= TINY else (math.ldexp(1.0, -e), 1 / m, wanted):
        np.multiply(x, np.float64(each), out=x, casting="same_kind")  # in float64, rounded once


_ONE = np.ones(())
