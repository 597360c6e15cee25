"""Parameters that an optimizer treats otherwise, chosen by their paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from wengert.core.words.foreign_names.nearest import nearest
from wengert.errors import OptimError
from wengert.optim.settings import Setting

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
    return any(path == glob or fnmatchcase(path, glob) for glob in _globs(exclude))


def _globs(exclude: Any) -> tuple[str, ...]:
    return (exclude,) if isinstance(exclude, str) else exclude


def require_matches(owner: str, exclude: Any, paths: Iterable[str]) -> None:
    """Refuse a glob that matches none of the paths of a model: it excludes nothing."""
    if exclude is None or callable(exclude):
        return
    paths = tuple(paths)
    for glob in _globs(exclude):
        if glob not in paths and not any(fnmatchcase(path, glob) for path in paths):
            raise OptimError(
                f"{owner}: exclude={glob!r} matches no path of the model; "
                f"{closest_path(glob, paths)}. Correct it, or leave it out."
            )


class Excluding:
    """The part of an optimizer that takes norms of whole parameters, but not of those that its
    `exclude` matches.
    """

    exclude: Setting[Any] = Setting(exclusion, fixed=True)

    @property
    def flat(self) -> bool:
        """False: the norms are of whole parameters."""
        return False

    def require_paths(self, paths: Iterable[str]) -> None:
        require_matches(type(self).__name__, self.exclude, paths)

    def kind_of_path(self, path: str) -> bool:
        """What the rule makes of a path: parameters of one shape and kind are updated alike."""
        return excludes(self.exclude, path)


def closest_path(glob: str, paths: Iterable[str]) -> str:
    """The words of a message for the path that a glob was most likely meant for."""
    paths = tuple(paths)
    if any(path.startswith(f"{glob}.") for path in paths):
        return f"it is the name of a part, whose paths are {glob + '.*'!r}"
    closest = nearest(glob, paths)
    return f"the nearest is {closest!r}" if closest else "the model is one array, whose path is ''"
