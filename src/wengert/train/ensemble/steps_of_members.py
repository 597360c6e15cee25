"""The members of an ensemble, as it gives them out: steps, none of which can be put in the place of
another. They share one program, on arrays that it knows.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from wengert.train.ensemble.member_calls import stacked
from wengert.train.ensemble.reports import EnsembleLast
from wengert.train.step import TrainStep


class StepsOfMembers(tuple[TrainStep, ...]):
    """The steps of an ensemble; says what to write where one of them is assigned or deleted."""

    __slots__ = ()

    def __setitem__(self, number: Any, value: Any) -> NoReturn:
        member = f"ensemble.members[{number if isinstance(number, int) else 'i'}]"
        repair = f"Set its weights, {member}.model = model"
        if isinstance(value, TrainStep):
            repair = f"Load what the other step has, {member}.load_state_dict(step.state_dict())"
        raise TypeError(
            f"Ensemble: {member} was set to {type(value).__name__}; members are the steps that the "
            f"ensemble was made with, and stay these. {repair}."
        )

    def __delitem__(self, number: Any) -> NoReturn:
        raise TypeError(
            "Ensemble: a member was deleted; members are the steps that the ensemble was made "
            "with, and stay these. To go on with some of them, call ensemble.keep(indices)."
        )


def last_of(members: tuple[TrainStep, ...]) -> EnsembleLast | None:
    """What the last calls of all members gave; None where one was not called yet."""
    latest = [step.last for step in members]
    known = [each for each in latest if each is not None]
    if len(known) < len(latest):
        return None
    rates = [each.learning_rate for each in known]
    return EnsembleLast(
        np.array([each.loss for each in known]),
        np.array([each.grad_norm for each in known]),
        stacked(rates) if isinstance(rates[0], dict) else np.array(rates),
        np.array([each.index for each in known]),
        np.array([each.skipped for each in known]),
    )
