"""IndexableConstant: an array in a function recorded or batched, which Tensors can index."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.values.number import Number


def indexable(x: Any) -> Any:
    """An array that traced or batched integers can index; anything else as it is."""
    return x.view(IndexableConstant) if type(x) is np.ndarray else x


class IndexableConstant(np.ndarray[Any, Any]):
    """An array like any other. What is computed from it is a plain one."""

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, Tensor) or type(part) is Number for part in parts):
            return op.getitem(self.view(np.ndarray), key)
        return super().__getitem__(key)

    def __array_wrap__(self, made: Any, _context: Any = None, return_scalar: bool = False) -> Any:
        return made[()] if return_scalar else made.view(np.ndarray)
