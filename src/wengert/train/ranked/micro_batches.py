"""Micro-batches: the fixed parts of a batch, which of them a rank computes, and the tree that adds
their gradients.

The parts and the tree depend on the rows of the batch and on the number of parts alone. Ranks only
share the work, so that their number changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

Span = tuple[int, int]  # micro-batches from the first up to, not including, the second


@dataclass(frozen=True)
class MicroBatches:
    """A batch of so many rows in `count` parts, whose sizes differ by one row at most."""

    rows: int
    count: int

    def begin(self, number: int) -> int:
        """The first row of a micro-batch."""
        return number * self.rows // self.count

    def size(self, number: int) -> int:
        return self.begin(number + 1) - self.begin(number)

    def of_rank(self, rank: int, ranks: int) -> Span:
        """The micro-batches that a rank computes; none, where there are fewer of them."""
        return share_of_rank(self.count, rank, ranks)

    def rows_of_rank(self, rank: int, ranks: int) -> Span:
        """The rows of these: the part of the batch that a rank is given."""
        first, last = self.of_rank(rank, ranks)
        return self.begin(first), self.begin(last)


def share_of_rank(count: int, rank: int, ranks: int) -> Span:
    """Which of so many micro-batches a rank computes."""
    return rank * count // ranks, (rank + 1) * count // ranks


def divided(rows: int, most: int) -> MicroBatches:
    """A batch in so many parts, or one part per row where it has fewer."""
    return MicroBatches(rows, min(most, rows))


def middle(span: Span) -> int:
    """Where a node of the tree is divided: the left side is the largest full tree that is smaller
    than all of it.
    """
    first, last = span
    return first + (1 << ((last - first - 1).bit_length() - 1))


def subtrees(whole: Span, own: Span) -> Iterator[Span]:
    """The largest nodes of the tree over `whole` that lie within `own`, from left to right."""
    first, last = max(whole[0], own[0]), min(whole[1], own[1])
    if first >= last:
        return
    if (first, last) == whole:
        yield whole
        return
    here = middle(whole)
    yield from subtrees((whole[0], here), own)
    yield from subtrees((here, whole[1]), own)


def folded(span: Span, find: Callable[[Span], T | None], add: Callable[[T, T], T]) -> T:
    """What `add` makes of the nodes that are found, in the order of the tree over a span."""
    known = find(span)
    if known is not None:
        return known
    here = middle(span)
    return add(folded((span[0], here), find, add), folded((here, span[1]), find, add))
