"""RankedPrograms: the compiled programs of a step that ranks share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from wengert.api.compiling.eager import eager, is_eager
from wengert.core import tree
from wengert.core.dims import Dim
from wengert.runtime.executable import Executable
from wengert.runtime.nonfinite_policies import IGNORE, SKIP
from wengert.train.batch import ROWS
from wengert.train.eager_steps import run_eagerly
from wengert.train.engine import Engine, StepResults
from wengert.train.live_programs import LivePrograms
from wengert.train.ranked.gradient_blocks import FlatGradient
from wengert.train.ranked.program_stages import has_sums
from wengert.train.ranked.ranked_functions import (
    CommitArguments,
    Gathered,
    PartArguments,
    RankedFunction,
    Share,
)
from wengert.train.ranked.staged_parts import StagedProgram, staged_program
from wengert.train.recorded.step_function import StepFunction
from wengert.train.storage import Array


class PartResults(NamedTuple):
    """What a micro-batch gave beside its gradients."""

    loss: Any
    carried: Sequence[Any]
    aux: Any
    program: Executable | None  # None where the program of the call before was used

    @property
    def leaves(self) -> list[Array]:
        return [np.asarray(x) for x in (self.loss, *self.carried, *tree.leaves(self.aux))]


class RankedPrograms:
    """The programs before and behind the exchange, for the options an engine has now."""

    def __init__(self, engine: Engine) -> None:
        self._engine, plan = engine, engine.plan
        self.made_for = engine.programs  # these are made anew when options change
        given = [plan.storage.tree(plan.storage.leaves)]
        steps = {
            updates: RankedFunction(
                StepFunction(
                    plan,
                    engine.arrays,
                    engine.scalars.columns,
                    updates,
                    engine.note_unreached,
                    engine.note_outside,
                    engine.given.note_part_uses,
                    engine.given.stale_arguments,
                    engine.note_unread,
                    engine.given.repeated_keys,
                )
            )
            for updates in (False, True)
        }
        self._staged: dict[Any, StagedProgram] = {}
        user = engine.names, plan.loss, given
        self._parts = LivePrograms(
            steps[True].part,
            PartArguments._fields,
            *user,
            plan.dims,
            engine.threads,
            IGNORE,
            early=("into",),
            use=engine.use,
        )
        policy = IGNORE if engine.nonfinite == IGNORE else SKIP
        self._commits = {
            updates: LivePrograms(
                step.commit,
                CommitArguments._fields,
                *user,
                None,
                engine.threads,
                policy,
                donate=("live",),
                use=engine.use,
            )
            for updates, step in steps.items()
        }

    def part(
        self, carried: Sequence[Array], into: FlatGradient, share: Share, batch: Sequence[Any]
    ) -> PartResults:
        """Write the gradients of a micro-batch, and say what else it gave."""
        engine, own = self._engine, self._own(carried, into, share)
        executable = None
        if not engine.compiled or is_eager():
            with eager(), np.errstate(all="ignore"):
                gradients, *rest = tree.copy(self._parts.function(*own, *batch))
            for target, value in zip(into.segments, gradients, strict=True):
                target[...] = value
        else:
            returned = self._parts.entry(*own, *batch)
            if returned is NotImplemented:
                returned, executable = self._parts.call(own, batch)
                engine.look_once(executable, PartArguments._fields, (*own, *batch))
            rest = returned[1:]
        loss, carried, aux = rest
        return PartResults(loss, carried, aux, executable)

    def _own(self, carried: Sequence[Array], into: FlatGradient, share: Share) -> PartArguments:
        engine = self._engine
        live, _ = replace(engine.arrays, carried=carried).divided(engine.plan.accumulate > 1)
        return PartArguments(live, into.segments, engine.fixed, share)

    def is_staged(
        self, carried: Sequence[Array], into: FlatGradient, share: Share, batch: Sequence[Any]
    ) -> bool:
        """Whether micro-batches like this one exchange sums before they are computed."""
        if not self._engine.compiled or is_eager():
            return False  # then such sums are refused
        own = self._own(carried, into, share)
        return has_sums(self._parts.executable(own, batch).graph)

    def staged(
        self,
        carried: Sequence[Array],
        into: FlatGradient,
        share: Share,
        batch: Sequence[Any],
        kind: Any,
    ) -> tuple[StagedProgram, tuple[Any, ...]]:
        """The program of a micro-batch in stages, and its arguments. Micro-batches of one kind have
        the same one.
        """
        arguments = (*self._own(carried, into, share), *batch)
        known = self._staged.get(kind)
        if known is None or not known.executable.is_current():
            executable = self._parts.of(batch).executable(*arguments)
            self._engine.look_once(executable, PartArguments._fields, arguments)
            known = staged_program(executable, arguments, self._engine.threads)
            self._staged[kind] = known
        return known, arguments

    def look(self) -> None:
        """Compare what the loss captured with what is there now; raises where an array was
        changed.
        """
        self._parts.look()

    def commit(self, row: Any, gathered: Gathered, updating: bool) -> StepResults:
        """Update the live arrays by what all ranks have computed, if it is finite."""
        engine = self._engine
        own = CommitArguments(engine.live, (), engine.fixed, row, gathered)
        programs = self._commits[updating]
        results: Any
        if not engine.compiled or is_eager():
            always = engine.nonfinite == IGNORE
            results = run_eagerly(programs.function, own, (), always, engine.commit_eagerly)
        else:
            results = programs.entry(*own)
            if results is NotImplemented:
                results, _ = programs.call(own, ())
        return results  # type: ignore[no-any-return]


def rows_in_front(part: PartResults, skipped: int, rows: int) -> list[bool]:
    """Which leaves of what a micro-batch gave have its rows as axis 0; the program gave so many
    other results before them.
    """
    if part.program is not None:
        types = part.program.output_types[skipped:]
        if any(isinstance(size, Dim) for t in part.program.input_types for size in t.shape):
            return [bool(t.shape) and str(t.shape[0]) == ROWS for t in types]
    return [x.ndim > 0 and x.shape[0] == rows for x in part.leaves]
