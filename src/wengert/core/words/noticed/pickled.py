"""Pickled layers: whoever writes one to a file reads its arrays, as `wg.save` does.

A copy is let be, as is what goes to another process: there the weights from before training may
just be what is meant, where a step is made with each copy. `pickle.loads(pickle.dumps(net))` is
such a copy, and bytes alone are no file yet.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np

from wengert.core.words.noticed.watched_arrays import note_reads
from wengert.core.words.source import is_users_own, user_expression

# Modules that write what they are given. What sends objects to processes, as multiprocessing or
# loky, calls them from code of its own.
_WRITERS = ("pickle", "joblib.numpy_pickle", "cloudpickle", "dill", "torch.serialization")


def note_pickled(layer: Any) -> None:
    """Note that the arrays of a layer are read, if `__reduce_ex__`, which calls this, was called
    for a program of the user's that pickles.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and _is_writer(str(frame.f_globals.get("__name__", ""))):
        frame = frame.f_back
    if frame is not None and is_users_own(frame.f_code) and not _makes_bytes():
        own = getattr(layer, "__dict__", {})
        note_reads(x for x in own.values() if isinstance(x, np.ndarray))


def _makes_bytes() -> bool:
    """Whether the user's program calls `dumps`, and not `dump`."""
    return user_expression().partition("(")[0].rstrip().endswith("dumps")


def _is_writer(module: str) -> bool:
    return any(module == each or module.startswith(f"{each}.") for each in _WRITERS)
