"""What is computed over a whole batch, where a loss only sees a micro-batch of it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from wengert.core.dims import Dim
from wengert.core.dtypes import float64
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.errors import TraceError

# A zero of the program of a micro-batch, while one is recorded.
_zero = Meanwhile[Value]()


def sharing_batches(zero: Value) -> AbstractContextManager[Value]:
    """While a loss is called with a micro-batch; `zero` is one in its program."""
    return _zero.said(zero)


def is_batch_shared() -> bool:
    """Whether a loss is being called with a micro-batch, and not with all of its batch."""
    return _zero.value is not None


def batch_sum(x: Any) -> Value:
    """The sum of x over all micro-batches, in the loss of a step that ranks share; elsewhere x
    itself. What depends on the whole batch is computed with it: a mean over its rows is
    `batch_sum(wg.sum(x, axis=0)) / wg.astype(batch_sum(x.shape[0]), x.dtype)`. It has a gradient.

    >>> wg.parallel.batch_sum(np.ones(2))
    array([1., 1.])
    """
    x = op.multiply(x, 1) if isinstance(x, Dim) else op.asarray(x)
    zero = _zero.value
    if zero is None:
        return x
    if not isinstance(zero, Tensor):
        raise TraceError(
            "parallel.batch_sum: called in a step with compiled=False, or under wg.eager(), where "
            "micro-batches run one after the other; a sum over all of them needs the compiled "
            "step. Leave compiled=False or wg.eager() out."
        )
    if not isinstance(x, Tensor):  # a constant would be summed here and now
        x = op.add(x, op.astype(zero, x.dtype))
    return op.over_micro_batches(x)


def batch_moments(x: Value, axes: tuple[int, ...]) -> tuple[Value, Value, Value]:
    """Mean and variance over axes of the whole batch, with these axes kept as ones, and x without
    its mean.
    """
    count: Any = 1.0
    for axis in axes:
        count = op.multiply(count, x.shape[axis])
    total = op.astype(batch_sum(op.astype(count, float64)), x.dtype)
    mean = batch_sum(op.sum(x, axes, keepdims=True)) / total
    apart = x - mean
    return mean, batch_sum(op.sum(op.square(apart), axes, keepdims=True)) / total, apart
