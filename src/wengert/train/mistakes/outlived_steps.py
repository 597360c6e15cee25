"""Outlived steps: functions that are bound to a step that is gone, while another one was made with
its model and trains a copy, as in a second stage, `step = wg.TrainStep(loss, step.model, other)`,
after which `act = step.bind(f)` is not bound again.

That may be meant: the weights of a first stage may be a teacher, an opponent or a reference. So a
step that somebody keeps is let be, and so is one that was gone before the other was made, whose
place that one did not take; so are functions of a step that was never called, which are what
training begins with, those that were bound after the last call of their step, and all of them where
a function is bound to the new step.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import CopiedWarning
from wengert.train.mistakes.copied.shared_parts import Given
from wengert.train.mistakes.copied.target_averages import some_numbers

Array: TypeAlias = np.ndarray[Any, Any]
MOST_COLLECTED = 4  # how often garbage is collected, which is slow, to see whether a step is gone
_turns = iter(range(MOST_COLLECTED))


class AskedFunction(Protocol):
    """A function that is bound to a step."""

    def ask_again(self) -> None:
        """Let the next call take the slow path, which looks at the step."""


class FunctionsOfStep:
    """The functions that are bound to a step, the steps that were made with its model, and those
    whose model it was made with. It lives as long as one of the functions. The members of an
    ensemble have one that never begins.
    """

    def __init__(self) -> None:
        self._step: weakref.ref[Any] | None = None
        self._calls: Array = np.zeros(1, np.int64)
        self._leaves: Mapping[str, Array] = {}  # the step's own arrays, by path
        self._functions: weakref.WeakSet[AskedFunction] = weakref.WeakSet()
        self._bound_after: int | None = None  # calls of the step, when a function was bound last
        # Of each step that was made with this one's model: its functions, and its copies by path.
        self._later: list[tuple[weakref.ref[FunctionsOfStep], dict[str, weakref.ref[Array]]]] = []
        self._earlier: list[weakref.ref[FunctionsOfStep]] = []

    def begin(
        self, step: Any, calls: Array, leaves: Mapping[str, Array], given: Iterable[Given]
    ) -> None:
        """Note the step, the array that its calls are counted in, its own arrays by path, and those
        that it was made with.
        """
        self._step, self._calls, self._leaves = weakref.ref(step), calls, leaves
        copies = {id(x): weakref.ref(each.live) for each in given if (x := each.array) is not None}
        for earlier in {known for each in copies if (known := _of_arrays.get(each)) is not None}:
            mine = {path: copies.get(id(x)) for path, x in earlier._leaves.items()}
            found = {path: x for path, x in mine.items() if x is not None}
            if len(found) == len(mine) and earlier._is_held():
                earlier._later.append((weakref.ref(self), found))
                self._earlier.append(weakref.ref(earlier))
        _of_arrays.update({id(x): self for x in leaves.values()})

    def add(self, function: AskedFunction) -> None:
        """Note a new function."""
        self._functions.add(function)

    def note_bound(self) -> None:
        """Note that somebody binds a function, be it new or known."""
        self._bound_after, self._earlier = int(self._calls[0]), []

    def ask_earlier(self) -> None:
        """Let the functions of the steps whose model this one was made with look at these."""
        if self._earlier:
            self._earlier = [each for each in self._earlier if each() is not None]
            for earlier in filter(None, [each() for each in self._earlier]):
                for function in list(earlier._functions):
                    function.ask_again()

    def warn(self, function: Any, read: Collection[str]) -> None:
        """Warn, once, before a call of a function, which reads these paths of the model, if its
        step is gone and another one has trained copies of them. All are read where none is known.
        """
        is_gone = self._step is not None and self._step() is None
        calls = self._calls[0]
        is_fixed = calls == 0 or self._bound_after == calls  # nothing has changed it since
        if is_gone and not is_fixed and any(self._differ(*each, read) for each in self._later):
            self._later = []
            name = getattr(function, "__name__", type(function).__name__)
            warn_user(
                f"TrainStep.bind: {name} is bound to a step that is gone, and another one was made "
                "with the model of that step and has trained a copy; the function has the weights "
                "of the step that it is bound to. Bind it again, bound = step.bind(…), to the step "
                "that trains. For the weights from before, keep the first step in a variable.",
                CopiedWarning,
            )

    def _is_held(self) -> bool:
        """Whether somebody has the step still. One that nobody has may wait in a cycle, as that of
        an object that has a function of its own.
        """
        if self._step is None or self._step() is None:
            return False
        if self._functions and next(_turns, None) is not None:
            gc.collect()
        return self._step() is not None

    def _differ(
        self,
        later: weakref.ref[FunctionsOfStep],
        copies: Mapping[str, weakref.ref[Array]],
        read: Collection[str],
    ) -> bool:
        other = later()
        if other is None or other._bound_after is not None:
            return False
        pairs = [(self._leaves[path], copies[path]()) for path in read or copies if path in copies]
        return any(
            copy is not None and not np.array_equal(some_numbers(x), some_numbers(copy))
            for x, copy in pairs
        )


# By the ids of the arrays of steps, which live as long.
_of_arrays: weakref.WeakValueDictionary[int, FunctionsOfStep] = weakref.WeakValueDictionary()
