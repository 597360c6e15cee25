"""Engine: calls a step's programs on its live arrays."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from wengert.api.compiling.eager import is_eager
from wengert.api.compiling.swept_numbers import ProgramUse
from wengert.api.single_outputs import warn_of_single_outputs
from wengert.core import tree
from wengert.core.dtypes import float64, int64
from wengert.errors import DTypeError, ShapeError
from wengert.ops.random import key
from wengert.optim.model_forms import ModelForm
from wengert.optim.optimizer import Updates
from wengert.optim.quasi_newton.search_result import warn_of_unread_results
from wengert.runtime.executable import Executable
from wengert.runtime.nonfinite_policies import IGNORE, RAISE, SKIP
from wengert.runtime.outside.live import is_live
from wengert.train.batch import Kinds, leaf_names
from wengert.train.draw_positions import Draws
from wengert.train.eager_steps import run_eagerly
from wengert.train.guard import Guard
from wengert.train.live_programs import LivePrograms
from wengert.train.mistakes.carried.restored_models import RestoredModels
from wengert.train.mistakes.copied.given_trees import GivenTrees
from wengert.train.mistakes.copied.loaded_settings import optimizers_in_words
from wengert.train.mistakes.idle_parts import IdleParts
from wengert.train.mistakes.skipped_steps import SkippedSteps
from wengert.train.mistakes.twin_parameters import TwinParameters
from wengert.train.mistakes.zero_gradients import ZeroGradients
from wengert.train.nonfinite import explain_nonfinite
from wengert.train.recorded.finite_proof import measure
from wengert.train.recorded.layers.outside_layers import warn_of_outside_layers
from wengert.train.recorded.layers.outside_uses import OutsideUse
from wengert.train.recorded.layers.unreached import warn_of_unreached
from wengert.train.recorded.optimizer_groups import users_rules, warn_of_decay
from wengert.train.recorded.rows.rows_in_order import warn_of_gathered_rows
from wengert.train.recorded.rows.rows_of_data import is_in_run, rows_are_shuffled
from wengert.train.recorded.rows.told_rows import warn_of_rows, warn_of_shuffled_rows
from wengert.train.recorded.scalars import Row, Scalars
from wengert.train.recorded.step_arrays import (
    CALLS,
    PHASE,
    REPORT,
    UPDATES,
    FixedArrays,
    LiveArrays,
    OwnArguments,
)
from wengert.train.recorded.step_function import StepFunction
from wengert.train.recorded.step_plan import StepPlan
from wengert.train.runs.data import Data
from wengert.train.runs.frames import note_missing
from wengert.train.runs.progress import Begun, Progress
from wengert.train.segments import live_zeros
from wengert.train.shown.shown_trees import ShownTrees
from wengert.train.storage import Array

StepResults = tuple[Any, Any, Array, Any]  # live arrays, those that are written early, report, aux
DROPPED = (
    "All calls that have accumulated since the last update are dropped with this one; the next "
    "call begins anew."
)


class SharedCalls(Protocol):
    """How calls are made that several processes share: see `ranked/`."""

    @property
    def writes(self) -> bool: ...

    def call(self, batch: Sequence[Any]) -> StepResults: ...

    def look(self) -> None: ...

    def rows_of(self, rows: int) -> tuple[int, int]: ...

    def agree(self, by: str, facts: Mapping[str, str]) -> None: ...


class Engine:
    """The live arrays of a step, the counts among them, and the programs that update them."""

    def __init__(
        self,
        plan: StepPlan,
        carried: Sequence[Array],
        names: Callable[[int], Sequence[str]],
        limits: dict[str, float],
        seed: int,
        threads: int | None,
        nonfinite: str,
        compiled: bool,
        first: Engine | None = None,  # of the ensemble that this one is a member of
    ) -> None:
        self.plan, self.carried, self.names = plan, carried, names
        self.nonfinite, self.threads, self.compiled = nonfinite, threads, compiled
        self._last_phase = plan.accumulate - 1  # calls before the one that ends with an update
        self.kinds: Kinds = Kinds(names, plan.cast) if first is None else first.kinds
        self.guard: Guard = Guard() if first is None else first.guard
        self.counts = live_zeros(3, int64)  # written by the programs, together with all else
        self.use = ProgramUse(partial(self.counts.item, CALLS))
        self.extents = live_zeros(len(plan.bounded), float64)  # how large states can be
        self.unseen = np.ones(1, bool)  # whether only the step can have written to the states
        self.seed, self._key = seed, key(seed)
        self.made_with = optimizers_in_words(plan.groups)
        made = Updates(self.counts[UPDATES : UPDATES + 1])
        for group in plan.groups:
            if group.optimizer is not None:
                group.optimizer.count_by(made)
        self.progress = Progress()
        self.told_of_plateau = False  # whether it has warned of a schedule that is shown no metric
        self.shown: ShownTrees = ShownTrees() if first is None else first.shown
        self.given: GivenTrees = GivenTrees(plan.loss) if first is None else first.given
        self.given.add(plan.storage.given_arrays, plan.storage.given_objects)
        self.given.note_shared(plan.storage.given_arrays, plan.storage.given_parameters())
        self.zero_gradients = ZeroGradients(plan)
        self.skipped_steps = SkippedSteps(nonfinite)
        self.twins = TwinParameters(plan.storage)
        weights = [segment.weights for segment in plan.storage.trained]
        paths = [] if plan.carried is None else tree.paths(tree.unflatten(plan.carried, carried))
        self.restored = RestoredModels(weights, carried, paths, self.counts[CALLS : CALLS + 1])
        self.draws = Draws()  # of bound functions, saved with the step
        # Paths that no gradient reaches: always this list, which members share.
        self.unreached: list[str] = [] if first is None else first.unreached
        # Batch arguments that the loss does not read: shared in the same way.
        self.unread: list[str] = [] if first is None else first.unread
        self._outside: list[OutsideUse] = []  # arrays in the program that was recorded last
        # An ensemble looks at all of its members at once, by the first of them.
        self.idle_parts = IdleParts(plan, carried, self.unreached, watches=first is None)
        # Of the last call: scalars, report, index, whether skipped. Machine code writes there, too.
        self.noted: list[Any] = [None, None, 0, False]
        self.measure_states()
        self._gather()
        if first is None:
            self._make_programs(limits)
        else:
            self._share_programs(first, limits)
        self.ranked: SharedCalls | None = None  # where several processes share the step

    def _gather(self) -> None:
        """The live arrays as programs take them."""
        storage = self.plan.storage
        self.arrays: LiveArrays[Any] = LiveArrays(
            weights=[segment.weights for segment in storage.trained],
            states=[segment.states for segment in storage.trained],
            carried=self.carried,
            counts=self.counts,
            extents=[self.extents] if self.plan.bounded else [],
            gradients=[segment.gradients for segment in storage.trained],
        )
        self.live, self.early = self.arrays.divided(self.plan.accumulate > 1)
        self.fixed = FixedArrays(
            frozen=tuple(segment.weights for segment in storage.frozen),
            data=tuple(storage.data.values()),
            key=self._key,
            unseen=self.unseen,
        )

    def _make_programs(self, limits: dict[str, float]) -> None:
        plan = self.plan
        scalars = Scalars(plan.groups, limits, plan.storage.fine_groups)
        given = [plan.storage.tree(plan.storage.leaves), *users_rules(plan.groups)]
        if plan.carried is not None:
            given.append(tree.unflatten(plan.carried, self.carried))
        policy = IGNORE if self.nonfinite == IGNORE else SKIP
        self.programs = {
            updates: LivePrograms(
                StepFunction(
                    plan,
                    self.arrays,
                    scalars.columns,
                    updates,
                    self.note_unreached,
                    self.note_outside,
                    self.given.note_part_uses,
                    self.given.stale_arguments,
                    self.note_unread,
                    self.given.repeated_keys,
                ).flat,
                OwnArguments._fields,
                self.names,
                plan.loss,
                given,
                plan.dims,
                self.threads,
                policy,
                donate=("live",),
                early=("early",),
                use=self.use,
            )
            for updates in (False, True)
        }
        self._begin_programs(weakref.WeakSet(), scalars)

    def _share_programs(self, first: Engine, limits: dict[str, float]) -> None:
        """Have the programs of another engine, whose plan is of the same form: they get all arrays
        and numbers that differ as arguments.
        """
        scalars = Scalars(self.plan.groups, limits, self.plan.storage.fine_groups)
        assert scalars.columns == first.scalars.columns
        self.programs = first.programs
        self._begin_programs(first._looked_at, scalars)

    def _begin_programs(self, looked_at: weakref.WeakSet[Executable], scalars: Scalars) -> None:
        self._looked_at = looked_at
        # Looked at in runs that shuffle rows, and in runs that shuffle or cut them.
        self._shuffled: weakref.WeakSet[Executable] = weakref.WeakSet()
        self._cut: weakref.WeakSet[Executable] = weakref.WeakSet()
        self.loops: dict[Any, Any] = {}  # programs, ready for the loops of runs, by kind of data
        self.orders: list[Any] = []  # of the rows of runs
        self.scalars = scalars  # set last: its limits show that all the rest has been done

    def look_once(
        self,
        executable: Executable,
        own: Sequence[str] = OwnArguments._fields,
        arguments: Sequence[Any] = (),
    ) -> None:
        """Warn of what a new program shows, whose first arguments have the names `own`. `arguments`
        are all of the first call, if there is one yet.
        """
        if executable not in self._looked_at:
            self._looked_at.add(executable)
            alone = arguments and not is_in_run()
            arrays = executable.signature.by_name(arguments) if alone else {}
            warn_of_rows(executable.graph, executable.sizes, own, rows_are_shuffled(), arrays)
            warn_of_single_outputs(executable.graph, own)
            storage = self.plan.storage
            given = [x for x in (each() for each in storage.given.values()) if x is not None]
            if not self.given.warn_of_stale_reads([use.array for use in self._outside]):
                model, uses = storage.tree(storage.leaves), self._outside
                others = self.given.is_trained_by_others
                warn_of_outside_layers(executable.watch, uses, model, given, others)
        self._outside = []  # so that no array is kept alive
        if rows_are_shuffled() and executable not in self._shuffled:
            self._shuffled.add(executable)
            warn_of_shuffled_rows(executable.graph, own)

    def look_at_cut_rows(self, executable: Executable) -> None:
        """Warn of what a program shows that a run calls with rows in another order, or with some of
        them.
        """
        self.look_once(executable)
        if executable not in self._cut:
            self._cut.add(executable)
            warn_of_gathered_rows(executable.graph)

    def note_unread(self, names: list[str]) -> None:
        self.unread[:] = names

    def note_outside(self, uses: list[OutsideUse]) -> None:
        self._outside = uses

    def note_unreached(self, paths: list[str], used: list[str], used_frozen: list[str]) -> None:
        self.given.note_unreached(paths, [*used, *used_frozen])
        new = set(paths) - set(self.unreached)
        self.unreached[:] = paths
        trained = [(s, p) for s in self.plan.storage.trained for p in s.parameters]
        if len(paths) < len(trained):  # else it is refused
            self.plan.storage.warn_of_originals(sorted(new))
            silent = [path for path in used if path in new]
            for segment, parameter in trained:
                if parameter.path in new:
                    trainer = self.plan.groups[segment.group].trainer
                    if warn_of_decay(trainer, parameter.path) and parameter.path in silent:
                        silent.remove(parameter.path)
            if silent and not self.plan.strict:
                warn_of_unreached(silent, [parameter.path for _, parameter in trained])

    @cached_property
    def model_form(self) -> ModelForm:
        """What other weights look like that are given among the data."""
        storage = self.plan.storage
        return ModelForm(storage.tree(storage.leaves))

    @cached_property
    def evaluated_form(self) -> ModelForm:
        """The same of what a function is evaluated on; it may be given a copy of the state, too."""
        storage = self.plan.storage
        return ModelForm(storage.tree(storage.leaves), self.carried_state())

    def training_data(self, by: str, arguments: Sequence[Any], size: Any) -> Data:
        """The arguments of a run, in batches of so many rows."""
        names = self.names(len(arguments))
        self.kinds.columns.note(by, names, arguments)
        return Data(by, names, arguments, size, model=self.model_form)

    def evaluated_data(
        self, by: str, names: Sequence[str], arguments: Sequence[Any], size: Any
    ) -> Data:
        """Arguments of these names that a function is evaluated on."""
        self.kinds.columns.compare(by, names, arguments)
        return Data(by, names, arguments, size, may_be_short=True, model=self.evaluated_form)

    def own_arguments(self) -> OwnArguments:
        """What programs take before the batch, in the next call."""
        row = self.scalars.row(self.updates + 1)
        return OwnArguments(self.live, self.early, self.fixed, row)

    def program_for(self, batch: Sequence[Any]) -> tuple[Executable, tuple[Any, ...]]:
        """The program that updates, for a batch, and its arguments."""
        batch, own = self.kinds.prepared(batch), self.own_arguments()
        return self.programs[True].executable(own, batch), (*own, *batch)

    def set_limits(self, limits: dict[str, float]) -> None:
        """Clip by these limits from now on. New values cost nothing; clipping that begins or ends
        needs new programs.
        """
        if limits.keys() == self.limits.keys():
            self.limits.update(limits)
            self.scalars.forget()
        else:
            self._make_programs(limits)

    def carried_state(self) -> Any:
        """The live state that is carried from call to call, as a tree; None without one."""
        carried = self.plan.carried
        return None if carried is None else tree.unflatten(carried, self.carried)

    def look(self) -> None:
        """Compare what the loss captured, what was shown and what was given with what is there
        now, and tell of weights that a search found and nobody took; raises where a captured
        array was changed.
        """
        self.shown.look()
        self.given.look()
        warn_of_unread_results("TrainStep", self.plan.storage.leaves)
        for programs in self.programs.values():
            programs.look()
        if self.ranked is not None:
            self.ranked.look()

    def measure_states(self) -> None:
        """Find out how large the states are, where they were written from outside."""
        measure(self.extents, self.plan.bounded)

    def set_counts(self, calls: int, updates: int, phase: int) -> None:
        self.counts[:] = calls, updates, phase  # one operation: no signal comes in between

    def set_seed(self, seed: int) -> None:
        self.seed, self._key[:] = seed, key(seed)

    @property
    def limits(self) -> dict[str, float]:
        """What gradients are clipped by, by name."""
        return self.scalars.limits

    @property
    def writes(self) -> bool:
        """Whether this process writes files: of several that share the step, the first one does."""
        return self.ranked is None or self.ranked.writes

    @property
    def calls(self) -> int:
        return int(self.counts.item(CALLS))

    @property
    def updates(self) -> int:
        return int(self.counts.item(UPDATES))

    @property
    def phase(self) -> int:
        return int(self.counts.item(PHASE))

    @property
    def updating(self) -> bool:
        """Whether the next call is the last one of an accumulation."""
        return self.phase == self._last_phase

    def begin_epoch(self, rows: int, size: int, seed: int | None, data: int) -> int:
        """Begin an epoch, and return how many of its batches have been taken already: some, where
        an epoch of the same data (given by a checksum), in the same batches and order, was
        interrupted.
        """
        begun = self.progress.begun
        new = Begun(self.calls if begun is None else begun.calls, rows, size, seed, data)
        if begun is None or begun != new:
            self.progress = self.progress.with_epoch(Begun(self.calls, rows, size, seed, data))
            return 0
        return self.calls - begun.calls

    # A call.

    def call(self, batch: Sequence[Any]) -> StepResults:
        """One step: live arrays are updated, or an error is raised and they are as before."""
        if self.ranked is not None:
            return self.ranked.call(batch)
        calls, updates, phase = self.counts.tolist()
        updating = phase == self._last_phase
        row = self.scalars.row(updates + 1)
        results: Any = NotImplemented
        skipped = False
        if self.compiled and not is_eager():
            entry = self.programs[updating].entry
            results = entry(self.live, self.early, self.fixed, row, *batch)
        if results is NotImplemented:
            results, skipped = self._call_slowly(row, batch, updating)
        self.noted[:] = row, results[REPORT], calls, skipped
        return results  # type: ignore[no-any-return]

    def _call_slowly(
        self, row: Row, batch: Sequence[Any], updating: bool
    ) -> tuple[StepResults, bool]:
        """The results, and whether the call was skipped."""
        given, before = batch, self.calls
        batch = self.kinds.prepared(batch)
        self.require_apart(batch)
        own = OwnArguments(self.live, self.early, self.fixed, row)
        programs = self.programs[updating]
        try:
            if not self.compiled or is_eager():
                always = self.nonfinite == IGNORE
                results = run_eagerly(programs.function, own, batch, always, self.commit_eagerly)
            else:
                results, executable = programs.call(own, batch)
                self.look_once(executable, arguments=(*own, *batch))
        except (IndexError, ShapeError, DTypeError) as error:
            if not is_in_run():  # which has all rows
                note_missing(error, self.names(len(given)), given)
            raise
        skipped = self.calls == before  # nothing was committed
        if skipped:
            self._leave_out(own, batch, updating)
        self.kinds.remember(batch)
        return results, skipped

    def commit_eagerly(self, write: Callable[[], None]) -> None:
        def work() -> None:
            write()
            self.measure_states()

        self.guard.commit(work)

    def _leave_out(self, own: OwnArguments, batch: Sequence[Any], updating: bool) -> None:
        """Count a call that was not finite, or raise an error that says why. If the call is finite
        by itself, what was accumulated before it is not, and no later call could mend that: all of
        it is dropped.
        """
        drops = bool(self.phase) and self._is_finite_alone(own, batch)
        error: Exception | None = None
        if self.nonfinite == RAISE:
            error = explain_nonfinite(
                self.plan, self.programs[updating], own, batch, self.kinds.columns
            )
        self.count_left_out(drops, error)

    def count_left_out(self, drops: bool, error: Exception | None) -> None:
        """Count a call that was not finite, unless an error says why; where it `drops`, what was
        accumulated before it is forgotten.
        """
        phase = 0 if drops else self.phase
        self.set_counts(self.calls + (error is None), self.updates, phase)
        if error is not None:
            if drops:
                error.add_note(DROPPED)
            raise error

    def _is_finite_alone(self, own: OwnArguments, batch: Sequence[Any]) -> bool:
        """Whether a call would be committed as the first one of an accumulation."""
        copies = self.arrays.map(np.array)
        copies.counts[PHASE] = 0
        live, early = copies.divided(self.plan.accumulate > 1)
        own, programs = own._replace(live=live, early=early), self.programs[False]
        if not self.compiled or is_eager():
            run_eagerly(programs.function, own, batch, False, lambda write: write())
        else:
            programs.of(batch)(*own, *batch)
        return bool(copies.counts[CALLS] != self.calls)

    def require_apart(self, batch: Sequence[Any]) -> None:
        """Refuse live arrays of this very step: they are written to."""
        names = leaf_names(self.names(len(batch)), batch)
        for name, x in zip(names, tree.leaves(tuple(batch)), strict=True):
            own = is_live(x) and any(np.may_share_memory(x, y) for y in (*self.live, *self.early))
            if own:
                average = " For the average, give the loss a parameter averaged."
                raise ValueError(
                    f"TrainStep: batch argument {name!r} is a live array of this step; the loss "
                    "gets it as its model, and it is written to. Use it from there, or pass a copy."
                    f"{average if self.plan.storage.averages else ''}"
                )
