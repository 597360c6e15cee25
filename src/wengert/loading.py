"""Loading: what concerns the import of the whole package. This module is the first of it.

Python looks for garbage while it imports, and finds none, for all of it is kept. It pauses from the
import of this module to `resume`, after the last, and what was made until then counts as old: a
fifth of the time that `import wengert` takes.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

BEGAN = time.time()  # no module was read before that; some are read at their first use only
PACKAGE = os.path.dirname(os.path.abspath(__file__))  # the folder that all of them lie below
_was_on = gc.isenabled()
gc.disable()


def resume() -> None:
    """Let Python collect again, if it did before."""
    if _was_on:
        count_as_old()
        gc.enable()


def count_as_old() -> None:
    """Let all that is there count as old, unseen: modules stay, and Python would begin by looking
    through them. What was frozen before stays so.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


@contextmanager
def garbage_left() -> Iterator[None]:
    """While much is made that is kept: to search all of Python's objects for garbage, and find
    little, would take as long as the work itself.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def require_installed(*names: str) -> None:
    """Refuse to be imported without a package that is imported later. It costs little to see that
    it is there, and a program should not learn halfway that it is not.
    """
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(
            f"wengert: no module named {' or '.join(map(repr, missing))}; Wengert cannot work "
            f"without. Run pip install {' '.join(missing)}.",
            name=missing[0],
        )
