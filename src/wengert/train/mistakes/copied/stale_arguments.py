"""StaleArguments: networks that a step is called with, and that another step was made with, as in
`actor_step(critic_net, obs)` where `critic_step.model` is meant. The other step trains a copy, and
this one goes on with the numbers of the beginning.

That may be meant. A network that is given data and whose results meet those of the model, while the
other step is trained, may be a target that is renewed every thousand calls. So it is told where the
loss is differentiated through the network, and the two steps take turns. It is told of weights as a
layer has drawn them, too, where the model is applied to what the network gives, or the other step
was trained before and no more; unless its own step is called with the network, as a reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import CopiedWarning
from wengert.optim.parameters import leaves_in
from wengert.runtime.outside.live import is_live
from wengert.train.mistakes.copied.shared_parts import Given, is_drawn
from wengert.train.mistakes.copied.target_averages import some_numbers

Array: TypeAlias = np.ndarray[Any, Any]
LOOKS = 6  # before calls 1, 2, 3, 5, 9 and 17 of a step that begins anew


class StaleArguments:
    """Looks at the arguments of a few calls, if the first one has such."""

    def __init__(self) -> None:
        self.is_over, self._looks = False, 0
        self.places: Sequence[int] = ()  # of the arguments that are looked at
        self._through: set[int] = set()  # those that the loss is differentiated through
        self._before: set[int] = set()  # those that the model is applied to results of
        self._lives: Mapping[int, Array] = {}  # numbers of the other steps, at the last look
        self._in_turns = False  # whether these have changed from look to look

    def note_flow(self, place: int, through: bool, before: bool) -> None:
        """Note what the loss does with an argument, when it is recorded."""
        self._through.update({place} if through else ())
        self._before.update({place} if before else ())

    def look(self, originals: Sequence[Sequence[Given]], arguments: Sequence[Any]) -> None:
        """Look before a call; given are, for each of its arguments, the arrays of it that other
        steps were made with.
        """
        self._looks += 1
        self.places = [place for place, given in enumerate(originals) if given]
        self.is_over = self._looks == LOOKS or not self.places
        live = [x for x in leaves_in(tuple(arguments)) if is_live(x)]
        stale = {place: _stale(originals[place], live) for place in self.places}
        lives = {id(x.live): some_numbers(x.live) for given in originals for x in given}
        self._in_turns |= any(
            not np.array_equal(numbers, lives.get(key, numbers))
            for key, numbers in self._lives.items()
        )
        self._lives = lives
        told = next((place for place in stale if self._is_mistake(place, stale[place])), None)
        if told is not None:
            self.is_over = True
            _warn(told, stale[told])

    def _is_mistake(self, place: int, stale: Sequence[Given]) -> bool:
        if not stale:
            return False
        if self._in_turns and place in self._through:
            return True
        as_drawn = any(is_drawn(each) for each in stale)
        is_between = place in self._through or place in self._before
        return as_drawn and (is_between or (self.is_over and not self._in_turns))


def _stale(originals: Sequence[Given], live: Sequence[Array]) -> list[Given]:
    """Those that are as they were given, while the step that was given them has other numbers by
    now, of which none are arguments, too.
    """
    if any(np.may_share_memory(x, each.live) for x in live for each in originals):
        return []
    return [
        each
        for each in originals
        if each.array is not None
        and np.array_equal(some_numbers(each.array), each.numbers)
        and not np.array_equal(some_numbers(each.live), each.numbers)
    ]


def warn_of_stale_reads(originals: Sequence[Given]) -> bool:
    """Warn where some of these, which a loss reads from outside, are as a layer has drawn them,
    while the steps that were made with them have trained their copies; whether there are any.
    """
    stale = [each for each in _stale(originals, ()) if is_drawn(each)]
    if stale:
        warn_user(
            f"TrainStep: the loss reads {stale[0].name} that another step was made with, from "
            f"outside{_more(stale)}; that step has trained a copy, and the loss has what was there "
            "before training. Pass the live model as an argument, step(other_step.model, …). For "
            "the numbers before training, read wg.tree.copy(model).",
            CopiedWarning,
        )
    return bool(stale)


def _more(stale: Sequence[Given]) -> str:
    return f", and {len(stale) - 1} more" if len(stale) > 1 else ""


def _warn(place: int, stale: Sequence[Given]) -> None:
    warn_user(
        f"TrainStep: argument {place + 1} of the call has {stale[0].name} that another step was "
        f"made with{_more(stale)}; that step trains a copy, and this one is given what was there "
        "before training. Pass the live model, other_step.model. For the numbers before training, "
        "pass wg.tree.copy(model).",
        CopiedWarning,
    )
