"""How many rows the classes have, and what that says about a result."""

from __future__ import annotations

import numpy as np

from wengert.cli.datasets.column_kinds import Say
from wengert.cli.datasets.data_table import Array, listed
from wengert.cli.datasets.learning_task import LearningData

FEW_ROWS = 2  # of a class to learn from


def tell_rare_classes(data: LearningData, say: Say) -> None:
    """Say which classes have too few rows to be learned, or none to be judged by."""
    trained, held = _counts(data, data.y), _counts(data, data.held_y)
    classes = data.preparation.target.classes
    few = [name for name, rows in zip(classes, trained, strict=True) if rows < FEW_ROWS]
    unjudged = [name for name, rows in zip(classes, held, strict=True) if not rows]
    if few:
        say(
            f"too few to learn: {_classes(few)} fewer than {FEW_ROWS} rows to learn from. Give "
            "more of them, or leave these rows out"
        )
    if unjudged:
        say(
            f"not judged: {_classes(unjudged)} no rows held out, and the result says nothing of "
            "them. Give more rows, or a larger --validation"
        )


def _classes(names: list[str]) -> str:
    return (
        f"class {listed(names, 6)} has" if len(names) == 1 else f"classes {listed(names, 6)} have"
    )


def simplest_answer(data: LearningData) -> tuple[str, float]:
    """What a model is to be compared with: the class that most rows of training have, and the share
    of held-out rows for which it is right.
    """
    most = int(_counts(data, data.y).argmax())
    return data.preparation.target.classes[most], float(np.mean(data.held_y == most))


def tell_one_answer(data: LearningData, said: Array, say: Say) -> None:
    """Say where a model gives all held-out rows the same class, of several that they have.
    `said` is the number of a class for each.
    """
    if (said == said[0]).all() and (data.held_y != data.held_y[0]).any():
        say(
            f"the model says {data.preparation.target.classes[int(said[0])]!r} for all "
            f"{len(said)} held-out rows: it tells no classes apart. Try more --epochs, another "
            "--lr, columns that say more, or rows of which the classes are more even"
        )


def _counts(data: LearningData, numbers: Array) -> Array:
    return np.bincount(numbers, minlength=len(data.preparation.target.classes))
