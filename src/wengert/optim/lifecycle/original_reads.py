"""Reads of originals: what a program computes with, or saves, after something else has trained a
copy of it, as `net(x)` where torch would have trained `net` itself.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from wengert.api.compiling.written_functions import users_function
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import CopiedWarning
from wengert.runtime.outside.users_code import is_users_file


class OriginalReads:
    """The originals of one training, and whether it was told that some of them are read. That may
    be meant, where before and after are compared, so it is told once.
    """

    def __init__(self, loss: Any) -> None:
        written = users_function(loss)
        self.loss = None if written is None else written.__code__
        self._is_told = False

    def warn(self, text: str) -> None:
        """Warn with this text, once, where an original is read."""
        if not self._is_told:
            self._is_told = True
            warn_user(text, CopiedWarning, self._line())

    def _line(self) -> Line | None:
        """The innermost line of the user's program that is none of the loss: what is wrong is what
        the loss is called with.
        """
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if is_users_file(code.co_filename) and code is not self.loss:
                return Line(code.co_filename, frame.f_lineno)
            frame = frame.f_back
        return None
