"""Given settings: a dict of optimizers that a step was made with, and arrays with a learning rate
for each member of an ensemble. What is written into them afterwards does not reach the step, and
whoever does it should hear of it when training goes on.

Neither tells of its changes, as optimizers do; they are compared now and then. One that another
step or other optimizers were made with since has a use of its own, and is let be.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import CopiedWarning
from wengert.optim.lifecycle.member_optimizers import MemberSetting, member_settings_of

_OWN_REFERENCES = 2  # to a dict that nobody else has: ours, and that of whoever counts
_dicts: weakref.WeakSet[_GivenDict] = weakref.WeakSet()


class GivenSettings:
    """What a step or the members of an ensemble were given, as far as it may still be changed."""

    def __init__(self) -> None:
        self._dicts: list[_GivenDict] = []
        self._arrays: dict[MemberSetting, list[tuple[int, str, Any]]] = {}
        self._calls = 0

    def __bool__(self) -> bool:
        return bool(self._dicts or self._arrays)

    def add_dict(self, given: Mapping[str, Any], own: Sequence[Any]) -> None:
        """Note optimizers by glob, and the step's own copies of them."""
        if type(given) is dict:
            for each in [each for each in _dicts if each.given is given]:
                each.has_other_use = True
            self._dicts.append(_GivenDict(given, own))

    def add_entries(self, way: str, given: Any, own: Any) -> None:
        """Note the arrays whose entries an optimizer was given, if it is one of several that were
        made of them, and what reaches the copy of it.
        """
        for setting, member in member_settings_of(given):
            self._arrays.setdefault(setting, []).append((member, way, own))

    def look_now_and_then(self) -> None:
        """Look in calls 1, 2, 4, 8, …"""
        self._calls += 1
        if self._calls & (self._calls - 1) == 0:
            self.look()

    def look(self) -> None:
        """Warn, once, of what was written and does not hold here."""
        self._dicts = [each for each in self._dicts if each.is_left and not each.told()]
        self._arrays = {
            setting: members
            for setting, members in self._arrays.items()
            if setting.is_left and not _told(setting, members)
        }


class _GivenDict:
    def __init__(self, given: dict[str, Any], own: Sequence[Any]) -> None:
        self.given, self._before = given, dict(given)
        self._own = dict(zip(given, own, strict=True))
        self.has_other_use = False
        _dicts.add(self)

    @property
    def is_left(self) -> bool:
        """Whether somebody else has the dict, too."""
        return not self.has_other_use and sys.getrefcount(self.given) > _OWN_REFERENCES

    def told(self) -> bool:
        """Warn where the dict has another optimizer than the step; whether it has."""
        for glob in self._before | self.given:
            now, was = self.given.get(glob, ...), self._before.get(glob, ...)
            own = self._own.get(glob)
            if now is was or repr(now) == repr(own):
                continue
            done = "was removed from" if now is ... else f"was set to {now!r} in"
            has = "no such glob" if was is ... else f"{own!r} there"
            warn_user(
                f"TrainStep: {glob!r} {done} the dict of optimizers that it was made with; a step "
                f"has copies, and goes on with {has}. Make a new step, wg.TrainStep(loss, "
                "step.model, groups), or set what step.optimizer[glob] has, as its lr.",
                CopiedWarning,
            )
            return True
        return False


def _told(setting: MemberSetting, members: Sequence[tuple[int, str, Any]]) -> bool:
    """Warn where an array has other numbers than the members; whether it has."""
    x, name = setting.array, setting.name
    if x is None or x.shape != setting.numbers.shape or np.array_equal(x, setting.numbers):
        return False
    for member, way, own in members:
        now = x[member].tolist()
        if now == setting.numbers[member].tolist() or now == getattr(own, name):
            continue
        if len(members) > 1:
            by, has = "Ensemble", "its members have copies"
            way = way.replace("step", f"ensemble.members[{member}]", 1)
        else:
            by, has = "TrainStep", "a step has a copy"
        warn_user(
            f"{by}: entry {member} of the array of {name} that it was made with was set to "
            f"{now:g}; {has}, here {getattr(own, name)!r}. Set {way}.{name} = {now:g}.",
            CopiedWarning,
        )
        return True
    setting.numbers = x.copy()  # the members' own were set as well
    return False
