"""What the optimizers of a fit were made with: a fit that goes on with others says so."""

from __future__ import annotations

from collections.abc import Mapping

from wengert.core.words.warn import warn_user
from wengert.errors import CheckpointWarning
from wengert.train.engine import Engine
from wengert.train.fitting.fit_data import BY
from wengert.train.mistakes.copied.loaded_settings import optimizers_in_words

_OTHER_SCHEDULE = (
    "Rates may jump there: to end as if it had never stopped, pass the schedule of then"
)
_OTHER_NUMBERS = (
    "Set others in a callback, record.step.optimizer.lr = …; or step.load its last.safetensors, "
    "set them, and fit without resume in a new folder"
)


def tell_of_other_settings(
    engine: Engine, folder: str, first: Mapping[str, str], given: Mapping[str, str]
) -> dict[str, str]:
    """Warn where a fit that was resumed had been begun with other settings than the step is given
    now; and return those that hold. Numbers of the checkpoint are in force, schedules are those of
    the step. What callbacks have set meanwhile is in the checkpoint, and no reason to warn.
    """
    now, hold = optimizers_in_words(engine.plan.groups), dict(first)
    for group in engine.plan.groups:
        glob = group.glob
        before, wanted = first.get(glob), given.get(glob)
        if group.optimizer is None or before is None or wanted is None or before == wanted:
            continue
        if callable(group.optimizer.lr):
            hold[glob] = wanted
            _warn(folder, before, wanted, "it goes on with the new schedule", _OTHER_SCHEDULE)
        elif wanted != now[glob]:
            _warn(folder, before, wanted, f"it goes on with {now[glob]}", _OTHER_NUMBERS)
    return hold


def _warn(folder: str, before: str, wanted: str, outcome: str, repair: str) -> None:
    warn_user(
        f"{BY}: the fit in {folder!r} was begun with {before}, and the step is made with {wanted}; "
        f"{outcome}. {repair}.",
        CheckpointWarning,
    )


def tell_of_more_epochs(folder: str, done: int, wanted: int) -> None:
    """Warn where a fit that is resumed has more epochs than it is asked for."""
    if done > wanted:
        warn_user(
            f"{BY}: epochs={wanted} was given, and the fit in {folder!r} has {done}; none is taken "
            f"back, so the step and the history are those of {done} epochs. Pass epochs={done} or "
            "more, or resume=False to begin anew.",
            CheckpointWarning,
        )
