"""Dropout."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from wengert.core import tree
from wengert.core.define import function
from wengert.core.dtypes import is_float
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.values.number import is_traced_number
from wengert.core.words.source import Line, user_line
from wengert.errors import ShapeError
from wengert.functions.parameter import canonical_number


class DropoutCall(NamedTuple):
    """A call of a dropout with a rate, and what it was given."""

    line: Line | None
    x: Any


_idle = Meanwhile[list[DropoutCall]]()  # where nothing is dropped, while they are being noted
_dropping = Meanwhile[list[DropoutCall]]()  # and where something is


def noting_idle_dropout() -> AbstractContextManager[list[DropoutCall]]:
    """The calls where a dropout with a rate is given no generator, while this is open."""
    return _idle.said([])


def noting_dropout() -> AbstractContextManager[list[DropoutCall]]:
    """The calls where a dropout with a rate is given a generator, while this is open."""
    return _dropping.said([])


@function()
def dropout(x: Any, rate: float, rng: Any = None) -> Any:
    """Each element becomes 0 with probability `rate` and is divided by 1 - rate otherwise.

    Without a generator nothing happens: there is no hidden training mode. In a function that is
    recorded the rate may be an argument; where it is no rate then, the result is NaN.

    >>> rng = wg.random.Generator(wg.random.key(0))
    >>> sorted(set(wg.dropout(np.ones(100), 0.5, rng).tolist()))
    [0.0, 2.0]
    """
    x = op.asarray(x)
    traced = is_traced_number(rate) or isinstance(rate, Tensor)
    if not traced:
        rate = canonical_number("dropout", "rate", rate, lambda r: 0 <= r < 1, "in [0, 1)")
    require_generator("dropout", rng)
    if rng is None or (not traced and rate == 0):
        if (traced or rate > 0) and _idle.value is not None:
            _idle.value.append(DropoutCall(user_line(), x))
        return x
    if _dropping.value is not None:
        _dropping.value.append(DropoutCall(user_line(), x))
    if traced:
        return _dropped(x, rate, rng)
    return op.where(rng.bernoulli(1 - rate, x.shape), x * (1 / (1 - rate)), 0)


def require_generator(by: str, rng: Any, otherwise: str = "") -> None:
    """Refuse an rng that draws nothing; `otherwise` says what else an array or a tree of them may
    be meant for.
    """
    if rng is not None and not hasattr(rng, "bernoulli"):
        own = rng.__class__
        if not tree.is_leaf(rng) and not isinstance(rng, dict | list | tuple):
            otherwise = ""
        kind = f"{own.__module__}.{own.__qualname__}".removeprefix("builtins.")
        raise TypeError(
            f"{by}: rng is {kind}; it must be a wg.random.Generator, or None to drop nothing. "
            f"{otherwise}In the loss of a TrainStep, name a parameter rng and pass it on; "
            "elsewhere, write wg.random.Generator(key) with a new key in every call."
        )


def _dropped(x: Any, rate: Any, rng: Any) -> Any:
    """With a rate that is known at call time only; NaN where it is none."""
    if rate.shape != ():
        raise ShapeError(
            f"dropout: rate has shape {tuple(rate.shape)}; it must be one number. Reduce it first."
        )
    if isinstance(rate, Tensor) and is_float(x.dtype):
        rate = op.astype(rate, x.dtype)
    kept = op.where(rng.bernoulli(1 - rate, x.shape), x * (1 / (1 - rate)), 0)
    return op.where((rate >= 0) & (rate < 1), kept, math.nan)
