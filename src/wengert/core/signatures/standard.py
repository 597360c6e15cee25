"""Keywords of the array API standard that say nothing about the numbers: dtype, copy and device."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.table import op

API_VERSIONS = ("2022.12", "2023.12", "2024.12")


def require_cpu(name: str, device: Any) -> None:
    """Refuse a device other than the one there is."""
    if device is not None and device != "cpu":
        raise ValueError(
            f"{name}: device {device!r} was given; arrays are NumPy's, and the only device is "
            "'cpu'. Leave it out."
        )


def with_keywords(signature: inspect.Signature, keywords: Sequence[str]) -> inspect.Signature:
    """The signature of an op with those of the keywords that it takes beside its own."""
    kind = inspect.Parameter.KEYWORD_ONLY
    more = [inspect.Parameter(name, kind, default=None, annotation="Any") for name in keywords]
    return signature.replace(parameters=[*signature.parameters.values(), *more])


def call_with_keywords(
    call: Callable[..., Any],
    name: str,
    operands: Sequence[str],  # the name of the first one, if it has one
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> Any:
    """Call an op by a function that knows its own arguments only. `dtype` converts what is given
    and what comes out; `copy` says whether the result may, or must, be the memory that was given.
    """
    require_cpu(name, kwargs.pop("device", None))
    dtype, copy = kwargs.pop("dtype", None), kwargs.pop("copy", None)
    if not args and operands and operands[0] in kwargs:
        args = (kwargs.pop(operands[0]),)
    given = args[0] if args else None
    if dtype is not None and args:
        args = (op.astype(op.asarray(given), dtype), *args[1:])
    result = call(*args, **kwargs)
    if dtype is not None:
        result = op.astype(result, dtype)
    return result if copy is None else _copied(name, given, result, copy)


def _copied(name: str, given: Any, result: Any, copy: bool) -> Any:
    if not isinstance(result, np.ndarray) or not isinstance(given, np.ndarray):
        return result  # a Tensor: nobody can write to it, so nobody can tell
    same = given.dtype == result.dtype and given.shape == result.shape
    if not copy and (same or np.may_share_memory(given, result)):
        return given if same else result
    if not copy and name != "astype":  # which copies where it must
        raise ValueError(
            f"{name}: copy=False was given; this array cannot be shown so without a copy. Leave "
            "copy out."
        )
    return result.copy() if copy and np.may_share_memory(given, result) else result
