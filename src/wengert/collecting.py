"""Collecting: Python looks for garbage while it imports, and finds none, for all of it is kept. It
pauses from the import of this module, the first one, to `resume`, after the last: a tenth of the
time that `import wengert` takes.
"""

from __future__ import annotations

import gc

_was_on = gc.isenabled()
gc.disable()


def resume() -> None:
    """Let Python collect again, if it did before."""
    if _was_on:
        gc.enable()
