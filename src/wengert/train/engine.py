"""Engine: calls a step's programs on its live arrays, and keeps count."""

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
from wengert.runtime.many import Turn
from wengert.train.batch import Kinds, leaf_names
from wengert.train.bounds import measure
from wengert.train.nonfinite import explain_nonfinite
from wengert.train.program import REPORT, Live, Plan, whole_step
from wengert.train.programs import Programs
from wengert.train.scalars import Row, Scalars
from wengert.train.stepwise import run_eagerly
from wengert.train.storage import Array, aligned, is_live

Found = tuple[Any, Any, Array, Any]  # live arrays, those that are written early, report, aux
OWN = ("live", "early", "fixed", "scalars")  # what programs take before the batch


class Engine:
    """The live arrays of a step, the programs that update them, and the counts."""

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
        self.counter = aligned(1, int64)  # calls that were made: the position of randomness
        self.phase = np.zeros(1, int64)  # calls since the last update
        self.extents = aligned(len(plan.bounded), float64)  # of the states of optimizers
        self.unseen = np.ones(1, bool)  # whether nobody else can write to these
        self.seed, self._key = seed, key(seed)
        self._made = Updates()  # the optimizers look at it, too
        for group in plan.groups:
            if group.optimizer is not None:
                group.optimizer.count_by(self._made)
        self.epoch = 0
        self.shuffled = False  # whether an order of rows has depended on the epoch
        self.row: Row | None = None  # of the last call
        self.report = np.full(2, np.nan)  # loss and norm of the gradients of the last call
        self.skipped = False
        self.measure_states()
        self._gather()
        self._make_programs(limits)
        self.set_phase(0)

    def _gather(self) -> None:
        """The live arrays as programs take them."""
        storage = self.plan.storage
        arrays = Live(
            [segment.weights for segment in storage.trained],
            [segment.states for segment in storage.trained],
            self.carried,
            self.counter,
            [self.extents] if self.plan.bounded else [],
            [segment.gradients for segment in storage.trained],
        )
        self.live, self.early = arrays.committed(self.plan), arrays.early(self.plan)
        frozen = tuple(segment.weights for segment in storage.frozen)
        self.fixed = (frozen, tuple(storage.data.values()), self.phase, self._key, self.unseen)

    def _make_programs(self, limits: dict[str, float]) -> None:
        plan = self.plan
        self.scalars = Scalars(plan.groups, limits)
        plan.columns, plan.limits = self.scalars.columns, self.scalars.places
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
            )
            for update in (False, True)
        }
        self.turns: dict[Any, Turn | None] = {}  # of the loops that runs take their steps in
        self._latest: dict[bool, Any] = {False: None, True: None}  # compiled functions
        self._entries: dict[bool, Any] = {False: never, True: never}  # and the way into them

    def set_limits(self, limits: dict[str, float]) -> None:
        """Clip by these limits from now on. Other values cost nothing, other names new programs."""
        if limits.keys() == self.limits.keys():
            self.limits.update(limits)
            self.scalars.forget()
        else:
            self._make_programs(limits)

    def set_phase(self, phase: int) -> None:
        """Note how many calls an accumulation has had; the last one updates."""
        self.phase[0] = phase
        self.updating = phase == self.plan.accumulate - 1

    def measure_states(self) -> None:
        """Find the extents of states that came from elsewhere."""
        measure(self.extents, self.plan.bounded)

    def set_seed(self, seed: int) -> None:
        self.seed, self._key[:] = seed, key(seed)

    @property
    def limits(self) -> dict[str, float]:
        """What gradients are clipped by, by name."""
        return self.scalars.limits

    @property
    def updates(self) -> int:
        return self._made.made

    @updates.setter
    def updates(self, count: int) -> None:
        self._made.made = count

    @property
    def calls(self) -> int:
        return int(self.counter[0])

    # A call.

    def call(self, batch: Sequence[Any]) -> Found:
        """One step: live arrays are updated, or an error is raised and they are as before."""
        before, updates, phase = self.counter.item(), self._made.made, self.phase.item()
        row = self.scalars.row(updates + 1)
        self.skipped = False
        found: Any = NotImplemented
        try:
            if self.compiled and not is_eager():
                entry = self._entries[self.updating]
                found = entry(self.live, self.early, self.fixed, row, *batch)
            if found is NotImplemented:
                found = self._call_slowly(row, batch)
            self.row, self.report = row, found[REPORT]
            if not self.skipped:
                self._advance(updates, phase)
        except BaseException:  # a signal, when the program had updated everything
            if self.counter.item() != before and not self.skipped:
                self.row, self.report = row, np.full(2, np.nan)
                self._advance(updates, phase)
            raise
        return found  # type: ignore[no-any-return]

    def _advance(self, updates: int, phase: int) -> None:
        """Count a call; these were the counts before it."""
        self._made.made = updates + (phase == self.plan.accumulate - 1)
        if self.plan.accumulate > 1:
            self.set_phase((phase + 1) % self.plan.accumulate)

    def _call_slowly(self, row: Row, batch: Sequence[Any]) -> Found:
        batch, before = self.kinds.prepared(batch), self.calls
        self._require_apart(batch)
        own = (self.live, self.early, self.fixed, row)
        programs = self.programs[self.updating]
        if not self.compiled or is_eager():
            found = run_eagerly(programs.function, own, batch, self.nonfinite == "ignore")
            self.measure_states()
        else:
            compiled = programs.find(own, batch)
            found = compiled(*own, *batch)
            if compiled is not self._latest[self.updating]:
                self._latest[self.updating] = compiled
                self._entries[self.updating] = compiled.executable(*own, *batch).entry
        if self.calls == before:  # nothing was committed
            if self.nonfinite == "raise":
                raise explain_nonfinite(self.plan, programs, own, batch)
            self.skipped = True
            self.counter += 1
        self.kinds.remember(batch)
        return found  # type: ignore[no-any-return]

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
