"""`wengert launch`: a script on several ranks of this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from wengert.cli.exit_codes import ExitCode, MissingPackage, UsageFault
from wengert.cli.told import say
from wengert.parallel.launching import find_starter, launch

LAUNCH_EXAMPLES = """Examples:

wengert launch -n 4 train.py

wengert launch -n 2 --threads 1 train.py --epochs 20"""


def launched(count: int, script: Path, arguments: Sequence[str], threads: int | None) -> ExitCode:
    """Run the script on so many ranks."""
    if count < 1:
        raise UsageFault(f"launch: -n {count} was given; it is a number of ranks, at least 1.")
    if threads is not None and threads < 1:
        raise UsageFault(
            f"launch: --threads {threads} was given; it is a number of threads for each rank, at "
            "least 1."
        )
    if not script.is_file():
        raise UsageFault(f"launch: there is no file {script}; give the script to run on all ranks.")
    if find_spec("mpi4py") is None:
        raise MissingPackage("mpi4py", "launch", "'wengert[mpi]'")
    starter = find_starter()
    if starter is None:
        raise MissingPackage("mpich", "launch: no mpiexec was found; it", "'wengert[mpi]'")
    fine = launch(starter, count, str(script), arguments, threads, say, _say_beside)
    return ExitCode.DONE if fine else ExitCode.FAULT


def _say_beside(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
