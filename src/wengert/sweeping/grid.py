"""The settings of a sweep: all of them, what identifies each, and which share a call of train."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from wengert.core.words.foreign_names.nearest import ALIKE, nearest
from wengert.sweeping.value_identity import identity_of_value

BY, SEED = "sweep", "seed"
Settings = dict[str, Any]


def settings_of(grid: Any, seeds: Any) -> list[Settings]:
    """All settings of a grid, in order, each with every seed."""
    if isinstance(grid, Mapping):
        settings = _products(grid)
    elif isinstance(grid, Iterable) and not isinstance(grid, str | bytes):
        settings = [_one_of_list(i, each) for i, each in enumerate(grid)]
    else:
        raise TypeError(
            f"{BY}: grid is {type(grid).__name__}; it is a dict of lists, of which every "
            'combination is taken, or a list of dicts. Write {"lr": [0.1, 0.01]}.'
        )
    if not settings:
        raise ValueError(
            f"{BY}: grid is empty; it must have one setting at least. Write "
            '{"lr": [0.1, 0.01]}, or [{"lr": 0.1}].'
        )
    if seeds is not None:
        settings = [{**each, SEED: seed} for each in settings for seed in _seeds(seeds, settings)]
    _require_different(settings)
    return settings


def _products(grid: Mapping[Any, Any]) -> list[Settings]:
    columns = [_column(name, values) for name, values in grid.items()]
    return [dict(zip(grid, each, strict=True)) for each in itertools.product(*columns)]


def _column(name: Any, values: Any) -> list[Any]:
    _require_name(name)
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return _required(name, values.tolist())  # Python's numbers, as they would be typed
    if isinstance(values, Mapping | str | bytes | set | frozenset | np.ndarray) or not isinstance(
        values, Iterable
    ):
        raise TypeError(
            f"{BY}: grid[{name!r}] is {values!r}; it is a list of the values to try, in order. "
            f"Write {{{name!r}: {_as_list(values)}}}."
        )
    return _required(name, list(values))


def _as_list(values: Any) -> str:
    """The list that was most likely meant, as text for an error."""
    return repr(list(values) if isinstance(values, set | frozenset) else [values])


def _required(name: str, values: list[Any]) -> list[Any]:
    if not values:
        raise ValueError(
            f"{BY}: grid[{name!r}] has no values; every setting needs one at least. Leave it out, "
            "or give values."
        )
    return values


def _one_of_list(index: int, each: Any) -> Settings:
    if not isinstance(each, Mapping):
        raise TypeError(
            f"{BY}: grid[{index}] is {type(each).__name__}; a list has one dict of settings for "
            'each call of train. Write [{"lr": 0.1}, {"lr": 0.01}].'
        )
    for name in each:
        _require_name(name)
    return dict(each)


def _require_name(name: Any) -> None:
    if not isinstance(name, str):
        raise TypeError(
            f"{BY}: grid has the key {name!r}; keys are the names of train's parameters. Write a "
            "string."
        )


def _seeds(given: Any, settings: list[Settings]) -> list[int]:
    if any(SEED in each for each in settings):
        raise ValueError(
            f"{BY}: seeds={given!r} was given, and the grid has {SEED!r}, too; seeds are that "
            "setting. Leave one of them out."
        )
    seeds = range(given) if _is_whole(given) else given
    if not isinstance(seeds, Iterable) or isinstance(seeds, str | bytes):
        seeds = [seeds]
    listed = list(seeds)
    if not listed or not all(map(_is_whole, listed)):
        raise ValueError(
            f"{BY}: seeds={given!r} was given; it is how many seeds there are for each setting, at "
            "least 1, or a list of whole numbers. Write seeds=3, or seeds=[0, 1, 2]."
        )
    return [int(each) for each in listed]


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _require_different(settings: Sequence[Settings]) -> None:
    seen: set[str] = set()
    for each in settings:
        text = identity(each)
        if text in seen:
            raise ValueError(
                f"{BY}: grid has {shown(each)} twice; each setting is run once. Leave one out, or "
                "pass seeds= to repeat all of them."
            )
        seen.add(text)


def require_taken(train: Any, settings: Sequence[Settings]) -> None:
    """Refuse settings that train has no parameters for, before any time is spent."""
    if not callable(train):
        raise TypeError(
            f"{BY}: train is {type(train).__name__}; it is a function, called with the settings by "
            "name. Pass the function itself, and not what it returns."
        )
    try:
        signature = inspect.signature(train)
    except (TypeError, ValueError):  # of some builtins
        return
    for each in {tuple(each): each for each in settings}.values():
        try:
            signature.bind(**each)
        except TypeError as error:
            names = [p.name for p in signature.parameters.values()]
            wrong = next((name for name in each if name not in names), None)
            meant = wrong and nearest(wrong, names, ALIKE)
            repair = "Give each that has no default"
            if wrong is not None:
                repair = f"Give train a parameter {wrong!r}, or leave it out"
            if meant:
                repair = f"Write {meant!r} for {wrong!r}"
            raise TypeError(
                f"{BY}: train cannot be called with {', '.join(each) or 'no settings'} ({error}); "
                f"its parameters are {', '.join(names) or 'none'}. {repair}."
            ) from None


def shown(settings: Mapping[str, Any]) -> str:
    """Settings in a few words, for messages and lines of progress."""
    return " ".join(f"{name}={_shortened(value)}" for name, value in settings.items()) or "()"


def _shortened(value: Any) -> str:
    if isinstance(value, FunctionType | BuiltinFunctionType | type):
        return value.__name__
    text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


# What identifies settings.


def identity(settings: Mapping[str, Any]) -> str:
    """Text that is the same for equal settings, in this process and in any other."""
    return identity_of_value(dict(sorted(settings.items())))


def key(settings: Mapping[str, Any]) -> str:
    """The same in a few letters, for the name of a file."""
    return sha256(identity(settings).encode()).hexdigest()[:16]


# Which settings share a call.


def grouped(
    settings: Mapping[int, Settings], group: Any
) -> tuple[tuple[str, ...], list[list[int]]]:
    """The names of settings that a call of train takes as lists, and for each call which settings,
    by number, it is for.
    """
    if group is None:
        return (), [[number] for number in settings]
    names = (group,) if isinstance(group, str) else tuple(group)
    for name in names:
        if not all(name in each for each in settings.values()):
            known = list(next(iter(settings.values())))
            raise ValueError(
                f"{BY}: group={group!r} was given, and not every setting has {name!r}; a group is "
                f"of settings that differ in what it names. Choose of {', '.join(known)}."
            )
    alike: dict[str, list[int]] = {}
    for number, each in settings.items():
        rest = {name: value for name, value in each.items() if name not in names}
        alike.setdefault(identity(rest), []).append(number)
    return names, list(alike.values())
