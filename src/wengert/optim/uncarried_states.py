"""States that are not carried: `w, _ = optimizer.update(w, grads, state)` in a loop begins each
update with the state of before the first one, and moments never settle.

Several candidates of one state, or several models that begin with one, are no reason to warn: the
slip is known by weights that an update of that very state has given.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from wengert.core.words.noticed.updated_pairs import UNPACKED
from wengert.core.words.warn import warn_user
from wengert.errors import UnusedWarning

MOST = 16  # updates that are looked at
_ENOUGH = 3  # updates of one state, each with the weights that the one before gave


class _Seen(NamedTuple):
    """An update of a state: what it gave, and how many such there were in a row."""

    state: Callable[[], Any]
    made: bytes  # the number of updates in it: a state may be written to in place
    given: Callable[[], Any]
    times: int


class UncarriedStates:
    """The first updates of an optimizer, by the state that they began with."""

    def __init__(self) -> None:
        self._left = MOST
        self._seen: dict[int, _Seen] = {}

    def note(
        self, by: str, state: Mapping[str, Any], weights: Iterable[Any], new: Iterable[Any]
    ) -> None:
        """Note an update. Warn, once, where weights go on and their state does not."""
        if self._left == 0:
            return
        self._left -= 1
        begun = _first(x for kept in state["parameters"].values() for x in kept.values())
        given, gives = _first(weights), _first(new)
        if begun is None or given is None or gives is None:
            return
        before, made = self._seen.get(id(begun)), np.asarray(state["count"]).tobytes()
        goes_on = (
            before is not None
            and before.state() is begun
            and before.made == made
            and before.given() is given
        )
        times = before.times + 1 if before is not None and goes_on else 1
        self._seen[id(begun)] = _Seen(weakref.ref(begun), made, weakref.ref(gives), times)
        if times == _ENOUGH:
            self._left = 0
            _warn(by)

    def __reduce__(self) -> tuple[type[UncarriedStates], tuple[()]]:
        """A copy of an optimizer, or one from a pickle, has seen none."""
        return UncarriedStates, ()


def _first(arrays: Iterable[Any]) -> Any:
    """The first of them that can be known again without being kept; scalars cannot."""
    return next((x for x in arrays if isinstance(x, np.ndarray)), None)


def _warn(by: str) -> None:
    warn_user(
        f"{by}: given one state for the third time, each time with the weights that it had just "
        "returned; what an optimizer keeps, such as moments and the number of updates, stays as "
        f"before the first update. {UNPACKED}.",
        UnusedWarning,
    )
