"""Unshared: training that is begun in one of several processes, and that they do not share.

A script that was written for one process, or that forgets `ranks=`, runs under `mpirun` all the
same: each process trains everything. Launchers tell a process what it is in its environment.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from wengert.core.words.warn import warn_user
from wengert.errors import UnsharedWarning

# Where launchers say how many processes they started together, and which of them this is. Slurm is
# the last: it also starts other launchers. Its SLURM_NTASKS is set in a batch script, too, which is
# one process.
_VARIABLES = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
)


class LaunchedRank(NamedTuple):
    """A process that was started together with others."""

    rank: int
    size: int
    variable: str  # of the environment, that says so

    def __str__(self) -> str:
        return f"rank {self.rank} of {self.size} ({self.variable}={self.size})"


def launched_rank() -> LaunchedRank | None:
    """What a launcher says that this process is; None where it is the only one, or none did."""
    for size, rank in _VARIABLES:
        count, number = os.environ.get(size, ""), os.environ.get(rank, "0")
        if count.isdecimal() and number.isdecimal():
            return LaunchedRank(int(number), int(count), size) if int(count) > 1 else None
    return None


def warn_of_unshared(by: str, given: str, repair: str) -> None:
    """Warn where several processes may each do the same, on the first of them: to read it once is
    enough. `given` is what is told of this process.
    """
    launched = launched_rank()
    if launched is not None and launched.rank == 0:
        warn_user(
            f"{by}: {given} in {launched}; each of these {launched.size} processes trains "
            f"everything by itself, and they share nothing. {repair}",
            UnsharedWarning,
        )
