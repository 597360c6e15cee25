"""TreeExchange: one vector of each rank, added in the order of the tree over micro-batches.

Every element is added in the same order, whichever rank adds it, so any rank may add any part: a
short vector goes to all ranks at once, a long one is cut into as many pieces as there are ranks,
each of which one rank adds and gives to all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from wengert.train.ranked.micro_batches import Span, folded, share_of_rank, subtrees
from wengert.train.storage import Array

SHORT = 1 << 14  # bytes of a vector that goes to everybody
PARTS, SUMS = 1, 2  # tags of messages


class TreeExchange:
    """Sums by messages from rank to rank."""

    def __init__(self, mpi: Any, comm: Any, wait: Callable[[Sequence[Any]], None]) -> None:
        self._mpi, self._comm, self._wait = mpi, comm, wait
        self._rank, self._size = comm.Get_rank(), comm.Get_size()
        self._room: dict[Any, Array] = {}  # where messages of others are put, by what they are

    def add_up(self, whole: Span, own: Mapping[Span, Array], into: Array) -> None:
        """Write the sum of all micro-batches to `into`, given the sums of this rank's subtrees,
        which may be written over.
        """
        if self._size == 1:
            np.copyto(into, own[whole])
        elif into.nbytes <= SHORT:
            self._add(whole, own, slice(0, into.size), into, to_all=True)
        else:
            pieces = [
                slice(k * into.size // self._size, (k + 1) * into.size // self._size)
                for k in range(self._size)
            ]
            coming = [  # before they are sent, so that nobody waits for this rank to ask for them
                self._comm.Irecv(into[piece], source=rank, tag=SUMS)
                for rank, piece in enumerate(pieces)
                if rank != self._rank
            ]
            self._add(whole, own, pieces[self._rank], into, pieces=pieces)
            self._spread(pieces[self._rank], into, coming)

    def _add(
        self,
        whole: Span,
        own: Mapping[Span, Array],
        mine: slice,
        into: Array,
        to_all: bool = False,
        pieces: Sequence[slice] = (),
    ) -> None:
        """Send each rank its piece of the own parts, or all of them, and add those of my piece."""
        requests: list[Any] = []
        parts: dict[Span, Array] = {}
        for rank in range(self._size):
            spans = spans_of(whole, rank, self._size)
            for span in spans if rank != self._rank else ():
                parts[span] = self._place(span, mine.stop - mine.start, into.dtype)
                requests.append(self._comm.Irecv(parts[span], source=rank, tag=PARTS))
        for rank in range(self._size):
            for span in spans_of(whole, self._rank, self._size) if rank != self._rank else ():
                sent = own[span] if to_all else own[span][pieces[rank]]
                requests.append(self._comm.Isend(sent, dest=rank, tag=PARTS))
        self._wait(requests)
        parts |= {span: x[mine] for span, x in own.items()}
        total = folded(whole, parts.get, _added)
        np.copyto(into[mine], total)

    def _spread(self, mine: slice, into: Array, coming: list[Any]) -> None:
        """Give everybody the piece that this rank has added, and wait for theirs."""
        others = (rank for rank in range(self._size) if rank != self._rank)
        sent = [self._comm.Isend(into[mine], dest=rank, tag=SUMS) for rank in others]
        self._wait([*coming, *sent])

    def _place(self, span: Span, size: int, dtype: Any) -> Array:
        key = span, size, dtype
        if key not in self._room:
            self._room[key] = np.empty(size, dtype)
        return self._room[key]


@cache
def spans_of(whole: Span, rank: int, ranks: int) -> tuple[Span, ...]:
    """The subtrees whose sums a rank has."""
    return tuple(subtrees(whole, share_of_rank(whole[1], rank, ranks)))


def _added(a: Array, b: Array) -> Array:
    return np.add(a, b, out=a)
