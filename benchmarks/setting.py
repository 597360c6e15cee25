"""The setting of a comparison: so many threads for everybody, on as many cores.

Libraries read this when they are imported. So `use_threads` comes first, and this module imports
none of them.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

COUNTS = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "WENGERT_NUM_THREADS",
)
ALONE = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
LIBRARIES = ("numpy", "torch", "jax")


def variables(threads: int) -> dict[str, str]:
    """What tells libraries how many threads to use. JAX knows one, or as many as it has cores."""
    flags = {"XLA_FLAGS": ALONE if threads == 1 else "", "JAX_PLATFORMS": "cpu"}
    return dict.fromkeys(COUNTS, str(threads)) | flags


VARIABLES = variables(1)


def use_threads(count: int) -> None:
    """Ask every library for so many threads, and stay on as many cores where the system lets us."""
    early = [name for name in LIBRARIES if name in sys.modules]
    if early:
        print(f"{', '.join(early)}: imported before; its number of threads is its own choice.")
    chosen = variables(count)
    os.environ.update(chosen)
    pinned = _pin(count)
    print("set  " + "  ".join(f"{name}={value!r}" for name, value in chosen.items()))
    print(f"set  torch.set_num_threads({count})  {pinned}", flush=True)


def threads() -> int:
    """How many threads were asked for; one where nobody asked."""
    return int(os.environ.get("OMP_NUM_THREADS", "1"))


def _pin(count: int) -> str:
    if not hasattr(os, "sched_setaffinity"):
        return "no core chosen: this system does not let us"
    cores = sorted(os.sched_getaffinity(0))[-count:]
    os.sched_setaffinity(0, cores)
    return f"sched_setaffinity to {', '.join(map(str, cores))} of {os.cpu_count()} cores"


@contextmanager
def all_cores() -> Iterator[None]:
    """Undo the choice of cores, for threads and processes that are started meanwhile."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def machine_line() -> str:
    """Processor and versions."""
    names = ("wengert", *LIBRARIES)
    found = ", ".join(f"{name} {_version(name)}" for name in names)
    return f"{_processor()}; Python {platform.python_version()}, {found}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"
