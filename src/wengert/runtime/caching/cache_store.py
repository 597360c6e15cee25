"""Store: entries of the cache as files in one folder, which is the user's alone.

An entry is a line, which begins with a magic word and gives the key and the SHA-256 of the body,
and then the body. Whatever is not exactly so, or could have been written by somebody else, is
refused: the caller makes it anew. Whatever goes wrong with the folder or the disk costs time, and
nothing else.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

Key: TypeAlias = Mapping[str, Any]  # says what an entry is for; plain JSON

log = logging.getLogger("wengert.cache")

MAGIC = b"wengert cache 1 "  # the number is the version of the file format
LARGEST = 1 << 26  # bytes of an entry
LONGEST_HEAD = 1 << 16  # bytes of its first line
TOUCHED = 60.0  # seconds after which a used entry is marked as used again
ABANDONED = 3600.0  # seconds after which a file that nobody finished is removed
KEPT = 0.75  # the part of the bound that is left when old entries have been removed
TEMPORARY = "t-"  # how the names of files that are being written begin

_OPEN = os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Missed(Exception):
    """There is no entry that can be used; the text says why."""


class Unsafe(OSError):
    """A folder that others could have written to."""


def name_of(kind: str, *keys: Key) -> str:
    """The file of an entry. Those with the same first keys have the same beginning."""
    parts = [hashlib.sha256(_json(key)).hexdigest()[:24] for key in keys]
    return "-".join((kind, *parts))


def _json(key: Key) -> bytes:
    return json.dumps(key, sort_keys=True, separators=(",", ":")).encode()


def _head(key: Key, body: bytes) -> bytes:
    digest = hashlib.sha256(body).hexdigest().encode()
    return b"%s%s %d %s\n" % (MAGIC, digest, len(body), _json(key))


class Store:
    """The entries in one folder, up to a limit of bytes."""

    def __init__(self, folder: str, limit: int) -> None:
        self.folder, self.limit = folder, limit
        self._unseen = limit  # bytes written since entries were last counted; at first, unknown

    # Reading.

    def read(self, name: str, key: Key) -> bytes:
        """The body of an entry. Raises `Missed` where there is none, or none to be trusted."""
        try:
            with self._opened() as folder:
                data = self._read_file(folder, name)
        except FileNotFoundError:
            raise Missed("no entry") from None
        except OSError as error:
            raise Missed(f"the entry cannot be read: {_reason(error)}") from None
        head, _, body = data.partition(b"\n")
        if not head.startswith(MAGIC):
            raise Missed("the entry is refused: it is of another form")
        if head + b"\n" != _head(key, body):
            what = "key" if head.partition(b"{")[2] != _json(key)[1:] else "SHA-256"
            raise Missed(f"the entry is refused: its {what} does not match")
        return body

    def keys(self, beginning: str) -> Iterator[Key]:
        """The keys of the entries whose names begin like this, as far as they can be read."""
        with suppress(OSError), self._opened() as folder, os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(beginning):
                    with suppress(OSError, ValueError, RecursionError, Missed):
                        head = self._read_file(folder, entry.name, LONGEST_HEAD).partition(b"\n")[0]
                        key = json.loads(head[head.index(b"{") :])
                        if isinstance(key, dict):
                            yield key

    def _read_file(self, folder: int, name: str, most: int = LARGEST) -> bytes:
        """A file's first bytes, if it is the user's alone."""
        file = os.open(name, os.O_RDONLY | _OPEN, dir_fd=folder)
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise Missed("the entry is refused: it is no file")
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                raise Missed("the entry is refused: others can write to it")
            if status.st_size > LARGEST:
                raise Missed(f"the entry is refused: it has more than {LARGEST} bytes")
            with suppress(OSError):
                if time.time() - status.st_mtime > TOUCHED and most == LARGEST:
                    os.utime(file)  # used now: others are removed before it
            with open(file, "rb", closefd=False) as stream:
                return stream.read(min(most, status.st_size))
        finally:
            os.close(file)

    # Writing.

    def write(self, name: str, key: Key, body: bytes) -> None:
        """Keep an entry, whole or not at all."""
        data = _head(key, body) + body
        if len(data) > min(LARGEST, self.limit):
            log.info("not kept: %d bytes are more than an entry may have", len(data))
            return
        try:
            with self._opened(make=True) as folder:
                self._replace_file(folder, name, data)
                self._unseen += len(data)
                if self._unseen > self.limit // 16:
                    self._remove_oldest(folder)
        except OSError as error:
            log.info("not kept: %s", _reason(error))

    def _replace_file(self, folder: int, name: str, data: bytes) -> None:
        """A reader finds the old file, the new one or none, and never a part of one."""
        unfinished = f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN
        file = os.open(unfinished, flags, 0o600, dir_fd=folder)
        try:
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(file, rest) :]
                os.fsync(file)
            finally:
                os.close(file)
            os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(unfinished, dir_fd=folder)
            raise

    def _remove_oldest(self, folder: int) -> None:
        """Where there are more bytes than the bound, remove what was not used for longest."""
        self._unseen = 0
        now, total = time.time(), 0
        files: list[tuple[float, str, int]] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    known = entry.stat(follow_symlinks=False)
                    if not entry.name.startswith(TEMPORARY):
                        files.append((known.st_mtime, entry.name, known.st_size))
                        total += known.st_size
                    elif now - known.st_mtime > ABANDONED:
                        os.unlink(entry.name, dir_fd=folder)
        if total <= self.limit:
            return
        for _, name, size in sorted(files):
            if total <= self.limit * KEPT:
                break
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
                total -= size

    # The folder.

    @contextmanager
    def _opened(self, make: bool = False) -> Iterator[int]:
        """The folder for one operation, during which nobody can put another in its place."""
        flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0)
        if make and not os.path.isdir(self.folder):
            os.makedirs(os.path.dirname(self.folder), exist_ok=True)
            with suppress(FileExistsError):
                os.mkdir(self.folder, 0o700)
        folder = os.open(self.folder, flags)
        try:
            status = os.fstat(folder)
            if status.st_uid != os.geteuid():
                raise Unsafe(errno.EPERM, "it belongs to somebody else")
            if status.st_mode & 0o077:
                raise Unsafe(errno.EPERM, "others have access to it; run chmod 700 on it")
            yield folder
        finally:
            os.close(folder)

    def fault(self) -> str:
        """Why the folder is not used: "" where it is, or does not exist yet."""
        try:
            with self._opened():
                return ""
        except FileNotFoundError:
            return ""
        except OSError as error:
            return _reason(error)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
