"""Bound functions that were used last, found again by what they are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any

from wengert.api.compiling.met import Met
from wengert.api.compiling.written_functions import users_function
from wengert.api.trace import Dims
from wengert.train.bound_function import BoundFunction

REMEMBERED = 16
_BY_VALUE = (int, float, complex, str, bytes, bool, type(None))
Make = Callable[[Any, Dims | None, Met, Sequence[str]], BoundFunction]


class RememberedFunctions:
    """A lambda in a loop or a method is a new object every time around; it is found again by its
    code and by what it has taken from outside.
    """

    def __init__(self, make: Make) -> None:
        self._make = make
        # With the function itself: the ids of its parts identify it, so these must stay alive.
        self._known: dict[Any, tuple[Any, BoundFunction]] = {}
        self._met: dict[Any, Met] = {}  # the programs of all functions of a code

    def find(
        self, f: Callable[..., Any], dims: Dims | None = None, static: Sequence[str] = ()
    ) -> BoundFunction:
        """What the function is bound as, for as long as it takes from outside what it takes now."""
        identity = _identity(f)
        key = identity, _opened(dims or {}), tuple(static)
        known = self._known.get(key)
        if known is None or _identity(known[0]) != identity:  # its variables have changed
            known = self._known[key] = f, self._make(f, dims, self._met_of(f, dims), static)
            for oldest in list(self._known)[:-REMEMBERED]:
                self._known.pop(oldest, None)
        return known[1]

    def share(
        self, f: Callable[..., Any], dims: Dims | None, static: Sequence[str]
    ) -> BoundFunction:
        """What the function is bound as, whatever becomes of the variables that it reads."""
        bound = self.find(f, dims, static)
        pairs = list(zip(_cells(f), _cells(bound.function), strict=True))
        pairs = [(mine, other) for mine, other in pairs if mine is not other]
        make = partial(self._make, f, dims, self._met_of(f, dims), static)
        return _Shared(make, bound, pairs) if pairs else bound

    def _met_of(self, f: Any, dims: Dims | None) -> Met:
        """What was made of all functions of this code: each may close over another number."""
        written = users_function(f)
        if written is None:
            return Met(f, dims)
        known = self._met.pop(written.__code__, None) or Met(f, dims)
        self._met[written.__code__] = known
        for oldest in list(self._met)[:-REMEMBERED]:
            self._met.pop(oldest, None)
        return known


class _Shared(BoundFunction):
    """A function bound as another one of its code, until their variables differ."""

    def __init__(
        self,
        make: Callable[[], BoundFunction],
        bound: BoundFunction,
        pairs: list[tuple[CellType, CellType]],
    ) -> None:
        self._make, self._bound, self._pairs = make, bound, pairs

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._current()(*args, **named)

    def look(self) -> None:
        self._current().look()

    def _current(self) -> BoundFunction:
        for mine, other in self._pairs:
            if _content(mine) != _content(other):
                self._bound, self._pairs = self._make(), []
                break
        return self._bound


def _identity(f: Any) -> Any:
    """What a function is made of; two with the same one do the same."""
    if isinstance(f, MethodType):
        return _identity(f.__func__), id(f.__self__)
    if isinstance(f, partial):
        named = f.keywords
        return _identity(f.func), *named, *map(_mark, (*f.args, *named.values()))
    if not isinstance(f, FunctionType):
        return id(f)
    named = f.__kwdefaults__ or {}
    taken = (*(f.__defaults__ or ()), *named.values())
    return (
        f.__code__,
        id(f.__globals__),
        *named,
        *map(_content, f.__closure__ or ()),
        *map(_mark, taken),
    )


def _cells(f: Any) -> tuple[CellType, ...]:
    """The variables that a function reads from the functions around it."""
    if isinstance(f, MethodType):
        return _cells(f.__func__)
    if isinstance(f, partial):
        return _cells(f.func)
    return (f.__closure__ or ()) if isinstance(f, FunctionType) else ()


def _content(cell: CellType) -> Any:
    try:
        return _mark(cell.cell_contents)
    except ValueError:  # a name that is not bound yet
        return id(cell)


def _mark(x: Any) -> Any:
    return (type(x), repr(x)) if type(x) in _BY_VALUE else id(x)


def _opened(dims: Dims) -> Any:
    return tuple((name, tuple(axes.items())) for name, axes in sorted(dims.items()))
