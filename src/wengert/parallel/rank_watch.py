"""RankWatch: which of the ranks are still there.

MPI does not say that a process is gone: a rank that waits for its message waits for ever. So ranks
also hold a plain connection each to rank 0, over which nothing is computed. An operating system
closes the connections of a process that dies, however it dies, and that is how the others learn of
it. A rank that waits for a message looks here again and again.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from wengert.errors import RankError

FAILED, ENDED, BEAT = "failed", "ended", "beat"  # what ranks tell each other
EACH = 1.0  # seconds between signs of life
SILENCE = 60.0  # seconds without one after which a rank counts as lost: its machine may be gone
GRACE = {FAILED: 0.5, ENDED: 2.0}  # seconds that messages of a rank that was well may still take
JOIN = 20.0  # seconds that connecting may take
DIED = "its process died"


class RankWatch:
    """The connections of one rank: of rank 0 to all others, of these to rank 0."""

    def __init__(self, rank: int, size: int, patience: float) -> None:
        self.rank, self._size, self._patience = rank, size, patience
        self._gone: dict[int, tuple[str, str, float]] = {}  # by rank: kind, reason, when noticed
        self._lines: dict[int, socket.socket] = {}
        self._sending = threading.Lock()
        self._noticed = False  # whether an error has been raised for it
        self._left = False
        self._token = b""

    # Connecting.

    def listen(self, host: str) -> tuple[int, str]:
        """Rank 0: wait for the others at a port; what they need to find it."""
        self._server = socket.create_server((host, 0), backlog=self._size)
        self._token = os.urandom(16).hex().encode()
        return self._server.getsockname()[1], self._token.decode()

    def accept(self) -> None:
        """Rank 0: take the others in."""
        self._server.settimeout(JOIN)
        try:
            while len(self._lines) < self._size - 1:
                line, _ = self._server.accept()
                line.settimeout(JOIN)
                token, _, rank = line.recv(64).strip().partition(b" ")
                if token == self._token:
                    self._lines[int(rank)] = line
                else:  # a stranger
                    line.close()
        finally:
            self._server.close()

    def join(self, host: str, port: int, token: str) -> None:
        """Others: connect to rank 0."""
        line = socket.create_connection((host, port), JOIN)
        line.sendall(f"{token} {self.rank}\n".encode())
        self._lines[0] = line

    def begin(self) -> None:
        for line in self._lines.values():
            line.settimeout(5.0)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self._listen, name="wengert-ranks", daemon=True).start()
        atexit.register(self._leave)

    # What a rank that waits asks.

    def require_all(self, since: float) -> None:
        """Raise where a rank is gone that may be waited for, since that time at least."""
        for rank, (kind, reason, noticed) in list(self._gone.items()):
            wait = GRACE[kind] if reason != DIED else 0.0
            if time.monotonic() - max(since, noticed) >= wait:
                self._noticed = True
                raise self._error(rank, reason)

    def _error(self, rank: int, reason: str) -> RankError:
        return RankError(
            f"TrainStep: rank {rank} of {self._size} is gone ({reason}); rank {self.rank} waited "
            "for it, and a step needs all ranks. Start them again, and go on from the last "
            "checkpoint."
        )

    def tell_failure(self, reason: str) -> None:
        """Let all others know that this rank does not go on."""
        if self.rank not in self._gone:
            self._noticed = True
            self._gone[self.rank] = FAILED, reason, time.monotonic()
            self._tell(FAILED, self.rank, reason)

    def _has_failed(self) -> bool:
        """Whether a rank has failed, this one or another."""
        return any(kind == FAILED for kind, *_ in list(self._gone.values()))

    # The connections.

    def _tell(self, kind: str, rank: int, reason: str = "", but: int | None = None) -> None:
        text = json.dumps([kind, rank, reason]).encode() + b"\n"
        with self._sending:
            for other, line in list(self._lines.items()):
                if other != but:
                    with suppress(OSError):  # its reader finds out
                        line.sendall(text)

    def _listen(self) -> None:
        pending = dict.fromkeys(self._lines, b"")
        heard = dict.fromkeys(self._lines, time.monotonic())
        chooser = selectors.DefaultSelector()
        for rank, line in self._lines.items():
            chooser.register(line, selectors.EVENT_READ, rank)
        beat = time.monotonic()
        while not self._left and chooser.get_map():
            for key, _ in chooser.select(EACH / 4):
                rank = key.data
                try:
                    received = key.fileobj.recv(65536)  # type: ignore[union-attr]
                except OSError:
                    received = b""
                heard[rank] = time.monotonic()
                if not received:
                    chooser.unregister(key.fileobj)
                    self._note(FAILED, rank, DIED, rank)
                    continue
                *lines, pending[rank] = (pending[rank] + received).split(b"\n")
                for each in lines:
                    kind, who, reason = json.loads(each)
                    if kind != BEAT:
                        self._note(kind, who, reason, rank)
            now = time.monotonic()
            if now - beat > EACH:
                self._tell(BEAT, self.rank)
                beat = now
            for rank, last in heard.items():
                if now - last > SILENCE and rank not in self._gone:
                    self._note(FAILED, rank, f"nothing was heard of it for {SILENCE:.0f} s", rank)
            self._end_where_stuck(now)

    def _note(self, kind: str, rank: int, reason: str, by: int) -> None:
        known = self._gone.get(rank)
        if rank == self.rank or (known is not None and (known[0] == FAILED or reason == DIED)):
            return  # a rank that has ended closes its connection
        self._gone[rank] = kind, reason, time.monotonic()
        if self.rank == 0:
            self._tell(kind, rank, reason, but=by)

    def _end_where_stuck(self, now: float) -> None:
        """End this process where a rank has failed and nobody here has looked for a while: it may
        wait for that rank in a call of its own, which never returns.
        """
        for rank, (kind, reason, noticed) in list(self._gone.items()):
            if kind == FAILED and not self._noticed and now - noticed > self._patience:
                print(f"wengert.errors.RankError: {self._error(rank, reason)}", file=sys.stderr)
                _end_at_once()

    def _leave(self) -> None:
        """At exit: say goodbye, or why not. MPI's own end would wait for ranks that are gone."""
        error = getattr(sys, "last_value", None)
        if error is not None:
            self.tell_failure(worded(error))
        elif not self._has_failed():
            self._tell(ENDED, self.rank, "its program is over")
            while not self._has_failed() and len(self._gone) < self._size - 1:
                time.sleep(EACH / 50)  # as MPI's own end does
        self._left = True
        if self._has_failed():
            _end_at_once()


def worded(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def _end_at_once(end: Callable[[int], Any] = os._exit) -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    end(1)
