"""The other libraries, with as many threads as were asked for; None where one is not installed."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmarks.setting import threads

ALL = ("jax", "torch")


@cache
def peer(name: str) -> Any:
    """A library to compare with, or None, with a line that says so once."""
    try:
        found = importlib.import_module(name)
    except ImportError:
        print(f"{name}: not installed, skipped.")
        return None
    if name == "torch":
        found.set_num_threads(threads())
    else:
        # Work begins in the thread that asks for it: another one only gets in the way.
        found.config.update("jax_cpu_enable_async_dispatch", False)
    return found


def chosen(names: Sequence[str], name: str) -> Any:
    """The library of this name if it is among the chosen ones and installed."""
    return peer(name) if name in names else None


def torch_tensors(torch: Any, arrays: Sequence[np.ndarray], track: bool = False) -> list[Any]:
    return [torch.tensor(x, requires_grad=track) for x in arrays]
