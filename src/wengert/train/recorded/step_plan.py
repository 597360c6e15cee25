"""StepPlan: what a step consists of, before it is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.api.trace import Dims
from wengert.core import tree
from wengert.core.dtypes import DType
from wengert.train.batch import FunctionParameters
from wengert.train.recorded.optimizer_groups import Group
from wengert.train.segments import ModelParameter, Segment
from wengert.train.storage import Storage


@dataclass(frozen=True)
class StepPlan:
    """What was given to a TrainStep, checked; nothing of it changes while it trains."""

    loss: Callable[..., Any]
    groups: Sequence[Group]
    storage: Storage
    carried: tree.Structure | None  # the form of the state that is carried, if there is one
    parameters: FunctionParameters  # of the loss
    has_aux: bool
    strict: bool
    accumulate: int
    cast: DType | None  # the dtype floating batch arguments are cast to
    dims: Dims | None  # sizes of batch arguments that are left open beside axis 0
    proves: bool  # whether updates are proved to be finite where they can be

    @property
    def trained(self) -> list[ModelParameter]:
        """All trained parameters, segment by segment."""
        return [p for segment in self.storage.trained for p in segment.parameters]

    @property
    def states(self) -> list[tuple[Segment, str]]:
        """All states of the optimizers: the segment of each, and its name."""
        return [(segment, name) for segment in self.storage.trained for name in segment.states]

    @property
    def bounded(self) -> list[tuple[Segment, str]]:
        """The states whose extents are kept."""
        return self.states if self.proves else []
