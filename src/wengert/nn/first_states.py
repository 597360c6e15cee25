"""First states: a BatchNorm that was trained, and is called with `training=False` and the state
that it begins with. The model was saved without its state, or weights were read without their
running statistics.

What a TrainStep records is looked at there. Here it is calls that are evaluated at once, and the
first calls of compiled functions. Numbers that somebody chose to begin with are mostly the same for
all features, or those of the scale alone differ; training changes all of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias

import numpy as np

from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.warn import warn_user
from wengert.errors import BatchNormWarning
from wengert.functions.batch_statistics import is_begun_with, is_first
from wengert.interpret.mistakes.first_values import ask_first_value
from wengert.runtime.outside.live import is_live

Array: TypeAlias = np.ndarray[Any, Any]
_TEXT = (
    "BatchNorm: called with training=False and the state that it begins with, mean 0 and variance "
    "1, while its scale and shift are trained; what it gives is not what it was trained for. Pass "
    "the state that was carried in training, as step.state. A file has it as well after "
    'wg.save(path, {"model": step.model, "state": step.state}); that of PyTorch is '
    "wg.nn.running_statistics(tensors)."
)


def look_at_first_state(mean: Value, var: Value, scale: Value, shift: Value) -> None:
    """Warn where a layer is trained and these statistics are the first ones; of arguments of a
    compiled function, in its first call.
    """
    if type(mean) is np.ndarray and mean.item(0) != 0:  # first, as calls are many
        return
    given = {"mean": mean, "var": var, "scale": scale, "shift": shift}
    if any(type(x) is Tensor for x in given.values()):
        _FirstCall(given)
    elif _is_mistake(**given):
        warn_user(_TEXT, BatchNormWarning)


class _FirstCall:
    """What a layer has in the first call of a function that is being recorded: constants, and
    arguments that are not known yet.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        self._known = {name: x for name, x in given.items() if type(x) is np.ndarray}
        self._count = len(given)
        tensors = [(name, x) for name, x in given.items() if type(x) is Tensor]
        for name, x in tensors:
            told = partial(self._told, name, x.shape)
            if not ask_first_value(x, "BatchNorm", told, BatchNormWarning):
                break  # one is computed: they will never be complete

    def _told(self, name: str, shape: Any, _by: str, x: Any, _place: str) -> str | None:
        """Note one of them; the warning, once all are known. What is a part of an argument, as the
        weights of a TrainStep are, has another shape.
        """
        if type(x) is np.ndarray and x.shape == shape:
            self._known[name] = x
        complete = len(self._known) == self._count
        return _TEXT if complete and _is_mistake(**self._known) else None


def _is_mistake(mean: Any, var: Any, scale: Any, shift: Any) -> bool:
    """Of a live layer, as those of step.model, only with a state that a layer has just made: a
    copy of the first one is for those who want the statistics from before training.
    """
    if not (_differ(scale) and _differ(shift) and is_first(mean, var)):
        return False
    return not is_live(scale) or is_begun_with(mean)


def _differ(x: Any) -> bool:
    """Whether features have numbers of their own, as training gives them: two are compared."""
    return type(x) is np.ndarray and x.item(0) != x.item(-1)
