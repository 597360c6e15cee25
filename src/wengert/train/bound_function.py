"""BoundFunction: a function of the model, compiled, on the live parameters of a step."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from threading import get_ident
from typing import Any

import numpy as np

from wengert.api.compiling.eager import eager, is_eager
from wengert.api.compiling.met import Met
from wengert.api.trace import Dims
from wengert.core import tree
from wengert.core.graph import Graph
from wengert.core.table import op
from wengert.core.trees.row_labels import RowOrderLooks
from wengert.core.words.warn import warn_user
from wengert.errors import DTypeError, ShapeError, SummedRowsWarning
from wengert.functions.batch_statistics import noting_batch_statistics, noting_kept_statistics
from wengert.functions.dropout import noting_dropout
from wengert.interpret.mistakes.called_again import in_bound_function
from wengert.interpret.trace import recorded_program
from wengert.ops.drawing.generator import Generator
from wengert.optim.parameters import leaves_in
from wengert.runtime.entries.entry import Call, never
from wengert.runtime.executable import Executable
from wengert.runtime.nonfinite_policies import IGNORE
from wengert.runtime.outside.live import recording_threads, refuse_calling
from wengert.train.batch import AVERAGED, GENERATOR, FunctionParameters, prepared
from wengert.train.draw_positions import Draws
from wengert.train.engine import Engine
from wengert.train.evaluation_words import EvaluationWords
from wengert.train.live_programs import LivePrograms
from wengert.train.mistakes.carried.stale_states import StaleStates
from wengert.train.mistakes.copied.given_trees import GivenTrees
from wengert.train.mistakes.copied.read_originals import warn_of_read_originals
from wengert.train.mistakes.first_batch import look_at_first_batch
from wengert.train.open_sizes import OpenShape, shapes_by_rows
from wengert.train.quick_calls import QuickBoundCalls
from wengert.train.recorded.layers.bound_layers import warn_as_in_training, warn_of_training_in_bind
from wengert.train.recorded.layers.dropped_statistics import dropped_statistics
from wengert.train.recorded.layers.unreached import paths_used_by
from wengert.train.recorded.loss_call import (
    averages_of,
    cast_floats,
    leaves_of,
)
from wengert.train.recorded.rows.no_means import NoMean, difference, no_means_over_rows
from wengert.train.recorded.rows.paired_rows import warn_of_paired_rows
from wengert.train.recorded.rows.rows_in_order import no_means_in_order
from wengert.train.recorded.rows.rows_of_data import is_in_run
from wengert.train.recorded.rows.scanned_rows import warn_of_scanned_rows
from wengert.train.recorded.rows.summed_rows import SummedRows, sums_over_rows
from wengert.train.recorded.step_plan import StepPlan
from wengert.train.recorded.step_results import with_sizes
from wengert.train.runs.data import Data
from wengert.train.runs.frames import note_missing
from wengert.train.uncopied import Uncopied

PLAIN = "Call the function itself that was bound, with the model as an argument."


_ALL_TRIED = 4  # evaluations; of later ones those whose numbers are powers of two
# In the place of a step's number, which is 0 or more: the random numbers of bound functions.
APART, EVALUATING = -1, -1  # the second: in the place of a bound function's number, for `evaluate`


def _recorded(
    plan: StepPlan,
    f: Callable[..., Any],
    parameters: FunctionParameters,
    names: Sequence[str],
    evaluates: bool,
    given_trees: GivenTrees,
    stale_states: StaleStates,
    read: set[str],  # where the paths go that it computes with
) -> Callable[..., Any]:
    """The function that is recorded: of the step's own arrays, which have these names, and of the
    arguments of a call.
    """
    storage = plan.storage
    look_at_reads = _LookAtReads(plan, f, given_trees, _name_of(evaluates), read)

    def function(*values: Any) -> Any:
        own, args = dict(zip(names, values, strict=False)), values[len(names) :]
        fixed, given, averages = own["fixed"], {}, []
        if "averages" in own:
            averages = leaves_of(storage, own["averages"], fixed)
            given[AVERAGED] = storage.tree(averages)
        if "draw" in own:
            given[GENERATOR] = _generator(fixed.key, own["draw"])
        leaves = leaves_of(storage, own["weights"], fixed)
        model = storage.tree(leaves)
        args = tuple(cast_floats(plan.cast, x) for x in args)
        # Where it evaluates, the same numbers for all models are fair.
        drawing = nullcontext() if evaluates else in_bound_function()
        with (
            noting_dropout() as dropping,
            noting_batch_statistics() as normalizing,
            noting_kept_statistics() as kept,
            drawing,
        ):
            returned = parameters.call(f, [model, *args], given)
        if evaluates and getattr(f, "__wrapped__", f) is plan.loss:
            warn_as_in_training(dropping, normalizing)
        elif not evaluates and normalizing:
            warn_of_training_in_bind(dropped_statistics(normalizing, returned))
        storage.require_unwritten("TrainStep.bind", "model", leaves, model, returned)
        results = with_sizes(returned)
        look_at_reads(tree.leaves(results), leaves, averages)
        if recorded_program() is not None:
            stale_states.note(kept, tree.leaves(results), tree.leaves(args))
        return results

    return function


class _LookAtReads:
    """Looks at what a function that is being recorded has read of the model, and of the one that
    the step was made with. It warns once.
    """

    def __init__(self, plan: StepPlan, f: Any, given: GivenTrees, by: str, read: set[str]) -> None:
        self._plan, self._function, self._given, self._by = plan, f, given, by
        self._read = read
        self._has_warned = False

    def __call__(
        self, results: Sequence[Any], leaves: Sequence[Any], averages: Sequence[Any]
    ) -> None:
        parameters = [p for segment in self._plan.storage.segments for p in segment.parameters]
        self._read.update(paths_used_by(results, leaves, parameters))
        self._given.note_read(self._read)
        self._given.note_bound(self._function)
        if not self._has_warned:
            trees = (leaves, averages) if averages else (leaves,)
            own = [(p.path, values[p.place]) for values in trees for p in parameters]
            self._has_warned = warn_of_read_originals(
                self._by, self._function, self._plan.loss, self._given, own, results
            )


def _name_of(evaluates: bool) -> str:
    """What messages call the method that was given a function."""
    return "TrainStep.evaluate" if evaluates else "TrainStep.bind"


class BoundFunction(Uncopied):
    """`bound(*args)` is `f(model, *args)` on the live parameters: nothing is copied, and no tree is
    flattened. The random numbers of a generator depend on the seed of the step, on the number of
    this function, and on how often it was called before.
    """

    _otherwise = "Bind the function to the other step."

    def __init__(
        self,
        engine: Engine,
        f: Callable[..., Any],
        parameters: FunctionParameters,
        number: int,
        dims: Dims | None = None,
        met: Met | None = None,  # the programs of other functions of the same code
        keeps_numbers: bool = False,  # whether numbers of the model stay numbers in results
        draws: Draws | None = None,  # where the positions of its draws are kept, if they are
        static: Collection[str] = (),  # names of arguments that are part of the program
    ) -> None:
        self.function = f
        storage, cast = engine.plan.storage, engine.plan.cast
        own = own_arrays(engine, parameters)
        # Each call has a draw of its own.
        names = (*own, "draw") if parameters.wants_rng else tuple(own)
        self._own: tuple[Any, ...] = tuple(own.values())
        self._own_names, self._static = names, static
        self._has_looked = False  # at arguments
        self._row_order = RowOrderLooks()
        self._looked_at: weakref.WeakSet[Executable] = weakref.WeakSet()
        self._draws, self._number = parameters.wants_rng, number
        self._positions = draws or Draws()
        self._positions.begin(number)
        self._cast, self._parameters, self._names = cast, parameters, parameters.names
        self._columns = engine.kinds.columns
        self._compiled, self._guard, self._shown = engine.compiled, engine.guard, engine.shown
        evaluates = number == EVALUATING
        self._of_step, self._is_asked = engine.given.functions, False
        self._restored = engine.restored
        self._read: set[str] = set()  # paths of the model, once it is recorded
        if not evaluates:
            self._of_step.add(self)
        self._stale_states = stale = StaleStates(_name_of(evaluates), f, engine)
        self._programs = LivePrograms(
            _recorded(
                engine.plan, f, parameters, names, evaluates, engine.given, stale, self._read
            ),
            names,
            parameters.names,
            f,
            [storage.tree(storage.leaves)],
            dims,
            engine.threads,
            IGNORE,
            met=met,
            passed=tree.static_numbers(storage.structure) if keeps_numbers else frozenset(),
            static=static,
            static_in="" if number == EVALUATING else "bind",
            dims_of_step=engine.plan.dims if number == EVALUATING else None,
            use=engine.use,
            form=engine.evaluated_form if number == EVALUATING else None,
        )
        self._quick_calls = QuickBoundCalls(engine.guard, engine.shown, self._own, self._programs)
        self._quick: Call = never  # how calls are made while nothing else is under way
        self._sums: list[SummedRows] = []  # over rows, where it evaluates
        self._no_means: list[NoMean] = []  # over rows, where it evaluates
        self._tries = 0  # evaluations in which rows might have shown these
        self.open_shapes: list[OpenShape] | None = None  # of the last result

    @property
    def programs(self) -> LivePrograms:
        return self._programs

    @property
    def calls(self) -> Callable[[], int]:
        """How often it was called, if it draws random numbers; to be asked when it is gone, too."""
        return partial(self._positions.positions.__getitem__, self._number)

    def with_draw(self, own: Sequence[Any], number: int | None = None) -> tuple[Any, ...]:
        """What the function takes before its arguments, in its next call or in that of a number."""
        if not self._draws:
            return tuple(own)
        if number is not None:
            self._positions.go_on({self._number: number})
        return (*own, np.array([self._number, self._positions.take(self._number)]))

    def prepared(self, args: Sequence[Any]) -> list[Any]:
        """The arguments of a call as trees of arrays."""
        names = self._names(len(args))
        self._columns.compare("TrainStep.bind", names, args)
        return [
            x if name in self._static else prepared(name, x, self._cast)
            for name, x in zip(names, args, strict=True)
        ]

    def __call__(self, *args: Any, **named: Any) -> Any:
        if not named:
            result = self._quick(*args)
            if result is not NotImplemented:
                return result
        return self._call_guarded(args, named)

    def _call_guarded(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        if recording_threads:
            refuse_calling("TrainStep.bind", PLAIN)
        if named:
            args = self._parameters.by_place("TrainStep.bind", args, named)
        if self._shown.trees and self._shown.is_due():
            self._shown.look()
        if self._is_asked:
            self._is_asked = False
            self._of_step.warn(self.function, self._read)
        if self._restored.waits:
            self._restored.look_at(leaves_in((args, named)))
        guard, own = self._guard, self.with_draw(self._own)
        with guard.lock:
            if self._compiled and not (guard.waiting or guard.pending or is_eager()):
                before, guard.reading = guard.reading, get_ident()
                try:
                    result = self._programs.entry(*own, *args)
                finally:
                    guard.reading = before
                if result is not NotImplemented:
                    if self._stale_states.waits:
                        self._stale_states.look(args)
                    self._find_quick_way()
                    return result
        return guard.read(partial(self._call_slowly, own, args))

    def ask_again(self) -> None:
        """Let the next call look at the step that this is bound to."""
        self._is_asked, self._quick = True, never

    def _find_quick_way(self) -> None:
        if not self._draws:
            waits = self._stale_states.waits  # quick calls are not looked at
            self._quick = never if waits else self._quick_calls.find()

    def call_numbered(self, number: int, args: Sequence[Any]) -> Any:
        """The same, as the call with this number: its random numbers depend on that."""
        self._positions.go_on({self._number: number})
        return self(*args)

    def warn_of_sums(self, batch_size: int, words: EvaluationWords) -> None:
        """Warn, once, where what was evaluated in several such batches sums over their rows."""
        sums = [each for each in self._sums if not each.is_mean_of(batch_size)]
        for each in sums[:1]:
            warn_user(words.of_sum(), SummedRowsWarning, each.line)
            self._sums.clear()

    def warn_of_no_mean(self, data: Data, words: EvaluationWords) -> None:
        """Warn, once, where what was evaluated in several batches of the data is no mean over rows,
        and some of the rows show it. Others may not, as those of a model that is not trained yet:
        all are tried in the first evaluations, and in a few of the later ones.
        """
        found = [each for each in self._no_means if words.in_order or not each.in_order]
        if not found or self._draws or self.open_shapes is None:
            return
        self._tries += 1
        if self._tries > _ALL_TRIED and self._tries.bit_count() > 1:
            return
        # One of each kind: those of a kind have the same rows.
        for each in {each.in_order: each for each in reversed(found)}.values():
            if self._warn_of(each, data, words):
                self._no_means.clear()
                return

    def _warn_of(self, found: NoMean, data: Data, words: EvaluationWords) -> bool:
        """Warn where the mean over rows is another one in batches half as large."""
        rows = max(data.size, 2)
        places = data.windows() if found.in_order else data.spreads()
        try:
            tried = (difference(self._numbers, parts, rows) for parts in places)
            seen = next((each for each in tried if each is not None), None)
        except Exception:  # a function for batches of this size only
            return False
        if seen is None:
            return False
        warn_user(
            f"{words.given} {found.what}; {words.mean}, each counted by its rows, so that it "
            f"depends on batch_size: it is {seen.whole:.6g} for {rows} of the rows, and "
            f"{seen.halves:.6g} in the mean for their halves. {words.repair or found.repair}.",
            SummedRowsWarning,
            found.line,
        )
        return True

    def _numbers(self, args: Sequence[Any]) -> list[Any]:
        return tree.leaves(tree.arrays(self(*args)))

    def look(self) -> None:
        """Compare what was captured with what is there now; raises where an array was changed."""
        self._programs.look()

    def _call_slowly(self, own: Sequence[Any], args: Sequence[Any]) -> Any:
        given, args = args, self.prepared(args)
        by, names = _name_of(self._number == EVALUATING), self._names(len(args))
        self._row_order.look(by, names, given)
        if not self._has_looked:
            self._has_looked = True
            look_at_first_batch(by, names, args, self._cast)
        try:
            if not self._compiled or is_eager():
                self.open_shapes = None
                with eager():
                    return self._programs.of(args)(*own, *args)
            result, executable = self._programs.call(own, args)
        except (IndexError, ShapeError, DTypeError) as error:
            if not is_in_run():  # which has all rows
                note_missing(error, names, given)
            raise
        if executable not in self._looked_at:
            self._looked_at.add(executable)
            self._look_once(executable.graph, executable.sizes)
        self._stale_states.look(given)
        self._find_quick_way()
        self.open_shapes = shapes_by_rows(executable)
        return result

    def _look_once(self, graph: Graph, sizes: Mapping[str, int]) -> None:
        """Warn of what a new program shows. What is bound may be given something else than a batch,
        such as a sequence alone; pairs of rows are none of its results where these are single
        numbers, as those of a test error.
        """
        if self._number == EVALUATING:
            warn_of_paired_rows(graph, sizes, self._own_names, "in TrainStep.evaluate")
            told = warn_of_scanned_rows(graph, self._own_names, "in TrainStep.evaluate")
            self._sums += sums_over_rows(graph)
            self._no_means += no_means_over_rows(graph)
            if not told:
                self._no_means += no_means_in_order(graph, self._own_names)
        else:
            if all(t.shape == () for t in graph.output_types()):
                warn_of_paired_rows(graph, sizes, self._own_names, "in TrainStep.bind")
            warn_of_scanned_rows(graph, self._own_names, "in TrainStep.bind", by_reading=True)


def own_arrays(engine: Engine, parameters: FunctionParameters) -> dict[str, Any]:
    """What bound functions take before their arguments, by name."""
    storage = engine.plan.storage
    weights = tuple(segment.weights for segment in storage.trained)
    own: dict[str, Any] = {"weights": weights, "fixed": engine.fixed}
    if parameters.wants_averaged:
        states = [segment.states for segment in storage.trained]
        own["averages"] = tuple(averages_of(storage, weights, states))
    return own


def _generator(key: Any, draw: Any) -> Generator:
    """The generator of one call, which depends on the seed, the function's number and the
    call's.
    """
    key = op.fold_in(key, np.array(APART))
    for i in range(2):
        key = op.fold_in(key, op.reshape(draw[i : i + 1], ()))
    return Generator(key)
