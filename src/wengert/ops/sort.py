"""Elements in order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.define import composite, primitive
from wengert.core.dtypes import int64, promote
from wengert.core.lowering import SpecialKernel, comparisons
from wengert.core.op_parts.batching import BatchedCall, along
from wengert.core.op_parts.broadcast import canonical_axis
from wengert.core.op_parts.samples import Exactly, sample
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import ShapeError
from wengert.interpret.batched import one_by_one


def _order(name: str) -> Any:
    return lambda x, axis, descending, stable: {
        "axis": canonical_axis(name, axis, x.ndim),
        "descending": bool(descending),
        "stable": True,  # equal elements always keep their order, so that results repeat
    }


def _argsort(x: Any, axis: int, descending: bool, stable: bool) -> Any:
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    # Backwards twice: -x would overflow for the smallest integer and does not exist for bools.
    backwards = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(backwards, axis)


_SAMPLES = (
    sample((3, 4)),
    sample((3, 4), axis=0, descending=True),
    sample((2, 3, 2), axis=-2),
    sample((0, 3)),
    sample((2, 0), axis=1, descending=True),
)


def _argsort_flops(operands: Any, _results: Any, params: dict[str, Any]) -> int:
    return comparisons(math.prod(operands[0]), operands[0][params["axis"]])


@primitive(
    numpy=_argsort,
    type=lambda x, axis, descending, stable: ArrayType(tuple(x.shape), int64),
    canonical=_order("argsort"),
    flat=True,
    method=True,
    samples=(
        *_SAMPLES,
        sample(Exactly([2, 1, 2, 0, 1])),
        sample(Exactly([2, 1, 2, 0, 1]), descending=True),
        sample(Exactly([False, True, False]), descending=True),
    ),
    exact=True,
    lower=SpecialKernel("argsort", _argsort_flops),
    batch=along("axis"),
)
def argsort(x: Any, /, axis: int = -1, descending: bool = False, stable: bool = True) -> None:
    """The positions that put the elements along an axis in order; equal ones keep their order.

    >>> wg.argsort(np.array([3.0, 1.0, 2.0]))
    array([1, 2, 0])
    """


@composite(
    type=lambda x, axis, descending, stable: ArrayType(tuple(x.shape), x.dtype),
    canonical=_order("sort"),
    samples=(*_SAMPLES, sample(Exactly([2, 1, 2, 0, 1]), descending=True)),
)
def sort(x: Any, /, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The elements along an axis in order, NaN last (first where descending).

    The gradient goes back to where each element came from, equal ones in their order.

    >>> wg.sort(np.array([3.0, 1.0, 2.0])), wg.sort(np.array([1, 3, 2]), descending=True)
    (array([1., 2., 3.]), array([3, 2, 1]))
    """
    order = op.argsort(x, axis=axis, descending=descending)
    return op.take_along_axis(x, order, axis=axis)


def _searchsorted_type(x1: Any, x2: Any, side: str) -> ArrayType:
    if len(x1.shape) != 1:
        raise ShapeError(
            f"searchsorted: given shape {tuple(x1.shape)}; the sorted array has one axis. "
            "Pass one row at a time."
        )
    return ArrayType(tuple(x2.shape), int64)


def _side(x1: Any, x2: Any, side: str) -> dict[str, Any]:
    if side not in ("left", "right"):
        raise ShapeError(
            f"searchsorted: side {side!r} was given; it is 'left' or 'right'. Use one."
        )
    return {"side": side}


def _front_searchsorted(x1: Any, x2: Any, side: str = "left", *, sorter: Any = None) -> Any:
    if sorter is not None:
        x1 = op.take(op.asarray(x1), sorter, axis=0)
    return searchsorted.rebind(*searchsorted.read((x1, x2), {"side": side}))


def _search_each(call: BatchedCall) -> Any:
    return one_by_one(call) if call.batched[0] else call.again(call.operands)


@primitive(
    numpy=np.searchsorted,
    front=_front_searchsorted,
    type=_searchsorted_type,
    dtypes=lambda name, operands: [promote(*operands)] * 2,
    canonical=_side,
    flat=True,
    samples=(
        sample(Exactly([-1.0, 0.0, 1.0]), (2, 3)),
        sample(Exactly([0, 1, 1, 2]), Exactly([1, -1, 5]), side="right"),
        sample(Exactly([1.0]), ()),
        sample((0,), (3,)),
    ),
    exact=True,
    lower=SpecialKernel(
        "searchsorted",
        lambda operands, results, _: comparisons(math.prod(results[0]), math.prod(operands[0])),
    ),
    batch=_search_each,
)
def searchsorted(x1: Any, x2: Any, /, side: str = "left") -> None:
    """Where each element of x2 would be inserted into the sorted x1.

    ``side="left"`` is before elements equal to it, ``"right"`` after them. A `sorter` gives the
    positions of x1 in ascending order, where it is not sorted itself.

    >>> wg.searchsorted(np.array([1.0, 2.0, 4.0]), np.array([2.0, 3.0]))
    array([1, 2])
    """
