"""Which code is the user's own, and not a library's."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from types import CodeType
from typing import Any

from wengert.core.words.source import is_foreign
from wengert.runtime.outside.watch import attribute_of

_LIBRARIES = tuple(
    os.path.join(sysconfig.get_paths()[name], "")
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


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
    if module is None or name in sys.builtin_module_names:
        return False
    return is_users_file(getattr(module, "__file__", None) or "")
