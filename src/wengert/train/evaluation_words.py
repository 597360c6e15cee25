"""What is said of a function that was evaluated, and whose result depends on batch_size."""

from __future__ import annotations

from typing import NamedTuple


class EvaluationWords(NamedTuple):
    """How a warning of such a function is worded."""

    given: str  # how it begins
    mean: str  # what is taken of it
    repair_of_sum: str
    repair: str | None  # of other results that are no means; None: the one for their kind
    in_order: bool = False  # whether it tells of what goes along the rows, too

    def of_sum(self) -> str:
        return (
            f"{self.given} sums over the rows of a batch; {self.mean}, each counted by its rows, "
            f"so that it depends on batch_size. {self.repair_of_sum}."
        )


IN_EVALUATE = EvaluationWords(
    "TrainStep.evaluate: given a function that",
    "the mean over batches is taken",
    "Return a mean, wg.mean(…), and multiply it by the number of all rows if the sum is meant",
    None,
    in_order=True,
)
