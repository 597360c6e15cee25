"""Gradient blocks: flat gradients of one contiguous vector per dtype, as ranks exchange them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.runtime.aligned_memory import aligned_array
from wengert.train.storage import Array, Storage


class FlatGradient:
    """A vector per dtype, and in it one part for each trained segment."""

    def __init__(self, blocks: Sequence[Array], segments: Sequence[Array]) -> None:
        self.blocks, self.segments = blocks, tuple(segments)

    def add(self, other: FlatGradient) -> None:
        for mine, others in zip(self.blocks, other.blocks, strict=True):
            np.add(mine, others, out=mine)


class FlatGradients:
    """Flat gradients in the form of a step's own, made as they are needed and used again."""

    def __init__(self, storage: Storage) -> None:
        by_dtype: dict[Any, list[Array]] = {}
        for segment in storage.trained:
            assert segment.gradients is not None
            by_dtype.setdefault(segment.dtype, []).append(segment.gradients)
        blocks = [_spanning(each) for each in by_dtype.values()]
        segments = [segment.gradients for segment in storage.trained]
        self.live = FlatGradient(blocks, segments)  # type: ignore[arg-type]
        self._starts = {  # of each segment: its block, and where it begins there
            id(x): (k, (_address(x) - _address(block)) // x.itemsize)
            for k, (block, each) in enumerate(zip(blocks, by_dtype.values(), strict=True))
            for x in each
        }
        self._free: list[FlatGradient] = []

    def take(self) -> FlatGradient:
        return self._free.pop() if self._free else self._made()

    def give(self, gradient: FlatGradient) -> None:
        self._free.append(gradient)

    def _made(self) -> FlatGradient:
        blocks = [aligned_array(x.shape, x.dtype, np.zeros) for x in self.live.blocks]
        segments = []
        for x in self.live.segments:
            k, start = self._starts[id(x)]
            segments.append(blocks[k][start : start + x.size])
        return FlatGradient(blocks, segments)


def _spanning(parts: Sequence[Array]) -> Array:
    """The vector that reaches over parts of one block of memory, given in order."""
    owner: Any = parts[0].base
    raw = np.frombuffer(owner, np.uint8)
    begin = _address(parts[0]) - _address(raw)
    end = _address(parts[-1]) + parts[-1].nbytes - _address(raw)
    vector: Array = raw[begin:end].view(parts[0].dtype)
    return vector


def _address(x: Array) -> int:
    return int(x.ctypes.data)
