"""A script as one of the ranks that `wengert launch` started.

    python -m wengert.parallel.rank_process SCRIPT ARGUMENTS…

It notes in a folder that its process has begun, that it is over, if all went well, or with which
error it ended. Where it dies, `rank_keeper` notes that.
"""

from __future__ import annotations

import ctypes
import io
import os
import runpy
import signal
import sys
from contextlib import suppress
from pathlib import Path

from wengert.parallel.rank_keeper import DONE, FAILED, FOLDER, own_rank
from wengert.parallel.rank_watch import worded

BEGUN = ".pid"  # the ending of a file named by the rank
_DIE_WITH_PARENT = 1  # for prctl, on Linux


def main(script: str, *arguments: str) -> None:
    """Run a script as Python would."""
    _die_with_parent()
    folder, rank = Path(os.environ[FOLDER]), own_rank()
    draft = folder / f"{rank}.draft"
    draft.write_text(str(os.getpid()))
    draft.rename(folder / f"{rank}{BEGUN}")  # a reader sees all of it, or nothing
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(
            line_buffering=True, write_through=False
        )  # lines of several ranks are not mixed up
    try:
        runpy.run_path(script, run_name="__main__")
    except BaseException as error:
        if not (isinstance(error, SystemExit) and not error.code):
            (folder / f"{rank}{FAILED}").write_text(worded(error))
            raise
    (folder / f"{rank}{DONE}").touch()


def _die_with_parent() -> None:
    """End this process, too, when the engine kills its keeper."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
