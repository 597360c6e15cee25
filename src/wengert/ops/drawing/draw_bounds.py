"""Bounds of draws that are arrays, or known when the program runs only."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from numbers import Real
from typing import Any, TypeVar, cast

import numpy as np

from wengert.core import dtypes, promotion
from wengert.core.bind import located
from wengert.core.define import elementwise
from wengert.core.dims import Dim, Shape
from wengert.core.lowering import Elementwise, changed_meanwhile
from wengert.core.op_parts.broadcast import broadcast_shapes
from wengert.core.op_parts.samples import Integers, sample
from wengert.core.signatures.shapes import canonical_shape
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.values.number import is_traced_number
from wengert.errors import DTypeError, ShapeError


def are_run_time_bounds(*bounds: Any) -> bool:
    """Whether one is more than a number that is known."""
    return any(
        isinstance(x, Tensor | Dim) or is_traced_number(x) or getattr(x, "shape", ())
        for x in bounds
    )


def require_whole(name: str, low: Any, high: Any) -> None:
    """Refuse bounds that are no whole numbers: the shape comes before them."""
    for word, x in (("low", low), ("high", high)):
        if not isinstance(x, Real | np.ndarray) or x != x // 1:
            raise TypeError(
                f"{name}: {word}={x!r} was given; bounds are integers, and come behind the shape. "
                f"Write {name}(shape, low, high)."
            )


F = TypeVar("F", bound=Callable[..., Any])


def shape_first(draw: F) -> F:
    """Refuse NumPy's order of a function, or method, of a key or a generator, a shape and two
    bounds: three plain numbers by position of which the first is less than the second.
    """

    @wraps(draw)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = args[1:4]
        if len(given) == 3 and all(type(x) is int for x in given) and given[0] < given[1]:
            first, second, third = given
            name = draw.__name__
            raise ValueError(
                f"{name}: {first}, {second}, {third} were given; the shape comes first, as a plain "
                f"number only where it is no less than low. Write {name}(({third},), {first}, "
                f"{second}) for NumPy's randint({first}, {second}, {third}), and {name}(({first},)"
                f", {second}, {third}) for what was written."
            )
        return draw(*args, **kwargs)

    return cast("F", call)


def _integers_between(low: Any, high: Any) -> Any:
    if not np.all(np.less(low, high)):
        wrong = np.argwhere(~np.less(low, high))[0]
        pair = [
            np.broadcast_to(x, np.broadcast(low, high).shape)[tuple(wrong)] for x in (low, high)
        ]
        raise ValueError(
            f"randint: low={pair[0]} and high={pair[1]} were given; low must be less than high. "
            "Exchange or change them."
        )
    return np.subtract(high, low)


@elementwise(
    numpy=_integers_between,
    dtypes=promotion.signed,
    flat=True,
    samples=(
        sample(Integers((3, 4), 0, 1), Integers((3, 4), 1, 9)),
        sample(Integers((), 0, 1), Integers((4,), 1, 9)),
    ),
    space="hidden",
    exact=True,
    lower=Elementwise(
        lambda e, low, high: e.sub(high, low),
        failure=changed_meanwhile(
            ValueError,
            "low not less than high",
            "no such bounds",
            refuses=lambda e, low, high: e.le(high, low),
        ),
    ),
)
def integers_between(low: Any, high: Any, /) -> None:
    """How many integers there are from low up to but not including high: one at least."""


def integer_bounds(name: str, shape: Any, dtype: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The bounds of integers of a shape, as int64."""
    if dtype != dtypes.int64:
        raise DTypeError(
            f"{name}: dtype {dtype} was given with bounds that are arrays or arguments; these are "
            f"drawn as int64. Convert the result, {name}(…).astype(np.{dtype})."
        )
    bounds = [op.add(x, 0) if isinstance(x, Dim) else op.asarray(x) for x in (low, high)]
    for word, x in zip(("low", "high"), bounds, strict=True):
        if x.dtype.kind not in "iu":
            error = DTypeError(
                f"{name}: {word} has dtype {x.dtype}; bounds are integers. Convert it with "
                "astype(np.int64)."
            )
            raise located(error, [x])
    _require_within(name, canonical_shape(name, shape), bounds)
    return op.astype(bounds[0], dtypes.int64), op.astype(bounds[1], dtypes.int64)


def between(name: str, unit: Any, low: Any, high: Any) -> Any:
    """Numbers from 0 to 1 moved between bounds; NaN where low is not less than high."""
    low, high = (op.add(x, 0) if isinstance(x, Dim) else op.asarray(x) for x in (low, high))
    _require_within(name, unit.shape, [low, high])
    width, begin, end = (op.astype(x, unit.dtype) for x in (op.subtract(high, low), low, high))
    moved = op.minimum(unit * width + begin, op.nextafter(end, begin))  # against rounding up
    return op.where(op.logical_and(op.less(low, high), op.isfinite(width)), moved, math.nan)


def _require_within(name: str, shape: Shape, bounds: list[Any]) -> None:
    """Bounds broadcast to the shape that is drawn, and do not add to it."""
    own = broadcast_shapes(name, [tuple(x.shape) for x in bounds])
    if broadcast_shapes(name, [tuple(shape), own]) != tuple(shape):
        error = ShapeError(
            f"{name}: shape {tuple(shape)} was given for bounds of shape {own}; these must "
            "broadcast to it. Put the new axes first."
        )
        raise located(error, bounds)
