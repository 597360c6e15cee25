# Written from the table of ops by tests/test_stubs.py, which says how to write it again.
"""Fourier transforms as pairs of real arrays."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from wengert.functions.sequences.fourier import irfft as irfft
from wengert.functions.sequences.fourier import rfft as rfft

__all__ = [
    "rfft",
    "irfft",
]
