"""Tensors inside `np.r_` and `np.c_`, which make an array of every item before they join them.

NumPy is given an array of the same shape and dtype that carries the Tensor along: views of it and
its conversions carry it, too, and when NumPy joins them, Tensors are joined.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from wengert.core.table import FUNCTIONS, op

_JOINING = type(np.r_).__getitem__.__code__  # that of np.c_, too


class Carrier(np.ndarray[Any, Any]):
    """An array without numbers of its own, in the place of a Tensor."""

    carried: Any

    def __array_finalize__(self, source: Any) -> None:
        self.carried = getattr(source, "carried", None)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: Iterable[Any],
        kwargs: Mapping[str, Any],
    ) -> Any:
        assert function is np.concatenate, function
        items, *rest = args
        return FUNCTIONS[np.concatenate]([_unpacked(x) for x in items], *rest, **kwargs)


def _unpacked(x: Any) -> Any:
    """The Tensor that an array carries, with the axes and the dtype that the array was given."""
    if not isinstance(x, Carrier):
        return x
    return op.astype(op.reshape(x.carried, x.shape), x.dtype)


def carrier_for_join(x: Any) -> Carrier | None:
    """What NumPy may hold in the place of x, where `np.r_` or `np.c_` asks for it itself.

    Nothing where x is in a list, of which NumPy copies the numbers, or has sizes that are not
    known.
    """
    frame = sys._getframe(2)  # NumPy's, which asks x for an array
    if frame.f_code is not _JOINING:
        return None
    shape, dtype, is_item = x.shape, x.dtype, frame.f_locals.get("item") is x
    if not is_item or not all(isinstance(size, int) for size in shape):
        return None
    carrier = np.broadcast_to(np.zeros((), dtype), shape).view(Carrier)
    carrier.carried = x
    return carrier
