"""What the options of `compile` are, and which arguments they name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from wengert.api.trace import argument_names
from wengert.core import tree
from wengert.core.dims import Dim, Shape
from wengert.core.types import ArrayType
from wengert.errors import ShapeError, TraceError
from wengert.runtime.nonfinite_policies import require_policy
from wengert.runtime.outside.users_code import is_users
from wengert.runtime.signature import bound_sizes
from wengert.runtime.workers import LIMIT

Named = int | str
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def listed(option: str, given: Any, by: str = "compile") -> tuple[Named, ...]:
    """Arguments that an option names, one or more."""
    if isinstance(given, int | str):
        return (given,)
    names = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(name, int | str) for name in names):
        raise TypeError(
            f"{by}: {option}={given!r} was given; it names arguments, by position or name. "
            "Pass a number, a name, or a tuple of them."
        )
    return names


def positions_of(function: Callable[..., Any], given: Sequence[Named], count: int) -> list[int]:
    """Arguments named by position or name, as positions; without those left to their defaults."""
    total = max(count, _parameter_count(function))
    names = argument_names(function, total)
    positions = []
    for each in given:
        position = names.index(each) if each in names else each
        if not isinstance(position, int) or not -total <= position < total:
            known = f"the arguments are {', '.join(names)}" if names else "the function has none"
            repair = "Use one of these names, or its position" if names else "Leave it out"
            raise TypeError(f"compile: argument {each!r} was named; {known}. {repair}.")
        positions.append(position % total)
    return [position for position in positions if position < count]


def _parameter_count(function: Callable[..., Any]) -> int:
    """How many arguments it can be given by position, as far as it says so."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    return sum(p.kind in POSITIONAL for p in parameters)


def require_sizes(types: Sequence[ArrayType], shapes: Sequence[Shape]) -> dict[str, int]:
    """The sizes of all Dims in the first call."""
    sizes = bound_sizes(types, shapes)
    if sizes is None:
        raise ShapeError(
            f"compile: dims says {', '.join(str(t.shape) for t in types)}, and the arguments have "
            f"shapes {', '.join(map(str, shapes))}; an axis is a number, a Dim, or a whole "
            "multiple of one Dim plus a number, and one Dim has one size. Give other axes a Dim of "
            "their own."
        )
    return sizes


def require_options(dims: Any, threads: Any, nonfinite: Any) -> None:
    require_policy("compile", nonfinite)
    if threads is not None and (type(threads) is not int or not 1 <= threads <= LIMIT):
        raise ValueError(
            f"compile: threads={threads!r} was given; it is a whole number from 1 to {LIMIT}, or "
            "None for as many as there are CPUs. Choose one."
        )
    require_dims("compile", dims)


def require_dims(by: str, dims: Any) -> None:
    """Refuse what does not leave sizes open."""
    if dims is not None and not _are_dims(dims):
        raise TypeError(
            f"{by}: dims={dims!r} was given; it maps names of arguments to axes, and these to "
            "Dims. Write dims={'x': {0: wg.Dim('n')}}."
        )


def _are_dims(dims: Any) -> bool:
    return isinstance(dims, Mapping) and all(
        isinstance(name, str)
        and isinstance(axes, Mapping)
        and all(isinstance(axis, int) and isinstance(dim, Dim) for axis, dim in axes.items())
        for name, axes in dims.items()
    )


def explained_tree(
    function: Callable[..., Any], given: Sequence[Any], error: TraceError
) -> TraceError:
    """Why arguments are no tree; where it is the object of a method, what to do about that."""
    if not is_users(function) or argument_names(function, len(given))[:1] != ["self"]:
        return error
    try:
        tree.flatten(given[1:])
    except TraceError:  # not because of the object alone
        return error
    name, kind = function.__name__, type(given[0]).__name__
    return TraceError(
        f"compile: {name} is a method of class {kind}, which is no dataclass and has arrays; an "
        f"object that is an argument must be a tree. Leave the decorator out and write "
        f'wg.compile(obj.{name}), or write @wg.compile(static="self"), or @dataclass above class '
        f"{kind}."
    )
