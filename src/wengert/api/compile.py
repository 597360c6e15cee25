"""compile: a Python function as machine code, made when it is first called with arguments of a
kind.
"""

from __future__ import annotations

import functools
import gc
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from wengert.api.eager import EagerCall, is_eager, is_inside
from wengert.api.trace import (
    Dims,
    argument_names,
    distinct_leaves,
    input_types,
    trace_with_sizes,
)
from wengert.codegen.llvm.door import door
from wengert.core import tree
from wengert.core.dims import Dim, Shape
from wengert.core.dtypes import CHARS, DType, require_supported
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType
from wengert.errors import ShapeError, TraceError
from wengert.runtime.executable import Executable
from wengert.runtime.signature import (
    Signature,
    Static,
    bound_sizes,
    mark_static,
    structure_of,
)
from wengert.runtime.workers import LIMIT

Named = int | str
NONFINITE = ("ignore", "raise", "skip")
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
RECENT = 4  # executables that a call tries before it looks its arguments up


class Compiled:
    """A function that runs as machine code. Each kind of arguments (trees, shapes, dtypes) has an
    executable of its own, made when it is first met.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        static: tuple[Named, ...],
        dims: Dims | None,
        donate: tuple[Named, ...],
        nonfinite: str,
        threads: int | None,
        early: tuple[Named, ...] = (),  # donated arguments that are written whatever happens
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._dims = dims
        self._nonfinite, self._threads = nonfinite, threads
        self._static, self._donate, self._early = static, (*donate, *early), early
        self._signature: inspect.Signature | None = None
        self._places: dict[int, tuple[int, ...]] = {}  # of static arguments, by how many there are
        self._executables: dict[Any, list[Executable]] = {}
        self._recent: tuple[Executable, ...] = ()  # used last, the latest first

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            args = self._positional(args, kwargs)
        if is_eager():
            return self._run_eagerly(args)
        for executable in self._recent:
            found = executable.entry(*args)
            if found is not NotImplemented:
                return found
        return self._look_up_and_run(args)

    def _look_up_and_run(self, args: tuple[Any, ...]) -> Any:
        """The slow path: for arguments of a new kind, or such that arrays must be made of."""
        given = mark_static(args, self._static_places(args))
        leaves, structure = tree.flatten(given)
        if any(isinstance(x, Tensor) for x in leaves):
            return self._function(*args)  # inside another transformation, which records it
        executable, arrays, sizes = self._find(given, leaves, structure)
        return executable.run(arrays, sizes)

    def _run_eagerly(self, args: tuple[Any, ...]) -> Any:
        """Op by op, in NumPy."""
        given = mark_static(args, self._static_places(args))
        leaves, structure = tree.flatten(given)
        if is_inside() or any(isinstance(x, Tensor) for x in leaves):
            return self._function(*args)
        arrays, places = self._distinct(given, leaves)
        if not all(x.dtype.char in CHARS for x in arrays):
            self._require_dtypes(given, leaves)
        donated = self._among(given, places, self._donate)
        early = self._among(given, places, self._early)
        call = EagerCall(self._function, structure, places, donated, self._nonfinite, early)
        if self._dims:
            types, _ = input_types(arrays, call.names(arrays), self._dims, "compile")
            _require_sizes(types, [x.shape for x in arrays])
        return call.run(arrays)

    def executable(self, *args: Any, **kwargs: Any) -> Executable:
        """The executable for arguments like these; it is called with the same arguments."""
        args = self._positional(args, kwargs)
        given = mark_static(args, self._static_places(args))
        return self._find(given, *tree.flatten(given))[0]

    def explain(
        self, *args: Any, ir: bool = False, assembly: bool = False, html: bool = False
    ) -> str:
        """What becomes of the function, called with arguments like these: the graph after each
        pass, the kernels, and the arena; with `ir` and `assembly` the code, too. With `html` it is
        a page.
        """
        return self.executable(*args).explain(ir=ir, assembly=assembly, html=html)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: the instance is the first argument."""
        return self if instance is None else types.MethodType(self, instance)

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, with the defaults of those before them."""
        if not kwargs:
            return args
        if self._signature is None:
            self._signature = inspect.signature(self._function)
        given = self._signature.bind(*args, **kwargs).arguments
        parameters = self._signature.parameters.values()
        places = [p for p in parameters if p.kind in POSITIONAL]
        both = [p.name for p in places if p.kind is p.POSITIONAL_OR_KEYWORD]
        refused = [name for name in kwargs if name not in both]
        if refused:
            raise TypeError(
                f"compile: argument{'s' * (len(refused) > 1)} {', '.join(refused)} can only be "
                "given by name; a compiled function needs arguments that also have a position. "
                "Remove the * or ** from its signature."
            )
        last = max(i for i, p in enumerate(places) if p.name in given)
        found = [given.get(p.name, p.default) for p in places[: last + 1]]
        return (*found, *args[len(places) :])

    def _find(
        self, args: tuple[Any, ...], leaves: Sequence[Any], structure: tree.Structure
    ) -> tuple[Executable, list[Any], dict[str, int]]:
        """The executable for these arguments, their distinct arrays, and the sizes of the Dims."""
        arrays, places = self._distinct(args, leaves)
        if not all(x.dtype.char in CHARS for x in arrays):
            self._require_dtypes(args, leaves)
        dtypes = tuple(_native(x.dtype) for x in arrays)
        shapes = [tuple(x.shape) for x in arrays]
        kind = (structure, places, dtypes, tuple(map(len, shapes)))
        for executable in self._executables.get(kind, ()):
            sizes = bound_sizes(executable.input_types, shapes)
            if sizes is not None and executable.suits(sizes):
                break
        else:
            stand_ins = [ArrayType(*pair) for pair in zip(shapes, dtypes, strict=True)]
            with door, _collector_paused():
                executable = self._compile(args, structure, places, stand_ins, self._dims)
                if not executable.suits(executable.sizes):  # slices are others for small sizes
                    executable = self._compile(args, structure, places, stand_ins, None)
            sizes = executable.sizes
            self._executables.setdefault(kind, []).append(executable)
        others = (x for x in self._recent if x is not executable)
        self._recent = (executable, *others)[:RECENT]
        return executable, arrays, sizes

    def _require_dtypes(self, args: Sequence[Any], leaves: Sequence[Any]) -> None:
        names = argument_names(self._function, len(args))
        paths = [
            (name, path) for name, x in zip(names, args, strict=True) for path in tree.paths(x)
        ]
        for path, x in zip(paths, leaves, strict=True):
            require_supported("compile", f"argument {'.'.join(filter(None, path))!r}", x.dtype)

    def _distinct(
        self, args: tuple[Any, ...], leaves: Sequence[Any]
    ) -> tuple[list[Any], tuple[int, ...]]:
        if len({id(x) for x in leaves}) == len(leaves):
            return list(leaves), tuple(range(len(leaves)))
        return distinct_leaves(args)

    def _static_places(self, args: Sequence[Any]) -> tuple[int, ...]:
        """Positions of the static arguments, which can be compared with those of other calls."""
        if not self._static:
            return ()
        places = self._places.get(len(args))
        if places is None:
            places = tuple(_positions(self._function, self._static, len(args)))
            self._places[len(args)] = places
        for i in places:
            try:
                hash(args[i])
            except TypeError:
                name = argument_names(self._function, len(args))[i]
                raise TypeError(
                    f"compile: static argument {name!r} is a {type(args[i]).__name__} that has no "
                    "hash; one is needed to find it again. Pass a tuple, a number or a string."
                ) from None
        return places

    def _compile(
        self,
        args: tuple[Any, ...],
        structure: tree.Structure,
        places: tuple[int, ...],
        stand_ins: Sequence[ArrayType],  # for the arrays: recording needs no values
        dims: Dims | None,
    ) -> Executable:
        returned: list[tree.Structure] = []

        @functools.wraps(self._function)
        def recorded(*given: Any) -> Any:
            levels = {x.level for x in tree.leaves(given) if isinstance(x, Tensor)}
            found = self._function(*(x.value if isinstance(x, Static) else x for x in given))
            returned.append(structure_of(found, levels))
            return found

        given = tree.unflatten(structure, [stand_ins[place] for place in places])
        graph, _ = trace_with_sizes(recorded, *given, dims=dims, by="compile")
        sizes = _require_sizes(graph.input_types(), [x.shape for x in stand_ins])
        names = tuple(str(graph.nodes[i].params["name"]) for i in graph.inputs)
        static = self._static_places(args) if self._static else ()
        donated = self._among(args, places, self._donate)
        early = self._among(args, places, self._early)
        signature = Signature(names, structure, places, returned[-1], donated, static, early)
        return Executable(graph, signature, sizes, self._nonfinite, self._threads)

    def _among(
        self, args: Sequence[Any], places: Sequence[int], names: Sequence[Named]
    ) -> tuple[int, ...]:
        """Which of the distinct arrays belong to some of the arguments."""
        chosen = _positions(self._function, names, len(args))
        counts = [len(tree.leaves(arg)) for arg in args]
        found: dict[int, None] = {}
        for i in chosen:
            begin = sum(counts[:i])
            found |= dict.fromkeys(places[begin : begin + counts[i]])
        return tuple(found)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """While a program is made: that takes many objects and leaves little garbage, and to search
    all of Python's objects for it would take as long as to fetch a program from the cache.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _listed(option: str, given: Any) -> tuple[Named, ...]:
    """Arguments that an option names, one or more."""
    if isinstance(given, int | str):
        return (given,)
    names = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(name, int | str) for name in names):
        raise TypeError(
            f"compile: {option}={given!r} was given; it names arguments, by position or name. "
            "Pass a number, a name, or a tuple of them."
        )
    return names


def _native(dtype: DType) -> DType:
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def _positions(function: Callable[..., Any], given: Sequence[Named], count: int) -> list[int]:
    """Arguments named by position or name, as positions; without those left to their defaults."""
    total = max(count, _parameter_count(function))
    names = argument_names(function, total)
    found = []
    for each in given:
        position = names.index(each) if each in names else each
        if not isinstance(position, int) or not -total <= position < total:
            known = f"the arguments are {', '.join(names)}" if names else "the function has none"
            repair = "Use one of these names, or its position" if names else "Leave it out"
            raise TypeError(f"compile: argument {each!r} was named; {known}. {repair}.")
        found.append(position % total)
    return [position for position in found if position < count]


def _parameter_count(function: Callable[..., Any]) -> int:
    """How many arguments it can be given by position, as far as it says so."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    return sum(p.kind in POSITIONAL for p in parameters)


def _require_sizes(types: Sequence[ArrayType], shapes: Sequence[Shape]) -> dict[str, int]:
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


def _require_options(dims: Any, threads: Any, nonfinite: Any) -> None:
    if nonfinite not in NONFINITE:
        raise ValueError(
            f"compile: nonfinite={nonfinite!r} was given; it is one of {', '.join(NONFINITE)}. "
            "Choose one."
        )
    if threads is not None and (type(threads) is not int or not 1 <= threads <= LIMIT):
        raise ValueError(
            f"compile: threads={threads!r} was given; it is a whole number from 1 to {LIMIT}, or "
            "None for as many as there are CPUs. Choose one."
        )
    if dims is not None and not _are_dims(dims):
        raise TypeError(
            f"compile: dims={dims!r} was given; it maps names of arguments to axes, and these to "
            "Dims. Write dims={'x': {0: wg.Dim('n')}}."
        )


def _are_dims(dims: Any) -> bool:
    return isinstance(dims, Mapping) and all(
        isinstance(name, str)
        and isinstance(axes, Mapping)
        and all(isinstance(axis, int) and isinstance(dim, Dim) for axis, dim in axes.items())
        for name, axes in dims.items()
    )


def compile(
    f: Callable[..., Any] | None = None,
    *,
    static: Named | Iterable[Named] = (),
    dims: Dims | None = None,
    donate: Named | Iterable[Named] = (),
    threads: int | None = None,
    nonfinite: str = "ignore",
) -> Any:
    """The function as machine code: recorded, simplified, fused and compiled at its first call with
    arguments of a kind. Also a decorator.

    `static` names arguments, by position or name, that are part of the program. `dims` leaves sizes
    open, as in `trace`. `donate` names arguments whose arrays results may be written to; they are
    written only when everything has succeeded. `threads` says how many threads may work on a call;
    the bits do not depend on it. `nonfinite="raise"` refuses results that are not
    finite, `"skip"` leaves donated arrays as they are then.

    >>> @wg.compile
    ... def f(x):
    ...     return np.sum(np.exp(x) * 2.0)
    >>> float(f(np.zeros(3)))
    6.0
    """
    _require_options(dims, threads, nonfinite)
    static, donate = _listed("static", static), _listed("donate", donate)
    if f is None:
        return functools.partial(
            compile, static=static, dims=dims, donate=donate, threads=threads, nonfinite=nonfinite
        )
    if not callable(f):
        raise TraceError(
            f"compile: given {type(f).__name__}; it compiles a function. Pass the function itself, "
            "not its result."
        )
    return Compiled(f, static, dims, donate, nonfinite, threads)
