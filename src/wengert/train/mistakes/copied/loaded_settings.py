"""Loaded settings: a step that was made with other numbers than the one whose state it loads, and
goes on with the numbers of the state. Who has made it with others should hear of it at the next
call, unless others are set by then, whichever they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from wengert.errors import CheckpointWarning
from wengert.train.recorded.optimizer_groups import Group

Message: TypeAlias = tuple[str, type[Warning]]
_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")  # of a function or an object, in this process alone


def optimizers_in_words(groups: Iterable[Group]) -> dict[str, str]:
    """The optimizers of a step as texts, by glob."""
    return {
        group.glob: _ADDRESS.sub("", repr(group.optimizer))
        for group in groups
        if group.optimizer is not None
    }


class LoadedSettings:
    """What the step was made with whose state was loaded, and what this one was made with."""

    def __init__(self, groups: Iterable[Group], before: Any, made: Mapping[str, str]) -> None:
        self._groups, self._made = list(groups), made
        self._before: Mapping[str, Any] = before if isinstance(before, Mapping) else {}
        self._loaded = optimizers_in_words(self._groups)

    def message(self, by: str, reached_as: str) -> Message | None:
        """What to say where settings are neither those of the other step, nor those that hold now,
        and nobody has set any since. What was set of the other step while it was trained is in its
        state, and no reason to warn.
        """
        now = optimizers_in_words(self._groups)
        for glob, wanted in self._made.items():
            before = str(self._before.get(glob, wanted))
            if now.get(glob) != self._loaded.get(glob):
                continue
            if wanted not in (before, now.get(glob)):
                text = (
                    f"{by}: the state is of a step that was made with {before}, and this one "
                    f"was made with {wanted}; settings are part of a state, so that it goes on "
                    f"with {now.get(glob)}. Set others after loading, as in "
                    f"{reached_as}.optimizer.lr = 0.001, or make the step as that one."
                )
                return text, CheckpointWarning
        return None
