"""Forks wait for LLVM."""

from __future__ import annotations

import gc
import logging
import os
import threading

import numpy as np
import pytest

import wengert as wg
from wengert.core.process.fork_door import Door
from wengert.core.process.fork_door import door as wengert_door


def test_closing_waits_for_the_threads_inside():
    door, events = Door(), list[str]()
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with door, door:
            inside.set()
            leave.wait()
            events.append("left")

    def fork() -> None:
        door.close()
        events.append("closed")
        door.open()

    threads = [threading.Thread(target=each) for each in (work, fork)]
    threads[0].start()
    inside.wait()
    threads[1].start()
    while not door._closed:
        pass
    assert not events
    leave.set()
    for thread in threads:
        thread.join()
    assert events == ["left", "closed"]


def test_nobody_enters_a_closed_door():
    door, entered = Door(), threading.Event()

    def work() -> None:
        with door:
            entered.set()

    door.close()
    thread = threading.Thread(target=work)
    thread.start()
    assert not entered.wait(0.05)
    door.open()
    entered.wait()
    thread.join()


def test_what_is_done_for_a_thread_inside_comes_in():
    door, entered = Door(), threading.Event()

    def beside() -> None:
        door.belong()
        with door:
            entered.set()
        door.dismiss()

    with door:
        closing = threading.Thread(target=door.close)
        closing.start()
        while not door._closed:
            pass
        door.admit()
        thread = threading.Thread(target=beside)
        thread.start()
        thread.join()
        assert entered.is_set()
        assert closing.is_alive()
    closing.join()
    assert not closing.is_alive()


def test_the_thread_that_forks_may_be_inside():
    door = Door()
    with door:
        door.close()
        door.open()
        door.close()
        door.open_in_child()
    door.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
def test_a_fork_closes_the_door_before_logging_takes_its_lock():
    inside, left = threading.Event(), list[str]()

    def work() -> None:
        with wengert_door:
            inside.set()
            while not wengert_door._closed:
                pass
            logging.getLogger("wengert.test_door")  # takes that lock
            left.append("left")

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    child = os.fork()
    if not child:
        os._exit(0)
    found = list(left)
    os.waitpid(child, 0)
    thread.join()
    assert found == ["left"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
def test_forks_while_others_compile(monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE", "0")
    done = threading.Event()

    def work() -> None:
        count = 0
        while not done.is_set():
            count += 1
            step = wg.compile(lambda x, count=count: x @ x + count, threads=2)
            assert step(np.eye(3))[0, 0] == 1 + count

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(12):
            child = os.fork()
            if not child:
                wrong = 1
                try:
                    found = wg.compile(lambda x: x @ x + 1, threads=2)(np.ones((2, 2)))
                    wrong = int(found[0, 0] != 3 or not gc.isenabled())
                finally:
                    os._exit(wrong)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
        for thread in threads:
            thread.join()
