"""Arrays that a backward pass reads: as they were when they were used, whatever is written into
them in between.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.errors import ChangedArray

Array: TypeAlias = np.ndarray[Any, Any]

MOST_COPIED = 1 << 20  # bytes; of a larger array some elements are remembered, and compared
_PER_AXIS = 16  # of these elements, along each axis


class Witness(NamedTuple):
    """A large array that was used, and what some of its elements were then."""

    array: Array
    elements: Array
    user: str

    def require_unchanged(self) -> None:
        if some_elements(self.array).tobytes() != self.elements.tobytes():
            raise ChangedArray(
                f"{self.user}: an array of shape {self.array.shape} was written into after it was "
                "used; gradients need what was in it then. Use a copy of it, or write into another."
            )


def is_kept(x: Array) -> bool:
    """Whether nobody can write into the array."""
    return not x.flags.writeable and x.base is None


def kept(x: Array) -> Array:
    """A copy that nobody can write into."""
    copy = np.array(x)
    copy.flags.writeable = False
    return copy


def some_elements(x: Array) -> Array:
    """Elements from all over an array, as a copy."""
    steps = tuple(slice(None, None, max(1, size // _PER_AXIS)) for size in x.shape)
    return np.array(x[steps])


def recorded_constant(x: Array, values: list[Value]) -> Array | None:
    """The constant that an array, an operand beside these values, has become in the program that is
    being recorded.
    """
    for value in values:
        while type(value) is Tensor:
            if value.level.symbolic:
                constant: Array | None = value.level.constant_of(x)
                if constant is not None:
                    return constant
            value = value._value
    return None
