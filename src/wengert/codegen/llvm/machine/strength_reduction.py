"""Strength reduction: LLVM rewrites the addresses in loops as sums from turn to turn. For code that
is written as ours is, this gains nothing (where it would, the text has such sums already), and it
takes a fifth of LLVM's time.
"""

from __future__ import annotations

import threading
from types import TracebackType

import llvmlite.binding as llvm

_SWITCH = "-disable-lsr"
_KNOWN = range(20, 23)  # versions of LLVM that have the switch: another might end the process
SWITCHED = llvm.llvm_version_info[0] in _KNOWN


class _Off:
    """`with off:` surrounds the making of machine code without strength reduction.

    The process has one switch, and others in it may use LLVM, too. So it is set by the first thread
    that enters and set back by the last that leaves: code that is made at another time, such as
    Numba's, is made by LLVM as it was. When the switch changes, no thread inside is making code.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0 and SWITCHED:
                llvm.set_option("wengert", f"{_SWITCH}=true")
            self._inside += 1

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and SWITCHED:
                llvm.set_option("wengert", f"{_SWITCH}=false")


off = _Off()
