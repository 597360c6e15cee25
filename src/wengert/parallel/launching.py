"""Launching: a script on several ranks of this machine, by the engine that is installed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from wengert.parallel import rank_keeper
from wengert.parallel.rank_keeper import COUNT, DIED, DONE, FAILED, FOLDER
from wengert.parallel.rank_process import BEGUN
from wengert.runtime.workers import available

GRACE = 4.0  # seconds that ranks have to end by themselves when one has failed
PAUSE = 0.05
THREADS = ("WENGERT_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
MPICH, OPEN_MPI = "MPICH", "Open MPI"
# How engines begin a line of a rank, where they are asked to say whose it is.
_TAGS = {MPICH: re.compile(r"\[(\d+)\] ?"), OPEN_MPI: re.compile(r"\[[^,\]]*,(\d+)\]<\w+>: ?")}
Tell = Callable[[str], object]


class Starter(NamedTuple):
    """The program that starts ranks."""

    path: str
    engine: str

    def command(self, count: int) -> list[str]:
        """Its command for `count` ranks, up to what each of them runs."""
        if self.engine == MPICH:
            return [self.path, "-prepend-rank", "-n", str(count)]
        return [self.path, "--tag-output", "--oversubscribe", "-n", str(count)]


def find_starter() -> Starter | None:
    """The starter beside this Python, or the one on the path."""
    beside = Path(sys.executable).parent / "mpiexec"
    path = str(beside) if beside.exists() else shutil.which("mpiexec") or shutil.which("mpirun")
    if path is None:
        return None
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    return Starter(path, MPICH if "HYDRA" in told or "MPICH" in told else OPEN_MPI)


def threads_for(count: int) -> int:
    """How many threads each of `count` ranks has."""
    return max(1, available() // count)


def launch(
    starter: Starter,
    count: int,
    script: str,
    arguments: Sequence[str],
    threads: int | None,
    tell: Tell,
    warn: Tell,
) -> bool:
    """Run a script on `count` ranks, and say whether it went well on all of them. `tell` gets each
    line of theirs, `warn` those that are the launcher's own or that ranks wrote to the stream for
    errors. When one fails, all are ended.
    """
    with tempfile.TemporaryDirectory(prefix="wengert-launch-") as folder:
        environment = dict(os.environ, **{FOLDER: folder, COUNT: str(count)})
        environment.pop("PYTHONUNBUFFERED", None)  # engines tag each piece of a line that comes
        for name in THREADS:
            if threads is not None or name not in os.environ:
                environment[name] = str(threads or threads_for(count))
        command = [
            *starter.command(count),
            *(sys.executable, rank_keeper.__file__, script, *arguments),
        ]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=environment,
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        readers = [
            threading.Thread(target=_pass_on, args=(stream, starter.engine, to), daemon=True)
            for stream, to in ((process.stdout, tell), (process.stderr, warn))
        ]
        for reader in readers:
            reader.start()
        ranks = _Ranks(Path(folder), count)
        with _ended_with(process, ranks):
            _attend(process, ranks)
        ranks.kill()
        for reader in readers:
            reader.join(timeout=2.0)
        warn_of = ranks.causes()
        for text in warn_of:
            warn(f"wengert launch: {text}")
        return process.returncode == 0 and not warn_of


class _Ranks:
    """What the processes of ranks have noted."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder, self._count = folder, count
        self._ended: set[int] = set()  # by the launcher: they are not the cause

    def not_done(self) -> list[int]:
        """Those that have not said that all went well."""
        return [i for i in range(self._count) if not (self._folder / f"{i}{DONE}").exists()]

    def processes(self) -> dict[int, int]:
        """The process of each rank that has begun."""
        files = ((i, self._folder / f"{i}{BEGUN}") for i in range(self._count))
        return {i: int(path.read_text()) for i, path in files if path.exists()}

    def have_failed(self) -> bool:
        """Whether one has ended otherwise than well, or is about to."""
        return any(
            self._note(i, FAILED) is not None or (i in begun and not _is_rank(begun[i]))
            for begun in [self.processes()]
            for i in self.not_done()
        )

    def causes(self) -> list[str]:
        """Why not all went well; nothing where it did."""
        missing = self.not_done()
        died = {i: self._note(i, DIED) for i in range(self._count) if i not in self._ended}
        errors = {i: self._note(i, FAILED) for i in missing}
        causes = [
            f"rank {i} died ({how})" + ("" if i in missing else " after its script had ended")
            for i, how in died.items()
            if how
        ]
        own = {i: text for i, text in errors.items() if text and not text.startswith("RankError")}
        if not (causes or own):  # ranks that only missed another one say little about the cause
            own = {i: text for i, text in errors.items() if text}
        causes += [f"rank {i} ended with {text}" for i, text in own.items()]
        return causes or ([f"{_listed(missing)} did not end well"] if missing else [])

    def _note(self, rank: int, ending: str) -> str | None:
        path = self._folder / f"{rank}{ending}"
        return path.read_text() if path.exists() else None

    def kill(self) -> None:
        """End all that are left."""
        for rank, process in self.processes().items():
            if _is_rank(process):
                self._ended.add(rank)
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)


def _attend(process: subprocess.Popen[str], ranks: _Ranks) -> None:
    """Wait for the end; where a rank has failed, not much longer."""
    deadline: float | None = None
    while process.poll() is None:
        time.sleep(PAUSE)
        if deadline is None and ranks.have_failed():
            deadline = time.monotonic() + GRACE
        if deadline is not None and time.monotonic() > deadline:
            ranks.kill()
            process.terminate()
            deadline = time.monotonic() + 0.5


@contextmanager
def _ended_with(process: subprocess.Popen[str], ranks: _Ranks) -> Iterator[None]:
    """End all processes where this one is interrupted."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=2.0)
            except subprocess.TimeoutExpired:
                ranks.kill()
                process.kill()
                process.wait()


def _pass_on(stream: IO[str], engine: str, tell: Tell) -> None:
    """Pass on the lines of a stream, each with its rank in front."""
    for line in stream:
        tag = _TAGS[engine].match(line)
        text = line.rstrip("\n")
        if tag is not None:
            text = text[tag.end() :].removesuffix(tag[0])  # where the end of a line came alone
        tell(f"rank {tag[1]} | {text}" if tag else text)


def _is_rank(process: int) -> bool:
    """Whether a process is there, and, where that can be seen, is that of a rank."""
    try:
        os.kill(process, 0)
    except OSError:
        return False
    try:  # the number of a process that is over may be given to another one
        return b"rank_process" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return not Path("/proc/self").exists()


def _listed(ranks: Sequence[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
