"""What loops ask of a carry, and of the functions that make the next one of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from wengert.core import tree
from wengert.core.bind import at_line, recording_level
from wengert.core.dims import Size
from wengert.core.dtypes import DType, float32, float64, is_float
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.types import ArrayType, Value
from wengert.core.words.source import is_users, user_line
from wengert.core.words.warn import warn_user
from wengert.errors import LoopError, RandomnessWarning, ShapeError, TraceError
from wengert.interpret.bodies.body import noted_bodies
from wengert.interpret.bodies.body_state import (
    BodyState,
    Repairs,
    note_told,
    noting_told_bodies,
)
from wengert.interpret.eagerness import is_eager
from wengert.interpret.randomness import moved, positions

Returned = TypeVar("Returned")
_around = Meanwhile[str]()  # the loop that is looked after


def stacked(length: Size, types: Sequence[ArrayType]) -> list[ArrayType]:
    """Arrays that hold one of these for each step."""
    return [ArrayType((length, *t.shape), t.dtype) for t in types]


def require_carry(name: str, before: Sequence[ArrayType], after: Sequence[ArrayType]) -> None:
    if list(before) != list(after):
        repair = "Convert it with reshape or astype before returning it"
        pairs = list(zip(before, after, strict=False))
        if all(a == b or (a.shape == b.shape and _becomes_float(a, b)) for a, b in pairs):
            first = next(b.dtype for a, b in pairs if a != b)
            repair = f"Begin with floats: init.astype(np.{first})"
        elif all(a == b or _becomes_double(a, b) for a, b in pairs):
            repair = (
                "Begin with float64, and ask draws for it, wg.random.normal(key, shape, "
                "np.float64); or convert with astype before returning it"
            )
        raise ShapeError(
            f"{name}: the carry goes in as {before} and comes out as {after}; its shapes "
            f"and dtypes must stay the same. {repair}."
        )


def _becomes_float(before: ArrayType, after: ArrayType) -> bool:
    return is_float(after.dtype) and not is_float(before.dtype)


def _becomes_double(before: ArrayType, after: ArrayType) -> bool:
    return before.shape == after.shape and (before.dtype, after.dtype) == (float32, float64)


def require_structure(name: str, structure: tree.Structure, returned: Any) -> None:
    form = tree.flatten(tree.arrays(returned))[1]
    if form != structure:
        error = TraceError(
            f"{name}: the carry goes in as {structure} and comes out as {form}; its structure "
            "must stay the same. Return a tree of the same form."
        )
        raise at_line(error, user_line())


def settled(x: Value, returned: DType, others: Sequence[Any]) -> DType:
    """The dtype of a carry that began as a Python number, given what the body returned for it.

    Like the number itself it gives way to the floats around it.
    """
    floats_around = [y.dtype for y in others if is_float(y.dtype)]
    if not is_float(returned) or not floats_around:
        return returned
    return np.result_type(*floats_around)


def looked_after(
    name: str,
    functions: Sequence[Callable[..., Any]],
    run: Callable[[], Returned],
    repairs: Repairs,
) -> Returned:
    """Run a loop. Its functions are recorded once: what NumPy draws in them, or what they keep
    outside, is the same in every step, and a warning says so. A loop that a function of ours makes
    of the user's, as `odeint` does, is looked after with that function.
    """
    if is_eager() or (_around.value is not None and not any(map(_is_of_user, functions))):
        return run()
    states = [BodyState(function) for function in functions]
    before = [positions(state.generators()) for state in states]
    failed: LoopError | None = None
    with noted_bodies() as recorded, noting_told_bodies() as inside, _around.said(name):
        try:
            result = run()
        except LoopError as error:  # of steps, which may not end for what is told below
            failed = error
    note_told(inside)
    used = next(filter(None, map(moved, before)), None)
    again = recorded[-len(functions) :]
    if not inside:  # what a loop inside of the body has told of is told
        for state in states:
            state.look(name, repairs, again, used is not None)
    # Of a program that is recorded, whoever records it says so.
    if (
        used is not None
        and recording_level() is None
        and any(state.draws_again(again) for state in states)
    ):
        warn_user(
            f"{name}: {used} was used in {repairs.function}, which is recorded once; what it drew "
            f"is the same in every step. {repairs.randomness}.",
            RandomnessWarning,
        )
    if failed is not None:
        raise failed
    return result


def _is_of_user(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return code is None or is_users(code)
