"""What a run was made with: versions and the machine."""

from __future__ import annotations

import platform
from importlib import metadata

import llvmlite.binding as llvm

from wengert.codegen.targets.cpu.target import host
from wengert.runtime.workers import default_threads

_FEATURES = ("sse4.2", "avx", "avx2", "fma", "avx512f", "avx512vl", "neon", "sve")


def versions() -> dict[str, str]:
    """Of Wengert and of what it stands on."""
    required = {name: _version(name) for name in ("wengert", "numpy", "llvmlite", "optree")}
    return {
        **required,
        "safetensors": _version("safetensors"),
        "LLVM": ".".join(map(str, llvm.llvm_version_info)),
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "CPU": f"{host().cpu} ({', '.join(cpu_features())})",
        "threads": str(default_threads()),
    }


def cpu_features() -> list[str]:
    """Those features of the CPU that decide how fast compiled code is."""
    target = host()
    return [name for name in _FEATURES if target.has(name)] or ["no vector features"]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
