"""Functions that are bound or evaluated and read a parameter of the model that the step was made
with, as `model` in `step.bind(lambda m, x: model(x))`. The step trains a copy: what such a function
computes stays what it was before training.

A function that computes with the step's own array at the same path as well compares the two, and an
original that the loss could read is something to compare with, too: an anchor, a reference, a
target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.api.compiling.written_functions import users_function
from wengert.core.types import Value
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import UntrainedWarning
from wengert.interpret.mistakes.used_values import used_at_all
from wengert.interpret.trace import recorded_constants
from wengert.runtime.outside.capture_walk import CaptureWalk
from wengert.runtime.outside.watch import lies_in, owner_of
from wengert.train.mistakes.copied.given_trees import GivenTrees

Array: TypeAlias = np.ndarray[Any, Any]
_Constants: TypeAlias = Sequence[tuple[Array, Line | None]]


def warn_of_read_originals(
    by: str,
    f: Any,
    loss: Any,
    given: GivenTrees,
    own: Sequence[tuple[str, Value]],  # the step's arrays, by path
    results: Sequence[Value],
) -> bool:
    """Warn where a function that is being recorded reads arrays that were given for parameters, and
    uses none of the step's own at their paths. Whether it has warned.
    """
    constants = constants_by_owner()
    if not constants:
        return False
    read = [
        (each, x, uses[0][1]) for each, x in given.originals() if (uses := parts_of(x, constants))
    ]
    paths = {each.path for each, _, _ in read}
    compares = any(used_at_all(results, [value for path, value in own if path in paths]))
    if not read or compares:
        return False
    compared = read_from_outside(loss)
    names = {each.name: line for each, x, line in read if id(owner_of(x)) not in compared}
    for name, line in list(names.items())[:1]:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        where = "" if line is None else f" ({line})"
        warn_user(
            f"{by}: the function reads {name}{more} that the step was made with; the step trains a "
            "copy, which is in the model that the function is called with, and what it reads stays "
            "as it was before training. Take it from that one; if the numbers before training are "
            f"meant, pass them as an argument.{where}",
            UntrainedWarning,
            line_of(f) or line,
        )
    return bool(names)


def line_of(f: Any) -> Line | None:
    """Where a function was written: the line that reads the model may be one of the loss, which is
    right, as in `lambda m, x, y: loss(model, x, y)`.
    """
    written = users_function(f)
    if written is None:
        return None
    return Line(written.__code__.co_filename, written.__code__.co_firstlineno)


def constants_by_owner() -> Mapping[int, _Constants]:
    """The constants of the program that is being recorded, by the arrays whose memory they are."""
    constants: dict[int, list[tuple[Array, Line | None]]] = {}
    for x, line in recorded_constants():
        if x.size:
            constants.setdefault(id(owner_of(x)), []).append((x, line))
    return constants


def parts_of(x: Array, constants: Mapping[int, _Constants]) -> _Constants:
    """The constants that are an array, or a part of it. An array that is a part of data, as some
    rows that a model begins with, has nothing to do with all of the data.
    """
    near = constants.get(id(owner_of(x)), ())
    return [(part, line) for part, line in near if lies_in(part, x)]


def read_from_outside(loss: Any) -> set[int]:
    """The ids of the arrays whose memory the loss could read from outside."""
    walk = CaptureWalk()
    walk.follow([loss])
    return {id(owner_of(x)) for _, x in walk.captures.arrays.values()}
