"""The states of members: saved, loaded, and passed from one to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.errors import CheckpointError, ShapeError
from wengert.train.checkpoints.checkpoint import Checkpoint
from wengert.train.checkpoints.files import File, load, save
from wengert.train.engine import Engine
from wengert.train.option_checks import whole
from wengert.train.storage import copying

MEMBERS = "members"


def members_state(engines: Sequence[Engine]) -> dict[str, Any]:
    """The states of all members, in their order."""
    return {MEMBERS: [Checkpoint(engine).state_dict() for engine in engines]}


def save_members(engines: Sequence[Engine], path: File) -> None:
    """Write them to a file."""
    save(path, members_state(engines))


def load_members(path: File) -> Any:
    """What `save_members` wrote."""
    return load(path)


def loading_members(by: str, engines: Sequence[Engine], given: Any) -> Callable[[], None]:
    """A function that lets all members go on from what was saved, and that may be called again. All
    of it is checked here, before anything changes.
    """
    states = given.get(MEMBERS) if isinstance(given, Mapping) else None
    if not isinstance(states, list | tuple):
        what = "of one step" if isinstance(given, Mapping) and "arrays" in given else "of no kind"
        raise CheckpointError(
            f"{by}: given a state {what}; the state of an ensemble is needed, with a list of "
            "members. Load what ensemble.state_dict() gave; that of one step goes into "
            "ensemble.members[i].load_state_dict."
        )
    if len(states) != len(engines):
        repair = "Make an ensemble of as many"
        if len(states) < len(engines):
            repair = f"Write ensemble.keep(range({len(states)})) first, or make one of as many"
        raise CheckpointError(
            f"{by}: given the state of {len(states)} members; this ensemble has {len(engines)}. "
            f"{repair}."
        )
    loads = []
    for number, (engine, state) in enumerate(zip(engines, states, strict=True)):
        try:
            loads.append(Checkpoint(engine).loading(state))
        except CheckpointError as error:
            text = str(error).partition(": ")[2]
            raise CheckpointError(f"{by}: member {number}: {text}") from error

    def load_all() -> None:
        for each in loads:
            each()

    return load_all


def exchanging(a: Engine, b: Engine) -> Callable[[], None]:
    """A function that gives each of two members what the other has, and that may be called again.
    Settings, limits and seeds stay.
    """
    there, back = replacing(a, b), replacing(b, a)  # both hold copies of what is there now

    def exchange() -> None:
        there()
        back()

    return exchange


def replacing(a: Engine, b: Engine) -> Callable[[], None]:
    """A function that gives the first member what the second has now, and that may be called
    again.
    """
    copy = copying(zip(_arrays(a), _arrays(b), strict=True))
    progress = b.progress

    def replace() -> None:
        copy()
        a.progress = progress
        a.scalars.forget()
        a.measure_states()

    return replace


def _arrays(engine: Engine) -> list[Any]:
    """All that a member has of its own, but for its key."""
    fixed = engine.fixed
    return [*engine.live, *engine.early, *fixed.frozen, *fixed.data]


def require_member(by: str, number: Any, members: int) -> int:
    """The number of a member, counted from the front."""
    member = whole(number)
    if member is None or not -members <= member < members:
        raise IndexError(
            f"{by}: member {number!r} was given; there are {members}, from 0 to {members - 1}. "
            "Choose one of them."
        )
    return member % members


def numbers_of_members(by: str, given: Any, members: int) -> list[int]:
    """The numbers of several different members; a mask of bools says which."""
    if isinstance(given, list | tuple) and given and all(isinstance(x, bool) for x in given):
        given = np.array(given)
    if isinstance(given, np.ndarray) and given.dtype == np.bool_:
        if given.shape != (members,):
            raise ShapeError(
                f"{by}: given a mask of shape {given.shape}; it must have an entry for each of the "
                f"{members} members. Pass one of that length, or the numbers of members."
            )
        given = np.flatnonzero(given)
    if not isinstance(given, Sequence | np.ndarray | range) or isinstance(given, str):
        raise TypeError(
            f"{by}: given {given!r}; the numbers of members are needed. Pass a list of them."
        )
    numbers = [require_member(by, number, members) for number in given]
    if not numbers:
        raise ValueError(f"{by}: given no members; at least one must stay. Pass its number.")
    twice = sorted({number for number in numbers if numbers.count(number) > 1})
    if twice:
        raise ValueError(
            f"{by}: member {twice[0]} was given twice; each stays once. To let one go on in two "
            "places, write ensemble.replace(i, by=j) before."
        )
    return numbers
