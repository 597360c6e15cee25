"""Processes that end while their threads are at work: `python -m runtime.exits 20 [scenario …]`.

From the folder of the tests. For each scenario so many processes are forked. Each begins threads,
and ends at a random moment. None may abort or hang, and no file of the cache may be torn.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert.runtime.caching.cache_store import MAGIC, TEMPORARY

LONGEST = 0.15  # seconds until a process ends
STUCK = 120.0  # seconds after which one that has not ended hangs


@dataclass
class Point:
    """A dataclass, which trees take apart in Python."""

    x: Any
    y: Any


def compile_one(number: int) -> Any:
    compiled = wg.compile(lambda x: x @ x + number, threads=2)
    compiled(np.eye(3))
    return compiled


def compile_often() -> None:
    for number in count():
        compile_one(number)


def call_often() -> None:
    x, y = np.ones((40, 50)), np.ones((50, 40))[::-1]
    f = wg.compile(lambda p: {"z": np.tanh(p["a"][0] @ p["a"][1])}, threads=3)
    while True:
        f({"a": (x, y)})


def differentiate_often() -> None:
    point = Point(np.ones(3), {"a": [np.ones(2)]})
    while True:
        wg.grad(lambda p: (p.x * p.x).sum() + np.exp(p.y["a"][0]).sum())(point)
        wg.tree.map(lambda x: x, point)
        hash(wg.tree.flatten(point)[1])


def _step() -> wg.TrainStep:
    model = {"w": np.ones((8, 4)), "b": np.zeros(4)}
    return wg.TrainStep(
        lambda p, x: (np.tanh(x @ p["w"] + p["b"]) ** 2).mean(), model, wg.optim.Adam(1e-3)
    )


def train_often() -> None:
    step, data = _step(), np.ones((512, 8))
    while True:
        step.run(data, batch_size=8, epochs=20)
        step(data)


def save_often() -> None:
    folder = Path(os.environ["WENGERT_CACHE_DIR"]) / "saved"
    folder.mkdir(0o700, parents=True, exist_ok=True)
    path = folder / f"{os.getpid()}-{threading.get_ident()}"
    step = _step()
    while True:
        step.save(path)
        step.load(path)


def fork_often() -> None:
    while True:
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)


def in_threads(*works: Callable[[], None]) -> Callable[[float], None]:
    """The main thread ends, and others, which Python does not wait for, are at work."""

    def scenario(seconds: float) -> None:
        for work in works:
            threading.Thread(target=work, daemon=True).start()
        time.sleep(seconds)

    return scenario


def exit_in_a_handler(seconds: float) -> None:
    """The main thread is at work itself, and the handler of a signal ends it."""
    ended = False

    def end_now(*_: object) -> None:
        nonlocal ended
        ended = True
        sys.exit(0)  # unheard where a destructor is interrupted

    signal.signal(signal.SIGALRM, end_now)
    signal.setitimer(signal.ITIMER_REAL, seconds + 0.001)
    kept = []  # llvmlite's own destructors must not be interrupted
    for number in count():
        if ended:
            sys.exit(0)
        kept.append(compile_one(number))


def exit_at_once(seconds: float) -> None:
    in_threads(compile_often, save_often)(seconds)
    os._exit(0)


def killed(seconds: float) -> None:
    in_threads(compile_often, save_often)(seconds)
    os.kill(os.getpid(), signal.SIGKILL)


def exit_of_a_daemon(seconds: float) -> None:
    """A thread that Python waits for compiles, and one that it does not."""
    threading.Thread(target=lambda: wg.compile(lambda x: x - 3.5)(np.eye(4))).start()
    in_threads(compile_often)(seconds)


SCENARIOS: dict[str, Callable[[float], None]] = {
    "compile": in_threads(compile_often, compile_often),
    "call": in_threads(call_often, call_often),
    "differentiate": in_threads(differentiate_often, differentiate_often),
    "train": in_threads(train_often, train_often),
    "save": in_threads(save_often, save_often),
    "fork": in_threads(fork_often, compile_often),
    "all": in_threads(compile_often, train_often, save_often, differentiate_often),
    "handler": exit_in_a_handler,
    "at once": exit_at_once,
    "killed": killed,
    "daemon": exit_of_a_daemon,
}


def _fail(told: threading.ExceptHookArgs) -> None:
    """An error in a thread is one of the process."""
    sys.__excepthook__(told.exc_type, told.exc_value or told.exc_type(), told.exc_traceback)
    os._exit(70)


def end(name: str, seed: int) -> None:
    """In a new process: run a scenario, and end."""
    os.environ["WENGERT_GRAIN"] = "1"
    threading.excepthook = _fail
    SCENARIOS[name](random.Random(seed).uniform(0, LONGEST))
    sys.exit(0)


def status(name: str, seed: int) -> str:
    """How a process ended: "" if well."""
    child = os.fork()
    if not child:
        end(name, seed)
    until = time.monotonic() + STUCK
    while True:
        found, state = os.waitpid(child, os.WNOHANG)
        if found:
            break
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"{name}, seed {seed}: did not end"
        time.sleep(0.001)
    code = os.waitstatus_to_exitcode(state)
    expected = -signal.SIGKILL if name == "killed" else 0
    return "" if code == expected else f"{name}, seed {seed}: ended with {code}"


def torn(folder: Path) -> list[str]:
    """The files of a cache that are not what their first line says."""
    found = []
    for path in folder.iterdir() if folder.exists() else ():
        if path.is_file() and not path.name.startswith(TEMPORARY):
            head, _, body = path.read_bytes().partition(b"\n")
            said = re.match(re.escape(MAGIC) + rb"(\w+) (\d+) ", head)
            if said is None or said.groups() != (
                hashlib.sha256(body).hexdigest().encode(),
                b"%d" % len(body),
            ):
                found.append(path.name)
    return found


def failures(times: int, names: Sequence[str]) -> list[str]:
    """What went wrong in so many processes of each of these scenarios."""
    pairs = ((name, seed) for seed in range(times) for name in names)
    wrong = [said for name, seed in pairs if (said := status(name, seed))]
    return wrong + [f"{name} is torn" for name in torn(Path(os.environ["WENGERT_CACHE_DIR"]))]


if __name__ == "__main__":
    cache = tempfile.mkdtemp()  # in no `with` block: each forked process would leave it, too
    os.environ |= {"WENGERT_CACHE_DIR": cache, "WENGERT_CACHE": "1"}
    found = failures(int(sys.argv[1]), sys.argv[2:] or list(SCENARIOS))
    shutil.rmtree(cache)
    print("\n".join(found) or "all ended well")
    sys.exit(bool(found))
