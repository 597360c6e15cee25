"""What a value is known by: text that is the same for equal values, in any process."""

from __future__ import annotations

import re
import zlib
from types import CodeType, FunctionType
from typing import Any

import numpy as np

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")


def identity_of_value(value: Any) -> str:
    """The text. Functions are known by their names, those without one by their code; objects by
    their repr, or by their fields where that says no more than where they lie.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return repr(int(value))  # 1 and 1.0 are equal in Python, too
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, dict):
        inside = (f"{identity_of_value(k)}: {identity_of_value(v)}" for k, v in value.items())
        return f"{{{', '.join(inside)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(identity_of_value, value))}]"
    if isinstance(value, np.ndarray):
        return _of_array(value)
    return _of_object(value)


def _of_array(array: np.ndarray[Any, Any]) -> str:
    if array.dtype.hasobject:  # what lies there are addresses
        return f"array({array.shape}, {identity_of_value(array.tolist())})"
    checksum = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return f"array({array.dtype}, {array.shape}, {checksum})"


def _of_object(value: Any) -> str:
    name = getattr(value, "__qualname__", None)
    if name is not None:
        text = f"{value.__module__}.{name}"
        if "<" in name and isinstance(value, FunctionType):  # <lambda>, or of a <locals>
            cells = [each.cell_contents for each in value.__closure__ or ()]
            text += f" {described(value.__code__)} {identity_of_value(cells)}"
        return text
    text = repr(value)
    if _ADDRESS.search(text) and getattr(value, "__dict__", None):
        return f"{type(value).__qualname__}({identity_of_value(vars(value))})"
    return _ADDRESS.sub("", text)


def described(code: CodeType, documentation: str | None = None) -> Any:
    """What code does, without where it stands and what is said about it."""
    constants = [
        described(each)
        if isinstance(each, CodeType)
        else sorted(map(repr, each))
        if isinstance(each, frozenset)
        else repr(each)
        for each in code.co_consts
        if documentation is None or each != documentation
    ]
    return [code.co_code.hex(), constants, code.co_names, code.co_varnames, code.co_freevars]
