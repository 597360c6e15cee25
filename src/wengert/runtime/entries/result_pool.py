"""ResultPool: memory of large results, kept for the next ones.

New memory costs more than most programs that fill it: the system hands it out page by page, each
full of zeros. So what an array of results leaves behind serves the next one of its size. NumPy
itself asks the pool for the memory of such an array and gives it back when the array dies: the
array owns it as any other array does.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.codegen.llvm.machine.native import Native
from wengert.core.dtypes import DType
from wengert.runtime.entries import objects
from wengert.runtime.entries.result_pool_code import (
    CONTEXT,
    FREE,
    LEAST_BYTES,
    LIMIT,
    MALLOC,
    POOL_FUNCTIONS,
    POOL_WORDS,
)

BYTES = 1 << 28  # that wait for the next results, where the environment says nothing
_KIND = b"mem_handler"  # what NumPy calls the capsule of such functions
_USUAL = b"default_allocator"  # and its own functions
_VERSION = 1  # of the record below

_python = ctypes.pythonapi
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _python)
)
_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _python)
)
_keep = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", _python))
_Set = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)


class _Handler(ctypes.Structure):
    """NumPy's record of functions that arrays get their memory from."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class ResultPool:
    """The pool of this process. It is never taken down: arrays may live to the very end."""

    def __init__(self, native: Native) -> None:
        usual = _Handler.from_address(_pointer(objects.usual_handler(), _KIND))
        self._words = np.zeros(POOL_WORDS, np.int64)
        known = (usual.name, usual.version) == (_USUAL, _VERSION)
        self._words[LIMIT] = waiting_bytes() if known else 0
        self._words[[MALLOC, FREE]] = usual.malloc, usual.free
        self._words[CONTEXT] = usual.context or 0
        functions = [native.address(name) for name in POOL_FUNCTIONS]
        self._record = _Handler(b"wengert", _VERSION, self._words.ctypes.data, *functions)
        self._handler = _capsule(ctypes.addressof(self._record), _KIND, None)
        self._set = _Set(objects.addresses()["set_handler"])
        for needed in (native, self, _KIND):
            _keep(needed)

    @property
    def handler(self) -> int:
        """The address of what NumPy is given to use the pool; 0 where it is switched off."""
        return id(self._handler) if self._words[LIMIT] else 0

    def empty(self, shape: Sequence[int], dtype: DType) -> np.ndarray[Any, Any]:
        """A new array of any numbers."""
        if math.prod(shape) * dtype.itemsize < LEAST_BYTES or not self.handler:
            return np.empty(shape, dtype)
        before = self._set(self._handler)
        try:
            return np.empty(shape, dtype)
        finally:
            self._set(before)


def waiting_bytes() -> int:
    """How many bytes of results that died may wait for the next ones: what the environment says."""
    asked = os.environ.get("WENGERT_RESULT_BYTES", "")
    if asked and not asked.isdecimal():
        raise ValueError(
            f"compile: the environment has WENGERT_RESULT_BYTES={asked}; it must be a whole number "
            "of bytes, or 0 for no pool of results. Set it so, or unset it."
        )
    return min(int(asked), 2**62) if asked else BYTES
