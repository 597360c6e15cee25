"""ArrayType: what is known about an array before it exists."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from wengert.core.dims import Shape, Size, product

# An operand of an op: Tensor, NumPy array or scalar, or Python number. Rules compute with any of
# them alike.
Value: TypeAlias = Any


class ArrayType:
    """Shape and dtype. Prints as ``float32[batch, 4]``.

    >>> ArrayType((2, 3), np.dtype("float32"))
    float32[2, 3]
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ArrayType) and self.shape == other.shape and self.dtype == other.dtype
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Size:
        return product(self.shape)

    def with_shape(self, shape: Shape) -> ArrayType:
        return ArrayType(shape, self.dtype)

    def with_dtype(self, dtype: np.dtype[Any]) -> ArrayType:
        return ArrayType(self.shape, dtype)

    def __repr__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(repr, self.shape))}]"


class Weak(ArrayType):
    """That of a scalar which gives way to the dtypes of arrays, as a Python number does."""

    __slots__ = ()


Type: TypeAlias = ArrayType | tuple[ArrayType, ...]  # a tuple: an op with several outputs


def type_of(value: Value) -> ArrayType:
    """The ArrayType of anything with a shape and a dtype."""
    dtype = value.dtype
    return ArrayType(tuple(value.shape), dtype if dtype.isnative else dtype.newbyteorder("="))
