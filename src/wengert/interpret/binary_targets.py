"""Targets of a binary loss that lie outside of [0, 1]: an error where they are known, a warning
where the program that is recorded is given them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from wengert.core.bind import program_level
from wengert.core.lowering import Pick, View
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import Line, user_line
from wengert.core.words.warn import warn_user
from wengert.errors import TargetsWarning
from wengert.interpret.widening import place_of

_SLACK = 1e-3  # of targets that were mixed, smoothed or perturbed, and are rounded


class _Asked(NamedTuple):
    """An argument of a program whose elements a loss takes for targets."""

    argument: str
    loss: str
    line: Line | None


class _Noted(threading.local):
    targets: set[_Asked] | None = None


_noted = _Noted()


@contextmanager
def noting_binary_targets() -> Iterator[set[_Asked]]:
    """The arguments that are targets of binary losses in what is recorded meanwhile."""
    before, _noted.targets = _noted.targets, set()
    try:
        yield _noted.targets
    finally:
        _noted.targets = before


def note_binary_targets(loss: str, targets: Value) -> None:
    """Refuse targets outside of [0, 1]; where they are known at call time only, have whoever
    records the program look at those of its first call.
    """
    while type(targets) is Tensor and not targets.level.symbolic:
        targets = targets.value
    if type(targets) is not Tensor:
        if (found := _extremes(targets)) is not None:
            raise ValueError(_told(loss, found))
    elif _noted.targets is not None and (argument := _argument(targets)) is not None:
        _noted.targets.add(_Asked(argument, loss, user_line()))


def warn_of_binary_targets(asked: set[_Asked], arrays: Mapping[str, Any]) -> None:
    """Warn of those that lie outside of [0, 1] in these arguments, by name."""
    for each in sorted(asked, key=lambda each: each.argument):
        found = _extremes(arrays.get(each.argument))
        if found is not None:
            text = _told(each.loss, found, f" in {each.argument!r}")
            warn_user(text, TargetsWarning, each.line)


def _told(loss: str, extremes: tuple[float, float], where: str = "") -> str:
    low, high = extremes
    return (
        f"{loss}: targets from {low:g} to {high:g} were given{where}; a target is a probability, "
        "from 0 to 1, and the loss has no minimum otherwise. Write y > 0 for labels of -1 and 1, "
        "y - 1 for labels of 1 and 2."
    )


def _extremes(targets: Any) -> tuple[float, float] | None:
    """The smallest and the largest, where one of them is no target. NaN is a matter of others."""
    try:
        x = np.asarray(targets)
    except ValueError:  # rows of different lengths: the loss refuses them
        return None
    if not x.size or x.dtype.kind not in "iuf":
        return None
    low, high = float(np.fmin.reduce(x, None)), float(np.fmax.reduce(x, None))
    return (low, high) if low < -_SLACK or high > 1 + _SLACK else None


def _argument(targets: Tensor) -> str | None:
    """The argument of the program that is recorded whose elements these are: converted, picked or
    rearranged, and not computed with.
    """
    place = place_of(targets)
    while place is not None:
        level, number = place
        node = level.graph.nodes[number]
        if node.op is op.input:
            if level is program_level():
                return str(node.params["name"])
            outer = level.stands_for.get(number)
            place = place_of(outer) if type(outer) is Tensor else None
        elif node.op is op.astype or (node.op.kind == "linear" and _moves(node.op.lower)):
            first = node.operands[0]
            place = None if first is None else (level, first)
        else:
            return None
    return None


def _moves(lower: Any) -> bool:
    return isinstance(lower, View) or (isinstance(lower, Pick) and not lower.joins)
