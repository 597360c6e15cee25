"""What a program computes from its arguments by simple ops alone, as a mask from lengths: its value
for given arguments, for warnings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wengert.core.dims import Size
from wengert.core.graph import Graph, Node
from wengert.core.lowering import Elementwise, Fold, Formula, View
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.errors import WengertError
from wengert.interpret.mistakes.widening import place_of
from wengert.interpret.replay import run_node

if TYPE_CHECKING:
    from wengert.interpret.trace import Trace

    Place: TypeAlias = tuple[Trace, int]  # a level that records, and the number of a node there

_MOST = 40  # nodes: what has more of them is no mask that somebody wrote


def computed_value(
    place: Place, program: Graph, arrays: Mapping[str, Any], sizes: Mapping[str, int]
) -> np.ndarray[Any, Any] | None:
    """The value of a node for these arguments of the program, and these open sizes; None where it
    is not computed by simple ops alone.
    """
    try:
        with np.errstate(all="ignore"):
            value = _Computation(program, arrays, dict(sizes)).value(place)
    except WengertError:  # of a size that recording has given up since
        return None
    return None if value is None else np.asarray(value)


class _Computation:
    """Values are None where they are not computed."""

    def __init__(self, program: Graph, arrays: Mapping[str, Any], sizes: dict[str, Size]) -> None:
        self._program, self._arrays, self._sizes = program, arrays, sizes
        self._known: dict[Place, Any] = {}

    def value(self, place: Place) -> Any:
        if place not in self._known and len(self._known) < _MOST:
            self._known[place] = None  # counted before those that it is computed from
            self._known[place] = self._computed(place)
        return self._known.get(place)

    def _computed(self, place: Place) -> Any:
        level, number = place
        node = level.graph.nodes[number]
        if node.op is op.input:
            return self._given(level, number, str(node.params["name"]))
        if not _is_simple(node):
            return None
        operands = {i: self.value((level, i)) for i in node.operands if i is not None}
        known = all(x is not None for x in operands.values())
        return run_node(node, operands, self._sizes) if known else None

    def _given(self, level: Trace, number: int, name: str) -> Any:
        given = self._arrays.get(name)
        if level.graph is not self._program:
            given = level.stands_for.get(number)
        if type(given) is Tensor:
            place = place_of(given)
            return None if place is None else self.value(place)
        return given if isinstance(given, np.ndarray) else None


def _is_simple(node: Node) -> bool:
    """Whether a node takes no longer than reading its operands, and cannot fail."""
    lower = node.op.lower
    simple = isinstance(lower, Elementwise | View | Fold | Formula)
    return node.op in (op.constant, op.size) or (simple and getattr(lower, "failure", None) is None)
