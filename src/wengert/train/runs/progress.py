"""Progress: how far a step has come in its data."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Begun:
    """An epoch that is not over: how many calls the step had made when it began, and how it goes
    through its rows. The calls since then are its batches, so that no call can be left uncounted.
    """

    calls: int
    rows: int
    size: int  # of its batches
    seed: int | None  # of the order of its rows
    data: int  # a checksum of some of them


@dataclass(frozen=True)
class Progress:
    """Completed epochs, and the one that has begun. It is replaced as a whole, so that a handler of
    a signal never sees half of a change.
    """

    epoch: int = 0
    shuffled: bool = False  # whether an order of rows has depended on the epoch
    begun: Begun | None = None

    def with_epoch(self, begun: Begun) -> Progress:
        """When an epoch has begun."""
        return replace(self, begun=begun, shuffled=self.shuffled or begun.seed is not None)

    def after_epoch(self) -> Progress:
        """When the epoch that has begun is over."""
        return replace(self, epoch=self.epoch + 1, begun=None)
