"""Errors of Tensors that the user's own `try` has caught: what comes after it is recorded."""

from __future__ import annotations

from wengert.core.words.source import Line, is_users_own
from wengert.core.words.warn import warn_user
from wengert.errors import CaughtWarning, TraceError


def warn_if_caught(error: TraceError) -> None:
    """Warn where a function of the user's has caught an error and a transformation came to its end.

    The traceback of an error begins with the frame that has caught it. Where that is NumPy's, or
    another library's, it is how these find out what they were given.
    """
    caught = error.__traceback__
    if caught is None or not is_users_own(caught.tb_frame.f_code):
        return
    line = Line(caught.tb_frame.f_code.co_filename, caught.tb_lineno)
    warn_user(
        f"{error} The function has caught this TraceError and gone on: its other way is taken "
        "here, and not where it is called with arrays.",
        CaughtWarning,
        line,
    )
