"""Where a slice of an axis begins and how many elements it has, and single positions, where sizes
may be known at run time only.

An end that is a Dim is recorded as counted from the front or from behind, and a position as one
that exists. Sizes for which that is not so get a program of their own.
"""

from __future__ import annotations

from operator import index as as_integer
from typing import Any

from wengert.core.dims import (
    Dim,
    Size,
    divide_up,
    has_dims,
    is_at_least,
    may_be_count,
    never_shrinks,
)
from wengert.core.tensor import Tensor
from wengert.core.words.numpys_numbers import with_numpys_number
from wengert.errors import TraceError


def position(size: Size, axis: int, part: Any) -> Size:
    """A single position on an axis of this size, counted from the front."""
    if isinstance(part, Dim):
        start = part if never_shrinks(part) else size + part
        if may_be_count(start) and may_be_count(size - start - 1):
            return start  # that it exists is checked when the sizes have values
    number = as_integer(part)  # specialises a Dim
    if isinstance(size, Dim):  # that the position exists is checked when the size has a value
        return number if number >= 0 else size + number
    if not -size <= number < size:
        inside = (
            f"an index must lie between {-size} and {size - 1}" if size else "the axis is empty"
        )
        raise IndexError(
            f"getitem: index {number} was given for axis {axis} of size {size}; {inside}. Choose a "
            "position the array has."
        )
    return number % size


def span(size: Size, part: slice) -> tuple[Size, Size, Size]:
    """A slice of an axis as start, size and step, cut off at the ends as Python does."""
    for bound in (part.start, part.stop, part.step):
        if isinstance(bound, Tensor):
            argument = bound.level.argument_behind(bound)
            repair = "Use wg.take(x, start + wg.arange(size), axis) instead"
            raise TraceError(
                "getitem: a slice with a Tensor as a bound was given; how many elements it chooses "
                f"must be known beforehand. {with_numpys_number('getitem', argument, repair)}."
            )
    step = 1 if part.step is None else as_integer(part.step)
    if step == 0:
        raise ValueError("getitem: a slice with step 0 was given; a step moves. Use 1 or -1.")
    if not any(isinstance(each, Dim) for each in (size, part.start, part.stop)):
        start, stop, step = part.indices(size)
        count = len(range(start, stop, step))
        return (start if count else 0), count, step
    low: Size
    high: Size
    if part.start is None and part.stop is None:
        low, high = 0, size
    elif step > 0:
        low, high = _bound(size, part.start, 0), _bound(size, part.stop, size)
    else:  # specialises
        return span(int(size), slice(_integer(part.start), _integer(part.stop), step))
    whole = divide_up(high - low, abs(step))
    if whole is None or not never_shrinks(whole):  # from n to m, which may be less
        return span(int(size), slice(int(low), int(high), step))
    if isinstance(whole, int):
        whole = max(whole, 0)
    return (low if step > 0 else high - 1), whole, step


def _bound(size: Size, bound: Any, default: Size) -> Size:
    """An end of a slice of an axis of run-time size, where it is known without the number."""
    if bound is None:
        return default
    if isinstance(bound, Dim):
        beyond = bound - size
        if isinstance(beyond, int):
            return size if beyond >= 0 else bound
        end = bound if never_shrinks(bound) else size + bound
        if may_be_count(end) and may_be_count(size - end):
            return end
        return min(int(bound), int(size))
    number = as_integer(bound)
    if number < 0:
        return size + number
    if number and default != 0:  # the smaller of a number and a Dim
        return number if is_at_least(size, number) else min(number, int(size))
    return number


def sides(size: Size, part: slice) -> tuple[Size, ...]:
    """What must be positive for the ends of a slice that are Dims to be counted from the front, or
    from behind, as they are recorded.
    """
    ends = [end for end in (part.start, part.stop) if isinstance(end, Dim)]
    counted = [end + 1 if never_shrinks(end) else -end for end in ends if has_dims(end - size)]
    return tuple(each for each in counted if not is_at_least(each, 1))


def _integer(bound: Any) -> int | None:
    return None if bound is None else int(bound)
