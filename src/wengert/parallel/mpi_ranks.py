"""Ranks of MPI: processes that exchange gradients in messages from one to another."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core.words.arguments import worded as worded_function
from wengert.core.words.warn import warn_user
from wengert.errors import RankError, WengertWarning
from wengert.parallel.one_process import Sharing, require_sharing
from wengert.parallel.rank_watch import RankWatch, worded
from wengert.parallel.tree_exchange import TreeExchange
from wengert.runtime.workers import available
from wengert.train.ranked.agreement import require_same, versions
from wengert.train.ranked.micro_batches import Span
from wengert.train.ranked.ranks import Blocks
from wengert.train.storage import Array

ENGINE, TREE = "engine", "tree"
# Seconds of waiting: at full speed, unless ranks share cores; then beside others; then asleep.
SPIN, YIELD = 0.0005, 0.02
NAP = 0.0002


class MpiRanks:
    """The processes of a communicator, which is a duplicate of the one that was given: messages of
    the user's are never mixed up with those of a step.
    """

    def __init__(
        self, mpi: Any, comm: Any, sharing: Sharing, exchange: str, patience: float
    ) -> None:
        self.micro_batches, self.state_rows = sharing.micro_batches, sharing.state_rows
        self.reduction = sharing.reduction
        self._mpi, self._comm = mpi, comm.Dup()
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())
        # The first message of all, which is never to change: others may not understand each other.
        require_same("parallel.mpi", self._comm.allgather(versions()))
        self._over: str | None = None  # why these ranks do not go on
        # Requests that may never be complete: MPI may still write to their memory, which they keep.
        self._under_way: list[Any] = []
        names = self._comm.allgather(mpi.Get_processor_name())  # of machines
        self._share_cores = names.count(names[self.rank]) > available()
        self._watch = self._watched(names, patience) if self.size > 1 else None
        self._exchange = TreeExchange(mpi, self._comm, self._wait)
        self._engine_sums = exchange == ENGINE

    def _watched(self, names: Sequence[str], patience: float) -> RankWatch | None:
        """Connections beside MPI's, which show when a rank is gone."""
        comm, watch = self._comm, RankWatch(self.rank, self.size, patience)
        on_one = len(set(names)) == 1
        port = comm.bcast(watch.listen("127.0.0.1" if on_one else "") if self.rank == 0 else None)
        failure = ""
        try:
            if self.rank == 0:
                watch.accept()
            else:
                watch.join("127.0.0.1" if names[self.rank] == names[0] else names[0], *port)
        except OSError as error:
            failure = f"rank {self.rank}: {worded(error)}"
        failures = [each for each in comm.allgather(failure) if each]
        if failures:
            if self.rank == 0:
                warn_user(
                    f"parallel.mpi: ranks could not connect beside MPI ({failures[0]}); if one of "
                    "them dies, only the launcher can end the others. Open ports between the "
                    "machines, or trust the launcher.",
                    WengertWarning,
                )
            return None
        watch.begin()
        return watch

    # What a step asks of its ranks.

    def gather(self, own: Array, sizes: Sequence[int]) -> list[Array]:
        return self.begin_gather(own, sizes)()

    def begin_gather(self, own: Array, sizes: Sequence[int]) -> Callable[[], list[Array]]:
        if self.size == 1:
            return lambda: [own]
        ends = np.cumsum(sizes)
        gathered = np.empty(int(ends[-1]), np.uint8)
        places = (ends - sizes).tolist()
        byte = self._mpi.BYTE
        request = self._comm.Iallgatherv([own, byte], [gathered, (list(sizes), places), byte])
        self._under_way.append(request)

        def finished() -> list[Array]:
            self._under_way.remove(request)
            self._wait([request])
            return np.split(gathered, ends[:-1])

        return finished

    def gather_objects(self, own: Any) -> list[Any]:
        if self.size == 1:
            return [own]
        data = np.frombuffer(pickle.dumps(own), np.uint8)
        count = np.array([data.size])
        counts = self.gather(count.view(np.uint8), [count.nbytes] * self.size)
        sizes = [int(each.view(np.int64)[0]) for each in counts]
        return [pickle.loads(each.tobytes()) for each in self.gather(data, sizes)]

    def add_up(self, whole: Span, own: Mapping[Span, Blocks], into: Blocks) -> None:
        for k, target in enumerate(into):
            parts = {span: blocks[k] for span, blocks in own.items()}
            if self._engine_sums:
                self._add_by_engine(parts, target)
            else:
                self._exchange.add_up(whole, parts, target)

    def _add_by_engine(self, parts: Mapping[Span, Array], target: Array) -> None:
        """The sum by MPI itself, whose order depends on the number of ranks."""
        target.fill(0)
        for each in parts.values():
            np.add(target, each, out=target)
        if self.size > 1:
            self._wait([self._comm.Iallreduce(self._mpi.IN_PLACE, target, op=self._mpi.SUM)])

    def tell_failure(self, error: BaseException) -> None:
        if self.size == 1:
            return
        self._over = self._over or worded(error)
        if self._watch is not None:
            self._watch.tell_failure(self._over)
        elif not isinstance(error, RankError):
            print(f"rank {self.rank}: {worded(error)}", flush=True)
            self._comm.Abort(1)

    # Waiting.

    def _wait(self, requests: Sequence[Any]) -> None:
        """Until all of these are complete, or a rank is gone."""
        if self._over is not None:
            raise RankError(
                f"TrainStep: these ranks have ended with an error ({self._over}); messages of it "
                "may still be under way. Start the ranks again, and go on from the last checkpoint."
            )
        testall, requests = self._mpi.Request.Testall, list(requests)
        if testall(requests):
            return
        began = time.monotonic()
        self._under_way += requests
        while not testall(requests):
            waited = time.monotonic() - began
            if waited > SPIN and self._watch is not None:
                self._watch.require_all(began)
            if waited > YIELD:
                time.sleep(NAP)
            elif waited > SPIN or self._share_cores:
                os.sched_yield()
        del self._under_way[-len(requests) :]

    def __repr__(self) -> str:
        return f"mpi(rank {self.rank} of {self.size}, micro_batches={self.micro_batches})"


@worded_function
def mpi(
    comm: Any = None,
    *,
    micro_batches: int = 8,
    state_rows: str | Sequence[str] = (),
    reduction: str = "mean",
    exchange: str = TREE,
    patience: float = 3.0,
) -> MpiRanks:
    """The processes of an MPI communicator, `MPI.COMM_WORLD` by default, for `TrainStep(ranks=…)`.

    A batch is divided into `micro_batches`, or as many as it has rows. Their gradients are added in
    the order of a tree over them, so that any number of ranks gives the same bits; the number of
    micro-batches decides these bits, and is not to depend on the ranks. `state_rows` are globs on
    paths of the carried state: leaves that have a row for each row of the batch, such as the carry
    of a recurrent layer. `reduction` says whether the loss is a mean of its rows or a sum.
    `exchange="engine"` adds with MPI's own all-reduce, whose bits depend on the ranks. A process
    that waits elsewhere for a rank that is gone is ended after `patience` seconds.
    """
    by = "parallel.mpi"
    sharing = require_sharing(by, micro_batches, state_rows, reduction)
    if exchange not in (TREE, ENGINE):
        raise ValueError(
            f"{by}: exchange={exchange!r} was given; it is {TREE!r}, with the same bits on any "
            f"number of ranks, or {ENGINE!r}, with MPI's own sums. Choose one."
        )
    given: Any = patience
    if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
        raise ValueError(
            f"{by}: patience={patience!r} was given; it is a number of seconds above 0. Choose one."
        )
    library = _imported(by)
    comm = library.COMM_WORLD if comm is None else comm
    if not isinstance(comm, library.Intracomm):
        raise TypeError(
            f"{by}: given {type(comm).__name__}; it takes an MPI communicator of mpi4py. Leave it "
            "out for all processes."
        )
    if comm.Get_size() > sharing.micro_batches:
        raise ValueError(
            f"{by}: there are {comm.Get_size()} ranks and micro_batches={sharing.micro_batches}; "
            "each rank needs one micro-batch at least. Set micro_batches, to the same number "
            "wherever the same bits are wanted, or start fewer ranks."
        )
    return MpiRanks(library, comm, sharing, exchange, float(patience))


def _imported(by: str) -> Any:
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError(
            f"{by}: needs the package mpi4py and an MPI library ({error}). Run pip install "
            "'wengert[mpi]', or install mpi4py for the MPI of your cluster."
        ) from error
    return MPI
