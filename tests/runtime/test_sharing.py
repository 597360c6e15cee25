"""How the pool shares work out: functions of Python take the place of kernels."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from wengert.codegen.kernel import HEADER, POOL, WORKERS
from wengert.codegen.llvm.machine.native import Native
from wengert.codegen.llvm.text.lines import Module
from wengert.codegen.targets.cpu.pool import SHARE
from wengert.codegen.targets.cpu.pool_code import SPINS, PoolCode
from wengert.codegen.targets.cpu.splitting import CHUNK, WHOLE
from wengert.runtime import workers
from wengert.runtime.caching.cache import cached_object
from wengert.runtime.workers import WorkerPool

Chunk = tuple[int, int, int]  # who ran it, from where, to where
KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
LONG, SHORT = 10**8, 10**4  # nanoseconds, by which it is decided how many chunks there are


class User:
    def after_fork(self) -> None:
        pass


class Sharing:
    """A pool of its own, with so many threads, the caller's included."""

    def __init__(self, threads: int) -> None:
        self.pool, self.user = WorkerPool(), User()
        self.pool.serve(self.user, threads)
        kinds = (ctypes.c_void_p,) * 3 + (ctypes.c_int64,) * 2
        self._share = self.pool._native.function(SHARE, *kinds)

    def share(
        self,
        workers: int,
        body: Callable[[int], object] = lambda worker: None,
        nanoseconds: int = LONG,
        least: int = 1,
    ) -> list[Chunk]:
        """The chunks that were run, as they ended."""
        frame, found = np.zeros(HEADER, np.int64), list[Chunk]()
        frame[WORKERS], frame[POOL] = workers, self.pool.address

        def kernel(address: int, worker: int, begin: int, end: int) -> None:
            assert address == frame.ctypes.data
            body(worker)
            found.append((worker, begin, end))

        called = KERNEL(kernel)
        at = ctypes.cast(called, ctypes.c_void_p)
        self._share(self.pool.address, at, frame.ctypes.data, nanoseconds, least)
        return list(found)

    def share_native(self, address: int, frame: Any) -> None:
        self._share(self.pool.address, address, frame.ctypes.data, LONG, 1)


@pytest.fixture(scope="module")
def alone() -> Sharing:
    return Sharing(1)


@pytest.fixture(params=[1, 64], ids=["sleeping at once", "waiting first"])
def three(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sharing]:
    """Workers wait differently where they are more than the CPUs."""
    monkeypatch.setattr(workers, "available", lambda: request.param)
    found = Sharing(3)
    yield found
    found.pool.stop()


def is_whole(chunks: list[Chunk]) -> bool:
    """Whether every part of the work is in one chunk."""
    places = sorted(chunk[1:] for chunk in chunks)
    joined = all(x[1] == y[0] for x, y in pairwise(places))
    return joined and places[0][0] == 0 and places[-1][1] == WHOLE


@pytest.mark.parametrize("workers", [2, 3, 7, 64])
@pytest.mark.parametrize("nanoseconds", [1, SHORT, LONG])
@pytest.mark.parametrize("least", [1, 10**5, 10**9])
def test_the_caller_does_all_where_nobody_comes(
    alone: Sharing, workers: int, nanoseconds: int, least: int
) -> None:
    chunks = alone.share(workers, nanoseconds=nanoseconds, least=least)
    assert is_whole(chunks)
    assert {worker for worker, *_ in chunks} == {0}


def test_large_chunks_come_first(alone: Sharing) -> None:
    lengths = [end - begin for _, begin, end in alone.share(2)]
    assert lengths == sorted(lengths, reverse=True)
    assert (lengths[0], lengths[-1]) == (WHOLE // 4, WHOLE // 32)


def test_short_work_is_taken_in_few_chunks(alone: Sharing) -> None:
    assert len(alone.share(64, nanoseconds=SHORT, least=SHORT)) == 4
    assert len(alone.share(2, nanoseconds=SHORT, least=SHORT)) == 2


def test_all_workers_take_chunks(three: Sharing) -> None:
    seen: set[int] = set()
    until = time.monotonic() + 60
    while len(seen) < 3 and time.monotonic() < until:
        chunks = three.share(3, lambda _: time.sleep(0.002))
        assert is_whole(chunks)
        seen |= {worker for worker, *_ in chunks}
    assert seen == {0, 1, 2}


def test_only_as_many_take_part_as_the_call_has_room_for(three: Sharing) -> None:
    for _ in range(20):
        assert {worker for worker, *_ in three.share(2, lambda _: time.sleep(0.0005))} <= {0, 1}


def test_the_caller_sleeps_until_a_chunk_is_done(three: Sharing) -> None:
    """It has nothing else to do, and gives its CPU away. What it spends is a short wait."""
    inside = threading.Event()
    spent: list[float] = []

    def body(worker: int) -> None:
        if worker == 0:
            assert inside.wait(60)
            spent[:] = [time.thread_time()]
        elif not inside.is_set():
            inside.set()
            time.sleep(0.5)

    assert is_whole(three.share(2, body))
    assert time.thread_time() - spent[0] < 0.1


def test_nobody_runs_what_is_over(three: Sharing) -> None:
    """Workers that come late find nothing, or what is shared out by then."""
    over: list[int] = []
    for number in range(300):
        late: list[int] = []

        def body(_: int, number: int = number, late: list[int] = late) -> None:
            if number in over:
                late.append(number)

        assert is_whole(three.share(3, body, nanoseconds=SHORT))
        over.append(number)
        assert not late


def test_workers_that_were_stopped_can_be_had_again() -> None:
    found = Sharing(2)
    for _ in range(3):
        assert is_whole(found.share(2))
        found.pool.stop()
        assert is_whole(found.share(2))
        found.pool.serve(found.user, 2)
        assert len(found.pool.threads) == 1
    found.pool.stop()


CPUS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@pytest.fixture
def on_one_cpu() -> Iterator[int]:
    """This thread stays on one CPU, and no other does."""
    os.sched_setaffinity(0, CPUS[:1])
    yield CPUS[0]
    os.sched_setaffinity(0, CPUS)


def noting_cpus() -> Native:
    """A kernel that writes behind the frame's first words on which CPU each worker began its last
    chunk, counted from 1, and then takes some time.
    """
    code = PoolCode(Module())
    at = code.let(f"getelementptr i64, ptr %frame, i64 {code.add('%worker', HEADER)}")
    code.do(f"store atomic i64 {code.add(code.cpu(), 1)}, ptr {at} release, align 8")
    code.loop(0, 20_000, 1, lambda *_: code.pause())
    code.function("note_cpu", CHUNK, linkage="")
    return Native((cached_object(code.module.text()),), ("note_cpu",))


@pytest.mark.skipif(len(CPUS) < 2, reason="there is one CPU, or the system does not tell")
def test_a_worker_leaves_the_cpu_of_the_caller(three: Sharing, on_one_cpu: int) -> None:
    """The system may put it there again before it has a chunk: not often, but where others use all
    CPUs, now and then.
    """
    kernel = noting_cpus()
    for thread in three.pool.threads:
        assert thread.native_id is not None
        os.sched_setaffinity(thread.native_id, CPUS)
    until = time.monotonic() + 60

    def share_of_ours() -> float:
        """How many of 40 chunks workers began on this CPU."""
        seen: list[int] = []
        while len(seen) < 40 and time.monotonic() < until:
            frame = np.zeros(HEADER + 3, np.int64)
            frame[WORKERS], frame[POOL] = 3, three.pool.address
            three.share_native(kernel.address("note_cpu"), frame)
            seen += [int(n) - 1 for n in frame[HEADER + 1 :] if n]
        return seen.count(on_one_cpu) / max(len(seen), 1)

    if three.pool.words[SPINS]:  # else any CPU is as good
        assert any(share_of_ours() <= 1 / 4 for _ in range(5))
    for thread in three.pool.threads:
        assert thread.native_id is not None
        while sorted(os.sched_getaffinity(thread.native_id)) != CPUS and time.monotonic() < until:
            time.sleep(0.001)  # it may be on its way
        assert sorted(os.sched_getaffinity(thread.native_id)) == CPUS


@pytest.mark.skipif(not CPUS, reason="the system does not tell on which CPU a thread is")
def test_a_worker_without_another_cpu_stays(three: Sharing, on_one_cpu: int) -> None:
    for thread in three.pool.threads:
        assert thread.native_id is not None
        os.sched_setaffinity(thread.native_id, {on_one_cpu})
    for _ in range(20):
        assert is_whole(three.share(3, lambda _: time.sleep(0.0005)))
    for thread in three.pool.threads:
        assert thread.native_id is not None
        assert os.sched_getaffinity(thread.native_id) == {on_one_cpu}


def threads_seen_and_moved() -> Native:
    """Functions of the pool, for a thread by its number: `runs` answers whether it gets a CPU, and
    `bring` lets it have this one. `spin` notes which CPUs it was on, until it is told to end.
    """
    module = Module()
    code = PoolCode(module)
    running = code.let(f"zext i1 {code.is_running('%thread')} to i64")
    code.do(f"store i64 {running}, ptr %answer, align 8")
    code.function("runs", "i64 %thread, ptr %answer", linkage="")
    code = PoolCode(module)
    code.bring_here("%thread")
    code.function("bring", "i64 %thread", linkage="")
    code = PoolCode(module)  # the first word says that it goes on, the others count turns on CPUs

    def turn(*_: object) -> None:
        code.change(code.add(code.let(f"and i64 {code.cpu()}, 1023"), 1), "add", 1)

    code.repeat(lambda *_: code.compare("ne", code.read(0), 0), turn, [])
    code.function("spin", "ptr %pool", linkage="")
    names = ("runs", "bring", "spin")
    return Native((cached_object(module.text()),), names)


@pytest.mark.skipif(len(CPUS) < 2, reason="there is one CPU, or the system does not tell")
def test_a_thread_that_waits_is_seen_and_brought(on_one_cpu: int) -> None:
    native = threads_seen_and_moved()
    runs = native.function("runs", ctypes.c_int64, ctypes.c_void_p)
    bring, spin = native.function("bring", ctypes.c_int64), native.function("spin", ctypes.c_void_p)
    turns, answer, sleeps = np.zeros(1025, np.int64), ctypes.c_int64(), threading.Event()
    turns[0] = 1

    def work() -> None:
        os.sched_setaffinity(0, CPUS[1:])
        spin(turns.ctypes.data)
        sleeps.wait()

    def seen(expected: int) -> bool:
        until = time.monotonic() + 30
        while time.monotonic() < until:  # others may have all CPUs for a while
            runs(thread.native_id, ctypes.addressof(answer))
            if answer.value == expected:
                return True
        return False

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        assert seen(1)
        assert not turns[1 + on_one_cpu]
        bring(thread.native_id)  # it may not be here
        time.sleep(0.01)
        assert not turns[1 + on_one_cpu]
        assert thread.native_id is not None
        os.sched_setaffinity(thread.native_id, CPUS)
        bring(thread.native_id)
        assert sorted(os.sched_getaffinity(thread.native_id)) == CPUS
        until = time.monotonic() + 30
        while not turns[1 + on_one_cpu] and time.monotonic() < until:
            time.sleep(0.001)
        assert turns[1 + on_one_cpu]
        turns[0] = 0
        assert seen(0)
        runs(2**30, ctypes.addressof(answer))  # nobody is taken for one who waits
        assert answer.value == 1
    finally:
        turns[0] = 0
        sleeps.set()
        thread.join()


@pytest.mark.skipif(len(CPUS) < 2, reason="there is one CPU, or the system does not tell")
def test_threads_that_were_brought_may_be_anywhere_again(three: Sharing) -> None:
    """Chunks that sleep look like those of threads without a CPU."""
    for thread in three.pool.threads:
        assert thread.native_id is not None
        os.sched_setaffinity(thread.native_id, CPUS)
    for _ in range(20):
        assert is_whole(three.share(3, lambda worker: time.sleep(0.002 if worker else 0)))
    for thread in (*three.pool.threads, threading.current_thread()):
        assert thread.native_id is not None
        until = time.monotonic() + 30
        while sorted(os.sched_getaffinity(thread.native_id)) != CPUS and time.monotonic() < until:
            time.sleep(0.001)  # it may be on its way
        assert sorted(os.sched_getaffinity(thread.native_id)) == CPUS
