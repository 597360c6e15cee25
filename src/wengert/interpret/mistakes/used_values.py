"""What a recorded function has done with values it was given: whether a result was computed from
them, or something else, and whether integers were used as floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.dtypes import is_float
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import Line
from wengert.interpret.mistakes.picked import picked_from
from wengert.interpret.mistakes.widening import place_of
from wengert.interpret.trace import Trace


def used_by(results: Sequence[Value], values: Sequence[Value]) -> list[bool]:
    """Which of these values results were computed from, in the program that is being recorded."""
    level, reached = _computed_from(results)
    places = map(place_of, values)
    return [each is not None and each[0] is level and each[1] in reached for each in places]


def used_constants(results: Sequence[Value]) -> list[np.ndarray[Any, Any]]:
    """The arrays from outside that results were computed from, in the program that is being
    recorded.
    """
    level, reached = _computed_from(results)
    return [] if level is None else [x for x, i in level.constant_arrays() if i in reached]


def _computed_from(results: Sequence[Value]) -> tuple[Trace | None, set[int]]:
    """The level that records results, and the nodes that these were computed from."""
    ends = [place for place in map(place_of, results) if place is not None]
    if not ends:
        return None, set()
    level = ends[0][0]
    reached = {number for each, number in ends if each is level}
    pending = list(reached)
    while pending:
        operands = [i for i in level.graph.nodes[pending.pop()].operands if i is not None]
        pending += [i for i in operands if i not in reached]
        reached.update(operands)
    return level, reached


def used_at_all(results: Sequence[Value], values: Sequence[Value]) -> list[bool]:
    """Which of these values are results of the program that is being recorded, or were given to
    some op, whatever became of that: the derivative of what is linear in a value does not depend
    on it.
    """
    places = [place_of(x) for x in values]
    levels = {id(each[0]): each[0] for each in places if each is not None}
    met = {(key, i) for key, level in levels.items() for n in level.graph.nodes for i in n.operands}
    met |= {(id(each[0]), each[1]) for each in map(place_of, results) if each is not None}
    return [each is not None and (id(each[0]), each[1]) in met for each in places]


def used_as_floats(x: Value) -> tuple[bool, Line | None]:
    """Whether integers that a program is being recorded with have met floats, without being
    converted on purpose, and the line of it.
    """
    if type(x) is not Tensor or x.dtype.kind not in "iu" or not isinstance(x.level, Trace):
        return False, None
    level = x.level
    for number, node in enumerate(level.graph.nodes):
        meets_floats = number in level.implicit or node.op.kind == "bilinear"
        if not meets_floats or not is_float(level.graph.type(number).dtype):
            continue
        if any(i is not None and picked_from(level, i) == x.handle for i in node.operands):
            return True, node.line
    return False, None
