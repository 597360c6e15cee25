"""Drafts: a file is written beside its place, and put there when it is whole.

A draft lies in a folder of its own, which the process that writes it has locked. The system lets go
of the lock when that process ends, however it ends, so that the next one knows what was abandoned.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from wengert.core.process.ending import ending

_ATTEMPTS = 16


@ending.whole
def replace_file(target: Path, write: Callable[[Path], None]) -> None:
    """Have a file written, make sure it is on the disk, and put it in the place of the target."""
    if ending.near:
        ending.pass_or_stay()
    _remove_abandoned(target)
    folder, lock = _locked_folder(target)
    try:
        draft = folder / target.name
        # Created here, for the permissions a new file gets; `write` may create it anew.
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        mode = stat.S_IMODE((target if target.exists() else draft).stat().st_mode)
        write(draft)
        os.chmod(draft, mode)
        _flush(draft, os.O_RDWR)
        os.replace(draft, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
    with contextlib.suppress(OSError):  # not every file system can flush a folder
        _flush(target.parent, os.O_RDONLY)


def _locked_folder(target: Path) -> tuple[Path, int]:
    """A new folder for a draft, and what holds its lock."""
    for _ in range(_ATTEMPTS):
        folder = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
        os.mkdir(folder)
        try:
            lock = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # somebody took it for an abandoned one
            continue
        if _lock(lock) is not False and _is_at(folder, lock):
            return folder, lock
        os.close(lock)
    raise OSError("its drafts vanish")


def _remove_abandoned(target: Path) -> None:
    """Remove drafts of this file that nobody is writing any more."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{12}}\.tmp")
    with contextlib.suppress(OSError):
        for name in os.listdir(target.parent):
            if pattern.fullmatch(name):
                _remove_if_abandoned(target.parent / name)


def _remove_if_abandoned(folder: Path) -> None:
    with contextlib.suppress(OSError):  # no folder, or one of another user
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if _lock(lock):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def _lock(descriptor: int) -> bool | None:
    """Lock an open folder; False where another has it, None where the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_at(folder: Path, descriptor: int) -> bool:
    """Whether an open folder is still the one that is there."""
    try:
        return os.path.samestat(os.stat(folder), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _flush(path: Path, flags: int) -> None:
    """Wait until a file, or the entries of a folder, are on the disk."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
