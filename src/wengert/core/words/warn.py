"""Warnings that show the line of the user's program they are about."""

from __future__ import annotations

import os
import warnings
from contextlib import AbstractContextManager
from typing import Any

from wengert.core.process.meanwhile import Meanwhile
from wengert.core.words.source import Line, user_line

# What was shown, by file: Python's own record, so that filters and `catch_warnings` work as ever.
_shown: dict[str, dict[Any, Any]] = {}
_quiet = Meanwhile[bool]()


def no_warnings() -> AbstractContextManager[bool]:
    """Let `warn_user` say nothing meanwhile: Wengert tries something for itself. A filter of Python
    would make it forget what was shown.
    """
    return _quiet.said(True)


def warn_user(text: str, category: type[Warning], line: Line | None = None) -> None:
    """Warn at a line, or at the innermost one outside Wengert: once, unless a filter says more."""
    if _quiet.value:
        return
    line = line or user_line() or Line("<unknown>", 1)
    module = os.path.basename(line.file).removesuffix(".py")
    registry = _shown.setdefault(line.file, {})
    warnings.warn_explicit(text, category, line.file, line.number, module, registry)
