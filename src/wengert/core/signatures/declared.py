"""What functions declare that they take, read off their code: the table reads some hundred of them
while it is imported, and inspect takes ten times as long.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, TypeAlias

# Kinds of parameters, as inspect numbers them: before a slash, after it, *rest, behind that by name
# alone, **others.
BEFORE_SLASH, PLAIN, REST, BY_NAME, OTHERS = range(5)
NO_DEFAULT: Any = inspect.Parameter.empty
Declared: TypeAlias = tuple[str, int, Any]  # name, kind and default


def declared(function: Callable[..., Any]) -> list[Declared]:
    """The parameters of a function, in order.

    >>> declared(lambda x, /, axis=None, *, out: 0)
    [('x', 0, <class 'inspect._empty'>), ('axis', 1, None), ('out', 3, <class 'inspect._empty'>)]
    """
    if type(function) is not FunctionType or function.__dict__:  # it may show another signature
        shown = inspect.signature(function).parameters.values()
        return [(p.name, int(p.kind), p.default) for p in shown]
    code, defaults = function.__code__, function.__defaults__ or ()
    count, by_name = code.co_argcount, code.co_kwonlyargcount
    names, required = code.co_varnames, count - len(defaults)
    parameters: list[Declared] = [
        (
            names[i],
            BEFORE_SLASH if i < code.co_posonlyargcount else PLAIN,
            NO_DEFAULT if i < required else defaults[i - required],
        )
        for i in range(count)
    ]
    others = count + by_name
    if code.co_flags & inspect.CO_VARARGS:
        parameters.append((names[others], REST, NO_DEFAULT))
        others += 1
    known = function.__kwdefaults__ or {}
    named = names[count : count + by_name]
    parameters += [(name, BY_NAME, known.get(name, NO_DEFAULT)) for name in named]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        parameters.append((names[others], OTHERS, NO_DEFAULT))
    return parameters


def can_take(function: Callable[..., Any], places: int, named: Sequence[str]) -> bool:
    """Whether a function can be called with so many arguments by position and with these names.

    >>> can_take(lambda x, y, axis=None: 0, 2, ["axis"]), can_take(lambda x, y: 0, 2, ["axis"])
    (True, False)
    """
    parameters = declared(function)
    kinds = {kind for _, kind, _ in parameters}
    by_place = [each for each in parameters if each[1] <= PLAIN]
    if places > len(by_place) and REST not in kinds:
        return False
    left = by_place[places:] + [each for each in parameters if each[1] == BY_NAME]
    open_names = {name for name, kind, _ in left if kind != BEFORE_SLASH}
    needed = {name for name, _, default in left if default is NO_DEFAULT}
    given = set(named)
    twice = {name for name, kind, _ in by_place[:places] if kind == PLAIN} & given
    return not twice and needed <= given & open_names and (given <= open_names or OTHERS in kinds)
