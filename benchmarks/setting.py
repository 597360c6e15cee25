"""The setting of a comparison: one thread for everybody, on one core.

Libraries read this when they are imported. So `one_thread` comes first, and this module imports
none of them.
"""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

VARIABLES = {
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
LIBRARIES = ("numpy", "torch", "jax")


def one_thread() -> None:
    """Ask every library for one thread, and stay on one core where the system lets us."""
    early = [name for name in LIBRARIES if name in sys.modules]
    if early:
        print(f"{', '.join(early)}: imported before; its number of threads is its own choice.")
    os.environ.update(VARIABLES)
    pinned = _pin()
    print("set  " + "  ".join(f"{name}={value!r}" for name, value in VARIABLES.items()))
    print(f"set  torch.set_num_threads(1)  {pinned}", flush=True)


def _pin() -> str:
    if not hasattr(os, "sched_setaffinity"):
        return "no core chosen: this system does not let us"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"sched_setaffinity to core {core} of {os.cpu_count()}"


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
