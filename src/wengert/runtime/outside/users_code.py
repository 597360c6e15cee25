"""Which code is the user's own, and not a library's."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from types import CodeType, ModuleType
from typing import Any

from wengert.core.words.source import is_foreign
from wengert.runtime.outside.watch import attribute_of

_LIBRARIES = tuple(
    os.path.join(sysconfig.get_paths()[name], "")
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)

_MADE_BY_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE


@functools.lru_cache(maxsize=4096)
def is_users_file(file: str) -> bool:
    """Whether code of a file is the user's own."""
    return is_foreign(file) and not file.startswith((*_LIBRARIES, "<frozen"))


def is_users(function: Any) -> bool:
    """Whether a function is written in Python, and not part of a library."""
    code = attribute_of(function, "__code__")
    return isinstance(code, CodeType) and is_users_file(code.co_filename)


def is_users_module(name: Any) -> bool:
    """Whether a module, given by name, is the user's own."""
    module = sys.modules.get(name) if isinstance(name, str) else None
    return isinstance(module, ModuleType) and is_users_module_object(module)


def is_users_module_object(module: ModuleType) -> bool:
    """Whether a module is the user's own, also one that is not in `sys.modules`, as a file of
    constants that was loaded by its path.
    """
    held = vars(module)  # a `__getattr__` of the module is not asked
    file, name = held.get("__file__"), held.get("__name__")
    if name in sys.builtin_module_names:
        return False
    return is_users_file(file if isinstance(file, str) else "")


def is_users_class(kind: type) -> bool:
    """Whether a class is written in a module of the user's. Where there is no such module any more,
    its functions say so; a class without any is the user's, for those of libraries have modules.
    """
    name: Any = kind.__module__
    if not isinstance(name, str) or name in sys.modules:
        return is_users_module(name)
    codes = [attribute_of(x, "__code__") for x in vars(kind).values()]
    files = [code.co_filename for code in codes if isinstance(code, CodeType)]
    return bool(kind.__flags__ & _MADE_BY_PYTHON) and all(
        is_users_file(file) or file == "<string>" for file in files
    )
