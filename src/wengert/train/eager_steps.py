"""A step op by op, in NumPy: `print` and a debugger see its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.api.compiling.eager import eager
from wengert.core import tree
from wengert.core.dtypes import is_float


def run_eagerly(
    function: Callable[..., Any],
    own: Any,  # with `live` and `early` among it
    batch: Sequence[Any],
    always: bool,
    commit: Callable[[Callable[[], None]], None],
) -> Any:
    """Call a step's function in NumPy and write what it returns to the live arrays: the early ones
    in any case, the others if everything is finite, or `always`. `commit` is given a function that
    does the writing, and that may be called again if it is interrupted.
    """
    with eager(), np.errstate(all="ignore"):
        returned = function(*own, *batch)
    live, early, report, aux = tree.copy(returned)
    pairs = [*zip(own.early, early, strict=True)]
    if always or all(map(_is_finite, (*live, *early, report, *tree.leaves(aux)))):
        pairs += zip(own.live, live, strict=True)
    commit(partial(_write, pairs))
    return own.live, own.early, report, aux


def _write(pairs: Iterable[tuple[Any, Any]]) -> None:
    for target, value in pairs:
        target[...] = value


def _is_finite(x: Any) -> bool:
    return not is_float(x.dtype) or bool(np.isfinite(x).all())
