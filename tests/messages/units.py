"""An array that knows its unit, which is refused wherever it is given."""

from __future__ import annotations

from typing import Any

import numpy as np


class Length(np.ndarray):
    """Computes in its own way."""

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("refused before")


lengths = np.ones(3).view(Length)
