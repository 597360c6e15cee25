"""Target: the machine that code is written for. `host()` is the one place that asks which it is."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache

import llvmlite.binding as llvm

from wengert.codegen.llvm.machine.background import uninterrupted
from wengert.codegen.numerics import LANES

_WIDTHS = ("4", "8", "16")  # what WENGERT_LANES may say


@dataclass(frozen=True)
class Target:
    """A CPU and its system, in LLVM's words. No bit of a result depends on it."""

    triple: str
    cpu: str
    features: str
    width: int = LANES  # lanes of one piece of a vector; LLVM divides what registers do not hold

    @property
    def architecture(self) -> str:
        """The first part of the triple: x86_64, aarch64 …"""
        name = self.triple.partition("-")[0]
        return "aarch64" if name.startswith("arm64") else name  # Apple's word for it

    @property
    def system(self) -> str:
        """As `sys.platform` says it."""
        known = {"linux": "linux", "darwin": "darwin", "macosx": "darwin"}
        return next((name for part, name in known.items() if part in self.triple), "")

    def has(self, feature: str) -> bool:
        return f"+{feature}" in self.features.split(",")

    @property
    def register_bytes(self) -> int:
        """Of one vector register."""
        if self.has("avx512f") and self.has("avx512vl"):
            return 64
        return 32 if self.architecture == "x86_64" and not self.has("prefer-128-bit") else 16

    @property
    def registers(self) -> int:
        """How many vector registers there are."""
        return 16 if self.architecture == "x86_64" and self.register_bytes < 64 else 32


def host() -> Target:
    """This machine, with pieces of as many lanes as `WENGERT_LANES` says, if it is set."""
    asked = os.environ.get("WENGERT_LANES") or str(LANES)
    if asked not in _WIDTHS:
        raise ValueError(
            f"compile: the environment has WENGERT_LANES={asked}; it must be 4, 8 or 16. Set one "
            "of these, or unset it."
        )
    return replace(_host(), width=int(asked))


@lru_cache(maxsize=1)
def _host() -> Target:
    return uninterrupted(_asked)


def _asked() -> Target:
    features = llvm.get_host_cpu_features().flatten()
    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)
