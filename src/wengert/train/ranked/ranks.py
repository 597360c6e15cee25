"""Ranks: the processes that share a step, as the step sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from wengert.train.ranked.micro_batches import Span
from wengert.train.ranked.unshared import warn_of_unshared
from wengert.train.storage import Array

Blocks = Sequence[Array]  # a flat gradient: one vector per dtype
Alone = Literal["alone"]  # said of a process that shares nothing, whatever others there are
ALONE: Alone = "alone"


class Ranks(Protocol):
    """The processes that share a step. Every method but `tell_failure` is called by all of them, in
    the same order.
    """

    rank: int
    size: int
    micro_batches: int  # how many parts a batch has, at most
    state_rows: tuple[str, ...]  # globs: leaves of the state that have one row per row of the batch
    reduction: str  # what the loss is of its rows: "mean" or "sum"

    def gather(self, own: Array, sizes: Sequence[int]) -> list[Array]:
        """The bytes of all ranks, this many of each."""

    def begin_gather(self, own: Array, sizes: Sequence[int]) -> Callable[[], list[Array]]:
        """The same without waiting: the function that is returned waits, and gives the bytes."""

    def gather_objects(self, own: Any) -> list[Any]:
        """What each rank gives, as copies."""

    def add_up(self, whole: Span, own: Mapping[Span, Blocks], into: Blocks) -> None:
        """Write the sum over all micro-batches to `into`, given the sums of the own subtrees."""

    def tell_failure(self, error: BaseException) -> None:
        """Let the others know that this rank does not go on."""


def require_ranks(given: Any) -> Ranks | None:
    """The ranks that share a step; None where it is not shared. Refuse what is given for them and
    is none, and warn where nothing was given and others are there.
    """
    if given is None:
        warn_of_unshared(
            "TrainStep",
            "made without ranks",
            "Pass ranks=wg.parallel.mpi(), or ranks='alone' where each of them is to train "
            "something of its own.",
        )
        return None
    if is_alone(given):
        return None
    if not all(hasattr(given, name) for name in ("rank", "size", "micro_batches", "add_up")):
        raise TypeError(
            f"TrainStep: ranks={given!r} was given; it is what wg.parallel.mpi() or "
            "wg.parallel.one_process() returns, or 'alone'. Write ranks=wg.parallel.mpi(), and "
            "start the script with wengert launch -n 4."
        )
    ranks: Ranks = given
    return ranks


def is_alone(given: Any) -> bool:
    """Whether this is what says that a process trains alone."""
    return isinstance(given, str) and given == ALONE
