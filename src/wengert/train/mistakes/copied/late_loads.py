"""Late loads: the model that a step was made with was replaced by one from a file, under the same
name, before the step has trained. torch would load into the model that its optimizer has; a step
has a copy, and goes on with the numbers from before.

It is told when the step trains, is evaluated, bound or saved: until then, a step may be made with
what was loaded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core.words.noticed.loaded_models import LoadedModel, keepers
from wengert.core.words.warn import warn_user
from wengert.errors import CopiedWarning
from wengert.optim.parameters import leaves_in
from wengert.train.mistakes.copied.shared_parts import Given
from wengert.train.mistakes.copied.taken_arrays import TakenArray, taken_array
from wengert.train.mistakes.copied.target_averages import some_numbers


class LateLoads:
    """What was loaded in the place of the model that a step was made with, given its arrays."""

    def __init__(self, given: Mapping[TakenArray, Given]) -> None:
        self._given = given
        self._loaded: LoadedModel | None = None
        keepers.add(self)

    @property
    def is_over(self) -> bool:
        return self._loaded is None

    def has_copies_of(self, arrays: Collection[int]) -> bool:
        """Whether one of these arrays, given by their ids, was given to the step."""
        return any(id(taken.array()) in arrays for taken in self._given)

    def note(self, loaded: LoadedModel) -> None:
        """Note what was loaded, if the step has not trained."""
        self._loaded = loaded if self._is_as_given() else None

    def look(self, arguments: Sequence[Any] = ()) -> None:
        """Warn, before the step is used, unless it has got other numbers meanwhile, or what was
        loaded has another use: another step was made with it, or it is an argument.
        """
        loaded, self._loaded = self._loaded, None
        if loaded is None or not self._is_as_given():
            return
        left = [x for x in (each() for each in loaded.arrays) if x is not None]
        used = {id(x) for x in leaves_in(tuple(arguments))}
        if not left or any(taken_array(x) is not None or id(x) in used for x in left):
            return
        warn_user(
            f"TrainStep: {loaded.name} = {loaded.call} gave a new model after the step was made; a "
            "step has a copy of the model that it was made with, and goes on with the numbers of "
            f"that. Write step.model = {loaded.repair}, or make the step afterwards.",
            CopiedWarning,
        )

    def _is_as_given(self) -> bool:
        return all(
            np.array_equal(some_numbers(each.live), each.numbers) for each in self._given.values()
        )
