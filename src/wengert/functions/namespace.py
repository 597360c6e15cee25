"""What the array API standard asks of a namespace beside functions of arrays: dtypes, constants,
questions about them, and arrays of other libraries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.signatures.standard import require_cpu
from wengert.core.tensor import Tensor
from wengert.core.words.arguments import worded
from wengert.errors import DTypeError, TraceError

DTYPES: Mapping[str, Any] = {
    "bool": np.bool_,
    **{name: getattr(np, name) for name in ("int8", "int16", "int32", "int64")},
    **{name: getattr(np, name) for name in ("uint8", "uint16", "uint32", "uint64")},
    **{name: getattr(np, name) for name in ("float32", "float64")},
}
CONSTANTS: Mapping[str, Any] = {
    "e": math.e,
    "inf": math.inf,
    "nan": math.nan,
    "newaxis": None,
    "pi": math.pi,
}
_KINDS: Mapping[str, str] = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "",
    "numeric": "iuf",
}
_DEFAULTS = {"real floating": np.float64, "integral": np.int64, "indexing": np.int64}


def _dtype(name: str, x: Any) -> np.dtype[Any]:
    """The dtype of an array, a Tensor or a dtype itself."""
    return dtypes.canonical(name, getattr(x, "dtype", x) if not isinstance(x, type) else x)


@dataclass(frozen=True)
class FloatLimits:
    """The limits of a float dtype, as Python numbers."""

    bits: int
    eps: float  # from 1 to the next larger number
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]


@worded
def finfo(type: Any, /) -> FloatLimits:
    """The limits of a float dtype, or of that of an array: bits, eps, max, min, smallest_normal.

    >>> wg.finfo(wg.float32).eps
    1.1920928955078125e-07
    """
    dtype = _dtype("finfo", type)
    if dtype.kind != "f":
        raise DTypeError(f"finfo: given {dtype}; a dtype of floats is needed. Use wg.iinfo.")
    limits = np.finfo(dtype)
    return FloatLimits(
        bits=limits.bits,
        eps=float(limits.eps),
        max=float(limits.max),
        min=float(limits.min),
        smallest_normal=float(limits.smallest_normal),
        dtype=dtype,
    )


@worded
def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype, or of that of an array: bits, max, min.

    >>> wg.iinfo(np.int8).max
    127
    """
    dtype = _dtype("iinfo", type)
    if dtype.kind not in "iu":
        raise DTypeError(f"iinfo: given {dtype}; a dtype of integers is needed. Use wg.finfo.")
    return np.iinfo(dtype)


@worded
def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is another one, of a kind ("integral", "real floating", …), or one of a tuple
    of these.

    >>> wg.isdtype(wg.int8, ("bool", "integral"))
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(
                f"isdtype: kind {kind!r} was given; it is a dtype, a tuple of these, or one of "
                f"{', '.join(map(repr, _KINDS))}. Use one."
            )
        return np.dtype(dtype).kind in tuple(_KINDS[kind])
    return bool(np.dtype(dtype) == np.dtype(kind))


@worded
def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype in which these arrays, dtypes and numbers meet.

    >>> wg.result_type(np.float32, np.int8), wg.result_type(np.float32, np.float64)
    (dtype('float32'), dtype('float64'))
    """
    return np.result_type(*(x.dtype if isinstance(x, Tensor) else x for x in arrays_and_dtypes))


@worded
def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether every number of a dtype, or of the dtype of an array, is one of another dtype.

    >>> wg.can_cast(np.int8, np.float32), wg.can_cast(np.float64, np.float32)
    (True, False)
    """
    return np.can_cast(_dtype("can_cast", from_), dtypes.canonical("can_cast", to))


@worded
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """The array of another library as one of NumPy's, without a copy where the protocol allows it;
    ``copy=True`` makes one.

    >>> wg.from_dlpack(np.arange(3.0))
    array([0., 1., 2.])
    """
    require_cpu("from_dlpack", device)
    if isinstance(x, Tensor):
        raise TraceError(
            "from_dlpack: given a Tensor, which is ours already; an array of another library is "
            "needed. Leave it out."
        )
    if not hasattr(x, "__dlpack__"):
        raise TypeError(
            f"from_dlpack: given {type(x).__name__}; an array that has __dlpack__ is needed. Use "
            "np.asarray."
        )
    return np.from_dlpack(x, copy=copy)


class NamespaceInfo:
    """What there is: devices, dtypes and capabilities, by the names of the standard."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        return "cpu"

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        require_cpu("default_dtypes", device)
        return {name: np.dtype(kind) for name, kind in _DEFAULTS.items()}

    def devices(self) -> list[str]:
        return ["cpu"]

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        require_cpu("dtypes", device)
        return {
            name: np.dtype(dtype)
            for name, dtype in DTYPES.items()
            if kind is None or isdtype(dtype, kind)
        }


@worded
def __array_namespace_info__() -> NamespaceInfo:
    """What there is: devices, dtypes and capabilities."""
    return NamespaceInfo()
