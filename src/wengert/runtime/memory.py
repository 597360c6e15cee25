"""Memory of one call at a time: a frame, and the arena its pointers lead into."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wengert.codegen.kernel import Program
from wengert.codegen.lower import HEADER, Constant, Input, Layout
from wengert.codegen.plan import ALIGNMENT, plan


class Memory:
    """Everything a program writes to while it runs, for sizes up to a capacity."""

    def __init__(self, program: Program, layout: Layout, grows: bool = True) -> None:
        self.program, self.layout = program, layout
        self.grows = grows  # whether room for some sizes is room for all smaller ones
        self.frame = np.zeros(layout.words, np.int64)
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
        placed = plan(self.program, self.layout, wanted)
        if placed.size > self.arena.nbytes - ALIGNMENT:
            self.arena = np.empty(placed.size + ALIGNMENT, np.uint8)
        start = -(-self.arena.ctypes.data // ALIGNMENT) * ALIGNMENT
        for slot, offset in placed.offsets.items():
            self.frame[slot] = start + offset
        self.capacity = wanted
        self.size = placed.size
