"""Memory of one call at a time: a frame, and the arena its pointers lead into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from wengert.codegen.kernel import (
    HEADER,
    MAIN,
    POOL,
    ROOM,
    THREADS,
    WORKERS,
    Constant,
    Input,
    Layout,
)
from wengert.codegen.memory.plan import ALIGNMENT, Placed

Place: TypeAlias = Callable[[Mapping[str, int]], Placed]  # where everything lies for some sizes


class Memory:
    """Everything a program writes to while it runs, for sizes up to a capacity."""

    def __init__(
        self, layout: Layout, place: Place, grows: bool = True, threads: int = 1, pool: int = 0
    ) -> None:
        self.layout, self.place = layout, place
        self.grows = grows  # whether room for some sizes is room for all smaller ones
        self._frames = aligned(8 * threads * layout.words).view(np.int64)
        self._frames[:] = 0
        self.frame = self._frames[: layout.words]  # of worker 0; the others copy it
        self.frame[MAIN] = self.frame.ctypes.data
        self.frame[WORKERS], self.frame[THREADS], self.frame[POOL] = 1, threads, pool
        self.inputs = [0] * sum(isinstance(s, Input) for s in layout.slots)
        self.outputs = layout.outputs
        for number, slot in enumerate(layout.slots, layout.first):
            if isinstance(slot, Constant):
                self.frame[number] = slot.value.ctypes.data
            elif isinstance(slot, Input):
                self.inputs[slot.position] = number
        self.capacity: dict[str, int] | None = None
        self.arena = np.empty(0, np.uint8)
        self.address: int = self.frame.ctypes.data

    def make_room(self, sizes: Mapping[str, int]) -> None:
        """Set the Dims; where they outgrow the arena, plan a larger one."""
        self.frame[HEADER : self.layout.first] = [sizes[name] for name in self.layout.dims]
        known = self.capacity
        if known is not None and (
            all(sizes[name] <= known[name] for name in self.layout.dims)
            if self.grows
            else sizes == known
        ):
            return
        wanted = dict(sizes)
        if known is not None and self.grows:
            wanted = {
                name: max(size, known[name] * (2 if size > known[name] else 1))
                for name, size in sizes.items()
            }
        placed = self.place(wanted)
        if placed.size > self.arena.nbytes:
            self.arena = aligned(placed.size)
        start = self.arena.ctypes.data
        for slot, offset in placed.offsets.items():
            self.frame[slot] = start + offset
        self.frame[ROOM] = placed.workspace
        self.capacity = wanted
        self.size = placed.size


def aligned(size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """So many bytes that begin where a cache line does."""
    room = np.empty(size + ALIGNMENT, np.uint8)
    skipped = -room.ctypes.data % ALIGNMENT
    return room[skipped : skipped + size]
