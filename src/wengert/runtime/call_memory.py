"""Memory of one call at a time: a frame, and the arena its pointers lead into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from wengert.codegen.kernel import (
    HEADER,
    LINE,
    POOL,
    ROOM,
    THREADS,
    WORKERS,
    ConstantArray,
    Input,
    Layout,
)
from wengert.codegen.memory.plan import Placed
from wengert.runtime.aligned_memory import aligned_bytes

PlaceArrays: TypeAlias = Callable[
    [Mapping[str, int]], Placed
]  # where everything lies for some sizes


class Memory:
    """Everything a program writes to while it runs, for sizes up to a capacity."""

    def __init__(
        self,
        layout: Layout,
        place: PlaceArrays,
        grows: bool = True,
        threads: int = 1,
        pool: int = 0,
    ) -> None:
        self.layout, self.place = layout, place
        self.grows = grows  # whether room for some sizes is room for all smaller ones
        self._words = aligned_bytes(8 * (layout.words + LINE * threads)).view(np.int64)
        self._words[:] = 0
        self.frame = self._words[: layout.words]  # behind it, a line for each worker
        self.frame[WORKERS], self.frame[THREADS], self.frame[POOL] = 1, threads, pool
        self.inputs, self.outputs = input_slots(layout), layout.outputs
        for number, slot in enumerate(layout.slots, layout.first):
            if isinstance(slot, ConstantArray):
                self.frame[number] = slot.value.ctypes.data
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
            self.arena = aligned_bytes(placed.size)
        start = self.arena.ctypes.data
        for slot, offset in placed.offsets.items():
            self.frame[slot] = start + offset
        self.frame[ROOM] = placed.workspace
        self.capacity = wanted
        self.size = placed.size


def input_slots(layout: Layout) -> list[int]:
    """Where in a frame the addresses of inputs stand."""
    numbered = enumerate(layout.slots, layout.first)
    numbers = {slot.position: number for number, slot in numbered if isinstance(slot, Input)}
    return [numbers[position] for position in range(len(numbers))]
