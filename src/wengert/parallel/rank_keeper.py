"""Stands between the engine and a rank that `wengert launch` started.

    python rank_keeper.py SCRIPT ARGUMENTS…

An engine may kill all ranks at once when one of them dies, before they can say which it was. So
what it sees is this process, which runs the rank as a child and, if that does not end well, waits
for the others to notice. It imports nothing of the package: it is to cost little.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

FOLDER = "WENGERT_LAUNCH_FOLDER"
COUNT = "WENGERT_LAUNCH_RANKS"
RANK_NAMES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")  # where engines say it
DONE, FAILED, DIED = ".done", ".failed", ".died"  # endings of files, each named by the rank
PATIENCE = 3.0  # seconds that the others have


def own_rank() -> int:
    """The rank that the engine has given to this process."""
    return int(next((os.environ[name] for name in RANK_NAMES if name in os.environ), "0"))


def main(*arguments: str) -> int:
    """Run a rank, and return its exit code."""
    folder, rank = Path(os.environ[FOLDER]), own_rank()
    command = [sys.executable, "-m", "wengert.parallel.rank_process", *arguments]
    # The child is what the engine started: it has its connections, too.
    child = subprocess.Popen(command, close_fds=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda given, _frame: child.send_signal(given))
    code = child.wait()
    if code and not (folder / f"{rank}{FAILED}").exists():
        (folder / f"{rank}{DIED}").write_text(_how(code))
    if code:
        _wait_for_others(folder, int(os.environ[COUNT]))
    return code if code >= 0 else 128 - code


def _wait_for_others(folder: Path, count: int) -> None:
    """Until all ranks are over, or for a while."""
    end = time.monotonic() + PATIENCE
    endings = (DONE, FAILED, DIED)
    while time.monotonic() < end:
        over = [any((folder / f"{i}{each}").exists() for each in endings) for i in range(count)]
        if all(over):
            return
        time.sleep(0.05)


def _how(code: int) -> str:
    if code > 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
