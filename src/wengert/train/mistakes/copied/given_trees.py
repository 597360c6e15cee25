"""Given trees: the model and the state that a step was made with, and has copied. What is written
into their arrays, or put in the place of these, does not reach the step, and whoever does it should
hear of it.

Arrays and objects are not kept alive, and one that has a use of its own by now is let be: it has
the step's own numbers, or averages of them, another step was made with what was written, or it is
an argument of a call.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeAlias

import numpy as np

from wengert.core.dtypes import is_float
from wengert.core.words.warn import warn_user
from wengert.errors import CopiedWarning
from wengert.optim.parameters import leaf_name, leaves_in
from wengert.runtime.outside.live import is_live
from wengert.train.mistakes.carried.stale_statistics import watch_statistics
from wengert.train.mistakes.copied.given_objects import GivenObject
from wengert.train.mistakes.copied.given_settings import GivenSettings
from wengert.train.mistakes.copied.late_loads import LateLoads
from wengert.train.mistakes.copied.shared_parts import Given, SharedParts
from wengert.train.mistakes.copied.stale_arguments import (
    StaleArguments,
    warn_of_stale_reads,
)
from wengert.train.mistakes.copied.taken_arrays import (
    Mark,
    TakenArray,
    is_only_of,
    mark_of,
    take,
    taken_array,
)
from wengert.train.mistakes.copied.taken_parts import let_parts_be
from wengert.train.mistakes.copied.target_averages import follow_the_step, is_near, some_numbers
from wengert.train.mistakes.copied.untrained_reads import Training
from wengert.train.mistakes.outlived_steps import FunctionsOfStep
from wengert.train.mistakes.repeated_keys import RepeatedKeys
from wengert.train.recorded.layers.part_uses import PartUse

Array: TypeAlias = np.ndarray[Any, Any]
MOST_CALLS = 256  # from one look to the next
ALWAYS = 16  # looks that are made in any case; later ones, and long ones, only after a while
LONG = 2e-3  # seconds
LEAST_WORK = 100  # how much longer than a look that while is, at least
MOST_OBJECTS = 64  # that are looked into: ensembles may have many members


@dataclass
class GivenArray:
    """An array that was given, what was in it, and the step's own copy."""

    tree_name: str  # model or state
    path: str
    taken: TakenArray
    mark: Mark
    live: Array
    numbers: Array  # some of those that were in it

    @property
    def name(self) -> str:
        """What messages call it."""
        return leaf_name(self.path, self.tree_name)

    @property
    def array(self) -> Array | None:
        return self.taken.array()

    @property
    def is_reference(self) -> bool:
        return self.taken.is_reference

    def accept(self) -> None:
        """Take what is in the array for what was given."""
        x = self.array
        if x is not None:
            self.mark, self.numbers = mark_of(x), some_numbers(x)

    def warn(self) -> None:
        _warn(self.tree_name, f"{self.name} that it was made with was written to", "array")


def _warn(tree_name: str, done: str, thing: str, repair: str = "") -> None:
    repair = repair or (
        f"Write into the arrays of step.{tree_name}, or assign a whole {tree_name} to "
        f"step.{tree_name}. "
    )
    warn_user(
        f"TrainStep: {done}; a step has a copy of its {tree_name}, and goes on with that. {repair}"
        f"If the {thing} has another use by now, make the step with wg.tree.copy({tree_name}).",
        CopiedWarning,
    )


def given_arrays(
    tree_name: str, paths: Iterable[str], given: Iterable[Any], live: Iterable[Array]
) -> list[GivenArray]:
    """The arrays of a tree beside the step's copies of them. What was made of a number, or of an
    array of another library, is gone at once.
    """
    arrays = []
    for path, x, copy in zip(paths, given, live, strict=True):
        if type(x) is np.ndarray:
            taken = take(x)
            arrays.append(GivenArray(tree_name, path, taken, taken.mark, copy, some_numbers(x)))
    return arrays


class GivenTrees:
    """All arrays that a step was given, and when to look at them: in calls 1, 2, 3, 5, 9, …, from
    then on in one of 256, and where somebody asks. Members of an ensemble have one for all.
    """

    def __init__(self, loss: Any) -> None:
        self._loss = loss
        self._arrays: list[GivenArray] = []
        self._objects: list[GivenObject] = []
        self._bound: list[weakref.ref[Any]] = []  # functions of the model that were recorded
        self._due = 0  # how many calls there are before the next one that looks
        self._looks, self._taken, self._not_before = 0, 0.0, 0.0
        self._took_last = 0.0  # seconds; in one look alone Python may have collected garbage
        self._shared = SharedParts()
        self.late_loads = LateLoads(self._shared.given)
        self.stale_arguments, self.repeated_keys = StaleArguments(), RepeatedKeys()
        self.settings, self.functions = GivenSettings(), FunctionsOfStep()
        self._training = Training(loss)
        self._shared.loss = self._training.loss

    @property
    def is_over(self) -> bool:
        """Whether nothing is left that could be written to, or take turns with this step, and no
        argument to look at.
        """
        if self._has_trees or self.settings or not self.late_loads.is_over:
            return False
        return self.stale_arguments.is_over and self.repeated_keys.is_over

    @property
    def _has_trees(self) -> bool:
        return bool(self._arrays or self._objects or self._shared.waits)

    def add(self, arrays: Sequence[GivenArray], objects: Sequence[GivenObject]) -> None:
        self._arrays += arrays
        for each in arrays:
            if each.tree_name == "state":
                watch_statistics(each.array, self)
        self._objects += objects[: max(MOST_OBJECTS - len(self._objects), 0)]

    def note_shared(self, model: Sequence[GivenArray], trained: Sequence[GivenArray]) -> None:
        """Note the arrays of the model, which of them are trained, and who else has been given
        some.
        """
        given = {each.taken: each for each in model}
        self._shared.given.update(given)
        self._shared.trained.update(each.taken for each in trained)
        others = {other for taken in given for other in taken.given_to if other is not self}
        for other in others:
            self._shared.meet(other._shared)
        for taken in given:
            taken.given_to.add(self)
        self._training.watch(self._shared.trained)

    def note_unreached(self, unreached: Sequence[str], read: Sequence[str]) -> None:
        """See `SharedParts`."""
        self._shared.note_unreached(unreached, read)

    def note_part_uses(self, uses: Mapping[str, PartUse]) -> None:
        """See `SharedParts`."""
        self._shared.note_part_uses(uses)

    def note_read(self, paths: Iterable[str]) -> None:
        """See `SharedParts`."""
        self._shared.note_read(paths)

    def note_bound(self, function: Any) -> None:
        """Note a function that is bound: it reads numbers of the model, as the loss does. Methods
        of the model are found there.
        """
        known = any(each() is function for each in self._bound)
        if isinstance(function, FunctionType) and not known and len(self._bound) < MOST_OBJECTS:
            self._bound.append(weakref.ref(function))

    def look_after_run(self) -> None:
        """Look at what others had trained, once a run has shown what the loss reads."""
        self._shared.look_at_pretrained()
        self.note_training()
        self.functions.ask_earlier()

    def note_training(self) -> None:
        """Note what the step has trained: to read what it was given is a mistake then."""
        given = self._shared.given
        self._training.note((taken, given[taken]) for taken in self._shared.reached())

    def originals(self) -> Iterator[tuple[Given, Array]]:
        """The arrays that were given for what is trained, where they are as they were and have no
        use of their own.
        """
        reached = self._shared.reached()
        for taken, each in self._shared.given.items():
            x = each.array if taken in reached and not taken.is_argument else None
            if x is None or is_live(x) or not np.array_equal(some_numbers(x), each.numbers):
                continue
            yield each, x

    def states(self) -> Iterator[tuple[GivenArray, Array]]:
        """The arrays that were given for the state, where they are as they were and have no use of
        their own.
        """
        for each in self._arrays:
            x = each.array if each.tree_name == "state" and not each.taken.is_argument else None
            if x is not None and np.array_equal(some_numbers(x), each.numbers):
                yield each, x

    def is_of_model(self, x: Array) -> bool:
        """Whether an array is one of the step's own, as those of step.model are."""
        return any(np.may_share_memory(x, each.live) for each in self._shared.given.values())

    def calls_left(self, calls: int) -> int:
        """How many calls may be made before one that looks, after so many."""
        return self._due - calls

    def before_call(self, calls: int, batch: Sequence[Any]) -> None:
        """Look, if it is time for it, before the call that follows so many others."""
        if not self.late_loads.is_over:
            self.late_loads.look(batch)
        if calls >= self._due:
            self._due = calls + max(min(calls, MOST_CALLS), 1)
            if calls == 1:
                self.note_training()
            self.functions.ask_earlier()
            self.look(batch)
            if self.settings:
                self.settings.look()
            if not self.stale_arguments.is_over:
                self.stale_arguments.look([*map(self._originals_of_others, batch)], batch)
            if not self.repeated_keys.is_over:
                self.repeated_keys.look(batch)

    def _originals_of_others(self, argument: Any) -> list[Given]:
        """What other steps were given of the arrays of an argument, and train."""
        found: list[Given] = []
        for taken in filter(None, map(taken_array, leaves_in(argument))):
            if self not in taken.given_to:
                others = [each._shared for each in taken.given_to]
                found += [each.given[taken] for each in others if taken in each.reached()]
        return found

    def is_trained_by_others(self, arrays: Sequence[Array]) -> bool:
        """Whether another step was made with some of these arrays, and trains its copies."""
        return bool(self._originals_of_others(arrays))

    def warn_of_stale_reads(self, arrays: Sequence[Array]) -> bool:
        """Warn where a loss reads arrays from outside that another step was made with, and has
        trained; whether it does.
        """
        return warn_of_stale_reads(self._originals_of_others(arrays))

    def let_be(self, arguments: Sequence[Any]) -> None:
        """Forget arrays that are arguments of a call: they have a use of their own. So do other
        steps that were made with them: the network that one was made with may be its target, which
        another one is given.
        """
        leaves = leaves_in(tuple(arguments))
        met = {id(x) for x in leaves}
        for each in [known for x in leaves if (known := taken_array(x)) is not None]:
            each.is_argument = True
            each.is_reference |= self in each.given_to
        for argument in arguments:
            let_parts_be(argument)
        self._shared.note_arguments(leaves)
        self._arrays = [each for each in self._arrays if id(each.array) not in met]
        self._objects = [each for each in self._objects if not each.has_some_of(met)]

    def look(self, arguments: Sequence[Any] = ()) -> None:
        """Warn, once, where something was written into a tree, but for arguments of a call."""
        if arguments:
            self.let_be(arguments)
        if not self._has_trees:
            return
        begin = time.perf_counter()
        seldom = self._looks >= ALWAYS or self._taken > LONG
        if seldom and begin < self._not_before:
            return
        self._looks += 1
        self._shared.look()
        before = time.thread_time()  # what others do meanwhile does not count
        self._warn_of_changes()
        took = time.thread_time() - before
        self._taken, self._took_last = min(took, self._took_last), took
        self._not_before = begin + self._taken * (1 + LEAST_WORK)

    def _warn_of_changes(self) -> None:
        left = [part for each in self._objects for part in each.left()]
        self._objects = [each for each in left if not each.has_other_use]
        changes = ((each, each.change(self)) for each in self._objects)
        changed = next((pair for pair in changes if pair[1] is not None), None)
        written = self._written() if changed is None else None
        if changed is not None and changed[1] is not None:
            self._arrays, self._objects = [], []
            done, repair = changed[1]
            _warn(changed[0].tree_name, done, changed[0].tree_name, repair)
        elif written is not None:
            self._arrays, self._objects = [], []
            written.warn()
        else:
            self._warn_of_numbers()

    def _warn_of_numbers(self) -> None:
        """Warn, once, of a number that was set and is part of the program."""
        functions = [self._loss, *filter(None, (each() for each in self._bound))]
        for each in self._objects:
            other = each.other_number(functions, self._has_all_to_itself)
            if other is not None:
                path, now, was = other
                self._arrays, self._objects = [], []
                warn_user(
                    f"TrainStep: {path!r} of the {each.tree_name} that it was made with was set to "
                    f"{now!r}; a step has a copy of its {each.tree_name}, where it is {was!r}, and "
                    "numbers are part of its programs. Pass it as an argument of the loss, or of "
                    f"the bound function that reads it, or set it in wg.tree.copy("
                    f"step.{each.tree_name}), and make a new step with that.",
                    CopiedWarning,
                )
                return

    def _has_all_to_itself(self, thing: GivenObject) -> bool:
        """Whether an object has arrays, which have what was given, and no other step was made with
        one of them. Parts need no arrays: that others were made with them is known.
        """
        left = {id(each.array) for each in self._arrays}
        arrays = thing.arrays
        return (bool(arrays) or thing.is_part) and all(
            id(x) in left and is_only_of(x, self) for x in arrays
        )

    def _written(self) -> GivenArray | None:
        """An array whose numbers are others, for no reason that is known. Arrays that are gone are
        forgotten, and those that have the step's numbers, or averages of them: somebody copies
        these, or takes the same steps.
        """
        kept, others = [], []
        marks: dict[int, Mark] = {}  # members may have been given one array
        for each, x in [(each, each.array) for each in self._arrays]:
            if x is None or each.taken.is_argument:
                continue
            now = marks[id(x)] if id(x) in marks else marks.setdefault(id(x), mark_of(x))
            if now not in (each.mark, each.taken.mark):
                if not is_near(x, each.live):
                    others.append((each, x))
                continue
            if now != each.mark:
                each.accept()
            kept.append(each)
        if others and not _follow(others):
            return others[0][0]
        self._arrays = kept
        return None

    def accept(self) -> None:
        """Take what is in the arrays for what was given: the step's own were assigned."""
        for array in self._arrays:
            array.accept()
        for thing in self._objects:
            thing.accept()


def _follow(written: Sequence[tuple[GivenArray, Array]]) -> bool:
    """Whether what was written are averages of the step's numbers and of those before."""
    if any(x.shape != each.live.shape or not is_float(x.dtype) for each, x in written):
        return False
    return follow_the_step(
        [(each.numbers, some_numbers(x), some_numbers(each.live)) for each, x in written]
    )
