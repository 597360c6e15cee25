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

from wengert.api.compile_options import (
    POSITIONAL,
    Named,
    explained_tree,
    listed,
    positions_of,
    require_options,
    require_sizes,
)
from wengert.api.eager import EagerCall, is_eager, is_inside
from wengert.api.graph import Graph
from wengert.api.met import Met
from wengert.api.trace import NOTHING, Dims, argument_names, input_types
from wengert.api.watched_trace import watched_trace
from wengert.codegen.llvm.machine.fork_door import door
from wengert.core import tree
from wengert.core.arguments import worded
from wengert.core.dims import Shape, SizeNeeded
from wengert.core.dtypes import CHARS, DType, require_supported
from wengert.core.number import Number, argument_of_key, key_of_argument
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType
from wengert.core.warn import warn_user
from wengert.errors import SizeWarning, TraceError
from wengert.runtime.cache_key import Unkeyed, graph_parts
from wengert.runtime.executable import Executable
from wengert.runtime.signature import (
    Signature,
    Static,
    bound_sizes,
    is_number,
    mark_static,
    structure_of,
    with_numbers,
)

STALE = 8  # executables of a kind that are kept although something outside makes them useless now
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
        roots: Sequence[Any] = (),  # the user's functions, where `function` is not one itself
        met: Met | None = None,  # the programs of other compiled forms of the function
        yielding: Mapping[str, bool] = NOTHING,  # sizes that need not be open; whether to warn
    ) -> None:
        functools.update_wrapper(self, function)
        self._function, self._roots = function, roots or (function,)
        self._dims, self._yielding = dims, yielding
        self._nonfinite, self._threads = nonfinite, threads
        self._static, self._donate, self._early = static, (*donate, *early), early
        self._met = met or Met(function)
        self._signature: inspect.Signature | None = None
        self._places: dict[int, tuple[int, ...]] = {}  # of static arguments, by how many there are
        self._fixed: set[int] = set()  # arguments whose numbers Python needs while recording
        self._executables: dict[Any, list[Executable]] = {}
        self._exact: dict[Any, Executable] = {}  # the one used last, by kind and shapes
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
        given, _ = self._marked(args)
        try:
            leaves, structure = tree.flatten(given)
        except TraceError as error:
            raise explained_tree(self._function, given, error) from None
        if any(isinstance(x, Tensor) for x in leaves) or _has_numbers(structure):
            return self._function(*args)  # inside another transformation, which records it
        tried = self._recent
        executable, arrays, sizes = self._find(args)
        if not any(executable is each for each in tried):
            found = executable.entry(*args)
            if found is not NotImplemented:
                return found
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
            require_sizes(types, [x.shape for x in arrays])
        return call.run(arrays)

    @property
    def latest(self) -> Executable:
        """The executable of the last call."""
        return self._recent[0]

    def look(self) -> None:
        """Compare what was captured with what is there now; raises where an array was changed."""
        for known in self._executables.values():
            for each in known:
                each.look()

    def executable(self, *args: Any, **kwargs: Any) -> Executable:
        """The executable for arguments like these; it is called with the same arguments."""
        return self._find(self._positional(args, kwargs))[0]

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

    def _marked(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        """The arguments with static ones marked and Python numbers as arrays; where these are."""
        given = mark_static(args, self._static_places(args))
        places = [i for i, x in enumerate(given) if is_number(x) and i not in self._fixed]
        return (with_numbers(given, places) if places else given), tuple(places)

    def _find(self, given: tuple[Any, ...]) -> tuple[Executable, list[Any], dict[str, int]]:
        """The executable for these arguments, their distinct arrays, and the sizes of the Dims."""
        while True:
            args, numbers = self._marked(given)
            try:
                return self._find_marked(args, numbers)
            except SizeNeeded as needed:
                self._fix(needed, len(args))

    def _fix(self, needed: SizeNeeded, count: int) -> None:
        """Python needs the numbers of some arguments: let them be part of the program."""
        wanted = list(filter(None, map(argument_of_key, sorted(needed.names))))
        names = argument_names(self._function, count)
        self._fixed |= {names.index(name) for name in wanted}
        warn_user(
            f"compile: Python needed the value of {', '.join(wanted)} while the function was "
            "recorded; it is part of the program, and each other value compiles another one. Name "
            "it in static= of wg.compile if that is meant, or compute with arrays. "
            f"({needed.line})",
            SizeWarning,
            needed.line,
        )

    def _find_marked(
        self, args: tuple[Any, ...], numbers: tuple[int, ...]
    ) -> tuple[Executable, list[Any], dict[str, int]]:
        leaves, structure = tree.flatten(args)
        arrays, places = self._distinct(args, leaves)
        if not all(x.dtype.char in CHARS for x in arrays):
            self._require_dtypes(args, leaves)
        dtypes = tuple(_native(x.dtype) for x in arrays)
        shapes = [tuple(x.shape) for x in arrays]
        kind = (structure, places, dtypes, tuple(map(len, shapes)), numbers)
        key = kind, tuple(shapes)
        executable, sizes = self._known(key, structure, shapes)
        if executable is None:
            stand_ins = [ArrayType(*pair) for pair in zip(shapes, dtypes, strict=True)]
            with door, _collector_paused():
                executable = self._compile(args, structure, places, stand_ins, self._dims, numbers)
                if not executable.suits(executable.sizes):  # slices are others for small sizes
                    executable = self._compile(args, structure, places, stand_ins, None, numbers)
            sizes = executable.sizes
            self._keep(kind, executable)
        self._exact[key] = executable
        others = (x for x in self._recent if x is not executable)
        self._recent = (executable, *others)[:RECENT]
        return executable, arrays, sizes

    def _known(
        self, key: tuple[Any, Any], structure: tree.Structure, shapes: Sequence[Shape]
    ) -> tuple[Executable | None, dict[str, int]]:
        """An executable that is right for these arguments now, and the sizes of its Dims."""
        last = self._exact.get(key)
        for executable in (*([] if last is None else [last]), *self._executables.get(key[0], ())):
            sizes = bound_sizes(executable.input_types, shapes)
            if (
                sizes is not None
                and executable.suits(sizes)
                and executable.signature.structure == structure
                and executable.is_current()
            ):
                return executable, sizes
        return None, {}

    def _keep(self, kind: Any, executable: Executable) -> None:
        """Remember an executable; of those that something outside has made useless, a few."""
        known = self._executables.setdefault(kind, [])
        if executable not in known:
            stale = [each for each in known if not each.watch.holds()]
            if len(stale) >= STALE:
                known.remove(stale[0])
                self._exact = {k: each for k, each in self._exact.items() if each is not stale[0]}
            known.append(executable)
            count = executable.signature.structure.spec.num_children
            self._met.note(executable, argument_names(self._function, count), self._dims)

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
        return tree.distinct_leaves(args)

    def _static_places(self, args: Sequence[Any]) -> tuple[int, ...]:
        """Positions of the static arguments, which can be compared with those of other calls."""
        if not self._static:
            return ()
        places = self._places.get(len(args))
        if places is None:
            places = tuple(positions_of(self._function, self._static, len(args)))
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
        numbers: tuple[int, ...],  # positions of arguments that are Python numbers
    ) -> Executable:
        returned: list[tree.Structure] = []
        names = argument_names(self._function, len(args))
        keys = {i: key_of_argument(names[i]) for i in numbers}

        @functools.wraps(self._function)
        def recorded(*given: Any) -> Any:
            levels = {x.level for x in tree.leaves(given) if isinstance(x, Tensor)}
            found = self._function(*(_seen(x, keys.get(i)) for i, x in enumerate(given)))
            returned.append(structure_of(found, levels))
            return found

        given = tree.unflatten(structure, [stand_ins[place] for place in places])
        graph, watch, left_out = watched_trace(
            recorded, given, self._roots, dims, [*keys.values()], self._yielding, "compile"
        )
        self._met.note_left_out(left_out)
        sizes = require_sizes(graph.input_types(), [x.shape for x in stand_ins])
        inputs = tuple(str(graph.nodes[i].params["name"]) for i in graph.inputs)
        static = self._static_places(args) if self._static else ()
        donated = self._among(args, places, self._donate)
        early = self._among(args, places, self._early)
        signature = Signature(
            inputs, structure, places, returned[-1], donated, static, early, numbers
        )
        alike = self._alike(graph, signature, sizes)
        if alike is not None:
            self._met.note_again(alike.watch.broken())
            alike.watch_again(watch)
            return alike
        return Executable(graph, signature, sizes, self._nonfinite, self._threads, watch)

    def _alike(
        self, graph: Graph, signature: Signature, sizes: dict[str, int]
    ) -> Executable | None:
        """An executable of this very program that is of no use as it stands: something outside has
        changed that does not matter to it.
        """
        stale = [
            each
            for known in self._executables.values()
            for each in known
            if each.signature == signature and each.sizes == sizes
        ]
        if not stale:
            return None
        try:
            parts = graph_parts(graph)
            found = next((each for each in stale if graph_parts(each.graph) == parts), None)
        except Unkeyed:
            found = None
        if found is None:
            for each in stale:
                each.watch.require_unchanged()
        return found

    def _among(
        self, args: Sequence[Any], places: Sequence[int], names: Sequence[Named]
    ) -> tuple[int, ...]:
        """Which of the distinct arrays belong to some of the arguments."""
        chosen = positions_of(self._function, names, len(args))
        counts = [len(tree.leaves(arg)) for arg in args]
        found: dict[int, None] = {}
        for i in chosen:
            begin = sum(counts[:i])
            found |= dict.fromkeys(places[begin : begin + counts[i]])
        return tuple(found)


def _seen(x: Any, key: str | None) -> Any:
    """An argument as the function sees it while it is recorded."""
    if key is not None:
        return Number(x, frozenset((key,)))
    return x.value if isinstance(x, Static) else x


def _has_numbers(structure: tree.Structure) -> bool:
    return any(isinstance(x, Number) for x in structure.static)


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


def _native(dtype: DType) -> DType:
    return dtype if dtype.isnative else dtype.newbyteorder("=")


@worded
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
    require_options(dims, threads, nonfinite)
    static, donate = listed("static", static), listed("donate", donate)
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
