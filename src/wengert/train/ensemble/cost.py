"""Cost: whether workers take members, or share the kernels of one member after the other.

Both give the same bits. With T workers and N members,

    members:  ⌈N / T⌉ rounds, each as long as a step of one member alone; longer by SLOWER where
              what T members touch does not fit into the cache that the cores share
    kernels:  N rounds, each shorter by 1 + GAIN · (T - 1) where the program divides its kernels

and the smaller number wins. So members are taken where there are many of them, and kernels are
shared where there are fewer members than workers, or where models outgrow the cache.
"""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

GAIN = 0.6  # what each further worker adds to a program whose kernels are divided
SLOWER = 2.0  # where arrays have to be read from memory in every step
UNKNOWN_CACHE = 8 << 20  # bytes that the cores share, where the system does not say


class MemberWork(NamedTuple):
    """What a step of one member does."""

    touched: int  # bytes: its arrays, the arena, and the batch
    divided: bool  # whether its program divides kernels


def splits(members: int, threads: int, work: MemberWork) -> bool:
    """Whether kernels are shared between workers, and not the members."""
    if threads == 1 or not work.divided:
        return False
    cache = shared_cache()
    outgrows = work.touched <= cache < threads * work.touched
    rounds = -(-members // threads) * (SLOWER if outgrows else 1.0)
    return members / (1 + GAIN * (threads - 1)) < rounds


@cache
def shared_cache() -> int:
    """Bytes of the cache that the cores share."""
    try:
        size = os.sysconf("SC_LEVEL3_CACHE_SIZE")
    except (AttributeError, ValueError, OSError):
        size = 0
    return size if size > 0 else UNKNOWN_CACHE
