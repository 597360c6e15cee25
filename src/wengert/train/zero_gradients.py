"""ZeroGradients: a step whose first gradients are exactly 0, all of them, trains nothing."""

from __future__ import annotations

from typing import Any

from wengert.core.words.warn import warn_user
from wengert.errors import UnreachedWarning
from wengert.runtime.entries.entry import Call, never
from wengert.train.engine import Engine

CALLS = 3  # so many in a row, from the first one on


class ZeroGradients:
    """Looks at the first calls of a step. A loss of 0 is no reason to warn: it has its minimum."""

    def __init__(self, engine: Engine) -> None:
        self.is_over = engine.plan.accumulate > 1 or not engine.plan.storage.trained
        self._found = 0

    def look(self, report: Any, quick: Call) -> Call:
        """Look at the report of a call. The way of the next call: the quick one, which nobody could
        look at, only when the question is settled.
        """
        loss, norm = report.tolist()
        self._found += 1
        self.is_over = norm != 0.0 or loss == 0.0 or self._found == CALLS
        if not self.is_over:
            return never
        if norm == 0.0 and loss != 0.0:
            warn_user(
                f"TrainStep: the gradient of every parameter was 0 in the first {CALLS} calls, and "
                f"the loss {loss:.6g}; nothing is trained. Look in the loss for what does not "
                "depend on the model, or cancels, as in exp(logp - logp), where the old logp "
                "should be an argument; for rounding and comparisons, whose derivative is 0; and "
                "for weights that are all 0.",
                UnreachedWarning,
            )
        return quick
