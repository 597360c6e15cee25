"""trace: record a Python function as a graph."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from wengert.api.by_hand.graph import Graph
from wengert.api.left_open import left_open
from wengert.core import tree
from wengert.core.dims import Dim, Size, SizeNeeded, known_sizes
from wengert.core.dtypes import require_supported
from wengert.core.types import ArrayType, Value, type_of
from wengert.core.words.arguments import worded
from wengert.core.words.noticed.lost_writes import below, require_unwritten
from wengert.core.words.source import is_installed
from wengert.core.words.warn import warn_user
from wengert.errors import ShapeError, SizeWarning, TraceError, WengertError
from wengert.interpret.trace import trace_flat

Dims = Mapping[str, Mapping[int, Dim]]
NOTHING: Mapping[str, bool] = MappingProxyType({})


@worded
def trace(function: Callable[..., Any], *args: Any, dims: Dims | None = None) -> Graph:
    """Record `function` called with arguments of these types; its array leaves become inputs of a
    graph.

    Inputs are named after the function's parameters and the path in the tree, `model.layers.0.w`.
    An argument may be an `ArrayType` instead of an array. `dims={"x": {0: Dim("batch")}}` leaves
    the size of an axis open; where Python needs such a size as a number it is specialised to that
    of the argument, with a warning.

    >>> graph = trace(lambda x: x * 2.0, np.ones(3))
    >>> graph.run(x=np.arange(3.0))
    [array([0., 2., 4.])]
    """
    if not callable(function):
        raise TypeError(
            f"trace: given {type(function).__name__}; wg.trace records a function, and the sum of "
            "a diagonal is np.trace or wg.linalg.trace. Write one of these."
        )
    return trace_with_sizes(function, *args, dims=dims)[0]


def trace_with_sizes(
    function: Callable[..., Any],
    *args: Any,
    dims: Dims | None = None,
    by: str = "trace",
    numbers: Iterable[str] = (),
    yielding: Mapping[str, bool] = NOTHING,
    passed: Collection[int] = (),
) -> tuple[Graph, dict[str, int]]:
    """The graph, and the sizes that its Dims have in this call; errors begin with `by`. Raises
    `SizeNeeded` where Python needs one of the `numbers`, given by the keys of their arguments. The
    `yielding` sizes are specialised where arrays do not fit otherwise: with a warning, where it
    says so. Numbers that are returned are outputs, but those with the identities `passed`.
    """
    open_dims = dict(dims or {})
    gave_way: list[SizeNeeded] = []
    of_packages: list[tuple[SizeNeeded, list[str]]] = []
    while True:
        leaves, names, call = _arguments(function, args, by)
        types, sizes = input_types(leaves, names, open_dims, by)
        soft = frozenset(yielding) & sizes.keys()
        graph = Graph()

        def flat(*values: Value, call: Callable[[Sequence[Value]], Any] = call) -> Sequence[Value]:
            return tree.leaves(tree.arrays(call(values), passed))

        try:
            with known_sizes({**sizes, **dict.fromkeys(numbers, 0)}, soft):
                _, captured = trace_flat(flat, types, names, graph)
        except SizeNeeded as needed:
            if not needed.names <= sizes.keys():  # numbers, or sizes of a trace around this one
                raise
            if needed.misfit is None:
                batches = _arguments_of(needed.names, open_dims, yielding)
                if needed.line is None or is_installed(needed.line.file):
                    of_packages.append((needed, batches))  # which may not take a Tensor at all
                else:
                    _warn(needed, batches)
            else:
                gave_way.append(needed)
            open_dims = _without(open_dims, needed.names)
            continue
        except WengertError as error:
            if not soft:
                raise
            # It may be due to the open sizes; if it is not, it is about real ones the next time.
            closed = _to_blame(error, {name: yielding[name] for name in yielding if name in soft})
            gave_way.append(SizeNeeded(closed, error))
            open_dims = _without(open_dims, closed)
            continue
        for pair in of_packages:
            _warn(*pair)
        for each in gave_way:
            _warn_of_misfit(by, dims, yielding, each)
        if captured:
            raise TraceError(
                f"{by}: the function uses a Tensor of an enclosing transformation; a graph stands "
                "on its own. Pass it in as an argument."
            )
        graph.level.closed, graph.level.number = False, 0
        return graph, sizes


def _arguments(
    function: Callable[..., Any], args: Sequence[Any], by: str
) -> tuple[list[Any], list[str], Callable[[Sequence[Value]], Any]]:
    """Distinct leaves of the arguments, their names, and the call with other values there."""
    structures = [tree.flatten(arg)[1] for arg in args]
    arguments = argument_names(function, len(args))
    paths = [
        f"{name}.{path}" if path else name
        for name, arg in zip(arguments, args, strict=True)
        for path in tree.paths(arg)
    ]
    leaves, places = tree.distinct_leaves(args)
    names: list[str] = []
    for position, path in zip(places, paths, strict=True):
        if position == len(names):
            names.append(_unique(path, names))

    def call(values: Sequence[Value]) -> Any:
        rest = iter(places)
        given = [[values[next(rest)] for _ in range(s.count)] for s in structures]
        made = [tree.unflatten(*pair) for pair in zip(structures, given, strict=True)]
        returned = function(*made)
        for name, structure, own, x in zip(arguments, structures, given, made, strict=True):
            require_unwritten(by, below(name), structure, own, x, returned)
        return returned

    return leaves, names, call


def argument_names(function: Callable[..., Any], count: int) -> list[str]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    unique: list[str] = []
    for i in range(count):
        unique.append(_unique(names[i] if i < len(names) else f"arg{i}", unique))
    return unique


def _unique(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def input_types(
    leaves: Sequence[Any], names: Sequence[str], dims: Dims, by: str
) -> tuple[list[ArrayType], dict[str, int]]:
    """The types of the inputs with their open sizes, and the sizes these have in this call."""
    unknown = sorted(set(dims) - set(names))
    if unknown:
        raise ShapeError(
            f"{by}: dims names {', '.join(unknown)}; the array arguments are {', '.join(names)}. "
            "Use one of these names."
        )
    types: list[ArrayType] = []
    sizes: dict[str, int] = {}
    for x, name in zip(leaves, names, strict=True):
        require_supported(by, f"argument {name!r}", x.dtype.newbyteorder("="))
        shape: list[Size] = list(x.shape)
        for axis, dim in _open_axes(by, name, dims.get(name, {})):
            if not -len(shape) <= axis < len(shape):
                raise ShapeError(
                    f"{by}: dims names axis {axis} of {name!r}, which has shape {tuple(shape)}; "
                    "the axis must exist. Choose another."
                )
            size = shape[axis]
            if isinstance(size, int) and sizes.setdefault(str(dim), size) != size:
                raise ShapeError(
                    f"{by}: {dim} is {sizes[str(dim)]} in one argument and {size} in {name!r}; "
                    "one Dim has one size. Use two Dims, or arrays that agree."
                )
            shape[axis] = dim
        types.append(ArrayType(tuple(shape), type_of(x).dtype))
    return types, sizes


def _open_axes(by: str, name: str, axes: Any) -> Iterable[tuple[int, Dim]]:
    if not isinstance(axes, Mapping) or not all(isinstance(dim, Dim) for dim in axes.values()):
        raise ShapeError(
            f"{by}: dims gives {axes!r} for {name!r}; it maps axes to Dims. "
            f"Write {{0: wg.Dim('n')}}."
        )
    return axes.items()


def _to_blame(error: Exception, yielding: Mapping[str, bool]) -> frozenset[str]:
    """The open sizes that an error may be due to. Of those that it mentions and nobody asked for,
    the last one, so that those that were asked for, and the batch, which is named first, stay open
    if they can.
    """
    words = frozenset(re.findall(r"\w+", str(error)))
    mentioned = [name for name in yielding if name in words]
    unasked = [name for name in mentioned if not yielding[name]]
    return frozenset(unasked[-1:] or mentioned or yielding)


def _without(dims: Dims, names: frozenset[str]) -> dict[str, Mapping[int, Dim]]:
    return {
        arg: {axis: dim for axis, dim in axes.items() if not dim.names & names}
        for arg, axes in dims.items()
    }


def _arguments_of(names: frozenset[str], dims: Dims, yielding: Mapping[str, bool]) -> list[str]:
    """The arguments that have these sizes, where they are open though nobody has asked for that."""
    if any(yielding.get(name, True) for name in names):
        return []
    paths = (path for path, axes in dims.items() if 0 in axes and axes[0].names & names)
    return list(dict.fromkeys(path.partition(".")[0] for path in paths))


def _warn(needed: SizeNeeded, batches: Sequence[str]) -> None:
    names = ", ".join(sorted(needed.names))
    repair = f" {needed.repair}" if needed.repair else left_open(needed.expression, needed.line)
    if not repair and len(batches) == 1:  # rows of several arguments are a batch
        repair = f" If {batches[0]!r} is no batch, dims={{{batches[0]!r}: {{}}}} says so."
    warn_user(
        f"Python needed the size {names} as a number at {needed.line}; the graph is specialised "
        f"to it.{repair}",
        SizeWarning,
        needed.line,
    )


def _warn_of_misfit(
    by: str, dims: Dims | None, yielding: Mapping[str, bool], needed: SizeNeeded
) -> None:
    """Sizes that the user wants open have to be specialised."""
    names = {name for name in needed.names if yielding[name]}
    asked = {
        arg: {axis: dim for axis, dim in axes.items() if dim.names & names}
        for arg, axes in (dims or {}).items()
    }
    told = ", ".join(f"{arg!r}: {axes}" for arg, axes in asked.items() if axes)
    if told:
        warn_user(
            f"{by}: dims={{{told}}} was given, and the function cannot be recorded so; each size "
            f"compiles a program of its own. With open sizes it says: {needed.misfit}",
            SizeWarning,
            needed.line,
        )
