"""The setting of a comparison: so many threads for each library, and the machine's name.

Libraries read the number of threads from the environment when they are imported. So each system has
a process of its own for each number of threads, and this module imports none of them.
"""

from __future__ import annotations

import os
import platform
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
# A load average above this is that of a machine that others use, too. A run that has just ended, as
# of another part of the benchmarks, leaves about 1.
IDLE = 1.5
LIBRARIES = ("wengert", "numpy", "torch", "jax")


def variables(threads: int) -> dict[str, str]:
    """What tells libraries how many threads to use. JAX takes no number: `keep_to_cores`."""
    flags = {"XLA_FLAGS": ALONE if threads == 1 else "", "JAX_PLATFORMS": "cpu"}
    return dict.fromkeys(COUNTS, str(threads)) | flags


def keep_to_cores(system: str) -> None:
    """Give JAX as many cores as the others have threads. It makes a thread for every core that its
    process may use, whatever its flags say, and is asked before it is imported.
    """
    if system == "jax" and hasattr(os, "sched_setaffinity"):  # not on macOS
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[-threads() :])


def threads() -> int:
    """How many threads were asked for in this process; one where nobody asked."""
    return int(os.environ.get("OMP_NUM_THREADS", "1"))


def machine() -> str:
    """The processor and its cores."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {count} core{'s' * (count != 1)}, {platform.system()}"


def load() -> float:
    """How many processes wanted a core in the last minute; 0 where the system does not say."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def versions() -> dict[str, str]:
    installed = {name: _version(name) for name in LIBRARIES}
    return {"python": platform.python_version()} | {k: v for k, v in installed.items() if v}


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        first, _, _ = info.read_text(encoding="utf-8").partition("\n\n")
        pairs = (line.partition(":") for line in first.splitlines())
        facts = {name.strip(): value.strip() for name, _, value in pairs}
        if "model name" in facts:
            family = f"family {facts.get('cpu family', '?')}, model {facts.get('model', '?')}"
            return f"{facts['model name']} ({family})"
    return platform.processor() or platform.machine()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
