"""Sweeps in other processes: the same results, divided threads, and processes that end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from sweeping.trained import deadly, train
from wengert.runtime.workers import available
from wengert.sweeping.sweep_backends import shares


def test_workers_give_the_same_and_a_dead_one_loses_only_its_setting():
    pytest.importorskip("joblib")
    with pytest.warns(wg.errors.SweepWarning, match="2 of 5 settings"):
        found = wg.sweep(deadly, {"n": range(5)}, "joblib", workers=2, progress=False)
    assert [run.metrics.get("square") for run in found] == [0, None, None, 9, 16]
    assert found[1].error.startswith("lost: its process was ended from outside")
    assert found[2].error == "RuntimeError: two is too many"
    assert {found[n]["threads"] for n in (0, 3, 4)} == {str(max(1, available() // 2))}
    assert {found[n]["blas"] for n in (0, 3, 4)} == {str(max(1, available() // 2))}
    assert os.getpid() not in {found[n]["process"] for n in (0, 3, 4)}
    here = train(0.1)
    assert found[0]["loss"] == here["loss"]
    np.testing.assert_array_equal(found[0]["history"].loss, here["history"].loss)


SLOW = """
import signal, time
import wengert as wg

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored

def slow(n):
    if n > 1:
        time.sleep(60)
    return n

wg.sweep(slow, {"n": range(6)}, "joblib", workers=2, folder="runs")
"""


def test_an_interrupt_ends_all_processes_and_keeps_what_was_finished(tmp_path):
    pytest.importorskip("joblib")
    (tmp_path / "slow.py").write_text(SLOW)
    child = subprocess.Popen(
        [sys.executable, "slow.py"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # what a terminal would interrupt, all of it
    )
    assert child.stderr.readline().startswith("sweep 1/6")
    assert child.stderr.readline().startswith("sweep 2/6")
    time.sleep(0.2)
    os.killpg(child.pid, signal.SIGINT)
    told = child.stderr.read()  # until the last process has closed it: nobody is left
    assert child.wait(30) != 0
    assert told.count("Traceback") == 1
    assert told.rstrip().endswith(
        "sweep: 2 of 6 settings were finished. The same call goes on from 'runs'."
    )
    assert len(list((tmp_path / "runs").glob("*.safetensors"))) == 2


def test_threads_are_divided(monkeypatch):
    monkeypatch.setattr("wengert.sweeping.sweep_backends.available", lambda: 8)

    def divided(workers, threads, units):
        found = shares("joblib", workers, threads, units)
        return found.workers, found.threads

    assert divided(None, None, 100) == (8, 1)
    assert divided(None, None, 2) == (2, 4)
    assert divided(3, None, 100) == (3, 2)
    assert divided(None, 4, 100) == (2, 4)
    assert divided(16, None, 100) == (16, 1)
    assert divided(None, 16, 100) == (1, 16)
    assert divided(2, 3, 100) == (2, 3)


def test_ray():
    pytest.importorskip("ray", reason="ray is not installed: pip install 'wengert[ray]'")
    with pytest.warns(wg.errors.SweepWarning, match="2 of 4 settings"):
        found = wg.sweep(deadly, {"n": range(4)}, "ray", workers=2, threads=1, progress=False)
    assert [run.metrics.get("square") for run in found] == [0, None, None, 9]
    assert found[0]["threads"] == "1"
    assert found[0]["loss"] == train(0.1)["loss"]


def recipe(mark, **changes):
    """What a recipe of the page leaves, which is run as a program of its own would be."""
    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python(.*)\n((?:.*\n)*?)^```$", page, re.MULTILINE)
    (text,) = [text for marks, text in blocks if mark in marks.split()]
    for before, after in changes.items():
        text = text.replace(before, after)
    space = {"__name__": "__main__"}
    exec(blocks[0][1], space)  # data, network, loss and train
    exec(text, space)
    return space


def test_the_recipe_for_joblib():
    pytest.importorskip("joblib")
    space = recipe("joblib")
    assert space["losses"] == [space["train"](lr, 8)["loss"] for lr in (0.03, 0.003)]


def test_the_recipe_for_ray_tune(tmp_path, monkeypatch):
    pytest.importorskip("ray.tune", reason="ray is not installed: pip install 'ray[tune]'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WENGERT_NUM_THREADS", "1")
    best = recipe("ray", **{"num_samples=8": "num_samples=3"})["best"]
    assert best.metrics["training_iteration"] == 20
    assert best.metrics["loss"] < 1
