"""Parameters that an optimizer treats otherwise, chosen by their paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from wengert.errors import OptimError

Exclude: TypeAlias = str | Iterable[str] | Callable[[str], bool] | None


def exclusion(owner: str, name: str, value: Any) -> Any:
    """The check of `exclude`: None, a glob, several of them, or a predicate on the path."""
    if value is None or isinstance(value, str) or callable(value):
        return value
    globs = tuple(value) if isinstance(value, Iterable) else (None,)
    if not all(isinstance(glob, str) for glob in globs):
        raise OptimError(
            f"{owner}: {name}={value!r} was given; it chooses parameters by path. "
            'Pass a glob such as "*.bias", a list of globs, or a function of the path.'
        )
    return globs


def excludes(exclude: Any, path: str | None) -> bool:
    """Whether the parameter at this path is excluded."""
    if exclude is None or path is None:
        return False
    if callable(exclude):
        return bool(exclude(path))
    globs = (exclude,) if isinstance(exclude, str) else exclude
    return any(fnmatchcase(path, glob) for glob in globs)
