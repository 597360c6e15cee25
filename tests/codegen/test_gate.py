"""Forks wait for LLVM."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import wengert as wg
from wengert.codegen.llvm.gate import Gate
from wengert.codegen.llvm.native import make_object


def test_closing_waits_for_the_threads_inside():
    gate, events = Gate(), list[str]()
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with gate, gate:
            inside.set()
            assert leave.wait(30)
            events.append("left")

    def fork() -> None:
        gate.close()
        events.append("closed")
        gate.open()

    threads = [threading.Thread(target=each) for each in (work, fork)]
    threads[0].start()
    assert inside.wait(30)
    threads[1].start()
    assert not threads[1].join(0.05)
    leave.set()
    for thread in threads:
        thread.join(30)
    assert events == ["left", "closed"]


def test_nobody_enters_a_closed_gate():
    gate, entered = Gate(), threading.Event()

    def work() -> None:
        with gate:
            entered.set()

    gate.close()
    thread = threading.Thread(target=work)
    thread.start()
    assert not entered.wait(0.05)
    gate.open()
    assert entered.wait(30)
    thread.join(30)


def test_the_thread_that_forks_may_be_inside():
    gate = Gate()
    with gate:
        gate.close()
        gate.open()
        gate.close()
        gate.open_in_child()
    gate.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
def test_forks_while_others_compile(monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE", "0")
    text = "define void @f() #0 {\n  ret void\n}\n"
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            make_object(text)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(12):
            child = os.fork()
            if not child:
                wrong = 1
                try:
                    wrong = int(wg.compile(lambda x: x + 1, threads=1)(np.ones(2))[0] != 2)
                finally:
                    os._exit(wrong)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
        for thread in threads:
            thread.join(30)
