"""Functions that were minimised, with their programs: a search begins again and again with one."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from wengert.api.compiling.compiled import Compiled, OpenSizes
from wengert.api.compiling.met import Met, forget_oldest
from wengert.api.compiling.written_functions import choices_of, users_function
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import ProgramsWarning
from wengert.optim.quasi_newton.searched_functions import searched, warn_of_layers_beside
from wengert.runtime.executable import Executable

REMEMBERED = 4
_FOR_SIZES = (
    "Pad the data to one size and pass weights, which are 0 for what was added; for a few short "
    "searches, write minimize(…, compiled=False)"
)
_PATIENCE = 10  # functions of one code, each with a program of its own
# The latest function of a code, with what it reads, for arguments of the same types, and how many
# there were.
_made_of_code: dict[tuple[Any, ...], tuple[weakref.ref[Any] | None, int]] = {}
_looked_at: weakref.WeakSet[Executable] = weakref.WeakSet()
# Functions that searches were made for, and where each keeps its program from the second one on.
_searched: weakref.WeakSet[FunctionType] = weakref.WeakSet()
_KEPT_AS = "__wengert_search__"


class _KeptProgram:
    """What a function keeps of itself for the LBFGS of the next turn of a loop. Only the function
    has it, and both go together: a table of ours would keep the function, and all its data, alive.
    """

    def __init__(self, function: FunctionType | None = None, compiled: Any = None) -> None:
        self.function, self.compiled = function, compiled

    def __reduce__(self) -> tuple[type[_KeptProgram], tuple[()]]:
        return _KeptProgram, ()  # some libraries pickle functions with their attributes


class MinimizedFunctions:
    """The functions that were minimised last, compiled with their gradients. A copy of an
    optimizer, or one from a pickle, remembers none; functions keep their programs themselves.
    """

    def __init__(self) -> None:
        self._known: list[tuple[Callable[..., Any], Compiled]] = []  # the latest is the last

    def find(self, function: Callable[..., Any]) -> Compiled:
        """The function with its gradient. What it reads from outside is compared in every call, as
        that of any compiled function is.
        """
        known = next((pair for pair in self._known if _is_same(pair[0], function)), None)
        pair = known or (function, _found_or_compiled(function))
        others = [each for each in self._known if each is not known]
        self._known = [*others[1 - REMEMBERED :], pair]
        return pair[1]

    def look(self, compiled: Compiled, function: Callable[..., Any], weights: Any) -> None:
        """Warn of what a new program shows that was called with these weights."""
        for executable in compiled.programs.recent[:1]:
            if executable not in _looked_at:
                _looked_at.add(executable)
                warn_of_layers_beside(executable.watch, weights)
                _note_made_anew(function, executable)

    def __reduce__(self) -> tuple[type[MinimizedFunctions], tuple[()]]:
        return MinimizedFunctions, ()


def _found_or_compiled(function: Callable[..., Any]) -> Compiled:
    """The function with its gradient, as an earlier LBFGS has compiled it, if one has. A function
    that is made for one search keeps nothing, so that its program goes when it does.
    """
    if not isinstance(function, FunctionType):
        return _compiled(function)
    kept = function.__dict__.get(_KEPT_AS)
    if isinstance(kept, _KeptProgram) and kept.function is function:  # wraps copies attributes
        found: Compiled = kept.compiled
        return found
    compiled = _compiled(function)
    if function in _searched:
        function.__dict__[_KEPT_AS] = _KeptProgram(function, compiled)
    _searched.add(function)
    return compiled


def _compiled(function: Callable[..., Any]) -> Compiled:
    """The function with its gradient. A loop of searches, as in a bootstrap, has an LBFGS in each
    turn, and throws no function away that somebody has compiled: its Met is not one of those.
    """
    both = searched(function)
    met = Met(both, for_sizes=_FOR_SIZES)
    by = "LBFGS.minimize"
    return Compiled(both, (), OpenSizes(None), (), "ignore", None, met=met, static_in="", by=by)


def _note_made_anew(function: Callable[..., Any], executable: Executable) -> None:
    """A loop makes a function anew in every turn, around other numbers, and each has a program: say
    so at the tenth one, once. Those that read other functions, or arrays of other shapes, need
    programs of their own.
    """
    written = users_function(function)
    if written is None:
        return
    types = (*executable.input_types, *(x.shape for x in executable.watch.owners()))
    key = (*choices_of(function, written), *types)
    one = function if isinstance(function, partial) else written
    latest, made = _made_of_code.pop(key, (None, 0))
    is_new = latest is None or latest() is not one
    _made_of_code[key] = weakref.ref(one), made + is_new
    forget_oldest(_made_of_code)
    if is_new and made + 1 == _PATIENCE:
        line = Line(written.__code__.co_filename, written.__code__.co_firstlineno)
        warn_user(
            f"LBFGS.minimize: given {written.__name__}, which was made anew for the tenth time; "
            "each one is recorded and compiled again, which takes longer than most searches. Make "
            "the function once, before the loop, and pass what changes as arguments behind the "
            f"tree: search.minimize(f, tree, x). ({line})",
            ProgramsWarning,
            line,
        )


def _is_same(known: Any, given: Any) -> bool:
    """Whether it is one function; a method is a new object each time it is asked for."""
    if isinstance(known, MethodType) and isinstance(given, MethodType):
        return known.__func__ is given.__func__ and known.__self__ is given.__self__
    return known is given
