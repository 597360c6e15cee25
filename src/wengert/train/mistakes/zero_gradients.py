"""ZeroGradients: a step whose first gradients are exactly 0, all of them, trains nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import UnreachedWarning
from wengert.train.mistakes.arrays_of_data import arrays_of_data
from wengert.train.recorded.step_arrays import LOSS, NORM
from wengert.train.recorded.step_plan import StepPlan

CALLS = 3  # so many in a row, from the first one on
Array = np.ndarray[Any, Any]


class ZeroGradients:
    """Looks at the first calls of a step, or of all members of an ensemble, by themselves or in a
    run. A loss of 0 is no reason to warn: it has its minimum. Nor is a batch with floats that are
    all 0, as rewards may be for a long while: the gradient may be a multiple of them.
    """

    def __init__(self, plan: StepPlan) -> None:
        self._storage = plan.storage
        self.is_over = plan.accumulate > 1 or not plan.storage.trained
        self._calls = 0

    def look(self, by: str, reports: Array, data: Sequence[Any] = ()) -> None:
        """Look at the reports of the next calls, (calls, 2), whose batches are of this data."""
        for loss, norm in reports[:CALLS].tolist():
            self._calls += 1
            self.is_over = norm != 0.0 or loss == 0.0 or self._calls == CALLS
            if self.is_over:
                if norm == 0.0 and loss != 0.0 and not self._may_be_multiple_of(data):
                    _warn(by, loss)
                return

    def _may_be_multiple_of(self, data: Sequence[Any]) -> bool:
        """Whether an array of the data has floats that are all 0."""
        arrays = arrays_of_data(data, self._storage)
        return any(a.dtype.kind == "f" and a.size and not a.any() for a in arrays)

    def look_at_members(self, by: str, reports: Array) -> None:
        """The same of an ensemble, (members, calls, 2): one member that is trained is enough."""
        first = reports[:, :CALLS]
        largest = np.abs(first[:, :, LOSS]).argmax(axis=0)
        losses = first[largest, np.arange(first.shape[1]), LOSS]
        self.look(by, np.stack([losses, first[:, :, NORM].max(axis=0)], axis=1))


def _warn(by: str, loss: float) -> None:
    warn_user(
        f"{by}: the gradient of every parameter was 0 in the first {CALLS} calls, and the loss "
        f"{loss:.6g}; nothing is trained. Look in the loss for what does not depend on the model, "
        "or cancels, as in exp(logp - logp), where the old logp should be an argument; for "
        "rounding and comparisons, whose derivative is 0; and for weights that are all 0.",
        UnreachedWarning,
    )
