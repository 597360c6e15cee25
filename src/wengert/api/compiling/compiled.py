"""Compiled: a function as machine code, made when it is first called with arguments of a kind."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from wengert.api.compiling.compile_options import (
    POSITIONAL,
    Named,
    explained_tree,
    positions_of,
    require_sizes,
)
from wengert.api.compiling.differences import without_number
from wengert.api.compiling.eager import EagerCall, is_eager, is_inside
from wengert.api.compiling.known_programs import KnownPrograms
from wengert.api.compiling.met import Met
from wengert.api.compiling.watched_trace import watched_trace
from wengert.api.pairs.pairs_of_rows import warn_of_pairs_in_data
from wengert.api.single_outputs import warn_of_single_outputs
from wengert.api.trace import NOTHING, Dims, argument_names, input_types
from wengert.core import tree
from wengert.core.dims import SizeNeeded
from wengert.core.dtypes import CHARS, DType, require_supported
from wengert.core.process.fork_door import door
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType
from wengert.core.values.number import Number, argument_of_key, key_of_argument
from wengert.core.words.articles import a_kind
from wengert.core.words.noticed.tied import warn_of_equal_numbers
from wengert.core.words.noticed.watched_arrays import note_reads, watched_arrays
from wengert.core.words.warn import warn_user
from wengert.errors import SizeWarning, TraceError
from wengert.interpret.mistakes.differentiated import noting_differentiated
from wengert.interpret.mistakes.first_values import noting_first_values, warn_of_first_values
from wengert.loading import garbage_left
from wengert.runtime.executable import Executable
from wengert.runtime.profile import Profile
from wengert.runtime.signature import (
    Signature,
    Static,
    is_number,
    mark_static,
    passed_on,
    structure_of,
    with_numbers,
)


class OpenSizes(NamedTuple):
    """Sizes that a program leaves open."""

    dims: Dims | None
    yielding: Mapping[str, bool] = NOTHING  # those that need not be open; whether to warn
    pattern: Hashable = None  # what else calls have in common that share programs


class Compiled:
    """A function that runs as machine code. Each kind of arguments (trees, shapes, dtypes) has an
    executable of its own, made when it is first met.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        static: tuple[Named, ...],
        opened: OpenSizes | Callable[[tuple[Any, ...]], OpenSizes],  # in all calls, or in one
        donate: tuple[Named, ...],
        nonfinite: str,
        threads: int | None,
        early: tuple[Named, ...] = (),  # donated arguments that are written whatever happens
        roots: Sequence[Any] = (),  # the user's functions, where `function` is not one itself
        met: Met | None = None,  # the programs of other compiled forms of the function
        passed: frozenset[int] = frozenset(),  # identities of numbers it has and may pass on
        static_in: str = "wg.compile",  # where static arguments are named, if they can be
        by: str = "compile",  # what it is called in words about the model
    ) -> None:
        functools.update_wrapper(self, function)
        self._function, self._roots = function, roots or (function,)
        self._asked_for = not roots  # by wg.compile, whose options messages may name
        self._opened = opened
        self._nonfinite, self._threads = nonfinite, threads
        self._static, self._donate, self._early = static, (*donate, *early), early
        self._met = met or Met(function, alone=True)
        self._passed, self._static_in, self._by = passed, static_in, by
        self._signature: inspect.Signature | None = None
        self._places: dict[int, tuple[int, ...]] = {}  # of static arguments, by how many there are
        # Arguments whose numbers Python needs while recording, and what to do about that, where
        # those who need them know it.
        self._fixed: dict[int, str] = {}
        self._differentiates = False  # by an argument, which a derivative is taken at on purpose
        self.programs = KnownPrograms()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            args = self._positional(args, kwargs)
        if is_eager():
            return self._run_eagerly(args)
        for executable in self.programs.recent:
            result = executable.entry(*args)
            if result is not NotImplemented:
                return result
        return self._look_up_and_run(args)

    def served(self, args: tuple[Any, ...]) -> tuple[Any, Executable]:
        """What a call returns, and the executable that computed it. No argument is a Tensor."""
        for executable in self.programs.recent:
            result = executable.entry(*args)
            if result is not NotImplemented:
                return result, executable
        return self._find_and_run(args)

    def _look_up_and_run(self, args: tuple[Any, ...]) -> Any:
        """The slow path: for arguments of a new kind, or such that arrays must be made of."""
        given, _ = self._marked(args)
        try:
            leaves, structure = tree.flatten(given)
        except TraceError as error:
            raise explained_tree(self._function, given, error) from None
        if any(isinstance(x, Tensor) for x in leaves) or _has_numbers(structure):
            return self._function(*args)  # inside another transformation, which records it
        return self._find_and_run(args)[0]

    def _find_and_run(self, args: tuple[Any, ...]) -> tuple[Any, Executable]:
        tried = self.programs.recent
        executable, arrays, sizes = self._find(args)
        if not any(executable is each for each in tried):
            result = executable.entry(*args)
            if result is not NotImplemented:
                return result, executable
        return executable.run(arrays, sizes), executable

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
        options = donated, self._nonfinite, early, self._passed
        call = EagerCall(self._function, structure, places, *options)
        if isinstance(self._opened, OpenSizes) and self._opened.dims:
            types, _ = input_types(arrays, call.names(arrays), self._opened.dims, "compile")
            require_sizes(types, [x.shape for x in arrays])
        return call.run(arrays)

    @property
    def latest(self) -> Executable:
        """The executable that was looked up last."""
        return self.programs.recent[0]

    def look(self) -> None:
        """Compare what was captured with what is there now; raises where an array was changed."""
        for each in self.programs:
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

    def profile(self, *args: Any, **kwargs: Any) -> Profile:
        """Where the time of a call with these arguments goes, kernel by kernel. It works on copies
        of them.
        """
        given = self._positional(args, kwargs)
        return self._find(given)[0].profile(*given)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: the instance is the first argument."""
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """As a decorated function: by its name. Otherwise the function and the options; programs
        are made again where they are needed.
        """
        assert isinstance(self._opened, OpenSizes)  # those of steps are never handed out
        holder: Any = sys.modules.get(self._function.__module__)
        for name in self._function.__qualname__.split("."):
            holder = getattr(holder, name, None)
        if holder is self:
            return str(self._function.__qualname__)
        given = self._function, self._static, self._opened.dims, self._donate
        return _made_again, (*given, self._nonfinite, self._threads)

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
        positional = [given.get(p.name, p.default) for p in places[: last + 1]]
        return (*positional, *args[len(places) :])

    def _marked(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        """The arguments with static ones marked and Python numbers as arrays; where these are."""
        given = mark_static(args, self._static_places(args))
        places = [i for i, x in enumerate(given) if is_number(x) and i not in self._fixed]
        return (with_numbers(given, places) if places else given), tuple(places)

    def _find(self, given: tuple[Any, ...]) -> tuple[Executable, list[Any], dict[str, int]]:
        """The executable for these arguments, their distinct arrays, and the sizes of the Dims."""
        opened = self._opened if isinstance(self._opened, OpenSizes) else self._opened(given)
        while True:
            args, numbers = self._marked(given)
            try:
                return self._find_marked(args, numbers, opened)
            except SizeNeeded as needed:
                self._fix(needed, given)

    def _fix(self, needed: SizeNeeded, given: Sequence[Any]) -> None:
        """Python needs the numbers of some arguments: let them be part of the program."""
        wanted = list(filter(None, map(argument_of_key, sorted(needed.names))))
        names = argument_names(self._function, len(given))
        whole = all(type(given[names.index(name)]) is int for name in wanted)
        self._fixed |= {names.index(name): needed.repair for name in wanted}
        warn_user(
            f"compile: Python needed the value of {', '.join(wanted)} while the function was "
            "recorded (a branch, a shape, length=, range, a key of a dict, a text, a whole number "
            "beyond 64 bits); it is part of the program, and each other value compiles another "
            f"one. {needed.repair or self._meant(wanted, whole)} ({needed.line})",
            SizeWarning,
            needed.line,
        )

    def _meant(self, wanted: Sequence[str], whole: bool) -> str:
        """What to write where Python needs the value of arguments."""
        traced = without_number(whole)
        if self._static_in:
            names = f'"{wanted[0]}"' if len(wanted) == 1 else str(tuple(wanted)).replace("'", '"')
            meant = f"{self._static_in}(f, static={names})"
            return f"{traced}; if it has few values, write {meant}."
        return f"{traced}, unless it has few values."

    def _find_marked(
        self, args: tuple[Any, ...], numbers: tuple[int, ...], opened: OpenSizes
    ) -> tuple[Executable, list[Any], dict[str, int]]:
        leaves, structure = tree.flatten(args)
        arrays, places = self._distinct(args, leaves)
        if not all(x.dtype.char in CHARS for x in arrays):
            self._require_dtypes(args, leaves)
        dtypes = tuple(_native(x.dtype) for x in arrays)
        shapes = [tuple(x.shape) for x in arrays]
        kind = (structure, places, dtypes, tuple(map(len, shapes)), numbers, opened.pattern)
        known = self.programs.find(kind, structure, shapes)
        if known is not None:
            executable, sizes = known
        else:
            stand_ins = [ArrayType(*pair) for pair in zip(shapes, dtypes, strict=True)]
            with door, garbage_left(), noting_differentiated() as own:
                executable = self._compile(args, structure, places, stand_ins, opened, numbers)
                if not executable.suits(executable.sizes):  # slices are others for small sizes
                    closed = OpenSizes(None, opened.yielding)
                    executable = self._compile(args, structure, places, stand_ins, closed, numbers)
            sizes = executable.sizes
            self._differentiates |= bool(own)
            if self.programs.add(kind, executable):
                count = structure.spec.num_children
                names = argument_names(self._function, count)
                self._met.note(executable, names, opened.dims, self._static_in, self._fixed)
                if self._asked_for and own:
                    warn_of_pairs_in_data(executable.graph, own, "in a function with its gradient")
                    warn_of_single_outputs(executable.graph, own)
                    if len(arrays) < len(leaves) and names[0] in own:
                        warn_of_equal_numbers(self._by, tree.leaves_with_accessors(args[0]))
        self.programs.note_use(kind, shapes, executable)
        if watched_arrays and self._asked_for:
            given = () if self._differentiates else arrays
            note_reads([*given, *executable.watch.owners()], executable)
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
                    f"compile: static argument {name!r} is {a_kind(args[i])} that has no "
                    "hash; one is needed to find it again. Pass a tuple, a number or a string."
                ) from None
        return places

    def _compile(
        self,
        args: tuple[Any, ...],
        structure: tree.Structure,
        places: tuple[int, ...],
        stand_ins: Sequence[ArrayType],  # for the arrays: recording needs no values
        opened: OpenSizes,
        numbers: tuple[int, ...],  # positions of arguments that are Python numbers
    ) -> Executable:
        returned: list[tree.Structure] = []
        names = argument_names(self._function, len(args))
        keys = {i: key_of_argument(names[i]) for i in numbers}
        passed = passed_on(structure) | self._passed

        @functools.wraps(self._function)
        def recorded(*given: Any) -> Any:
            levels = {x.level for x in tree.leaves(given) if isinstance(x, Tensor)}
            result = self._function(*(_seen(x, keys.get(i), args[i]) for i, x in enumerate(given)))
            returned.append(structure_of(result, levels, passed))
            return result

        given = tree.unflatten(structure, [stand_ins[place] for place in places])
        with noting_first_values() as asked:
            graph, watch, left_out = watched_trace(
                recorded,
                given,
                self._roots,
                opened.dims,
                [*keys.values()],
                opened.yielding,
                "compile",
                passed,
            )
        self._met.note_left_out(left_out)
        sizes = require_sizes(graph.input_types(), [x.shape for x in stand_ins])
        inputs = tuple(str(graph.nodes[i].params["name"]) for i in graph.inputs)
        if asked:
            arrays = dict(zip(places, tree.leaves(args), strict=True))
            warn_of_first_values(asked, graph, arrays, sizes)
        static = self._static_places(args) if self._static else ()
        donated = self._among(args, places, self._donate)
        early = self._among(args, places, self._early)
        signature = Signature(
            inputs, structure, places, returned[-1], donated, static, early, numbers
        )
        alike = self.programs.alike(graph, signature, sizes)
        if alike is not None:
            self._met.note_again(alike.watch)
            alike.watch_again(watch)
            return alike
        return Executable(graph, signature, sizes, self._nonfinite, self._threads, watch)

    def _among(
        self, args: Sequence[Any], places: Sequence[int], names: Sequence[Named]
    ) -> tuple[int, ...]:
        """Which of the distinct arrays belong to some of the arguments."""
        chosen = positions_of(self._function, names, len(args))
        counts = [len(tree.leaves(arg)) for arg in args]
        members: dict[int, None] = {}
        for i in chosen:
            begin = sum(counts[:i])
            members |= dict.fromkeys(places[begin : begin + counts[i]])
        return tuple(members)


def _made_again(
    function: Callable[..., Any], static: Any, dims: Dims | None, *options: Any
) -> Compiled:
    return Compiled(function, static, OpenSizes(dims), *options)


def _seen(x: Any, key: str | None, first: Any) -> Any:
    """An argument as the function sees it while it is recorded for a call that has it so."""
    if key is not None:
        return Number(x, frozenset((key,)), int(first) if first.dtype.kind == "i" else None)
    return x.value if isinstance(x, Static) else x


def _has_numbers(structure: tree.Structure) -> bool:
    return any(isinstance(x, Number) for x in structure.static)


def _native(dtype: DType) -> DType:
    return dtype if dtype.isnative else dtype.newbyteorder("=")
