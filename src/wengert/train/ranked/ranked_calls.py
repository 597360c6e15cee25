"""RankedCalls: the calls of a step that several processes make together."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, partial
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.dtypes import float64, is_float
from wengert.errors import NonFiniteError, OptimError, RankError, ShapeError, WengertError
from wengert.optim.model_forms import ModelForm
from wengert.runtime.executable import Executable
from wengert.runtime.nonfinite_policies import RAISE
from wengert.train.engine import Engine, StepResults
from wengert.train.nonfinite import explain_nonfinite
from wengert.train.ranked.agreement import (
    Facts,
    facts_of,
    program_digest,
    require_same,
    warn_of_one_batch,
)
from wengert.train.ranked.gradient_blocks import FlatGradient, FlatGradients
from wengert.train.ranked.micro_batches import MicroBatches, Span, divided, middle, subtrees
from wengert.train.ranked.notes import (
    Layout,
    added_losses,
    joined,
    layout_of,
    read_notes,
    size_of,
    written,
)
from wengert.train.ranked.ranked_functions import Gathered, Share
from wengert.train.ranked.ranked_programs import PartResults, RankedPrograms, rows_in_front
from wengert.train.ranked.ranks import Ranks
from wengert.train.ranked.shared_batch import SharedBatch
from wengert.train.ranked.staged_parts import compute_stages
from wengert.train.recorded.step_arrays import REPORT
from wengert.train.storage import Array

LOOK_AGAIN = 1000  # calls after which ranks compare all of their arrays
KNOWS, CHANGED = 1, 2  # what a rank says of itself before a call, as bits
HEADER = ("calls", "rows", "numbers", "form", "flags")  # whole numbers that it sends


Compute = Callable[[int, FlatGradient], PartResults]  # a micro-batch, and where gradients go


@dataclass(frozen=True)
class _Known:
    """What ranks know of the results of a micro-batch."""

    layout: Layout
    aux: tree.Structure | None
    staged: bool  # whether sums over the whole batch are part of the program
    program: Executable | None  # of the micro-batches of this rank


@dataclass(frozen=True)
class _Shared:
    """A batch as all ranks see it."""

    part: SharedBatch
    batches: MicroBatches
    own: Span  # micro-batches of this rank

    def rows(self, number: int) -> Span:
        """Those of a micro-batch, in the part of this rank."""
        first = self.batches.begin(self.own[0])
        return self.batches.begin(number) - first, self.batches.begin(number + 1) - first


class RankedCalls:
    """Each rank computes the gradients of its micro-batches; they are added in the order of a tree
    over all micro-batches, and every rank commits the sum.
    """

    def __init__(self, engine: Engine, ranks: Ranks) -> None:
        self._engine, self.ranks = engine, ranks
        self._gradients = FlatGradients(engine.plan.storage)
        self._model = ModelForm(engine.plan.storage.tree(engine.plan.storage.leaves))
        self._state_names, self._state_rows = _state_leaves(engine, ranks.state_rows)
        self._made: RankedPrograms | None = None
        self._known: dict[Any, _Known] = {}  # by the form of the batch
        self._seen: object = None  # the latest change of the engine that all ranks have compared

    @property
    def writes(self) -> bool:
        """Whether this rank writes files."""
        return self.ranks.rank == 0

    @property
    def _programs(self) -> RankedPrograms:
        if self._made is None or self._made.made_for is not self._engine.programs:
            self._made = RankedPrograms(self._engine)
        return self._made

    def rows_of(self, rows: int) -> Span:
        """Which rows of a batch with so many are those of this rank."""
        batches = divided(rows, self.ranks.micro_batches)
        return batches.rows_of_rank(self.ranks.rank, self.ranks.size)

    def agree(self, by: str, facts: Facts) -> None:
        """Refuse to go on where ranks differ in these facts."""
        with self._told():
            told = self.ranks.gather_objects(facts)
        require_same(by, told)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Let the other ranks know where this one fails by itself."""
        try:
            yield
        except BaseException as error:
            self.ranks.tell_failure(error)
            raise

    # A call.

    def call(self, batch: Sequence[Any]) -> StepResults:
        """One step, given this rank's part of the batch. What all ranks refuse together leaves them
        together; any other error ends the step on all of them.
        """
        engine = self._engine
        prepared = engine.kinds.prepared(batch)
        engine.require_apart(prepared)
        self._forget_old_programs()
        part = SharedBatch(engine.names(len(prepared)), prepared, self._model)
        calls, row, updating = engine.calls, engine.scalars.row(engine.updates + 1), engine.updating
        shared, all_know = self._introduce(part, row)
        with self._told():
            gathered, aux = self._exchange(shared, all_know)
            results = self._programs.commit(row, gathered, updating)
        skipped = engine.calls == calls
        if skipped:
            self._leave_out(shared, gathered, updating)
        engine.noted[:] = row, results[REPORT], calls, skipped
        engine.kinds.remember(prepared)
        return (*results[:3], aux)

    def _forget_old_programs(self) -> None:
        """Where the loss would find something else outside than when it was recorded, all ranks
        compare their programs anew.
        """
        programs = (each.program for each in self._known.values())
        if not all(each is None or each.watch.holds() for each in programs):
            self._known.clear()

    def look(self) -> None:
        """Compare what the loss captured with what is there now."""
        if self._made is not None:
            self._made.look()

    def _introduce(self, part: SharedBatch, row: Array) -> tuple[_Shared, bool]:
        """The batch, and whether all ranks know what its micro-batches return. Ranks that are not
        at the same call, or not in the same state, are refused by all.
        """
        engine, ranks = self._engine, self.ranks
        latest = engine.guard.latest_change
        changed = latest is not self._seen and not _is_call(latest)
        changed |= self._seen is None or engine.calls % LOOK_AGAIN == 0
        flags = KNOWS * (part.form in self._known) + CHANGED * changed
        numbers = zlib.crc32(row.tobytes()), zlib.crc32(repr(part.form).encode())
        own = np.array([engine.calls, part.rows, *numbers, flags])
        with self._told():
            headers = ranks.gather(own.view(np.uint8), [own.nbytes] * ranks.size)
            told = np.stack([x.view(np.int64) for x in headers])
            compared = bool((told[:, -1] & CHANGED).any())
            own_facts = (facts_of(engine, ranks), part.checksum()) if compared else None
            facts = ranks.gather_objects(own_facts) if compared else []
        require_same("TrainStep", [each for each, _ in facts])
        if compared:
            self._seen = latest
        _require_same_call(told)
        warn_of_one_batch([checksum for _, checksum in facts])
        batches = _division(told[:, HEADER.index("rows")].tolist(), ranks)
        self._require_state_rows(batches.rows)
        own_span = batches.of_rank(ranks.rank, ranks.size)
        return _Shared(part, batches, own_span), bool((told[:, -1] & KNOWS).all())

    def _require_state_rows(self, rows: int) -> None:
        carried = zip(self._state_names, self._engine.carried, self._state_rows, strict=True)
        for name, x, has_rows in carried:
            if has_rows and x.shape[0] != rows:
                raise ShapeError(
                    f"TrainStep: {_called(name)} has {x.shape[0]} rows and the batch "
                    f"{rows}; state_rows says that they go together. Use batches of "
                    f"{x.shape[0]} rows, with drop_last=True in runs."
                )

    # Before the exchange, and the exchange.

    def _exchange(self, shared: _Shared, all_know: bool) -> tuple[Gathered, Any]:
        """What the micro-batches of all ranks gave together, and their aux. The gradients are left
        in the live ones, unless these accumulate.
        """
        engine, ranks, batches = self._engine, self.ranks, shared.batches
        notes: list[PartResults] = []
        whole = 0, batches.count
        known = self._known[shared.part.form] if all_know else None
        staged = self._are_staged(shared) if known is None else known.staged
        compute = self._computed_together(shared) if staged else partial(self._part, shared)
        spans = list(subtrees(whole, shared.own))
        sums = {span: self._sum(compute, span, notes) for span in spans}
        if known is None:
            known = self._learn(shared, notes, staged)
        own = written(
            known.layout,
            [(batches.size(shared.own[0] + i), each.leaves) for i, each in enumerate(notes)],
        )
        shares = [batches.of_rank(rank, ranks.size) for rank in range(ranks.size)]
        sizes = [size_of(known.layout, batches, span) for span in shares]
        told = ranks.begin_gather(own, sizes)  # on its way beside the gradients
        accumulates = engine.plan.accumulate > 1
        total = self._gradients.take() if accumulates else self._gradients.live
        ranks.add_up(whole, {span: each.blocks for span, each in sums.items()}, total.blocks)
        for each in (*sums.values(), *[total] * accumulates):
            self._gradients.give(each)  # what is committed next reads it before anybody takes it
        each_note = read_notes(known.layout, batches, told())
        leaves = joined(known.layout, batches, each_note)
        if ranks.reduction == "sum":
            leaves[0] = added_losses(each_note)
        carried, aux = leaves[1 : 1 + len(engine.carried)], leaves[1 + len(engine.carried) :]
        unsound = np.array(0.0 if all(map(_is_finite, aux)) else np.nan)
        gathered = Gathered(total.segments, leaves[0], tuple(carried), unsound)
        return gathered, tree.unflatten(known.aux, aux) if known.aux is not None else None

    def _sum(self, compute: Compute, span: Span, notes: list[PartResults]) -> FlatGradient:
        """The gradients of consecutive micro-batches of this rank, added in the order of the tree;
        what else they give is noted.
        """
        first, last = span
        if last - first == 1:
            into = self._gradients.take()
            notes.append(compute(first, into))
            return into
        here = middle(span)
        left, right = (self._sum(compute, each, notes) for each in ((first, here), (here, last)))
        left.add(right)
        self._gradients.give(right)
        return left

    def _are_staged(self, shared: _Shared) -> bool:
        """Whether micro-batches exchange sums over the whole batch."""
        into, own = self._gradients.take(), None
        if shared.own[0] < shared.own[1]:
            own = self._programs.is_staged(*self._arguments(shared, shared.own[0], into))
        self._gradients.give(into)
        return any(self.ranks.gather_objects(own))

    def _computed_together(self, shared: _Shared) -> Compute:
        """What the own micro-batches give, computed stage by stage with those of others."""
        if shared.batches.count < self.ranks.size:
            raise RankError(
                f"TrainStep: a batch of {shared.batches.rows} rows has none for some of "
                f"{self.ranks.size} ranks, and the loss takes statistics of the whole batch; each "
                "rank needs one row at least. Use larger batches, with drop_last=True in runs."
            )
        programs, into = self._programs, self._gradients.take()
        whole = 0, shared.batches.count
        parts = {
            number: programs.staged(
                *self._arguments(shared, number, into),
                (shared.part.form, shared.batches.size(number)),
            )
            for number in range(*shared.own)
        }
        returned = compute_stages(
            parts,
            list(subtrees(whole, shared.own)),
            lambda own, total: self.ranks.add_up(whole, own, total),
        )
        self._gradients.give(into)

        def given(number: int, into: FlatGradient) -> PartResults:
            gradients, loss, carried, aux = returned[number]
            for target, value in zip(into.segments, gradients, strict=True):
                np.copyto(target, value)
            return PartResults(loss, carried, aux, parts[number][0].executable)

        return given

    def _part(self, shared: _Shared, number: int, into: FlatGradient) -> PartResults:
        return self._programs.part(*self._arguments(shared, number, into))

    def _arguments(
        self, shared: _Shared, number: int, into: FlatGradient
    ) -> tuple[list[Array], FlatGradient, Share, tuple[Any, ...]]:
        """What the program of a micro-batch is called with."""
        batches = shared.batches
        rows = slice(batches.begin(number), batches.begin(number + 1))
        carried = [
            x[rows] if has_rows else x
            for x, has_rows in zip(self._engine.carried, self._state_rows, strict=True)
        ]
        weight = 1.0 if self.ranks.reduction == "sum" else batches.size(number) / batches.rows
        batch = shared.part.micro_batch(*shared.rows(number))
        return carried, into, _share(weight, number), batch

    def _learn(self, shared: _Shared, notes: Sequence[PartResults], staged: bool) -> _Known:
        """What micro-batches return; ranks that have none of them learn it from the others."""
        told = self.ranks.gather_objects(self._told_of(shared, notes))
        facts = [None if each is None else each[0] for each in told]
        require_same("TrainStep", facts, may_miss=True)
        _, layout, skeleton = next(each for each in told if each is not None)
        structure = tree.flatten(skeleton)[1] if self._engine.plan.has_aux else None
        program = notes[0].program if notes else None
        known = self._known[shared.part.form] = _Known(layout, structure, staged, program)
        return known

    def _told_of(self, shared: _Shared, notes: Sequence[PartResults]) -> Any:
        if not notes:
            return None
        part, rows = notes[0], shared.batches.size(shared.own[0])
        engine = self._engine
        paths = tree.paths(tree.arrays(part.aux))
        names = [
            "the loss",
            *map(_called, self._state_names),
            *(f"aux {path!r}" if path else "aux" for path in paths),
        ]
        has_rows = rows_in_front(part, len(engine.arrays.gradients), rows)
        has_rows[: 1 + len(engine.carried)] = [False, *self._state_rows]
        layout = layout_of(names, part.leaves, has_rows)
        facts = {"what the loss returns": repr(layout)}
        if part.program is not None:
            what = f"the program for micro-batches of {rows} rows"  # others may have other sizes
            facts[what] = program_digest(part.program.graph)
        skeleton = tree.map(lambda x: np.zeros((), x.dtype), part.aux)
        return facts, layout, skeleton

    # What is not finite.

    def _leave_out(self, shared: _Shared, gathered: Gathered, updating: bool) -> None:
        """Count a call that was not finite, or raise an error that says why, on all ranks alike."""
        engine = self._engine
        drops = bool(engine.phase) and self._is_finite_alone(gathered)
        error: WengertError | None = None
        if engine.nonfinite == RAISE:
            with self._told():
                told = self.ranks.gather_objects(self._explained(shared, updating))
            error = _first_error(told)
        engine.count_left_out(drops, error)

    def _is_finite_alone(self, gathered: Gathered) -> bool:
        """Whether the call by itself is finite, so that what was accumulated before it is not."""
        arrays = gathered.loss, gathered.unsound, *gathered.carried, *gathered.gradients
        return all(_is_finite(np.asarray(x)) for x in arrays)

    def _explained(self, shared: _Shared, updating: bool) -> tuple[int, WengertError] | None:
        """The first micro-batch of this rank that is not finite, and why; None where all are."""
        engine, into = self._engine, self._gradients.take()
        try:
            for number in range(*shared.own):
                part = self._part(shared, number, into)
                if all(map(_is_finite, (*part.leaves, *into.blocks))):
                    continue
                batch = shared.part.micro_batch(*shared.rows(number))
                programs, own = engine.programs[updating], engine.own_arguments()
                error = explain_nonfinite(engine.plan, programs, own, batch)
                if isinstance(error, NonFiniteError) and error.row is not None:
                    error.row += shared.batches.begin(number)
                return number, error
        finally:
            self._gradients.give(into)
        return None


def _first_error(told: Sequence[tuple[int, WengertError] | None]) -> WengertError:
    for rank, each in enumerate(told):
        if each is not None:
            number, error = each
            error.add_note(f"Found by rank {rank}, in micro-batch {number} of the batch.")
            return error
    return NonFiniteError(
        "TrainStep: each micro-batch is finite, and the sum of their gradients, its norm or the "
        "update is not; nonfinite='raise' refuses that. Scale the loss down, or pass "
        "nonfinite='skip'."
    )


def _called(path: str) -> str:
    """What messages call a leaf of the state, which may be a single array."""
    return f"leaf {path!r} of the state" if path else "the state"


def _is_call(change: object) -> bool:
    """Whether what changed a step last was a call of it."""
    return isinstance(change, tuple) and change[1] == "TrainStep"


def _is_finite(x: Array) -> bool:
    return not is_float(x.dtype) or bool(np.isfinite(x).all())


@cache
def _share(weight: float, number: int) -> Share:
    return Share(np.array(weight, float64), np.array(number))


def _state_leaves(engine: Engine, globs: Sequence[str]) -> tuple[list[str], list[bool]]:
    """The paths of the carried state, and which of its leaves have rows."""
    if engine.plan.carried is None:
        names: list[str] = []
    else:
        names = list(tree.paths(tree.unflatten(engine.plan.carried, engine.carried)))
    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in names):
            raise OptimError(
                f"TrainStep: state_rows has {glob!r}, which matches no leaf of the state "
                f"({', '.join(map(repr, names)) or 'there is none'}); each glob must match one. "
                "Correct it, or leave it out."
            )
    return names, [any(fnmatchcase(name, glob) for glob in globs) for name in names]


_DIFFERENCES: Mapping[str, str] = {
    "calls": "has made {0} calls of the step, and rank {2} {1}; ranks make each call together. "
    "Call the step equally often on all ranks",
    "numbers": "would update with another learning rate, or another limit of clipping, than rank "
    "{2}; all ranks update alike. Set them equally on all ranks",
    "form": "was given a batch of another form than rank {2}; only rows differ between ranks. "
    "Pass the same arguments on all ranks",
}


def _require_same_call(told: Array) -> None:
    for name, text in _DIFFERENCES.items():
        column = told[:, HEADER.index(name)].tolist()
        usual = max(column, key=column.count)
        for rank, value in enumerate(column):
            if value != usual:
                other = column.index(usual)
                raise RankError(f"TrainStep: rank {rank} {text.format(value, usual, other)}.")


def _division(rows: Sequence[int], ranks: Ranks) -> MicroBatches:
    """The micro-batches of the whole batch, given the rows of each rank."""
    batches = divided(sum(rows), ranks.micro_batches)
    if not batches.rows:
        raise ShapeError("TrainStep: the batch is empty; at least one row is needed. Pass some.")
    for rank, given in enumerate(rows):
        first, last = batches.rows_of_rank(rank, ranks.size)
        if given != last - first:
            raise RankError(
                f"TrainStep: rank {rank} was given {given} of {batches.rows} rows; its part is "
                f"{last - first}, rows {first} to {last - 1}, where {batches.count} micro-batches "
                f"are divided among {ranks.size} ranks. Cut each batch with wg.parallel.shard, or "
                "pass whole arrays to step.run."
            )
    return batches
