"""The form of arguments in words, so that a message can say what is different about them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from wengert.core.types import ArrayType
from wengert.core.words.articles import a_kind
from wengert.runtime.signature import Static

Form: TypeAlias = Mapping[str, str]  # what stands at a path, in words


def form_of(x: Any, number: str = "") -> Form:
    """What stands at the paths of an argument, with types for its arrays; `number` is the type of
    the Python number that the whole of it is, where it is one.
    """
    if number:
        return {"": f"a Python {number}"}
    return dict(_described("", x))


def has_objects(x: Any) -> bool:
    """Whether an argument is or holds an object of a dataclass, as layers are: its numbers are
    settings, which are no arrays.
    """
    return any(True for _ in _objects("", x))


def repairs_of_sizes(name: str, x: Any) -> dict[str, dict[int, str]]:
    """What to do about other sizes of the axes of arrays, by their paths in an argument of this
    name, where the classes of objects in it say so.
    """
    repairs: dict[str, dict[int, str]] = {}
    for path, each in _objects(name, x):
        for field in dataclasses.fields(each):
            repairs[f"{path}.{field.name}"] = getattr(type(each), "repairs_of_sizes", {})
    return {path: axes for path, axes in repairs.items() if axes}


def _objects(path: str, x: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(x, dict | list | tuple):
        for key, each in x.items() if isinstance(x, dict) else enumerate(x):
            yield from _objects(f"{path}.{key}", each)
    elif dataclasses.is_dataclass(x) and not isinstance(x, ArrayType | type):
        yield path, x


def form_difference(before: Mapping[str, Form], now: Mapping[str, Form]) -> str | None:
    """Which argument has another form than before, where, and which one; None where none has."""
    for name, form in now.items():
        old = before.get(name, {})
        for path in dict.fromkeys((*form, *old)):
            is_now, was = form.get(path, "nothing"), old.get(path, "nothing")
            if is_now != was:
                at = f" at {path!r}" if path else ""
                return f"argument {name!r} is {is_now}{at} and was {was}"
    return None


def _described(path: str, x: Any) -> Iterator[tuple[str, str]]:
    if isinstance(x, ArrayType):
        yield path, "an array"
    elif isinstance(x, dict):
        yield path, f"{a_kind(x)} with {_listed('key', map(repr, x))}"
        yield from _below(path, x)
    elif isinstance(x, list | tuple):
        yield path, f"{a_kind(x)} of {len(x)}"
        yield from _below(path, dict(enumerate(x)))
    elif dataclasses.is_dataclass(x) and not isinstance(x, type):
        names = [field.name for field in dataclasses.fields(x)]
        rest = [name for name in getattr(x, "__dict__", {}) if name not in names]
        more = f" with {_listed('attribute', map(repr, rest))} beside its fields" if rest else ""
        yield path, f"{a_kind(x)}{more}"
        yield from _below(path, {name: getattr(x, name, None) for name in names})
    elif not isinstance(x, Static):
        yield path, "None" if x is None else f"a Python {type(x).__name__}"


def _below(path: str, held: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    for key, each in held.items():
        yield from _described(f"{path}.{key}" if path else str(key), each)


def _listed(what: str, names: Any) -> str:
    listed = list(names)
    if not listed:
        return f"no {what}s"
    return f"the {what}{'s' * (len(listed) > 1)} {', '.join(listed)}"
