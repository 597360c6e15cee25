"""What layers do in functions that are bound or evaluated, and only training should."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import BatchNormWarning, DropoutWarning
from wengert.functions.batch_statistics import BatchStatistics
from wengert.functions.dropout import DropoutCall


def warn_as_in_training(
    dropping: Sequence[DropoutCall], normalizing: Sequence[BatchStatistics]
) -> None:
    """Warn of lines of a loss that do what only training should."""
    if dropping:
        _warn_of_dropout(dropping[0].line)
    if normalizing:
        warn_user(
            "TrainStep.evaluate: given the loss of the step, whose BatchNorm has training=True "
            "here, too; what is measured depends on which rows share a batch. Evaluate a function "
            "with training=False, which takes the state: step.evaluate(f, step.state, …), or "
            "validation_loss=f in wg.train.fit.",
            BatchNormWarning,
            normalizing[0].line,
        )


def warn_of_training_in_bind(dropped: Sequence[BatchStatistics]) -> None:
    """Warn of a BatchNorm in a bound function whose new state is dropped."""
    for each in dropped:
        warn_user(
            "TrainStep.bind: a BatchNorm in it has training=True, and its new state is dropped; "
            "what is computed for a row depends on the rows beside it, and the running statistics "
            "stay what they are. Predict with training=False and the step's state: "
            "predict(step.state, x). If new statistics are meant, return them.",
            BatchNormWarning,
            each.line,
        )


def _warn_of_dropout(line: Line | None) -> None:
    warn_user(
        "TrainStep.evaluate: given the loss of the step, whose dropout drops here as it does in "
        "training; what is evaluated should not. Give the parameter a default, rng=None: training "
        "passes a generator all the same, and evaluate none. Or evaluate another function.",
        DropoutWarning,
        line,
    )
