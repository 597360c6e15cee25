"""Refusals: what is said where a program is given what it does not know, or its machine code found
an error that NumPy does not see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from wengert.core.graph import Node
from wengert.core.lowering import Failure
from wengert.core.words.noticed.masked import has_own_arithmetic, is_masked_array


def refuse_unseen(node: Node) -> NoReturn:
    """Raise what a node of the program refused, where NumPy accepts the same arguments."""
    failure = getattr(node.op.lower, "failure", None)
    assert isinstance(failure, Failure)
    place = f" ({node.line})" if node.line else ""
    raise failure.error(f"{node.op.name}: {failure.what}. {failure.repair}.{place}")


def require_plain(names: Sequence[str], arrays: Sequence[Any], by: str = "compile") -> None:
    """Refuse masked elements, for a program knows nothing of masks and would use what they hide,
    matrices, whose `*` means another product than that of an array, and arrays with units.
    """
    for name, x in zip(names, arrays, strict=True):
        if is_masked_array(x) and x.mask.any():
            raise TypeError(
                f"{by}: argument {name!r} has masked elements; compiled programs have no masks. "
                "Pass x.filled(value), or the mask as an array of its own."
            )
        if isinstance(x, np.matrix):
            raise TypeError(
                f"{by}: argument {name!r} is an np.matrix; compiled programs have plain arrays, "
                "whose * and ** mean something else. Convert it with np.asarray."
            )
        if has_own_arithmetic(x):
            raise TypeError(
                f"{by}: argument {name!r} is an array of class {type(x).__name__}, which has "
                "arithmetic of its own, such as units; compiled programs have plain numbers, and "
                "that would be lost. Convert it to one unit first, and pass np.asarray(x)."
            )
