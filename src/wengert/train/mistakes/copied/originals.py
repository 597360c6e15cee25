"""Originals: the optimizers that a step was given and has copied. What is set of them afterwards
does not reach the step, and whoever sets it should hear of it at the next call.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wengert.core.words.source import Line, user_line
from wengert.core.words.warn import warn_user
from wengert.errors import CopiedWarning
from wengert.optim.lifecycle.given_optimizers import OBSERVED, tell_of_changes
from wengert.optim.lifecycle.saving import OTHER_NAME
from wengert.optim.wrapped_originals import parts_of
from wengert.train.engine import Engine
from wengert.train.mistakes.copied.loaded_settings import LoadedSettings, Message
from wengert.train.recorded.optimizer_groups import own_optimizers


class _Owner(NamedTuple):
    """Who has the copy of an optimizer, in words."""

    by: str  # what messages begin with
    has: str
    its: str
    reached_as: str


_OF_STEP = _Owner("TrainStep", "a step has a copy", "its", "step")
_OF_MEMBERS = _Owner("Ensemble", "its members have copies", "their", "ensemble.members[i]")


class Originals:
    """Pairs of an optimizer that was given and the step's own copy of it."""

    def __init__(self, given: Any, engine: Engine) -> None:
        """`given` is an optimizer, or a dict of them; the engine has the copies."""
        groups, self._noticed = engine.plan.groups, engine.guard.note_change
        pairs = [each for pair in own_optimizers(given, groups) for each in parts_of(*pair)]
        self._listeners = [_Original(*each, self, self._noticed) for each in pairs]
        self.settings = engine.given.settings
        if isinstance(given, Mapping):
            self.settings.add_dict(given, [group.optimizer for group in groups])
        for pair in pairs:
            self.settings.add_entries(*pair)
        self.changed: dict[tuple[int, str], _Original | LoadedSettings] = {}

    def note_loaded(self, by: str, engine: Engine, before: Any) -> None:
        """Note that the step has loaded the state of one that was made with these settings."""
        loaded = LoadedSettings(engine.plan.groups, before, engine.made_with)
        self.changed[id(self), by] = loaded
        self._noticed()

    def warn(self) -> None:
        """Warn of what was set and does not hold here."""
        if self.settings:
            self.settings.look()
        for text, category in self._messages(_OF_STEP):
            warn_user(text, category)

    def _messages(self, owner: _Owner) -> Iterator[Message]:
        while self.changed:
            (_, name), original = self.changed.popitem()
            if isinstance(original, LoadedSettings):
                message = original.message(name, owner.reached_as)
            else:
                message = original.message(name, owner)
            if message is not None:
                yield message


def warn_of_members(originals: Sequence[Originals], in_call: bool = False) -> None:
    """Warn of what was set and does not hold in the members of an ensemble, which may have copies
    of one optimizer: once then. Calls, which are many, look at dicts and arrays now and then.
    """
    settings = originals[0].settings  # that of all members
    if settings and in_call:
        settings.look_now_and_then()
    elif settings:
        settings.look()
    changed = [each for each in originals if each.changed]
    messages = [message for each in changed for message in each._messages(_OF_MEMBERS)]
    for text, category in dict.fromkeys(messages):
        warn_user(text, category)


class _Original:
    def __init__(
        self, way: str, given: Any, own: Any, all_of_them: Originals, noticed: Callable[[], None]
    ) -> None:
        self._way, self._given, self._own = way, weakref.ref(given), own
        self._all, self._noticed = all_of_them, noticed
        # Settings that were told, and where: a schedule in a loop sets another number each time.
        self._told: set[tuple[str, Line | None]] = set()
        tell_of_changes(given, self.note)

    def note(self, name: str) -> None:
        if name == OTHER_NAME:  # of the learning rate, whose own name is noted, too
            return
        self._all.changed[id(self), name] = self
        self._noticed()

    def message(self, name: str, owner: _Owner) -> Message | None:
        """What to say where the copy has another setting."""
        given = self._given()
        if given is None:
            return None
        wanted, own = getattr(given, name), getattr(self._own, name)
        if wanted is own or wanted == own:
            return None
        place = name, user_line()
        if place in self._told:
            return None
        self._told.add(place)
        way = self._way.replace(_OF_STEP.reached_as, owner.reached_as, 1)
        made_with = f"the {type(given).__name__} that it was made with"
        if name == OBSERVED:
            has = "have" if owner is _OF_MEMBERS else "has"
            text = (
                f"{owner.by}: observe was called on {made_with}; {owner.has} of it, which {has} "
                f"not seen the metric. Call {way}.observe(metric)."
            )
        else:
            text = (
                f"{owner.by}: {name} of {made_with} was set to {wanted!r}; {owner.has} of "
                f"{owner.its} optimizer, whose {name} is {own!r}. Set {way}.{name} = {wanted!r}."
            )
        return text, CopiedWarning
