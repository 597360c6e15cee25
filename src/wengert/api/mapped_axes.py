"""Which axes `vmap` maps: those of arguments, and where they go in results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.dims import Dim, Size, let_yield
from wengert.core.trees.matched_trees import spread
from wengert.core.types import Value
from wengert.errors import AxisError, ShapeError, TraceError

Axis = int | None


def is_axis(x: Any) -> bool:
    return x is None or (isinstance(x, int | np.integer) and not isinstance(x, bool))


def require_axes(which: str, axes: Any) -> None:
    """Refuse what cannot be axes of any tree."""
    for x in tree.values(axes):
        if not is_axis(x):
            raise TypeError(
                f"vmap: {which}={axes!r} was given; an axis is an integer, or None for what is "
                "not mapped. Pass one for all, or a tree of them."
            )


def argument_axes(in_axes: Any, args: Sequence[Any], names: Sequence[str]) -> list[Axis]:
    """The axis of every array in the arguments."""
    if is_axis(in_axes):
        per_argument: Sequence[Any] = [in_axes] * len(args)
    elif not isinstance(in_axes, tuple | list):
        raise TypeError(
            f"vmap: in_axes is {type(in_axes).__name__}; it is one axis for all arguments, or a "
            "tuple with an entry per argument, each an axis or a tree of axes. Write "
            "in_axes=(axes,) for the tree of one argument."
        )
    else:
        per_argument = in_axes
    if len(per_argument) != len(args):
        raise ShapeError(
            f"vmap: in_axes={in_axes!r} has {len(per_argument)} entries, and the call has "
            f"{len(args)} by position; there must be one for each argument. Arguments by name are "
            "mapped along axis 0."
        )
    flat_axes: list[Axis] = []
    for name, axes, arg in zip(names, per_argument, args, strict=True):
        if axes is not None and isinstance(arg, bool | int | float):
            raise ShapeError(
                f"vmap: argument {name} is {arg!r}, a number, and has no axis {axes!r}; it is the "
                "same for all examples. Give it the axis None: in_axes=(0, None)."
            )
        flat_axes += _spread("in_axes", f"argument {name}", axes, arg)
    return flat_axes


def _spread(which: str, what: str, axes: Any, values: Any) -> list[Axis]:
    """An axis for each array of a tree, from a tree of axes that may end before it does."""
    flat_axes = spread(axes, values)
    if flat_axes is None:
        raise ShapeError(
            f"vmap: {which} has {axes!r} for {what}, which is {tree.flatten(values)[1]}; it must "
            "be an axis, or a tree of the same form whose parts may be one axis for all below. "
            "Write it as the tree, with an axis or None for each part."
        )
    return flat_axes


def result_axes(out_axes: Any, returned: Any) -> list[Axis]:
    """The axis of every array in a result."""
    if isinstance(out_axes, list) and isinstance(returned, tuple):
        out_axes = tuple(out_axes)
    return _spread("out_axes", "the result", out_axes, returned)


def inside(axis: int, rank: int, which: str, what: str) -> int:
    """A non-negative axis."""
    if not -rank <= axis < rank:
        allowed = f"must lie between {-rank} and {rank - 1}" if rank else "does not exist there"
        raise AxisError(
            f"vmap: {which} has axis {axis} for {what}, of {rank} axes; an axis {allowed}. Choose "
            "an axis it has, or None where it is the same for all examples."
        )
    return int(axis) % rank


def one_size(leaves: Sequence[Value], axes: Sequence[Axis], paths: Sequence[str]) -> Size:
    """How many examples there are: all mapped axes must agree."""
    mapped = [
        (path, x.shape[inside(axis, len(x.shape), "in_axes", path)])
        for x, axis, path in zip(leaves, axes, paths, strict=True)
        if axis is not None
    ]
    if not mapped:
        raise ShapeError(
            "vmap: no array has an axis to map; one at least must. Give arrays an axis with "
            "in_axes, and turn lists of numbers into arrays with np.array."
        )
    sizes: set[Size] = {size for _, size in mapped}
    if len(sizes) == 1:
        return sizes.pop()
    shown = ", ".join(f"{size!r} ({path})" for path, size in mapped)
    misfit = ShapeError(
        f"vmap: the mapped axes have sizes {shown}; all must be equal, one entry for each "
        "example. Give what is the same for all examples the axis None."
    )
    let_yield(frozenset().union(*(x.names for x in sizes if isinstance(x, Dim))), misfit)
    sizes = {int(size) for size in sizes}  # specialises
    if len(sizes) > 1:
        raise misfit
    return sizes.pop()


def require_no_numbers(structure: tree.Structure, passed: frozenset[int]) -> None:
    """Refuse Python numbers in a result, but those that arguments had."""
    for x in structure.static:
        if isinstance(x, bool | int | float) and id(x) not in passed:
            raise TraceError(
                f"vmap: the function returned {x!r}, a Python number; results are arrays, which "
                "have an axis for the examples. Return np.asarray(…) of it, which is repeated for "
                "each example, or leave it out."
            )
