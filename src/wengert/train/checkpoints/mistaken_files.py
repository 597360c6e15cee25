"""Files of models and files of steps, where one is taken for the other."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from wengert.core.words.articles import a_kind
from wengert.errors import CheckpointError
from wengert.train.uncopied import Uncopied

_OF_STEPS = ("counts.calls", "counts.updates")  # paths that only the file of a step has


def is_of_step(paths: Collection[str]) -> bool:
    """Whether a tree with these paths is what the `state_dict` of a step gave."""
    return all(path in paths for path in _OF_STEPS)


def model_given(by: str) -> CheckpointError:
    """The error where a step is to go on from weights alone."""
    return CheckpointError(
        f"{by}: given a model; a step goes on from what step.save or step.state_dict gave, with "
        "the states of optimizers and counts. Write step.model = wg.load(path, like=step.model) "
        "for a file of weights."
    )


def step_file_given(file: str) -> CheckpointError:
    """The error where the file of a step is to be fitted to a model."""
    return CheckpointError(
        f"load: {file!r} is what step.save wrote, with the states of optimizers and counts, and "
        "does not fit `like`; a file of the same paths is needed. Make the step again and write "
        f"step.load({file!r}): step.model then has the weights."
    )


def require_no_step(like: Any) -> None:
    """Refuse a step in the place of a tree: it holds none that could be seen."""
    if isinstance(like, Uncopied):
        raise CheckpointError(
            f"load: `like` is {a_kind(like)}; it must be a tree of arrays. Write "
            "like=step.model for a file of weights, or step.load(path) for one that step.save "
            "wrote."
        )
