"""Stale statistics: `predict(step.model, start, x)` with the state of a BatchNorm that a step was
made with, after the step has carried its copy on. The layers are trained, and what they divide out
is from before.

What a bound or evaluated function does is told by stale_states.py; this is of calls that are
evaluated at once. A recurrent layer may begin anew with its first state, so that only a BatchNorm
counts, and only one of the step's own arrays: the network from before training belongs with the
state from before training.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np

from wengert.core.words.noticed.watched_arrays import watch_reads
from wengert.core.words.warn import warn_user
from wengert.errors import CopiedWarning
from wengert.functions.batch_statistics import dividing_layer, forget_begun_with
from wengert.train.mistakes.copied.target_averages import some_numbers

Array: TypeAlias = np.ndarray[Any, Any]


class GivenState(Protocol):
    """An array of the state that a step was made with."""

    live: Array
    numbers: Array

    @property
    def name(self) -> str: ...


class OfStep(Protocol):
    """What a step was given."""

    def states(self) -> Iterator[tuple[Any, Array]]: ...

    def is_of_model(self, x: Array) -> bool: ...


def watch_statistics(x: Array | None, given: OfStep) -> None:
    """Watch an array of the state: statistics have one number for each feature."""
    if x is not None and x.ndim == 1:
        forget_begun_with(x)
        watch_reads(x, "state", partial(_note_read, weakref.ref(x), weakref.ref(given)))


def _note_read(
    reference: weakref.ReferenceType[Array], of_step: weakref.ReferenceType[OfStep]
) -> bool:
    """Look at an array that is read; whether nothing is left to tell of it."""
    given, x, layer = of_step(), reference(), dividing_layer()
    if given is None or x is None:
        return True
    if layer is None or not given.is_of_model(layer):
        return False
    state: GivenState | None = next((each for each, own in given.states() if own is x), None)
    if state is None:
        return True
    if np.array_equal(some_numbers(state.live), state.numbers):
        return False
    warn_user(
        f"BatchNorm: called with training=False and {state.name} that a step was made with, and "
        "with a layer of step.model; the step carries on a copy of its state, and this one is as "
        "it was before training. Pass step.state. For the numbers before training, pass "
        "wg.tree.copy(state).",
        CopiedWarning,
    )
    return True
