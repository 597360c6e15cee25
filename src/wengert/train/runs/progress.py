"""Progress: how far a step has come in its data."""

from __future__ import annotations

from typing import NamedTuple


class Begun(NamedTuple):
    """An epoch that is not over: how many calls the step had made when it began, and how it goes
    through its rows. The calls since then are its batches, so that no call can be left uncounted.
    """

    calls: int
    rows: int
    size: int  # of its batches
    seed: int | None  # of the order of its rows
    data: int  # a checksum of some of them


class Progress(NamedTuple):
    """Completed epochs, and the one that has begun. It is replaced as a whole, so that a handler of
    a signal never sees half of a change.
    """

    epoch: int = 0
    shuffled: bool = False  # whether an order of rows has depended on the epoch
    begun: Begun | None = None

    def with_epoch(self, begun: Begun) -> Progress:
        """When an epoch has begun."""
        return Progress(self.epoch, self.shuffled or begun.seed is not None, begun)

    def after_batches(self, batches: int, of_epoch: int, calls: int) -> Progress:
        """When so many batches have been taken since the epoch began, `of_epoch` in each one; the
        step has made so many calls by now.
        """
        assert self.begun is not None  # an epoch begins before its batches
        passed, number = divmod(batches, of_epoch)
        begun = Begun(calls - number, *self.begun[1:]) if number else None
        return Progress(self.epoch + passed, self.shuffled, begun)
