"""How Python's and NumPy's objects lie in memory, and where their functions are.

The entry point reads arrays straight from there. `fits` tests it against what Python and NumPy say
of a few objects; where it does not fit (another interpreter, a build without the GIL) there is no
entry point, and calls take the slow path.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
import time
from functools import cache
from math import pi
from types import CellType
from typing import Any

import numpy as np

# Bytes from the beginning of an object. The array's are those of NumPy's C API.
TYPE = 8
COUNT = 16  # of a tuple or list
TUPLE_ITEMS = tuple.__basicsize__
LIST_ITEMS = 24  # a pointer to them
DATA, RANK, SHAPE, DTYPE, FLAGS = 16, 24, 32, 56, 64
DTYPE_WORD = 24  # in a dtype: kind, letter, byte order and number, eight bytes in all
SCALAR = 16  # the number in a NumPy scalar, or in a Python float
CELL = 16  # what a cell holds

CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400

# Places in NumPy's table of functions.
_ARRAY_TYPE, _NEW, _SET_HANDLER, _USUAL_HANDLER = 2, 93, 304, 306

_PYTHON = {
    "incref": "Py_IncRef",
    "decref": "Py_DecRef",
    "get_attribute": "PyObject_GetAttr",
    "clear_error": "PyErr_Clear",
    "compare_strings": "PyUnicode_Compare",
    "dict_size": "PyDict_Size",
    "dict_next": "PyDict_Next",
    "dict_item": "PyDict_GetItemWithError",
    "attributes": "PyObject_GenericGetDict",
    "set_size": "PySet_Size",
    "set_contains": "PySet_Contains",
    "new_tuple": "PyTuple_New",
    "set_tuple_item": "PyTuple_SetItem",
    "new_list": "PyList_New",
    "set_list_item": "PyList_SetItem",
    "new_dict": "PyDict_New",
    "set_dict_item": "PyDict_SetItem",
    "save_thread": "PyEval_SaveThread",
    "restore_thread": "PyEval_RestoreThread",
    "as_number": "PyLong_AsLongLong",
    "error": "PyErr_Occurred",
    "context_value": "PyContextVar_Get",
    "new_float": "PyFloat_FromDouble",
    "new_int": "PyLong_FromLongLong",
}


@cache
def addresses() -> dict[str, int]:
    """What the head of every table says of this process."""
    functions = _numpy_functions()
    head = {"ndarray": functions[_ARRAY_TYPE], "new_array": functions[_NEW]}
    head["set_handler"] = functions[_SET_HANDLER]
    for name, symbol in _PYTHON.items():
        function = getattr(ctypes.pythonapi, symbol)
        head[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
    head["clock"] = _clock()
    return head | {"str": id(str), "not_implemented": id(NotImplemented), "false": id(False)}


def _clock() -> int:
    """The address of `clock_gettime`, or 0 where the system has none."""
    if not hasattr(time, "CLOCK_MONOTONIC"):
        return 0
    function = getattr(ctypes.CDLL(None), "clock_gettime", None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def usual_handler() -> Any:
    """The functions that NumPy's arrays get their memory from, in a capsule."""
    return ctypes.py_object.from_address(_numpy_functions()[_USUAL_HANDLER]).value


def dtype_word(dtype: np.dtype[Any]) -> int:
    """The word by which the entry point knows a dtype."""
    return _word(id(dtype) + DTYPE_WORD)


def slot_offset(kind: type, name: str) -> int:
    """How many bytes from the beginning of its objects a class has one of its __slots__."""
    probe: Any = object.__new__(kind)
    mark = object()
    setattr(probe, name, mark)
    offsets = range(COUNT, kind.__basicsize__, 8)
    return next(offset for offset in offsets if _word(id(probe) + offset) == id(mark))


def data(x: np.ndarray[Any, Any]) -> int:
    """The address of an array's first element."""
    if fits():
        return _word(id(x) + DATA)
    address: int = x.__array_interface__["data"][0]
    return address


@cache
def fits() -> bool:
    """Whether objects lie in memory as this module says."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if object.__basicsize__ != COUNT or np.ndarray.__basicsize__ <= FLAGS:
        return False
    pair = (object(), object())
    return (
        _word(id(pair) + COUNT) == 2
        and _word(id(pair) + TUPLE_ITEMS + 8) == id(pair[1])
        and _list_fits([*pair])
        and _cell_fits(CellType(pair))
        and _numpy_functions()[_ARRAY_TYPE] == id(np.ndarray)
        and all(_array_fits(x) for x in _samples())
        and all(
            _scalar_fits(x) for x in (np.float32(1.5), np.float64(-3), np.int8(-7), np.bool_(1))
        )
        and ctypes.c_double.from_address(id(pi) + SCALAR).value == pi
    )


def _numpy_functions() -> Any:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    capsule = np._core.multiarray._ARRAY_API  # type: ignore[attr-defined]
    return (ctypes.c_int64 * (_USUAL_HANDLER + 1)).from_address(get(capsule, None))


def _word(address: int) -> int:
    return _word_at(address).value


_word_at = ctypes.c_int64.from_address


def _int(address: int) -> int:
    return ctypes.c_int.from_address(address).value


def _list_fits(x: list[Any]) -> bool:
    items = _word(id(x) + LIST_ITEMS)
    return _word(id(x) + COUNT) == len(x) and [_word(items), _word(items + 8)] == [*map(id, x)]


def _cell_fits(x: CellType) -> bool:
    return _word(id(x) + CELL) == id(x.cell_contents)


def _samples() -> list[np.ndarray[Any, Any]]:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    fixed = np.zeros(3, np.int64)
    fixed.flags.writeable = False
    crooked = np.zeros(17, np.uint8)[1:].view(np.float64)
    return [x, x[:, ::2], x.T, fixed, crooked, np.array(True), np.zeros((0, 5), ">i4")]


def _array_fits(x: np.ndarray[Any, Any]) -> bool:
    at, flags = id(x), _int(id(x) + FLAGS)
    shape = _word(at + SHAPE)
    order = ctypes.string_at(_word(at + DTYPE) + DTYPE_WORD, 3)
    return (
        _word(at + TYPE) == id(np.ndarray)
        and _word(at + DATA) == x.ctypes.data
        and _int(at + RANK) == x.ndim
        and tuple(_word(shape + 8 * i) for i in range(x.ndim)) == x.shape
        and _word(at + DTYPE) == id(x.dtype)
        and order == (x.dtype.kind + x.dtype.char + x.dtype.byteorder).encode()
        and _int(_word(at + DTYPE) + DTYPE_WORD + 4) == x.dtype.num
        and bool(flags & CONTIGUOUS) == x.flags.c_contiguous
        and bool(flags & ALIGNED) == x.flags.aligned
        and bool(flags & WRITEABLE) == x.flags.writeable
    )


def _scalar_fits(x: Any) -> bool:
    return ctypes.string_at(id(x) + SCALAR, x.itemsize) == bytes(x.tobytes())
