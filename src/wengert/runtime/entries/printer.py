"""DebugPrinter: the Python function that compiled code calls to print what is shown."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.codegen.kernel import Shown
from wengert.interpret.printing import print_value

# (number of what is shown, pointer to its first element, words that say how it lies)
_Callback = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


class _Raised(threading.local):
    """What printing raised during the call that this thread makes."""

    error: BaseException | None = None


class DebugPrinter:
    """Prints for one executable, as long as this object lives."""

    def __init__(self, shown: Sequence[Shown]) -> None:
        self._raised = _Raised()
        self._callback = _Callback(_printing(tuple(shown), self._raised))
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def take_error(self) -> BaseException | None:
        """What printing raised in the call that this thread has made; machine code cannot raise."""
        error, self._raised.error = self._raised.error, None
        return error


def _printing(shown: Sequence[Shown], raised: _Raised) -> Callable[[int, int, int], None]:
    def print_shown(number: int, pointer: int, words: int) -> None:
        if raised.error is not None:  # no further line after Ctrl-C, or to a closed pipe
            return
        try:
            it = shown[number]
            numbers = _words(words, 2 * it.rank + it.loops)
            shape, strides = numbers[: it.rank], numbers[it.rank : 2 * it.rank]
            print_value(it.name, _array(it, pointer, shape, strides), numbers[2 * it.rank :])
        except BaseException as error:  # of whatever kind: it waits until the program has ended
            raised.error = error

    return print_shown


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_int64 * count).from_address(address)) if count else []


def _array(it: Shown, pointer: int, shape: list[int], strides: list[int]) -> Any:
    """A copy of what lies in the program's memory, which will soon be overwritten."""
    if 0 in shape:
        return np.empty(shape, it.dtype)
    reach = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    begin, size = sum(each for each in reach if each < 0), it.dtype.itemsize
    count = sum(map(abs, reach)) + 1
    memory: Any = (ctypes.c_char * (count * size)).from_address(pointer + begin * size)
    return np.ndarray(shape, it.dtype, memory, -begin * size, [s * size for s in strides]).copy()
