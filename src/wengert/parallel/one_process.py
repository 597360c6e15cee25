"""One process that computes what any number of ranks would: the same micro-batches and tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.words.arguments import worded
from wengert.train.option_checks import whole as whole_number
from wengert.train.ranked.micro_batches import Span
from wengert.train.ranked.ranks import Blocks
from wengert.train.ranked.unshared import warn_of_unshared
from wengert.train.storage import Array

REDUCTIONS = ("mean", "sum")


@dataclass(frozen=True)
class Sharing:
    """How a batch is shared, which is the same on any number of ranks."""

    micro_batches: int
    state_rows: tuple[str, ...]
    reduction: str


def require_sharing(by: str, micro_batches: Any, state_rows: Any, reduction: Any) -> Sharing:
    """The options that all kinds of ranks have, checked."""
    number = whole_number(micro_batches)
    if number is None or number < 1:
        raise ValueError(
            f"{by}: micro_batches={micro_batches!r} was given; it is a whole number, at least 1. "
            "Choose one, and keep it: it decides the bits."
        )
    globs = (state_rows,) if isinstance(state_rows, str) else tuple(state_rows)
    if not all(isinstance(each, str) for each in globs):
        raise TypeError(
            f"{by}: state_rows={state_rows!r} was given; it is a glob on the paths of the state, "
            'or several. Write state_rows="*" where all of it has rows.'
        )
    if reduction not in REDUCTIONS:
        raise ValueError(
            f"{by}: reduction={reduction!r} was given; it is one of {', '.join(REDUCTIONS)}, and "
            "says what the loss is of its rows. Choose one."
        )
    return Sharing(number, globs, reduction)


class OneProcess:
    """Ranks of which there is one."""

    rank, size = 0, 1

    def __init__(self, sharing: Sharing) -> None:
        self.micro_batches, self.state_rows = sharing.micro_batches, sharing.state_rows
        self.reduction = sharing.reduction

    def gather(self, own: Array, sizes: Sequence[int]) -> list[Array]:
        return [own]

    def begin_gather(self, own: Array, sizes: Sequence[int]) -> Callable[[], list[Array]]:
        return lambda: [own]

    def gather_objects(self, own: Any) -> list[Any]:
        return [own]

    def add_up(self, whole: Span, own: Mapping[Span, Blocks], into: Blocks) -> None:
        for target, block in zip(into, own[whole], strict=True):
            np.copyto(target, block)

    def tell_failure(self, error: BaseException) -> None:
        """There is nobody to tell."""

    def __repr__(self) -> str:
        return f"one_process(micro_batches={self.micro_batches})"


@worded
def one_process(
    *, micro_batches: int = 8, state_rows: str | Sequence[str] = (), reduction: str = "mean"
) -> OneProcess:
    """Ranks of which there is one, without MPI: `TrainStep(…, ranks=wg.parallel.one_process())` has
    the bits of the same step on any number of ranks. The options are those of `mpi`.

    >>> ranks = wg.parallel.one_process(micro_batches=4)
    >>> step = wg.TrainStep(
    ...     lambda w, x: wg.mean((x - w) ** 2), np.zeros(1), wg.optim.SGD(0.5), ranks=ranks
    ... )
    >>> step(np.arange(8.0)[:, None]), step.model
    (17.5, array([3.5]))
    """
    by = "parallel.one_process"
    sharing = require_sharing(by, micro_batches, state_rows, reduction)
    warn_of_unshared(by, "called", "Write wg.parallel.mpi() instead, or start one process.")
    return OneProcess(sharing)
