"""Engine: calls a step's programs on its live arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.api.eager import is_eager
from wengert.core import tree
from wengert.core.dtypes import float64, int64
from wengert.ops.random import key
from wengert.optim.optimizer import Updates
from wengert.runtime.entry import never
from wengert.runtime.live import is_live
from wengert.runtime.native_runs import Turn
from wengert.train.batch import Kinds, leaf_names
from wengert.train.eager_steps import run_eagerly
from wengert.train.finite_proof import measure
from wengert.train.guard import Guard
from wengert.train.nonfinite import explain_nonfinite
from wengert.train.progress import Begun, Progress
from wengert.train.scalars import Row, Scalars
from wengert.train.step_function import (
    CALLS,
    PHASE,
    REPORT,
    UPDATES,
    Live,
    Plan,
    read_live,
    whole_step,
)
from wengert.train.step_programs import Programs
from wengert.train.storage import Array, aligned

Found = tuple[Any, Any, Array, Any]  # live arrays, those that are written early, report, aux
OWN = ("live", "early", "fixed", "scalars")  # what programs take before the batch
Noted = tuple[Row, Array, int, bool]  # of a call: scalars, report, index, whether it was skipped
DROPPED = (
    "All calls that have accumulated since the last update are dropped with this one; the next "
    "call begins anew."
)


class Engine:
    """The live arrays of a step, the counts among them, and the programs that update them."""

    def __init__(
        self,
        plan: Plan,
        carried: Sequence[Array],
        names: Callable[[int], Sequence[str]],
        limits: dict[str, float],
        seed: int,
        threads: int | None,
        nonfinite: str,
        compiled: bool,
    ) -> None:
        self.plan, self.carried, self.names = plan, carried, names
        self.nonfinite, self.threads, self.compiled = nonfinite, threads, compiled
        self.kinds = Kinds(names, plan.cast)
        self.guard = Guard()
        self.counts = aligned(3, int64)  # written by the programs, together with all else
        self.extents = aligned(len(plan.bounded), float64)  # of the states of optimizers
        self.unseen = np.ones(1, bool)  # whether nobody else can write to these
        self.seed, self._key = seed, key(seed)
        made = Updates(self.counts[UPDATES : UPDATES + 1])
        for group in plan.groups:
            if group.optimizer is not None:
                group.optimizer.count_by(made)
        self.progress = Progress()
        self.noted: Noted | None = None  # of the last call
        self.measure_states()
        self._gather()
        self._make_programs(limits)

    def _gather(self) -> None:
        """The live arrays as programs take them."""
        storage = self.plan.storage
        arrays = Live(
            [segment.weights for segment in storage.trained],
            [segment.states for segment in storage.trained],
            self.carried,
            self.counts,
            [self.extents] if self.plan.bounded else [],
            [segment.gradients for segment in storage.trained],
        )
        self.live, self.early = arrays.committed(self.plan), arrays.early(self.plan)
        frozen = tuple(segment.weights for segment in storage.frozen)
        self.fixed = (frozen, tuple(storage.data.values()), self._key, self.unseen)

    def _make_programs(self, limits: dict[str, float]) -> None:
        plan = self.plan
        scalars = Scalars(plan.groups, limits)
        plan.columns, plan.limits = scalars.columns, scalars.places
        policy = "ignore" if self.nonfinite == "ignore" else "skip"
        self.programs = {
            update: Programs(
                whole_step(plan, update),
                OWN,
                self.names,
                ("live",),
                ("early",),
                self.threads,
                policy,
                plan.loss,
                plan.dims,
            )
            for update in (False, True)
        }
        self.turns: dict[Any, Turn | None] = {}  # of the loops that runs take their steps in
        self._entries: dict[bool, Any] = {False: never, True: never}  # of those used last
        self.scalars = scalars  # last: by its limits it is seen whether all this has been done

    def set_limits(self, limits: dict[str, float]) -> None:
        """Clip by these limits from now on. Other values cost nothing, other names new programs."""
        if limits.keys() == self.limits.keys():
            self.limits.update(limits)
            self.scalars.forget()
        else:
            self._make_programs(limits)

    def look(self) -> None:
        """Compare what the loss captured with what is there now; raises where an array was
        changed.
        """
        for programs in self.programs.values():
            programs.look()

    def measure_states(self) -> None:
        """Find the extents of states that came from elsewhere."""
        measure(self.extents, self.plan.bounded)

    def set_counts(self, calls: int, updates: int, phase: int) -> None:
        self.counts[:] = calls, updates, phase  # at once, as seen from Python

    def set_seed(self, seed: int) -> None:
        self.seed, self._key[:] = seed, key(seed)

    @property
    def limits(self) -> dict[str, float]:
        """What gradients are clipped by, by name."""
        return self.scalars.limits

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
        return self.phase == self.plan.accumulate - 1

    def begin_epoch(self, rows: int, size: int, seed: int | None) -> int:
        """Begin an epoch, or go on with the one that was interrupted, if it is one of so many rows
        in such batches and such an order; how many batches of it have been taken.
        """
        begun = self.progress.begun
        if begun is None or (begun.rows, begun.size, begun.seed) != (rows, size, seed):
            begun = Begun(self.calls, rows, size, seed)
            self.progress = self.progress.with_epoch(begun)
        return self.calls - begun.calls

    # A call.

    def call(self, batch: Sequence[Any]) -> Found:
        """One step: live arrays are updated, or an error is raised and they are as before."""
        calls, updates, phase = self.counts.tolist()
        updating = phase == self.plan.accumulate - 1
        row = self.scalars.row(updates + 1)
        found: Any = NotImplemented
        skipped = False
        if self.compiled and not is_eager():
            found = self._entries[updating](self.live, self.early, self.fixed, row, *batch)
        if found is NotImplemented:
            found, skipped = self._call_slowly(row, batch, updating)
        self.noted = row, found[REPORT], calls, skipped
        return found  # type: ignore[no-any-return]

    def _call_slowly(self, row: Row, batch: Sequence[Any], updating: bool) -> tuple[Found, bool]:
        """The results, and whether the call was skipped."""
        batch, before = self.kinds.prepared(batch), self.calls
        self._require_apart(batch)
        own = (self.live, self.early, self.fixed, row)
        programs = self.programs[updating]
        if not self.compiled or is_eager():
            always = self.nonfinite == "ignore"
            found = run_eagerly(programs.function, own, batch, always, self._commit_eagerly)
        else:
            compiled = programs.find(own, batch)
            found = compiled(*own, *batch)
            self._entries[updating] = compiled.latest.entry
        skipped = self.calls == before  # nothing was committed
        if skipped:
            self._leave_out(own, batch, updating)
        self.kinds.remember(batch)
        return found, skipped

    def _commit_eagerly(self, write: Callable[[], None]) -> None:
        def work() -> None:
            write()
            self.measure_states()

        self.guard.commit(work)

    def _leave_out(self, own: Sequence[Any], batch: Sequence[Any], updating: bool) -> None:
        """Count a call that was not finite, or raise what says why. If it is finite by itself, then
        what has accumulated with it is not, and would never be again: all of that is dropped.
        """
        drops = bool(self.phase) and self._is_finite_alone(own, batch)
        error: Exception | None = None
        if self.nonfinite == "raise":
            error = explain_nonfinite(self.plan, self.programs[updating], own, batch)
            if drops:
                error.add_note(DROPPED)
        phase = 0 if drops else self.phase
        self.set_counts(self.calls + (error is None), self.updates, phase)
        if error is not None:
            raise error

    def _is_finite_alone(self, own: Sequence[Any], batch: Sequence[Any]) -> bool:
        """Whether a call would be committed as the first one of an accumulation."""
        live, early = (tuple(np.array(x) for x in each) for each in own[:2])
        counts = read_live(self.plan, live, early).counts
        counts[PHASE] = 0
        own, programs = (live, early, *own[2:]), self.programs[False]
        if not self.compiled or is_eager():
            run_eagerly(programs.function, own, batch, False, lambda write: write())
        else:
            programs.find(own, batch)(*own, *batch)
        return bool(counts[CALLS] != self.calls)

    def _require_apart(self, batch: Sequence[Any]) -> None:
        """Refuse live arrays of this very step: they are written to."""
        names = leaf_names(self.names(len(batch)), batch)
        for name, x in zip(names, tree.leaves(tuple(batch)), strict=True):
            own = is_live(x) and any(np.may_share_memory(x, y) for y in (*self.live, *self.early))
            if own:
                raise ValueError(
                    f"TrainStep: batch argument {name!r} is a live array of this step; the loss "
                    "gets it as its model, and it is written to. Use it from there, or pass a copy."
                )
