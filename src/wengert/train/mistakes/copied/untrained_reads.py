"""Untrained reads: layers that a step was made with and that a program computes with, or saves,
after the step has trained a copy, as `net(x)` where torch would have trained `net` itself.

That may be meant, where before and after are compared, so it is told once, of weights as a layer
has drawn them. A first guess that somebody wrote down, or what was read from a file, is something
to compare with, and so is what some step is called with.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from wengert.core.words.noticed.watched_arrays import ask_readers_again, watch_reads
from wengert.functions.drawn_weights import drawn_weight
from wengert.optim.lifecycle.original_reads import OriginalReads
from wengert.train.mistakes.copied.shared_parts import Given
from wengert.train.mistakes.copied.taken_arrays import TakenArray
from wengert.train.mistakes.copied.target_averages import some_numbers


class Training:
    """What a step has done to its copies of the arrays that it was given. It outlives the step: the
    function that trained may have returned the network that it was given.
    """

    def __init__(self, loss: Any) -> None:
        self._reads = OriginalReads(loss)
        self.loss = self._reads.loss

    def watch(self, given: Iterable[TakenArray]) -> None:
        """Watch those of these arrays that a layer has drawn."""
        for taken in given:
            x = taken.array()
            if x is not None and drawn_weight(x) is not None:
                watch_reads(x, "step", partial(_note_read, taken))

    def note(self, trained: Iterable[tuple[TakenArray, Given]]) -> None:
        """Note which copies have other numbers by now, and let the compiled functions that read the
        originals look at them.
        """
        for taken, each in trained:
            if not np.array_equal(some_numbers(each.live), each.numbers):
                taken.training, taken.name = self, each.name
            x = taken.array()
            if x is not None:
                ask_readers_again(x)

    def warn(self, name: str) -> None:
        """Warn, once, where an original is read."""
        self._reads.warn(
            f"TrainStep: {name} that a step was made with is read here, after training; a step "
            "trains a copy of its model, and these are the numbers from before. Take step.model, "
            "or step.bind(f), for what was trained. For the numbers before training, take "
            "wg.tree.copy(model)."
        )


def _note_read(taken: TakenArray) -> bool:
    """Look at an array that is read; whether nothing is left to tell of it."""
    x = taken.array()
    if x is None or taken.is_argument or drawn_weight(x) is None:
        return True
    for step in list(taken.given_to):
        step.note_training()
    if taken.training is None:
        return False
    taken.training.warn(taken.name)
    return True
