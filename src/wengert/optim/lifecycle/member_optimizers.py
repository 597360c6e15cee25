"""Optimizers for the members of an ensemble: one for each entry of a setting that is an array."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core.words.foreign_names.missing import Explained
from wengert.errors import OptimError
from wengert.optim.lifecycle.given_optimizers import ByObject
from wengert.optim.settings import Setting

_RATES = ("lr", "learning_rate")
_OF_ONE = (*_RATES, "init", "step", "step_graph_node", "update", "state_dict", "load_state_dict")


class MemberOptimizers(Explained, Sequence[Any]):
    """What `wg.optim.Adam(np.logspace(-4, -2, 64))` is: 64 optimizers, for the members of a
    `wg.Ensemble`. It is a sequence of them, and no optimizer itself.
    """

    _repairs = dict.fromkeys(_OF_ONE, "Take one of them by its number")
    _nature = "these are several optimizers, for the members of a wg.Ensemble"

    def __init__(self, made: Sequence[Any]) -> None:
        self._made = tuple(made)

    def __getitem__(self, i: Any) -> Any:
        chosen = self._made[i]
        return MemberOptimizers(chosen) if isinstance(i, slice) else chosen

    def __len__(self) -> int:
        return len(self._made)

    def __repr__(self) -> str:
        few = ", ".join(map(repr, self._made[:2]))
        return f"[{few}{', …' if len(self) > 2 else ''}] for {len(self)} members"


def made_for_members(
    kind: type, args: Sequence[Any], named: Mapping[str, Any]
) -> MemberOptimizers | None:
    """The optimizers that a constructor is called for; None where it is called for one, as long as
    no setting is an array or a list with an entry for each member.
    """
    if not any(_may_be_several(x) for x in (*args, *named.values())):
        return None
    try:
        given = inspect.signature(kind.__init__).bind(None, *args, **named)  # type: ignore[misc]
    except TypeError:  # the constructor itself says what is wrong
        return None
    values = dict(list(given.arguments.items())[1:])
    lists = {name: x for name, x in values.items() if _is_several(kind, name, x)}
    if not lists:
        return None
    counts = {name: len(x) for name, x in lists.items()}
    if len(set(counts.values())) > 1 or not all(counts.values()):
        shown = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise OptimError(
            f"{kind.__name__}: given settings with entries for different numbers of members "
            f"({shown}); each has one entry for every member. Give them the same length."
        )
    made = [
        kind(**values | {name: _entry(x[i]) for name, x in lists.items()})
        for i in range(next(iter(counts.values())))
    ]
    arrays = [MemberSetting(name, x) for name, x in lists.items() if _is_watched(x)]
    for i, each in enumerate(made if arrays else ()):
        _settings.set(each, [(setting, i) for setting in arrays])
    return MemberOptimizers(made)


class MemberSetting:
    """An array with a number for each member, which stands for a setting of their optimizers, and
    what was in it when they were made.
    """

    def __init__(self, name: str, x: np.ndarray[Any, Any]) -> None:
        self.name, self.numbers = name, x.copy()
        self._array = weakref.ref(x)
        self.has_other_use: bool = False  # whether others were made of it since
        before = _latest.get(x)
        if before is not None:
            before.has_other_use = True
        _latest.set(x, self)

    @property
    def array(self) -> np.ndarray[Any, Any] | None:
        return self._array()

    @property
    def is_left(self) -> bool:
        """Whether it may be written to, and what is written can only be meant for these."""
        return self.array is not None and not self.has_other_use


_settings: ByObject[list[tuple[MemberSetting, int]]] = ByObject()  # by optimizer
_latest: ByObject[MemberSetting] = ByObject()  # by array


def member_settings_of(optimizer: Any) -> list[tuple[MemberSetting, int]]:
    """The arrays of which an optimizer has an entry each, and the number of that."""
    return _settings.get(optimizer) or []


def note_member_settings(copy: Any, original: Any) -> None:
    """Remember that a copy of an optimizer has the same entries."""
    if settings := member_settings_of(original):
        _settings.set(copy, settings)


def _is_watched(x: Any) -> bool:
    return type(x) is np.ndarray and x.ndim == 1


def _may_be_several(x: Any) -> bool:
    return isinstance(x, list | MemberOptimizers) or (isinstance(x, np.ndarray) and x.ndim > 0)


def _is_several(kind: type, name: str, x: Any) -> bool:
    """Whether a setting has an entry for each member: it is a list or an array, and as the value of
    one member it would be refused.
    """
    if isinstance(x, MemberOptimizers):
        return True
    if not _may_be_several(x):
        return False
    if name in _RATES or name == getattr(kind, "rate_name", None):
        return isinstance(x, np.ndarray) or all(_is_rate(each) for each in x)
    setting = getattr(kind, name, None)
    if not isinstance(setting, Setting):
        return False
    try:
        setting.check(kind.__name__, name, x)
    except OptimError:
        return all(_is_checked(kind, name, setting, each) for each in x)
    return False


def _is_checked(kind: type, name: str, setting: Setting[Any], x: Any) -> bool:
    try:
        setting.check(kind.__name__, name, _entry(x))
    except OptimError:
        return False
    return True


def _is_rate(x: Any) -> bool:
    return callable(x) or (isinstance(x, int | float | np.number) and not isinstance(x, bool))


def _entry(x: Any) -> Any:
    """A setting of one member: a row of an array may be a pair, such as betas."""
    return tuple(x.tolist()) if isinstance(x, np.ndarray) and x.ndim else x
