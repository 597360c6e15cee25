"""Workers in the life of a process: many Python threads, forks, signals, the end."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import numpy as np
import pytest
from effort import others_run_during

import wengert as wg
from wengert.runtime.workers import pool

HEAD = """
import os, signal, sys, threading, time
os.environ["WENGERT_GRAIN"] = "1"
import numpy as np
import wengert as wg
x = np.linspace(-1, 1, 5000, dtype=np.float32)
f = wg.compile(lambda x: np.exp(x) * 2.0, threads=3)
wanted = wg.compile(lambda x: np.exp(x) * 2.0, threads=1)(x)
def right():
    return np.array_equal(f(x), wanted)
assert right() and right()
"""


def run(body: str, seconds: float = 600) -> str:
    """A program in a process of its own, which must end well and in time."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + textwrap.dedent(body)],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_end_of_a_process_is_quick() -> None:
    """No longer than Python's own: it waits for no call, and for no worker."""
    begin = "import atexit; from wengert.runtime import workers; workers.PATIENCE = 1e9\n"
    run(begin + "assert len(threading.enumerate()) == 3")


def test_the_end_while_a_thread_is_calling() -> None:
    run(
        """
        def forever():
            while True:
                f(x)
        threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.2)
        """
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forks_while_workers_sleep() -> None:
    out = run(
        """
        time.sleep(0.05)
        for i in range(25):
            child = os.fork()
            if child == 0:
                good = right() and right() and wg.compile(lambda x: x * 3.0, threads=2)(x)[0] == -3
                os._exit(0 if good else 1)
            _, status = os.waitpid(child, 0)
            assert status == 0, status
            assert right()
        print("good")
        """
    )
    assert out == "good\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forks_while_other_threads_call() -> None:
    run(
        """
        stop = False
        wrong = []
        def calling():
            while not stop:
                if not right():
                    wrong.append(1)
        threads = [threading.Thread(target=calling) for _ in range(3)]
        for t in threads: t.start()
        for i in range(15):
            child = os.fork()
            if child == 0:
                os._exit(0 if right() else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop = True
        for t in threads: t.join()
        assert not wrong
        """
    )


def test_a_forked_process_has_workers_again() -> None:
    run(
        """
        child = os.fork()
        if child == 0:
            f(x)
            from wengert.runtime.workers import pool
            os._exit(0 if len(pool().threads) == 2 else 1)
        assert os.waitpid(child, 0)[1] == 0
        """
    )


def test_a_signal_arrives() -> None:
    run(
        """
        seen = []
        signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
        while len(seen) <= 10:
            assert right()
        signal.setitimer(signal.ITIMER_REAL, 0)
        """
    )


def test_more_threads_than_cpus() -> None:
    run(
        """
        many = wg.compile(lambda x: np.exp(x) * 2.0, threads=40)
        for _ in range(50):
            assert np.array_equal(many(x), wanted)
        """
    )


def _call_from_threads(functions: Any, args: Any, wanted: Any, seconds: float) -> None:
    wrong: list[Any] = []
    end = time.monotonic() + seconds

    def calling(number: int) -> None:
        function, want = functions[number % len(functions)], wanted[number % len(functions)]
        while time.monotonic() < end:
            if not np.array_equal(function(*args), want):
                wrong.append(number)

    threads = [threading.Thread(target=calling, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("count", [1, 4])
def test_many_python_threads(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    x = np.linspace(-1, 1, 3000, dtype=np.float32)
    made = [(lambda x, n=n: np.exp(x) * float(n)) for n in range(count)]
    wanted = [wg.compile(function, threads=1)(x) for function in made]
    functions = [wg.compile(function, threads=3) for function in made]
    _call_from_threads(functions, (x,), wanted, 1.0)


def test_other_python_threads_run_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter's lock is free during a call that takes long."""
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    x = np.random.default_rng(0).normal(size=(700, 700))
    f = wg.compile(lambda x: x @ x @ x @ x, threads=2)
    f(x)
    assert others_run_during(lambda: f(x))


def test_workers_wait_for_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    f = wg.compile(lambda x: np.exp(x), threads=3)
    x = np.ones(4000)
    f(x)
    before = list(pool().threads)
    time.sleep(0.05)  # long enough to fall asleep
    assert np.array_equal(f(x), np.exp(x)) or np.allclose(f(x), np.exp(x))
    assert pool().threads[: len(before)] == before
    assert all(thread.is_alive() for thread in before)
