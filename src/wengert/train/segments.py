"""Segments: the parameters of one group and dtype, and the blocks of memory that they lie in.

All parameters of a dtype lie in one block of memory, ordered by group; so do their gradients, and
each state of the optimizers. A segment is the run of parameters of one group and dtype: one slice
of each block, which a flat rule updates at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from wengert.core.dtypes import DType, is_float
from wengert.errors import OptimError
from wengert.optim.optimizer import Optimizer
from wengert.runtime.aligned_memory import aligned_array, aligned_count
from wengert.runtime.outside.live import mark_live
from wengert.runtime.outside.watch import owner_of
from wengert.train.recorded.optimizer_groups import (
    Group,
    group_of,
    has_users_initial,
    tie_told,
)

Array: TypeAlias = np.ndarray[Any, Any]


def live_zeros(count: int, dtype: DType) -> Array:
    """Zeros that a step updates."""
    made = aligned_array((count,), dtype, np.zeros)
    mark_live(owner_of(made))
    return made


@dataclass(frozen=True)
class ModelParameter:
    """One array of floats in a model, at one path or tied at several."""

    place: int  # among the distinct leaves of the model
    paths: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: DType
    offset: int = 0  # in its segment, in elements

    @property
    def path(self) -> str:
        return self.paths[0]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def view(self, flat: Any) -> Any:
        """Its part of a segment's vector, in its own shape. The vector may be an array or
        a Tensor.
        """
        part = flat[self.offset : self.offset + self.size]
        return part.reshape(self.shape)


# The parameters of each segment, by the number of its group and by dtype.
ModelLayout: TypeAlias = Mapping[tuple[int, DType], Sequence[ModelParameter]]


@dataclass
class Segment:
    """The parameters of one group and dtype, with their arrays: weights, gradients, states."""

    group: int
    dtype: DType
    parameters: Sequence[ModelParameter]
    weights: Array
    gradients: Array | None  # None where the group is frozen
    states: dict[str, Array] = field(default_factory=dict)
    average: str | None = None  # which state is the average of the weights, if one is
    followers: tuple[str, ...] = ()  # which states begin as the weights

    @property
    def size(self) -> int:
        return sum(p.size for p in self.parameters)


def layout_of(
    values: Sequence[Array], paths: Sequence[tuple[str, ...]], groups: Sequence[Group]
) -> ModelLayout:
    """Which parameters a model has, and where each of them lies."""
    layout: dict[tuple[int, DType], list[ModelParameter]] = {}
    known = {path for names in paths for path in names}
    for place, (x, names) in enumerate(zip(values, paths, strict=True)):
        if is_float(x.dtype):
            key = (group_of(groups, names, known), x.dtype.newbyteorder("="))
            mine = layout.setdefault(key, [])
            offset = mine[-1].offset + mine[-1].size if mine else 0
            mine.append(ModelParameter(place, names, x.shape, key[1], offset))
    if not layout:
        raise OptimError(
            "TrainStep: the model has no float arrays; these are its parameters. Make them with "
            "np.zeros, or convert them with astype(np.float32)."
        )
    if all(groups[group].frozen for group, _ in layout):
        taken = [(p.paths, groups[key[0]].glob) for key, each in layout.items() for p in each]
        raise OptimError(
            "TrainStep: every parameter is frozen; at least one must have an optimizer."
            f"{tie_told(taken, known)} Change "
            f"the globs {', '.join(repr(g.glob) for g in groups if g.frozen)}."
        )
    return layout


def new_segments(layout: ModelLayout, groups: Sequence[Group]) -> list[Segment]:
    """Segments of zeros."""
    order = sorted(layout, key=lambda key: (groups[key[0]].frozen, key[0]))  # the trained first
    made: list[Segment] = []
    for dtype in dict.fromkeys(dtype for _, dtype in order):
        mine = [key for key in order if key[1] == dtype]
        sizes = [sum(p.size for p in layout[key]) for key in mine]
        trained = [size for key, size in zip(mine, sizes, strict=True) if not groups[key[0]].frozen]
        gradients: Iterable[Array | None] = [*_slices(dtype, trained), *[None] * len(mine)]
        for key, weights, gradient in zip(mine, _slices(dtype, sizes), gradients, strict=False):
            made.append(Segment(key[0], dtype, layout[key], weights, gradient))
    return made


def begin_states(segments: Iterable[Segment], groups: Sequence[Group]) -> None:
    """The first states of the optimizers, each in a block per name and dtype."""
    by_kind: dict[tuple[str, DType], list[tuple[Segment, list[Array]]]] = {}
    for segment in segments:
        optimizer = groups[segment.group].trainer
        segment.average, segment.followers = optimizer.averages, optimizer.followers
        for name, rows in _first_states(segment, optimizer).items():
            by_kind.setdefault((name, segment.dtype), []).append((segment, rows))
    for (name, dtype), entries in by_kind.items():
        blocks = _slices(dtype, [segment.size for segment, _ in entries])
        for (segment, rows), block in zip(entries, blocks, strict=True):
            segment.states[name] = block
            if len(rows) == 1:
                block[...] = rows[0].reshape(-1)
            else:
                for parameter, row in zip(segment.parameters, rows, strict=True):
                    parameter.view(block)[...] = row


def _first_states(segment: Segment, optimizer: Optimizer) -> dict[str, list[Array]]:
    """What each state begins as: an array for each parameter, or one for the whole segment where
    each element begins by itself, as it does in all optimizers but those that users write.
    """
    if not has_users_initial(optimizer):
        return {name: [np.asarray(x)] for name, x in optimizer.initial(segment.weights).items()}
    states = [optimizer.initial(p.view(segment.weights)) for p in segment.parameters]
    by_name = {name: [np.asarray(state[name]) for state in states] for name in states[0]}
    for name, rows in by_name.items():
        _require_states(name, optimizer, segment.parameters, rows)
    return by_name


def _require_states(
    name: str, optimizer: Any, parameters: Sequence[ModelParameter], rows: Sequence[Array]
) -> None:
    for parameter, row in zip(parameters, rows, strict=True):
        if row.shape != parameter.shape:
            raise OptimError(
                f"TrainStep: {type(optimizer).__name__} begins with a state {name!r} of shape "
                f"{row.shape} for {parameter.path!r}; states have the shape of their parameter, "
                f"{parameter.shape}. Correct its `initial`."
            )


def _slices(dtype: DType, sizes: Sequence[int]) -> list[Array]:
    """Aligned slices of one block."""
    room = [aligned_count(size, dtype) for size in sizes]
    block = live_zeros(sum(room), dtype)
    starts = [sum(room[:i]) for i in range(len(room))]
    return [block[start : start + size] for start, size in zip(starts, sizes, strict=True)]
