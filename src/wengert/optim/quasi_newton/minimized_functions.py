"""Functions that were minimised, with their programs: a search begins again and again with one."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import MethodType
from typing import Any

from wengert.api.compiling.compiled import Compiled, OpenSizes
from wengert.api.compiling.met import Met
from wengert.optim.quasi_newton.searched_functions import searched, warn_of_layers_beside
from wengert.runtime.executable import Executable

REMEMBERED = 4
_FOR_SIZES = (
    "Pad the data to one size and pass weights, which are 0 for what was added; for a few short "
    "searches, write minimize(…, compiled=False)"
)


class MinimizedFunctions:
    """The functions that were minimised last, compiled with their gradients. A copy of an
    optimizer, or one from a pickle, remembers none.
    """

    def __init__(self) -> None:
        self._known: list[tuple[Callable[..., Any], Compiled]] = []  # the latest is the last
        self._looked_at: weakref.WeakSet[Executable] = weakref.WeakSet()

    def find(self, function: Callable[..., Any]) -> Compiled:
        """The function with its gradient. What it reads from outside is compared in every call, as
        that of any compiled function is.
        """
        known = next((pair for pair in self._known if _is_same(pair[0], function)), None)
        pair = known or (function, _compiled(function))
        others = [each for each in self._known if each is not known]
        self._known = [*others[1 - REMEMBERED :], pair]
        return pair[1]

    def look(self, compiled: Compiled, weights: Any) -> None:
        """Warn of what a new program shows that was called with these weights."""
        for executable in compiled.programs.recent[:1]:
            if executable not in self._looked_at:
                self._looked_at.add(executable)
                warn_of_layers_beside(executable.watch, weights)

    def __reduce__(self) -> tuple[type[MinimizedFunctions], tuple[()]]:
        return MinimizedFunctions, ()


def _compiled(function: Callable[..., Any]) -> Compiled:
    """The function with its gradient. A loop of searches, as in a bootstrap, has an LBFGS in each
    turn, and throws no function away that somebody has compiled: its Met is not one of those.
    """
    both = searched(function)
    met = Met(both, for_sizes=_FOR_SIZES)
    by = "LBFGS.minimize"
    return Compiled(both, (), OpenSizes(None), (), "ignore", None, met=met, static_in="", by=by)


def _is_same(known: Any, given: Any) -> bool:
    """Whether it is one function; a method is a new object each time it is asked for."""
    if isinstance(known, MethodType) and isinstance(given, MethodType):
        return known.__func__ is given.__func__ and known.__self__ is given.__self__
    return known is given
