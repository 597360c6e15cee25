"""SharedParts: other steps that were made with some of the parameters of a step, each of which
trains something that the other does not: an actor and a critic with one encoder, or a generator and
a discriminator, each of which is frozen in the other's step. Each step has a copy.

That may be meant, where networks are compared that begin alike, one after the other. Steps that
take turns in their calls are parts of one training. Of two steps of one model, a loss for each part
of it, nothing is wrong as long as nobody reads a part in the step that does not train it, or that
step is given the part of the other live.

Where all that one step trains is trained by the other, too, the two may be compared. They are an
actor and its critic where the one differentiates through the part what the rest of its model gives,
and the other gives data to the part, and makes something else of its results.

A part that one step has trained, and that is frozen in another one made with the same layers, as an
encoder under a new head: it is as it was drawn, for ever. One that is not frozen there begins anew,
if it was trained before the other step was made. Models of one form may be compared, and so may
those that begin anew with one loss.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import CopiedWarning
from wengert.functions.drawn_weights import drawn_weight
from wengert.runtime.outside.live import is_live
from wengert.train.mistakes.copied.target_averages import some_numbers
from wengert.train.recorded.layers.part_uses import PartUse

MOST_PARTNERS = 64  # a sweep may make many steps with one model


class Given(Protocol):
    """An array that was given: what messages call it, its path, the array, some of the numbers that
    were in it, the step's own copy, and whether its own step is called with it.
    """

    path: str
    live: np.ndarray[Any, Any]
    numbers: np.ndarray[Any, Any]

    @property
    def name(self) -> str: ...

    @property
    def array(self) -> np.ndarray[Any, Any] | None: ...

    @property
    def is_reference(self) -> bool: ...


class SharedParts:
    """The parameters that a step was given, and other steps that were given some of them."""

    _times = itertools.count(1)

    def __init__(self) -> None:
        self.given: dict[Any, Given] = {}
        self.trained: set[Any] = set()
        self._unreached: set[str] | None = None  # paths that no gradient comes to, once it is known
        self._uses: dict[str, PartUse] = {}  # by path, what the loss applies parts to
        self._read: set[str] = set()  # paths that the loss or a bound function computes with
        self._given_live: set[Any] = set()  # parts of which another step's own are arguments
        self._partners: weakref.WeakSet[SharedParts] = weakref.WeakSet()
        self._in_turns: weakref.WeakSet[SharedParts] = weakref.WeakSet()  # with those, nothing yet
        self._last = 0  # when it was looked last
        self.loss: Any = None  # what tells whether two steps have the same one
        # Steps that had trained parts of this one before it was made, and those parts, for as long
        # as they are here as they were drawn, until it is called.
        self._pretrained: weakref.WeakKeyDictionary[SharedParts, set[Any]] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def waits(self) -> bool:
        """Whether there are steps that it may take turns with."""
        return bool(self._partners)

    def meet(self, other: SharedParts) -> None:
        """Remember a step that was made before, and was given what this one trains, or the other
        way round.
        """
        shares = self.trained & other.given.keys() or other.trained & self.given.keys()
        if shares and max(len(self._partners), len(other._partners)) < MOST_PARTNERS:
            self._partners.add(other)
            other._partners.add(self)
            parts = self.trained & other.reached()
            if any(_is_trained(other.given[part]) for part in parts) and self.loss != other.loss:
                self._pretrained[other] = parts

    def note_unreached(self, unreached: Iterable[str], read: Iterable[str]) -> None:
        """Note what no gradient comes to in a program of the step, by path, and what its loss
        computes with of that, and of what is frozen.
        """
        paths = set(unreached)
        self._unreached = paths if self._unreached is None else self._unreached & paths
        self._read.update(read)

    def note_part_uses(self, uses: Mapping[str, PartUse]) -> None:
        """Note what the loss of a program applies parts to, by path."""
        self._uses.update(uses)

    def note_read(self, paths: Iterable[str]) -> None:
        """Note what a bound function computes with, by path; warn where that is not trained."""
        self._read.update(paths)
        for other in list(self._in_turns):
            self._settle(other)

    def note_arguments(self, leaves: Iterable[Any]) -> None:
        """Note which parts of other steps a call is given live."""
        live = [x for x in leaves if is_live(x)] if self.waits else []
        for other in list(self._partners) if live else ():
            for part in other.trained & self.given.keys():
                if any(np.may_share_memory(x, other.given[part].live) for x in live):
                    self._given_live.add(part)

    def look(self) -> None:
        """Warn, once, before a call that follows one of another step, which followed one of this
        step.
        """
        before, self._last = self._last, next(self._times)
        if self._unreached is None:
            self._look_at_beginning()
        for other in [each for each in self._partners if before and each._last > before]:
            if self.reached() < other.reached():
                continue  # the other one looks, which may be given the numbers of this one
            self._partners.discard(other)
            other._partners.discard(self)
            self._in_turns.add(other)
            other._in_turns.add(self)
            self._settle(other)
        if before:  # a call was made since; what others know may have been written into it then
            self.look_at_pretrained()

    def _look_at_beginning(self) -> None:
        """Forget, before the first call, parts that somebody has given other numbers."""
        for other, parts in list(self._pretrained.items()):
            drawn = any(is_drawn(self.given[part]) for part in parts)
            if not (drawn and self._form() != other._form() and self._are_as_given(parts)):
                del self._pretrained[other]

    def look_at_pretrained(self) -> None:
        """Warn, once, of parts that another step has trained, and that are as a layer has drawn
        them here: frozen, and read by the loss, or where this step began.
        """
        mine, frozen, anew = self.reached(), set[Any](), set[Any]()
        for other in list(self._partners) if self._unreached is not None else ():
            others = other.reached()
            here = self._stale_of(others & (self.given.keys() - self.trained))
            is_stale = here and self._is_drawn_and_trained_by(other, here)
            begun = self._pretrained.pop(other, set()) & mine - self._given_live
            if mine - others and (is_stale or begun):
                self._partners.discard(other)
                other._partners.discard(self)
                frozen |= here if is_stale else set()
                anew |= begun
        if frozen or anew:
            warn_user(self._text_of_pretrained(frozen, anew), CopiedWarning)

    def _is_drawn_and_trained_by(self, other: SharedParts, parts: Collection[Any]) -> bool:
        """Whether these parts are as they were drawn, here and where they were given, and another
        step, of a model of another form, has trained them since.
        """
        pairs = [(self.given[part], other.given[part]) for part in parts]
        return (
            any(is_drawn(own) for own, _ in pairs)
            and any(_is_trained(each) for _, each in pairs)
            and self._form() != other._form()
            and self._are_as_given(parts)
        )

    def _form(self) -> set[tuple[str, tuple[int, ...]]]:
        return {(each.path, each.live.shape) for each in self.given.values()}

    def _text_of_pretrained(self, frozen: Collection[Any], anew: Collection[Any]) -> str:
        if frozen:
            state = "are frozen here, and another step has trained a copy of them"
        else:
            state = "had been trained in a copy by another step when this one was made"
        return (
            f"TrainStep: {self._names(frozen or anew)} {state}; a step does not change the layers "
            f"that it is made with, so that here they {'are' if frozen else 'begin'} as they were "
            'drawn. Make the step with what was trained, {"encoder": '
            'pretrained.model["encoder"], "head": head}. For the numbers before training, make it '
            "with wg.tree.copy(encoder)."
        )

    def _settle(self, other: SharedParts) -> None:
        """Warn of a step that this one takes turns with, if there is a reason; forget it if there
        cannot be one any more.
        """
        mine, others = self.reached(), other.reached()
        apart = (mine - others and others - mine) or self._goes_through(other, others)
        text = self._text(other, mine, others) if apart else None
        if text is not None or not apart or mine & others:
            self._in_turns.discard(other)
            other._in_turns.discard(self)
        if text is not None:
            warn_user(text, CopiedWarning)

    def reached(self) -> set[Any]:
        """What the step does train: what its optimizers are for, and gradients come to."""
        unreached = self._unreached or ()
        return {part for part in self.trained if self.given[part].path not in unreached}

    def _goes_through(self, other: SharedParts, parts: set[Any]) -> bool:
        """Whether the loss is differentiated through parts that another step trains, and that this
        one trains as well: they are given what the rest of the model makes, and data there.
        """
        rest = self.reached() - parts
        for part in parts & self.reached() if rest else ():
            use = self._uses.get(self.given[part].path)
            own = other._uses.get(other.given[part].path)
            if use is None or own is None or use.ops_after == own.ops_after:
                continue
            here = {self.given[each].path for each in rest}
            there = {other.given[each].path for each in rest & other.given.keys()}
            if any(met & here for met in use.applied_to) and any(
                not met & there for met in own.applied_to
            ):
                return True
        return False

    def _text(self, other: SharedParts, mine: set[Any], others: set[Any]) -> str | None:
        """What is to be said; nothing where somebody writes what one has learned into the other."""
        if mine & others:
            if self._has_numbers_of(other, mine & others):
                return None
            if others < mine:
                return (
                    f"TrainStep: {self._names(others)} are trained by another step as well, which "
                    "takes turns with this one; the loss here is differentiated through a copy of "
                    "its own, which it trains for its own ends, where torch would have one "
                    "network. Make this step with the rest of the model alone, and give it what "
                    "the other one trains as an argument, live: step(other.model, …), for a "
                    "loss(model, rest, …). For two networks on purpose, make one step with "
                    "wg.tree.copy(model)."
                )
            return (
                f"TrainStep: {self._names(mine & others)} are part of the model of another step as "
                "well, and the two take turns; each step has a copy of its own and trains that "
                "one, where torch would train one network. Train both losses in one step, or let "
                "one step train the part and give it to the other as an argument: "
                "other(step.model.encoder, …). For two networks on purpose, make one step with "
                "wg.tree.copy(model)."
            )
        here, there = others & self.given.keys(), mine & other.given.keys()
        if not (self._are_as_given(here) and other._are_as_given(there)):
            return None
        # Each may just leave alone what is not its own, or be given it live.
        here, there = self._stale_of(here), other._stale_of(there)
        if not (here or there):
            return None
        return (
            f"TrainStep: {self._names(here or there)} {self._whose(other, here, there)}, and the "
            "two take turns; each step has a copy of its model, so that what one learns never "
            "reaches the other, where torch would train one network. Make each step with what it "
            "trains alone, bind functions to the step that trains what they read, and give it the "
            "rest as an argument, live: step(other.model, …), for a loss(model, rest, …). For two "
            "networks on purpose, make one step with wg.tree.copy(model)."
        )

    def _whose(self, other: SharedParts, here: set[Any], there: set[Any]) -> str:
        if here:
            state = "get no gradient here" if here & self.trained else "are frozen here"
            return f"{state}, and another step trains them"
        state = "get no gradient" if there & other.trained else "are frozen"
        return f"{state} in another step, and are trained by this one"

    def _stale_of(self, parts: Iterable[Any]) -> set[Any]:
        """Those parts whose copies the step computes with, and that it is not given live."""
        read = {part for part in parts if self.given[part].path in self._read}
        return read - self._given_live

    def _has_numbers_of(self, other: SharedParts, parts: Iterable[Any]) -> bool:
        """Whether the two copies of all of these parts have the same numbers."""
        pairs = [(self.given[part].live, other.given[part].live) for part in parts]
        return all(np.array_equal(x, y) for x, y in pairs)

    def _are_as_given(self, parts: Iterable[Any]) -> bool:
        """Whether the copies of the step have the numbers of the arrays that it was made with."""
        return all(_is_as_given(self.given[part]) for part in parts)

    def _names(self, parts: Collection[Any]) -> str:
        """The name of one of these, and how many more there are."""
        names = [each.name for taken, each in self.given.items() if taken in parts]
        more = f", and {len(names) - 1} more," if len(names) > 1 else ""
        return f"{names[0]} that it was made with{more}" if names else ""


def is_drawn(each: Given) -> bool:
    """Whether an array has what a layer has drawn, and is no reference."""
    x = each.array
    return x is not None and not each.is_reference and drawn_weight(x) is not None


def _is_trained(each: Given) -> bool:
    """Whether a step has other numbers than it was given."""
    return not np.array_equal(some_numbers(each.live), each.numbers)


def _is_as_given(each: Given) -> bool:
    if each.array is None:
        return bool(np.array_equal(some_numbers(each.live), each.numbers))
    return bool(np.array_equal(each.array.astype(each.live.dtype), each.live))
