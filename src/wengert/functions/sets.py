"""The different numbers of an array. How many there are is known only from its values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.core.define import function
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.errors import TraceError


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Any  # ascending
    indices: Any  # where each comes first in the flattened array
    inverse_indices: Any  # which of the values each element is
    counts: Any  # how often each comes


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Any
    inverse_indices: Any


@function(array_function=(np.unique_all,))
def unique_all(x: Any, /) -> UniqueAll:
    """The different numbers, ascending, where each comes first, which of them each element is, and
    how often each comes. Gradients flow to the first ones; not for traced values.

    >>> wg.unique_all(np.array([2, 1, 2])).counts
    array([1, 2])
    """
    unique = np.unique_all(_values_of("unique_all", x))
    values = (
        op.take(op.reshape(x, (-1,)), unique.indices) if isinstance(x, Tensor) else unique.values
    )
    return UniqueAll(values, unique.indices, unique.inverse_indices, unique.counts)


@function(array_function=(np.unique_counts,))
def unique_counts(x: Any, /) -> UniqueCounts:
    """The different numbers, ascending, and how often each comes; not for traced values.

    >>> wg.unique_counts(np.array([3, 1, 3]))
    UniqueCounts(values=array([1, 3]), counts=array([1, 2]))
    """
    unique = op.unique_all(x)
    return UniqueCounts(unique.values, unique.counts)


@function(array_function=(np.unique_inverse,))
def unique_inverse(x: Any, /) -> UniqueInverse:
    """The different numbers, ascending, and which of them each element is; not for traced values.

    >>> values, inverse = wg.unique_inverse(np.array([[5, 3], [3, 3]]))
    >>> values[inverse]
    array([[5, 3],
           [3, 3]])
    """
    unique = op.unique_all(x)
    return UniqueInverse(unique.values, unique.inverse_indices)


@function(array_function=(np.unique_values,))
def unique_values(x: Any, /) -> Any:
    """The different numbers, ascending; not for traced values.

    >>> wg.unique_values(np.array([3, 1, 3]))
    array([1, 3])
    """
    return op.unique_all(x).values


def _values_of(name: str, x: Any) -> Any:
    while isinstance(x, Tensor):
        if x.level.symbolic or x.level.batched:
            raise TraceError(
                f"{name}: given a Tensor that is traced or batched; how many numbers differ is "
                "known only when the program runs, for each example. Call it outside, or use "
                "wg.sort."
            )
        x = x._value
    return np.asarray(x)
