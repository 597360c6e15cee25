"""A compiled program that writes to arrays which are there already, as NumPy does with `out`.

A call of a compiled function returns new arrays, and for large ones the system spends more time on
new pages than the program on its work. This leaves that out, on both sides.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import wengert as wg
from wengert.codegen.llvm.machine.native import Native
from wengert.codegen.llvm.module import ENTRY
from wengert.codegen.memory.plan import plan
from wengert.core.dims import substitute
from wengert.runtime.call_memory import Memory


def into(function: Callable[..., Any], *arrays: np.ndarray) -> Callable[[], np.ndarray]:
    """A call of the program of a function of C-ordered arrays that returns one: the same one each
    time.
    """
    executable = wg.compile(function).executable(*arrays)
    native = Native(executable.images, (ENTRY,))
    layout = executable.layout
    memory = Memory(layout, partial(plan, executable.program, layout))
    memory.make_room(executable.sizes)
    (found,) = executable.output_types
    out = np.empty(substitute(found.shape, executable.sizes), found.dtype)
    for slot, x in zip((*memory.inputs, *memory.outputs), (*arrays, out), strict=True):
        memory.frame[slot] = x.ctypes.data
    program, address = native.function(ENTRY, ctypes.c_void_p), memory.address

    def run(_held: object = (native, memory, arrays)) -> np.ndarray:  # while it can be called
        program(address)
        return out

    return run
