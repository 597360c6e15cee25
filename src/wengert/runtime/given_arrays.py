"""The arrays that an executable is given: checked, and in the form that programs read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.core import tree
from wengert.core.dims import Dim
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType
from wengert.errors import DTypeError, ShapeError, TraceError
from wengert.runtime.signature import Signature, bound_sizes

Array: TypeAlias = np.ndarray[Any, Any]


def arrays_of(args: Sequence[Any], signature: Signature, types: Sequence[ArrayType]) -> list[Any]:
    """The distinct arrays among the arguments, checked to be of the types it was compiled for."""
    leaves, structure = tree.flatten(signature.with_static(args))
    for x in leaves:
        if isinstance(x, Tensor):
            state, can = ("", "traced") if x.level.symbolic else ("being ", "differentiated")
            raise TraceError(
                f"executable: given a Tensor that is {state}{can}; an executable takes arrays. "
                f"Call the compiled function, which can be {can}."
            )
    if structure != signature.structure:
        raise ShapeError(
            f"compile: given arguments {structure}; this executable was made for "
            f"{signature.structure}. Call the compiled function, which makes one for each."
        )
    arrays: list[Any] = [None] * len(signature.names)
    for x, place in zip(leaves, signature.places, strict=True):
        arrays[place] = x
    for name, x, wanted in zip(signature.names, arrays, types, strict=True):
        _require_type(name, x, wanted)
    return arrays


def _require_type(name: str, x: Any, wanted: ArrayType) -> None:
    if x.dtype.newbyteorder("=") != wanted.dtype:
        raise DTypeError(
            f"compile: argument {name!r} has dtype {x.dtype}; this executable was made for "
            f"{wanted.dtype}. Convert it with astype."
        )
    fits = len(x.shape) == wanted.ndim and all(
        isinstance(n, Dim) or n == given for n, given in zip(wanted.shape, x.shape, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"compile: argument {name!r} has shape {tuple(x.shape)}; this executable was made "
            f"for {wanted.shape}. Call the compiled function, which makes one for each."
        )


def sizes_of(types: Sequence[ArrayType], arrays: Sequence[Any]) -> dict[str, int]:
    """The sizes of the Dims in arrays of these types."""
    shapes = [x.shape for x in arrays]
    sizes = bound_sizes(types, shapes)
    if sizes is None:
        raise ShapeError(
            f"compile: arguments have shapes {', '.join(map(str, shapes))}; this executable "
            f"was made for {', '.join(str(t.shape) for t in types)}, where one Dim "
            "has one size. Use arrays that agree, or two Dims."
        )
    return sizes


def is_readable(x: Array) -> bool:
    """Whether programs can read an array as it is: in C order, aligned, native."""
    flags = x.flags
    return flags.c_contiguous and flags.aligned and x.dtype.isnative


def readable(x: Array) -> Array:
    """The array, or a copy where programs cannot read it as it is."""
    if is_readable(x):
        return x
    return np.require(x, x.dtype.newbyteorder("="), requirements=["C", "A"])
