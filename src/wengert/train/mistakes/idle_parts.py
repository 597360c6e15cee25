"""IdleParts: parts of a model whose first gradients are exactly 0, while others are trained.

A policy whose ratio is exp(logp - logp) of one network with itself is never trained, and the value
network beside it is: the norm of all gradients shows nothing. Much that is right has gradients of
0, too: a layer below one that begins with zeros, an expert or a head that a batch does not choose,
a hinge that is met, a term whose weight is 0 at first. Where one of these may be the reason,
nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import UnreachedWarning
from wengert.train.batch import Kinds
from wengert.train.mistakes.arrays_of_data import arrays_of_data
from wengert.train.mistakes.zero_gradients import CALLS
from wengert.train.recorded.layers.past_selects import gradients_past_selects
from wengert.train.recorded.step_arrays import LOSS, NORM, FixedArrays, LiveArrays
from wengert.train.recorded.step_plan import StepPlan
from wengert.train.segments import ModelParameter
from wengert.train.storage import Storage

Array: TypeAlias = np.ndarray[Any, Any]
TrainedPart: TypeAlias = list[
    tuple[int, ModelParameter]
]  # the number of a trained segment, and of it


class TrainedStep(Protocol):
    """The arrays of a step, or of a member of an ensemble."""

    plan: StepPlan
    arrays: LiveArrays[Any]
    fixed: FixedArrays
    kinds: Kinds


class IdleParts:
    """Looks at the first calls of a step, or of all members of an ensemble, by themselves or in a
    run. A part is a top-level entry of the model with several arrays, a matrix among them; or a
    vector, in a model of vectors alone whose loss draws random numbers.
    """

    def __init__(
        self, plan: StepPlan, carried: Sequence[Array], unreached: Sequence[str], watches: bool
    ) -> None:
        # A loss that counts calls may begin with some of its terms, and go on with others.
        counts = any(x.size == 1 for x in carried)
        watches = watches and plan.accumulate == 1 and not counts
        self._storage = plan.storage
        self._unreached = unreached  # paths, known as soon as a program is recorded
        trained = [(n, p) for n, s in enumerate(plan.storage.trained) for p in s.parameters]
        self._trained: TrainedPart = trained
        self._all = _parts_of(plan.storage, trained) if watches else {}
        matrices = any(len(p.shape) > 1 for _, p in trained)
        self._of_vectors = plan.parameters.wants_rng and not matrices
        self._calls = 0
        self._zero: list[bool] = []  # which weights were all 0 before the call that is looked at
        self._numbers: list[Any] = []  # that the last batch had
        self._told: str | None = None
        self._idle = dict(self._all) if len(self._all) > 1 else {}

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to look at."""
        return not self._idle

    def look(
        self,
        steps: Sequence[TrainedStep],
        reports: Array,
        batch: Sequence[Any],
        own: Sequence[Any] | None = None,
    ) -> None:
        """Look at the gradients that a call left, whose reports are (members, 2). Of the batches of
        all members the first one's `own` may be another one.
        """
        self._calls += 1
        storages = [each.plan.storage for each in steps]
        self._idle = {
            name: part
            for name, part in self._idle.items()
            if self._counts(part) and not any(_has_gradient(storages, each) for each in part)
        }
        if not self._idle:
            return
        losses, norms = reports[:, LOSS], reports[:, NORM]
        usual = np.isfinite(norms).all() and norms.any() and losses.any()
        if not usual or self._chooses(batch) or self._waits(storages):
            self._idle = {}
        elif self._calls == CALLS:
            others = {name for name, part in self._all.items() if self._counts(part)}
            trained = {_stem(name) for name in others - set(self._idle)}
            idle = [name for name in self._idle if _stem(name) not in trained]
            self._told = self._never_chosen(idle, steps[0], batch if own is None else own)
            self._idle = {}
        self._zero = [not _any(storages, each, "weights") for each in self._trained]

    def tell(self, by: str) -> None:
        """Warn of a part that had no gradient, if there is one."""
        name, self._told = self._told, None
        if name is not None:
            _warn(by, name, _glob(name, self._all[name]))

    def _counts(self, part: TrainedPart) -> bool:
        """Whether gradients should come to a part; another warning is of those that cannot."""
        reached = [p for _, p in part if p.path not in self._unreached]
        if self._of_vectors:
            return bool(reached)
        return len(reached) > 1 and any(len(p.shape) > 1 for p in reached)

    def _waits(self, storages: Sequence[Storage]) -> bool:
        """Whether zeros are about to be trained, and what lies below them after that."""
        pairs = zip(self._zero, self._trained, strict=False)
        return self._calls == CALLS and any(z and _has_gradient(storages, p) for z, p in pairs)

    def _never_chosen(
        self, idle: Sequence[str], step: TrainedStep, batch: Sequence[Any]
    ) -> str | None:
        """The first of these parts that stays idle whatever the selects of the loss choose."""
        if not idle:
            return None
        try:
            given = step.kinds.prepared(batch)
            gradients = gradients_past_selects(step.plan, step.arrays, step.fixed, given)
        except Exception:  # a loss that is not called again so easily: nothing is known
            return None
        pairs = zip(step.plan.trained, gradients, strict=True)
        chosen = {p.path for p, g in pairs if g is None or np.any(g)} - set(self._unreached)
        never = (x for x in idle if chosen.isdisjoint(p.path for _, p in self._all[x]))
        return next(never, None)

    def _chooses(self, batch: Sequence[Any]) -> bool:
        """Whether a batch may choose which parts are used: by a mask, the number of a task, a
        weight of 0, or a number that changes from call to call.
        """
        arrays = [x for x in arrays_of_data(batch, self._storage) if x.dtype.kind in "fiub"]
        numbers = [x.item() for x in arrays if x.size == 1]
        changes = self._calls > 1 and numbers != self._numbers
        self._numbers = numbers
        return changes or any(map(_may_choose, arrays))


def _parts_of(storage: Storage, trained: TrainedPart) -> dict[str, TrainedPart]:
    """The trained parameters by the top-level entries of the model that have them. An entry that
    is the only one, as {"agent": {...}} has, is looked into.
    """
    paths = [path.split(".") for paths in storage.paths for path in paths]
    depth = 0
    while len({tuple(path[: depth + 1]) for path in paths}) == 1 < len(paths):
        depth += 1
    parts: dict[str, TrainedPart] = {}
    for number, p in trained:
        for name in {".".join(path.split(".")[: depth + 1]) for path in p.paths}:
            parts.setdefault(name, []).append((number, p))
    return parts


def _stem(name: str) -> str:
    """The first word of a name without its number: of 'head_a' and 'expert1', of '0' and '1'."""
    return re.split(r"[_\d]", name.rpartition(".")[2], maxsplit=1)[0]


def _any(storages: Sequence[Storage], each: tuple[int, ModelParameter], kind: str) -> bool:
    """Whether the weights or gradients of a parameter have a number that is not 0, in a model."""
    number, p = each
    return any(p.view(getattr(s.trained[number], kind)).any() for s in storages)


def _has_gradient(storages: Sequence[Storage], each: tuple[int, ModelParameter]) -> bool:
    return _any(storages, each, "gradients")


def _may_choose(x: Array) -> bool:
    if not x.size or not x.any():
        return True
    if x.dtype.kind == "f":
        return x.ndim == 2 and not x.any(axis=0).all()  # one-hot, with a column that nothing has
    return x.size > 1 and bool((x == x.flat[0]).all())


def _glob(name: str, part: TrainedPart) -> str:
    """What a dict of optimizers calls a part."""
    return name if any(name in p.paths for _, p in part) else f"{name}.*"


def _warn(by: str, name: str, glob: str) -> None:
    warn_user(
        f"{by}: the gradient of every parameter in {name!r} was exactly 0 in the first {CALLS} "
        "calls, and others were not; it is not trained. Look in the loss for terms that cancel, as "
        "in exp(logp - logp) of one network with itself, where the old logp should be an argument; "
        "for the log_prob of a draw that is not stopped, times a stopped reward, where "
        "wg.stop_gradient(d.sample(rng)) is meant; for a wg.stop_gradient around too much; and for "
        f"weights of 0. If it shall stay what it is, freeze it: {{{glob!r}: None, '*': "
        "optimizer}.",
        UnreachedWarning,
    )
