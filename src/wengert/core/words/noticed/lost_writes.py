"""Writes to a tree that was made for one call: nobody sees them, unless they are returned."""

from __future__ import annotations

import dataclasses
import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from wengert.core import tree
from wengert.core.tensor import Tensor
from wengert.core.trees.same import same
from wengert.core.words.warn import warn_user
from wengert.errors import FrozenValueWarning, TraceError

_NOTHING: Any = type("Nothing", (), {"__repr__": lambda _: "nothing"})()
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
Label: TypeAlias = Callable[[tuple[str, ...]], str]


class _Write(NamedTuple):
    """What a tree has at a path, what it had there, and the object that was written to."""

    path: tuple[str, ...]
    before: Any
    now: Any
    holder: Any


def below(name: str) -> Label:
    """What messages call the paths of an argument."""
    return lambda path: ".".join((name, *path))


def below_arguments(path: tuple[str, ...]) -> str:
    """What messages call the paths of a tuple of arguments."""
    return ".".join((f"argument {path[0]} of its function", *path[1:]))


def require_unwritten(
    by: str,
    label: Label,  # what messages call a path of the tree
    structure: tree.Structure,
    leaves: Sequence[Any],
    now: Any,
    returned: Any,
) -> None:
    """Refuse that a function wrote to a tree of this structure, with these leaves, what it did not
    return: the tree was made for the call, and the write is lost with it. Plain values, such as
    counters, are a warning.
    """
    if tree.is_leaf(now):
        return
    try:
        held, form = tree.flatten(now)
        if len(held) == len(leaves) and all(map(_is, held, leaves)) and form == structure:
            return
    except TraceError:  # arrays where a tree has none: they were written there
        pass
    known = _objects_in(returned)
    before = tree.unflatten(structure, leaves)
    for path, holder, done in _taken((), before, now):
        if id(holder) not in known:
            _warn_of_taking(by, label(path), done)
    for write in _writes((), before, now):
        if id(write.now) in known or id(write.holder) in known or _is_cached(write):
            continue
        where = label(write.path)
        if _holds_arrays(write.now):
            if (write.before is None or write.before is _NOTHING) and not _holds_tensors(write.now):
                _warn_of_constant(by, where)
                continue
            raise TraceError(
                f"{by}: the function wrote an array to {where}; what it receives is made for the "
                "call, and the write would be lost. Return the array: as part of a state that is "
                "carried (state= of a TrainStep) or beside the loss (has_aux=True); for use in "
                "this call alone, write to a new object: {**d, key: …}, dataclasses.replace."
            )
        if isinstance(write.now, _PLAIN):
            warn_user(
                f"{by}: the function changed {where} from {write.before!r} to {write.now!r}; what "
                f"it receives is made for the call, and every call begins with {write.before!r}. "
                "Pass the value as an argument (a Python number costs no compile), or carry it as "
                "state.",
                FrozenValueWarning,
            )


def _warn_of_constant(by: str, where: str) -> None:
    warn_user(
        f"{by}: the function wrote an array to {where}, where none was; what it receives is made "
        "for the call, and the array is made again in every call. Make it where the model is made, "
        "or with functools.cached_property.",
        FrozenValueWarning,
    )


def _warn_of_taking(by: str, where: str, done: str) -> None:
    warn_user(
        f"{by}: the function {done} {where}; what it receives is made for the call, and every call "
        "begins with the same items. Pass those that it needs as arguments (a Python number costs "
        "no compile), or carry them as state.",
        FrozenValueWarning,
    )


def _taken(
    path: tuple[str, ...], before: Any, now: Any
) -> Iterator[tuple[tuple[str, ...], Any, str]]:
    """The lists and dicts that plain values were taken out of, or stand in another order, and what
    was done. Arrays may be taken out: who opens a tree in this way has all of it in every call.
    """
    if type(before) is not type(now) or not _is_node(now):
        return
    had, has = _items(before), _items(now)
    if isinstance(now, list | deque):
        if len(now) < len(before) and _only_plain(before):
            yield path, now, "took items out of"
        elif (
            _is_rearranged(before, now)
            and _only_plain(before)
            and not same(list(before), list(now))
        ):
            yield path, now, "changed the order of"
    elif isinstance(now, dict) and any(isinstance(had[key], _PLAIN) for key in had.keys() - has):
        yield path, now, "took items out of"
    for key in [key for key in has if key in had and _is_node(has[key])]:
        yield from _taken((*path, str(key)), had[key], has[key])


def _only_plain(values: Iterable[Any]) -> bool:
    return all(isinstance(x, _PLAIN) for x in values)


def _is(a: Any, b: Any) -> bool:
    return a is b


def _writes(
    path: tuple[str, ...], before: Any, now: Any, moved: frozenset[int] = frozenset()
) -> Iterator[_Write]:
    """Where a tree is another one than before. What was taken out of it is no write, nor is what
    has another place in a list for that; `moved` are such values.
    """
    had = _items(before)
    if isinstance(now, list | deque) and _is_rearranged(before, now):
        moved |= {id(x) for x in _values_in(before)}
    for key, value in _items(now).items():
        old = had.get(key, _NOTHING)
        here = (*path, str(key))
        if old is value or id(value) in moved:
            continue
        if _is_node(value) and (type(old) is type(value) or moved):
            yield from _writes(here, old, value, moved)
        elif not same(old, value):
            yield _Write(here, old, value, now)


def _is_rearranged(before: Any, now: Any) -> bool:
    """Whether items were taken out of a list, or stand in another order."""
    if not isinstance(before, list | deque):
        return False
    return len(now) < len(before) or (
        len(now) == len(before)
        and sorted(map(id, _values_in(now))) == sorted(map(id, _values_in(before)))
    )


def _values_in(x: Any) -> list[Any]:
    """What stands at the ends of a tree."""
    if not _is_node(x):
        return [x]
    return [value for each in _items(x).values() for value in _values_in(each)]


def _is_node(x: Any) -> bool:
    return isinstance(x, dict | list | tuple | deque) or _is_instance(x)


def _is_instance(x: Any) -> bool:
    return dataclasses.is_dataclass(x) and not isinstance(x, type)


def _items(x: Any) -> dict[Any, Any]:
    """What a node of a tree holds, by key."""
    if isinstance(x, dict):
        return dict(x)
    if isinstance(x, list | tuple | deque):
        return dict(enumerate(x))
    if not _is_instance(x):
        return {}
    declared = {f.name: getattr(x, f.name, _NOTHING) for f in dataclasses.fields(x)}
    return declared | getattr(x, "__dict__", {})


def _objects_in(x: Any) -> set[int]:
    """The arrays and nodes of what a function returned."""
    ids: set[int] = set()
    pending = [x]
    while pending:
        each = pending.pop()
        if _is_node(each) and id(each) not in ids:
            pending += _items(each).values()
        if _is_node(each) or tree.is_leaf(each):
            ids.add(id(each))
    return ids


def _is_cached(write: _Write) -> bool:
    """Whether Python keeps the result of a method there, to be computed again for every call."""
    member = getattr(type(write.holder), write.path[-1], None)
    return isinstance(member, functools.cached_property)


def _holds_arrays(x: Any) -> bool:
    if _is_node(x):
        return any(map(_holds_arrays, _items(x).values()))
    return tree.is_leaf(x) and not isinstance(x, _PLAIN)


def _holds_tensors(x: Any) -> bool:
    return any(map(_holds_tensors, _items(x).values())) if _is_node(x) else type(x) is Tensor
