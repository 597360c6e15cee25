"""Backends: where the calls of train are made. Each gives outcomes as they come.

The process that called `sweep` collects them and writes the files, so that workers need no folder
in common with it. Workers are told not to listen to Ctrl-C, which a terminal sends to all of them:
this process ends them, and says what was finished.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Any

import numpy as np

from wengert.runtime.workers import available
from wengert.sweeping.grid import BY
from wengert.sweeping.outside_steps import OutsideSteps
from wengert.sweeping.sweep_call import Outcome, TrainCall, Unit

_LOST = "its process was ended from outside: it crashed, or was killed, perhaps for want of memory"
_loaded: dict[int, TrainCall] = {}  # in a worker: what was sent last, by its checksum


@dataclass(frozen=True)
class Shares:
    """How many workers there are, and how many threads each one has."""

    workers: int
    threads: int | None  # None: as many as a program of its own would have


Backend = Callable[[Sequence[Unit], TrainCall, Shares], Iterator[Outcome]]


def shares(backend: str, workers: int | None, threads: int | None, units: int) -> Shares:
    """Divide the threads that there are between workers, as far as it was not said how."""
    if backend == "serial":
        return Shares(1, threads)
    machines = (backend == "ray" and _ray_machines()) or [available()]
    if workers is None:
        workers = max(1, min(units, sum(cores // (threads or 1) for cores in machines)))
    share = min(max(machines), sum(machines) // workers)
    return Shares(workers, threads or max(1, share))


# In this process.


def _serial(units: Sequence[Unit], call: TrainCall, _: Shares) -> Iterator[Outcome]:
    outside = OutsideSteps(call.train)
    for unit in units:
        outcomes = call(unit)
        outside.look()
        yield from outcomes


# On the cores of this machine.


def _joblib(units: Sequence[Unit], call: TrainCall, given: Shares) -> Iterator[Outcome]:
    try:
        from joblib.externals import loky
        from joblib.externals.loky.backend.reduction import dumps
        from joblib.externals.loky.process_executor import TerminatedWorkerError
    except ModuleNotFoundError as error:
        raise _not_installed("joblib", error) from None
    packed = np.frombuffer(_packed(call, dumps), np.uint8)
    left = dict(enumerate(units))
    try:
        while left:
            try:
                for place, outcomes in _in_parallel(packed, left, given):
                    del left[place]
                    yield from outcomes
            except TerminatedWorkerError:
                # It is not known which of the running ones died: run each of them again, alone.
                for place in list(left)[: given.workers]:
                    unit = left.pop(place)
                    try:
                        ((_, outcomes),) = _in_parallel(packed, {place: unit}, given)
                    except TerminatedWorkerError:
                        outcomes = lost(unit, _LOST)
                    yield from outcomes
    except BaseException:  # Ctrl-C, or whoever asked for outcomes wants no more
        loky.get_reusable_executor().shutdown(wait=True, kill_workers=True)
        raise


def _in_parallel(
    packed: Any, units: Mapping[int, Unit], given: Shares
) -> Iterator[tuple[int, list[Outcome]]]:
    import joblib

    with joblib.parallel_config("loky", inner_max_num_threads=given.threads):
        parallel = joblib.Parallel(
            n_jobs=max(2, given.workers),  # one is this process, to joblib
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=given.workers,
        )
    calls = (joblib.delayed(_in_worker)(packed, *each, os.getpid()) for each in list(units.items()))
    outcomes: Iterator[tuple[int, list[Outcome]]]
    with _interrupts_later():
        outcomes = parallel(calls)
    return outcomes


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """While processes are started: they ignore Ctrl-C, and this one answers it afterwards."""
    resource_tracker.ensure_running()  # each worker starts it, and would lift the block with it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _in_worker(packed: Any, place: int, unit: Unit, parent: int) -> tuple[int, list[Outcome]]:
    if os.getpid() != parent and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it was started later, by joblib itself
    checksum = zlib.crc32(packed)
    if checksum not in _loaded:
        _loaded.clear()
        _loaded[checksum] = pickle.loads(memoryview(packed))
    return place, _loaded[checksum](unit)


# On a cluster, or on this machine as one.


def _ray_machines() -> list[int]:
    """The cores of each machine of the Ray cluster that this program has joined, if it has."""
    try:
        import ray
    except ModuleNotFoundError as error:
        raise _not_installed("ray", error) from None
    nodes = ray.nodes() if ray.is_initialized() else []
    return [int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]]


def _ray(units: Sequence[Unit], call: TrainCall, given: Shares) -> Iterator[Outcome]:
    import ray

    threads = given.threads or 1
    started = not ray.is_initialized()
    if started:
        ray.init(num_cpus=given.workers * threads, include_dashboard=False, logging_level="warning")
    under_way: dict[Any, Unit] = {}
    waiting = list(units)
    try:
        _require_room(_ray_machines(), threads)
        sent = _packed(call, ray.put)
        remote = ray.remote(num_cpus=threads, max_retries=0)(_on_ray)
        while waiting or under_way:
            while waiting and len(under_way) < given.workers:
                unit = waiting.pop(0)
                under_way[remote.remote(sent, unit)] = unit
            (done, *_), _ = ray.wait(list(under_way), num_returns=1)
            unit = under_way.pop(done)
            try:
                outcomes = ray.get(done)
            except ray.exceptions.RayError as error:
                outcomes = lost(unit, f"{_LOST} ({type(error).__name__})")
            yield from outcomes
    finally:
        for each in under_way:
            ray.cancel(each, force=True)
        if started:
            ray.shutdown()


def _on_ray(call: TrainCall, unit: Unit) -> list[Outcome]:
    return call(unit)


def _require_room(machines: Sequence[int], threads: int) -> None:
    """Refuse what Ray would wait for without an end."""
    if max(machines) < threads:
        raise ValueError(
            f"{BY}: threads={threads} was given, and the largest machine of the Ray cluster has "
            f"{max(machines)} CPUs; a setting runs on one machine. Pass fewer threads."
        )


BACKENDS: Mapping[str, Backend] = {"serial": _serial, "joblib": _joblib, "ray": _ray}


def lost(unit: Unit, why: str) -> list[Outcome]:
    """What came of settings whose process is no more."""
    return [Outcome(number, None, float("nan"), f"lost: {why}") for number in unit.numbers]


def _packed(call: TrainCall, pack: Callable[[Any], Any]) -> Any:
    """Train as it is sent to another process, with all that it reads."""
    try:
        return pack(call)
    except (TypeError, ValueError, AttributeError, pickle.PicklingError) as error:
        reason = " ".join(str(error).split("\n")[0].split())
        raise TypeError(
            f"{BY}: train cannot be sent to another process ({reason}); what it reads from outside "
            "must be data: no TrainStep, no open file, no lock. Make these inside train, or pass "
            'backend="serial".'
        ) from error


def _not_installed(name: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    return ModuleNotFoundError(
        f"{BY}: backend={name!r} was given, and {name} is not installed; its workers run the "
        f"settings. Run pip install 'wengert[{name}]', or pass backend=\"serial\".",
        name=error.name,
    )
