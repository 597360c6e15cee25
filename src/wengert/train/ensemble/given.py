"""What an ensemble is made of: models, optimizers, limits and seeds, one for each member."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import OptimError, ShapeError
from wengert.optim.lifecycle.member_optimizers import MemberOptimizers
from wengert.train.ensemble.each import Each, require_members
from wengert.train.option_checks import whole
from wengert.train.ranked.ranks import is_alone
from wengert.train.ranked.unshared import warn_of_unshared
from wengert.train.shown.step_views import limits_of

BY = "Ensemble"
_LAYERS = "wengert.nn."


class GivenMember(NamedTuple):
    """What one member is made of."""

    model: Any
    optimizer: Any
    state: Any
    limits: dict[str, float]
    seed: int


def given_members(
    models: Any,
    optimizer: Any,
    state: Any,
    members: Any,
    seeds: Any,
    **limits: Any,  # clip_norm and clip_value
) -> list[GivenMember]:
    """What each member is made of, checked as far as it can be without its program."""
    count = _count(models, optimizer, members, seeds, limits)
    member_seeds = _seeds(seeds, count)
    trees = _models(models, member_seeds, count)
    optimizers = [_optimizer_of(optimizer, i, count) for i in range(count)]
    if isinstance(state, Each):
        require_members(BY, ["state"], [state], count)
    given_limits = {name: _numbers(name, x, count) for name, x in limits.items()}
    checked = [
        limits_of(**{name: numbers[i] for name, numbers in given_limits.items()})
        for i in range(count)
    ]
    for i, each in enumerate(checked):
        if each.keys() != checked[0].keys():
            given = ", ".join(each) or "no limit"
            raise ValueError(
                f"{BY}: member {i} has {given}, and member 0 {', '.join(checked[0]) or 'none'}; "
                "whether gradients are clipped is part of the program that all members share. "
                "Give all of them a limit, np.inf where nothing is to be clipped, or none."
            )
    return [
        GivenMember(
            trees[i],
            optimizers[i],
            state.of(i) if isinstance(state, Each) else state,
            checked[i],
            member_seeds[i],
        )
        for i in range(count)
    ]


def require_unshared(ranks: Any) -> None:
    """Refuse ranks that are to share an ensemble, and warn where several may train the same one."""
    if ranks is None:
        warn_of_unshared(
            BY,
            "made",
            "Make an ensemble with other members on each rank, and say so with ranks='alone'.",
        )
    elif not is_alone(ranks):
        raise TypeError(
            f"{BY}: ranks={ranks!r} was given; ranks share the steps of one model, and members "
            "need no exchange. Make an ensemble of other members on each rank, with "
            "seeds=range(ranks.rank, 64, ranks.size) and ranks='alone', or call wg.sweep, which "
            "gives settings to workers."
        )


def in_words(member: int, error: Exception) -> Exception:
    """The error because of which a member could not be made, with its number. That of the first
    member concerns all of them, and has none.
    """
    text = str(error).removeprefix(f"{BY}: ").removeprefix("TrainStep: ")
    which = f"member {member}: " if member else ""
    return _alike(error, f"{BY}: {which}{text}")


def _alike(error: Exception, text: str) -> Exception:
    """An error of the same kind."""
    try:
        return type(error)(text)
    except Exception:  # a kind that is made of more than a text
        return ValueError(text)


def _count(models: Any, optimizer: Any, members: Any, seeds: Any, limits: Mapping[str, Any]) -> int:
    """How many members there are: all that has an entry for each of them must agree."""
    said = _counts_said(models, optimizer, members, seeds, limits)
    if not said:
        raise ValueError(
            f"{BY}: given a function that makes models, and not how many; the number of members "
            "must be known. Say members=64, or seeds=[…]."
        )
    if len(set(said.values())) > 1:
        shown = ", ".join(f"{name}: {count}" for name, count in said.items())
        hint = " If the list of models is one model, pass a function: lambda seed: model."
        raise ShapeError(
            f"{BY}: given different numbers of members ({shown}); what has an entry for each "
            f"member has as many as there are members. Give them one length."
            + (hint if "models" in said else "")
        )
    count = next(iter(said.values()))
    if not count:
        raise ValueError(f"{BY}: given no members; at least one is needed. Pass some.")
    return count


def _counts_said(
    models: Any, optimizer: Any, members: Any, seeds: Any, limits: Mapping[str, Any]
) -> dict[str, int]:
    """The arguments that say how many members there are, by name, each with its number."""
    said: dict[str, int] = {}
    if members is not None:
        number = whole(members)
        if number is None or number < 1:
            raise ValueError(
                f"{BY}: members={members!r} was given; it is a whole number, at least 1. Choose "
                "one."
            )
        said["members"] = number
    if isinstance(models, list | tuple):
        said["models"] = len(models)
    elif not callable(models) or _is_layer(models):
        kind = type(models).__name__
        draws = _is_layer(models) and "seed" in inspect.signature(type(models)).parameters
        made = f"wg.nn.{kind}(…, seed=seed)" if draws else "init(seed)"
        raise TypeError(
            f"{BY}: given {kind} as the models; they are a list with a model for each member, or a "
            f"function of the seed that makes one. Write lambda seed: {made}, and members=64."
        )
    if seeds is not None and not isinstance(seeds, Sequence | np.ndarray):
        raise TypeError(
            f"{BY}: seeds={seeds!r} was given; they are a list with a seed for each member. Write "
            f"seeds=range(64), or members=64 for the seeds from 0 on."
        )
    if seeds is not None:
        said["seeds"] = len(seeds)
    for each in optimizer.values() if isinstance(optimizer, Mapping) else [optimizer]:
        if isinstance(each, list | tuple | MemberOptimizers):
            said["optimizers"] = len(each)
    return said | {name: np.size(x) for name, x in limits.items() if np.ndim(x)}


def _is_layer(models: Any) -> bool:
    """Whether one network was given, which can be called, but not with a seed."""
    return type(models).__module__.startswith(_LAYERS)


def _seeds(seeds: Any, count: int) -> list[int]:
    numbers = [*range(count)] if seeds is None else [whole(seed) for seed in seeds]
    for i, seed in enumerate(numbers):
        if seed is None or not 0 <= seed < 2**64:
            raise ValueError(
                f"{BY}: seeds[{i}] is {seeds[i]!r}; a seed is an integer from 0 to 2**64 - 1. "
                "Choose another."
            )
    return [int(seed) for seed in numbers if seed is not None]


def _models(models: Any, seeds: Sequence[int], count: int) -> list[Any]:
    if isinstance(models, list | tuple):
        return list(models)
    make: Callable[[int], Any] = models
    try:
        inspect.signature(make).bind(0)
    except TypeError as error:
        raise TypeError(
            f"{BY}: given a function of the seed that cannot be called with one ({error}); it must "
            "make a model, and the loss comes before it. Write wg.Ensemble(loss, lambda seed: "
            "model, optimizer)."
        ) from None
    except ValueError:  # a built-in function does not say how it is called
        pass
    return [make(seed) for seed in seeds[:count]]


def _optimizer_of(given: Any, member: int, count: int) -> Any:
    """The optimizer of one member, or its dict of them."""
    if isinstance(given, Mapping):
        return {glob: _optimizer_of(each, member, count) for glob, each in given.items()}
    if isinstance(given, list | tuple | MemberOptimizers):
        if len(given) != count:
            raise OptimError(
                f"{BY}: given {len(given)} optimizers for {count} members; there is one for each "
                "member, or one for all. Give them one length."
            )
        return given[member]
    return given


def _numbers(name: str, given: Any, count: int) -> list[Any]:
    """A limit for each member."""
    if not isinstance(given, list | tuple | np.ndarray) or np.ndim(given) == 0:
        return [given] * count
    if np.ndim(given) > 1:
        raise ValueError(
            f"{BY}: {name} was given with shape {np.shape(given)}; it is a number, or a list with "
            "one for each member. Pass one of these."
        )
    return list(given)
