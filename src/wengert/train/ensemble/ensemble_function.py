"""EnsembleFunction: a function of the model, compiled, on the live parameters of all members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.api.compiling.eager import eager, is_eager
from wengert.core import tree
from wengert.core.dims import substitute
from wengert.core.trees.row_labels import RowOrderLooks
from wengert.runtime.bound import bound_as_given
from wengert.runtime.crews.crew import Crew, CrewProgram
from wengert.runtime.entries import objects
from wengert.runtime.executable import Executable
from wengert.runtime.outside.live import recording_threads, refuse_calling
from wengert.train.batch import FunctionParameters
from wengert.train.bound_function import PLAIN, BoundFunction, own_arrays
from wengert.train.engine import Engine
from wengert.train.ensemble.cost import MemberWork, splits
from wengert.train.ensemble.each import note_lists, of_member, require_members
from wengert.train.ensemble.failures import Failures
from wengert.train.ensemble.member_arguments import GivenArrays, given_arrays
from wengert.train.ensemble.member_calls import stacked
from wengert.train.open_sizes import OpenShape, shapes_by_rows
from wengert.train.uncopied import Uncopied

REMEMBERED = 16  # kinds of arguments
OTHERS = "Nothing was changed."


class _FunctionCrew(NamedTuple):
    crew: Crew
    executable: Executable
    types: Sequence[Any]  # shape and dtype of each result
    own: int  # how many columns are those of the members' arrays
    arguments: int  # how many columns follow, of the arguments
    open_shapes: list[OpenShape] | None
    draw: int | None  # the column of what makes the random numbers of a call


class EnsembleFunction(Uncopied):
    """`bound(*args)` is `f(model, *args)` for every member: one tree, whose arrays have an axis of
    members in front. Arguments are shared, or `wg.train.each(…)` for each member.
    """

    _otherwise = "Bind the function to the other ensemble."

    def __init__(
        self,
        members: Callable[[], Sequence[Engine]],  # those that there are now
        threads: int,
        bound: BoundFunction,
        parameters: FunctionParameters,
    ) -> None:
        self._members, self._threads = members, threads
        self._bound, self._parameters = bound, parameters
        self._engines: Sequence[Engine] = []
        self.open_shapes: list[OpenShape] | None = None  # of the last result
        self._count = 0  # of calls
        self._row_order = RowOrderLooks()

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._call(args, named, None)

    def mean(self, *args: Any, **named: Any) -> Any:
        """The mean over members of what a call returns."""
        return tree.map(lambda x: np.mean(x, axis=0), self._call(args, named, None))

    def spread(self, *args: Any, **named: Any) -> Any:
        """The standard deviation over members of what a call returns: how far they disagree. It is
        0 for one member.
        """
        return tree.map(lambda x: np.std(x, axis=0), self._call(args, named, None))

    def call_numbered(self, number: int, args: Sequence[Any]) -> Any:
        """The same as a call, as the one with this number: its random numbers depend on that."""
        return self._call(args, {}, number)

    def look(self) -> None:
        """Compare what was captured with what is there now; raises where an array was changed."""
        self._bound.look()

    def _call(self, args: Sequence[Any], named: Mapping[str, Any], number: int | None) -> Any:
        if recording_threads:
            refuse_calling("Ensemble.bind", PLAIN)
        args = self._parameters.by_place("Ensemble.bind", args, named)
        engines = self._members()
        names = self._parameters.names(len(args))
        require_members("Ensemble.bind", names, args, len(engines))
        first = engines[0]
        look_at_columns = first.kinds.columns.compare
        given = given_arrays("Ensemble.bind", names, args, look_at_columns, self._row_order)
        self._count += 1
        if self._count & (self._count - 1) == 0:  # calls 1, 2, 4, 8 …: native ones do not count
            self.look()
        if first.shown.trees and first.shown.is_due():
            first.shown.look()
        try:
            return first.guard.read(lambda: self._read(engines, given, number))
        except Exception as error:
            note_lists(error, names, given.arguments, len(engines))
            raise

    def _read(self, engines: Sequence[Engine], given: GivenArrays, number: int | None) -> Any:
        if self._engines is not engines:
            self._engines = engines
            owns = [own_arrays(engine, self._parameters) for engine in engines]
            self._owns = [tuple(own.values()) for own in owns]
            self._crews: dict[Any, _FunctionCrew | None] = {}
            self._every = np.arange(len(engines), dtype=np.int64)
        draw = self._bound.with_draw((), number)
        crew = self._find(given, draw)
        failures = Failures()
        if crew is None:
            stacked_results = self._by_python(given.arguments, draw, failures)
        else:
            stacked_results = self._natively(crew, given, draw, failures)
        failures.raise_first(len(engines), OTHERS)
        return stacked_results

    def _find(self, given: GivenArrays, draw: tuple[Any, ...]) -> _FunctionCrew | None:
        compiled = self._engines[0].compiled and not is_eager()
        kind = given.kind() if compiled else None
        if kind is None:
            return None
        known = self._crews.get(kind)
        if known is not None and not known.executable.is_current():
            self._crews.clear()
            known = None
        if known is None and kind not in self._crews:
            known = self._crews[kind] = self._make(given.arguments, draw)
            for oldest in list(self._crews)[:-REMEMBERED]:
                self._crews.pop(oldest, None)
        return known

    def _make(self, args: Sequence[Any], draw: tuple[Any, ...]) -> _FunctionCrew | None:
        given, own = of_member(args, 0), (*self._owns[0], *draw)
        batch = self._bound.prepared(given)
        executable = self._bound.programs.executable(own, batch)
        leaves = tree.leaves(tuple(batch))
        bound = bound_as_given(executable, own, batch, given)
        if bound is None or executable.written or not executable.suits(bound.sizes):
            return None
        arrays = tree.leaves(self._owns[0])
        columns = [*bound.slots_of(arrays), *bound.slots_of(leaves), *bound.slots_of(draw)]
        program = CrewProgram(executable, bound.sizes, [*columns, *executable.output_slots])
        touched = executable.recipe.placed.size + sum(x.nbytes for x in (*arrays, *leaves))
        work = MemberWork(touched, executable.recipe.divided)
        count, threads = len(self._engines), self._threads
        crew = Crew(count, [program], threads, splits(count, threads, work))
        for own_of_member, row in zip(self._owns, crew.addresses, strict=True):
            row[: len(arrays)] = [objects.data(x) for x in tree.leaves(own_of_member)]
        types = [(substitute(t.shape, bound.sizes), t.dtype) for t in executable.output_types]
        shapes = shapes_by_rows(executable)
        shapes = None if shapes is None else [(count, *shape) for shape in shapes]
        at = len(arrays) + len(leaves)
        return _FunctionCrew(
            crew, executable, types, len(arrays), len(leaves), shapes, at if draw else None
        )

    def _natively(
        self, made: _FunctionCrew, given: GivenArrays, draw: tuple[Any, ...], failures: Failures
    ) -> Any:
        addresses, count = made.crew.addresses, len(self._engines)
        end = made.own + made.arguments
        addresses[:, made.own : end] = given.addresses(self._every)
        if made.draw is not None:
            addresses[:, made.draw] = objects.data(draw[0])
        results = [np.empty((count, *shape), dtype) for shape, dtype in made.types]
        for column, x in enumerate(results, end + (made.draw is not None)):
            addresses[:, column] = objects.data(x) + self._every * x.strides[0]
        made.crew.run(self._every)
        for i in np.flatnonzero(made.crew.statuses).tolist():  # raises what the op says
            failures.guarded(i, self._for_one, i, given.arguments, draw)
        self.open_shapes = made.open_shapes
        return tree.unflatten(made.executable.signature.returned, results)

    def _by_python(self, args: Sequence[Any], draw: tuple[Any, ...], failures: Failures) -> Any:
        self.open_shapes = None
        results = [
            failures.guarded(i, self._for_one, i, args, draw) for i in range(len(self._engines))
        ]
        return None if failures.errors else stacked(results)

    def _for_one(self, member: int, args: Sequence[Any], draw: tuple[Any, ...]) -> Any:
        own, given = (*self._owns[member], *draw), self._bound.prepared(of_member(args, member))
        if is_eager() or not self._engines[0].compiled:
            with eager():
                return self._bound.programs.of(given)(*own, *given)
        return self._bound.programs.call(own, given)[0]
