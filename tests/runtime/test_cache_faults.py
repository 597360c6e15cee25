"""A cache that is off, that cannot be used, or that many use at once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import pytest
from compiler.running import bits

import wengert as wg
from runtime.caching import TESTS, arguments, cache_in, digest, entries, made, training
from wengert.runtime.caching import cache, cache_store, cache_writer
from wengert.runtime.caching.cache_writer import settle


@pytest.fixture
def folder(tmp_path):
    with cache_in(tmp_path / "cache"):
        yield tmp_path / "cache"


# Off, and what goes wrong.


def test_off(tmp_path):
    with cache_in(tmp_path / "cache", WENGERT_CACHE="0"):
        assert made(np.tanh, np.ones(3)).cached == "off: WENGERT_CACHE=0"
    assert not (tmp_path / "cache").exists()


def test_a_folder_that_is_not_the_users_alone(folder, caplog):
    folder.mkdir()
    folder.chmod(0o755)
    for _ in range(3):
        executable = made(training, *arguments())
        assert executable.cached.startswith(f"off: {folder}: others have access")
    told = [r for r in caplog.records if r.levelname == "WARNING"]
    assert len(told) == 1
    assert str(folder) in told[0].getMessage()
    assert "chmod 700" in told[0].getMessage()
    assert "\n" not in told[0].getMessage()
    assert entries(folder) == []


def test_where_it_is(tmp_path, monkeypatch):
    def found() -> str:
        return cache.open_store().folder

    monkeypatch.setenv("WENGERT_CACHE", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("WENGERT_CACHE_DIR", raising=False)
    assert found() == str(tmp_path / ".cache" / "wengert")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert found() == str(tmp_path / ".cache" / "wengert")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert found() == str(tmp_path / "xdg" / "wengert")
    monkeypatch.setenv("WENGERT_CACHE_DIR", "here")
    monkeypatch.chdir(tmp_path)
    assert found() == str(tmp_path / "here")


def test_no_home(tmp_path, monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE", "1")
    monkeypatch.setenv("HOME", str(tmp_path / "removed"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("WENGERT_CACHE_DIR", raising=False)
    executable = made(np.tanh, np.ones(3))
    assert executable.cached == "off: this user has no home; set WENGERT_CACHE_DIR"
    assert executable(np.zeros(3)).tolist() == [0, 0, 0]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("given", ["many", "-1", "1.5", " "])
def test_a_bound_that_is_no_number(tmp_path, caplog, given):
    with cache_in(tmp_path / "cache", WENGERT_CACHE_BYTES=given):
        assert cache.open_store().limit == cache.BYTES
        cache.open_store()
    assert caplog.text.count("no number of bytes") == 1


def test_the_bound(tmp_path):
    with cache_in(tmp_path / "cache", WENGERT_CACHE_BYTES="30000"):
        for k in range(12):
            made(lambda x, k=k: np.tanh(x) * k, np.ones(3))
        sizes = [(tmp_path / "cache" / name).stat().st_size for name in entries(tmp_path / "cache")]
        assert 0 < sum(sizes) <= 32000


@pytest.mark.parametrize("call", ["write", "fsync", "rename", "open", "mkdir"])
def test_a_disk_that_fails_costs_time_only(folder, monkeypatch, call):
    expected = bits(made(training, *arguments())(*arguments()))
    shutil.rmtree(folder)

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(cache_store.os, call, full)
        executable = made(training, *arguments())
        assert executable.cached.startswith(("miss", "off"))
        assert bits(executable(*arguments())) == expected
    assert not folder.exists() or entries(folder) == []


def test_the_folder_vanishes_meanwhile(folder):
    expected = bits(made(training, *arguments())(*arguments()))
    shutil.rmtree(folder)
    again = made(training, *arguments())
    assert again.cached.startswith("miss")
    assert bits(again(*arguments())) == expected
    assert made(training, *arguments()).cached == "hit"


def test_a_job_that_fails_ends_nothing(folder, caplog):
    def fail() -> None:
        raise RuntimeError("told")

    done = []
    with caplog.at_level("INFO"):
        cache_writer.later(fail)
        cache_writer.later(lambda: done.append(1))
        settle()
    assert done == [1]
    assert "told" in caplog.text


def test_no_more_threads(folder, caplog):
    with (
        caplog.at_level("INFO"),
        mock.patch.object(cache_writer.threading.Thread, "start", side_effect=RuntimeError("full")),
    ):
        executable = wg.compile(np.tanh, threads=1).executable(np.ones(3))
        assert executable(np.zeros(3)).tolist() == [0, 0, 0]
    assert "full" in caplog.text
    assert made(np.tanh, np.ones(3)).cached.startswith("miss")
    assert made(np.tanh, np.ones(3)).cached == "hit"


# Processes and threads.


def in_process(folder, seed: int = 0, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "runtime.caching", str(seed)],
        env=os.environ | {"WENGERT_CACHE_DIR": str(folder), "PYTHONPATH": str(TESTS)} | variables,
        cwd=TESTS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def result(process: subprocess.Popen[str]) -> list[str]:
    out, told = process.communicate()
    assert process.returncode == 0, told
    return json.loads(out)


def test_processes_one_after_the_other(folder):
    expected = digest([wg.compile(training)(*arguments())] * 2)
    settle()
    shutil.rmtree(folder)
    first = result(in_process(folder, PYTHONHASHSEED="1"))
    again = result(in_process(folder, PYTHONHASHSEED="2"))
    assert first == ["miss: no entry for a program of these ops", expected]
    assert again == ["hit", expected]


def test_processes_at_once(folder):
    expected = [digest([wg.compile(training)(*arguments(k))] * 2) for k in (0, 1, 0)]
    settle()
    shutil.rmtree(folder)
    processes = [in_process(folder, k) for k in (0, 1, 0)]
    found = [result(process) for process in processes]
    assert [told[1] for told in found] == expected
    assert not entries(folder, "t-")
    assert made(training, *arguments()).cached == "hit"


def test_threads(folder):
    inputs = [np.full((k + 1, 3), 0.5) for k in range(8)]

    def work(k: int) -> bool:
        x = inputs[k % 8]
        found = wg.compile(lambda x: np.abs(x) * 2, threads=1)(x)
        return bool(np.array_equal(found, np.abs(x) * 2))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(40)))
    settle()
    assert len(entries(folder, "p-")) == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_the_writer_works(folder, monkeypatch):
    real = os.fsync
    begun, go_on = (threading.Event() for _ in range(2))

    def slow(file: int) -> None:
        begun.set()
        go_on.wait()
        real(file)

    monkeypatch.setattr(cache_store.os, "fsync", slow)
    wg.compile(np.tanh, threads=1).executable(np.ones(3))
    begun.wait()
    child = os.fork()
    if not child:
        status = 1
        try:
            monkeypatch.setattr(cache_store.os, "fsync", real)
            executable = made(np.sin, np.ones(3), threads=1)
            status = int(not executable.cached.startswith("miss"))
            status += 2 * int(made(np.sin, np.ones(3), threads=1).cached != "hit")
            print(f"the child found: {executable.cached}", flush=True)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    go_on.set()
    settle()
    assert made(np.tanh, np.ones(3), threads=1).cached == "hit"


def in_a_daemon(work) -> None:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()


def test_python_waits_for_what_a_daemon_has_to_write():
    begun, go_on, done = threading.Event(), threading.Event(), []

    def job() -> None:
        begun.set()
        go_on.wait()
        done.append(threading.current_thread().daemon)

    in_a_daemon(lambda: cache_writer.later(job))
    begun.wait()
    go_on.set()
    settle()
    assert done == [False]


def test_python_does_not_wait_for_what_a_daemon_finds_to_write_at_the_end(monkeypatch):
    done: list[str] = []
    over = threading.Thread(target=lambda: None)
    over.start()
    over.join()
    monkeypatch.setattr(threading, "main_thread", lambda: over)
    in_a_daemon(lambda: cache_writer.later(lambda: done.append("a daemon's")))
    cache_writer.later(lambda: done.append("another's"))
    settle()
    assert done == ["another's"]
