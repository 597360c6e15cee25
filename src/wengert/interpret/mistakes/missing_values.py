"""Missing values that become integers: NaN in a column of labels or categories is 0 as an integer,
and so the first of the classes. Of those that a program is given the first call is looked at, and
all rows of the data of a run.

A program that asks where its argument is NaN, or how large it is, may hide what it made of these
rows, and is let pass; so is one that is given a mask of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wengert.core.dtypes import DType
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Value
from wengert.errors import TargetsWarning, WengertError
from wengert.interpret.mistakes.first_values import (
    FirstCall,
    argument_of,
    ask_first_call,
    moves_elements,
)
from wengert.interpret.mistakes.widening import place_of
from wengert.interpret.replay import run_node

if TYPE_CHECKING:
    from wengert.interpret.mistakes.computed_values import Place

Array: TypeAlias = np.ndarray[Any, Any]
Way: TypeAlias = list[Node]


def note_cast(x: Value, dtype: DType) -> None:
    """Have whoever records the program look at floats of an argument that become integers."""
    if dtype.kind in "iu" and type(x) is Tensor and x.dtype.kind == "f":
        name, place = argument_of(x), place_of(x)
        if name is not None and place is not None:
            ask_first_call("astype", _MissingTold(name, place), TargetsWarning)


@dataclass(frozen=True)
class _MissingTold:
    """What is wrong with an argument of which these elements become integers."""

    name: str
    place: Place

    def __call__(self, used_by: str, call: FirstCall, where: str) -> str | None:
        rows = {**call.arrays, **call.data}
        missing = _missing(rows.get(self.name))
        way = _way_to(self.place)
        if not missing.any() or way is None or _has_mask(rows, self.name, missing):
            return None
        given = np.asarray(call.arrays[self.name])
        batches = [given, *_rows_with_missing(call.data.get(self.name), given.shape)]
        try:
            if not any(_missing(_gone(way, x, call.sizes)).any() for x in batches):
                return None  # it is a table, and other columns have them
            if self._are_compared(way, given, call):
                return None
        except WengertError:  # of a size that recording has given up since
            return None
        return (
            f"{used_by}: floats with NaN were given in {self.name!r}, and become integers; NaN is "
            "0 then, as if it were the first class or category. Leave their rows out before, in "
            "all arguments alike, frame.dropna(), or give them a number of their own, "
            "column.fillna(n). If a mask hides them, fill them first: "
            "wg.where(wg.isnan(x), 0, x).astype(int)."
        )

    def _are_compared(self, way: Way, given: Array, call: FirstCall) -> bool:
        """Whether the program makes bools of some of these elements as floats. The body of a loop
        may.
        """
        graph, numbers = call.graph, np.arange(given.size).reshape(given.shape)
        own = _gone(way, numbers, call.sizes)
        return any(
            np.isin(own, _gone(other, numbers, call.sizes)).any()
            for node in graph.nodes
            if _makes_bools(node) or any(isinstance(x, Graph) for x in node.params.values())
            for each in node.operands
            if _is_float(graph, each) and (other := _way_in(graph, each, self.name)) is not None
        )


def _way_to(place: Place) -> Way | None:
    """The nodes that convert, pick or rearrange an argument on its way to a node, the last one
    first; None where they pick by other values, which may be those of anything.
    """
    level, number = place
    node = level.graph.nodes[number]
    if node.op is op.input:
        if number not in level.stands_for:
            return []
        outer = level.stands_for[number]
        if type(outer) is not Tensor or outer.shape != level.graph.type(number).shape:
            return None  # the body of a loop has one step of it
        further = place_of(outer)
        return None if further is None else _way_to(further)
    (first, *others) = node.operands
    before = None if first is None or others else _way_to((level, first))
    return None if before is None else [node, *before]


def _way_in(graph: Graph, number: int | None, name: str) -> Way | None:
    """The same in a graph, of the argument of a name; None where it is not its elements alone."""
    way: Way = []
    while number is not None:
        node = graph.nodes[number]
        if node.op is op.input:
            return way if str(node.params["name"]) == name else None
        if not moves_elements(node) or len(node.operands) > 1:
            return None
        way.append(node)
        number = node.operands[0]
    return None


def _gone(way: Way, x: Array, sizes: Mapping[str, int]) -> Any:
    """An array that has gone this way, in its own dtype."""
    for node in reversed(way):
        first = node.operands[0]
        if first is not None and node.op is not op.astype:
            x = run_node(node, {first: x}, dict(sizes))
    return x


def _rows_with_missing(data: Any, batch: tuple[int, ...]) -> Iterator[Array]:
    """Batches of data: for each place in a row that is missing somewhere, one where it is."""
    missing = _missing(data)
    if not missing.any() or not missing.ndim or missing.shape[1:] != batch[1:] or not batch[0]:
        return
    by_place = missing.reshape(len(missing), -1)
    rows = np.unique(by_place.argmax(axis=0)[by_place.any(axis=0)])
    for begin in range(0, len(rows), batch[0]):
        yield np.asarray(data)[np.resize(rows[begin : begin + batch[0]], batch[0])]


def _missing(x: Any) -> Array:
    values = np.asarray(x)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)


def _has_mask(arrays: Mapping[str, Any], name: str, missing: Array) -> bool:
    """Whether another argument says where this one has missing values, or where not."""
    rows = missing.reshape(len(missing), -1).any(axis=1) if missing.ndim else missing
    for other, x in arrays.items():
        mask = np.asarray(x)
        if other != name and mask.shape in (missing.shape, rows.shape):
            wanted = missing if mask.shape == missing.shape else rows
            if (mask == wanted).all() or (mask == ~wanted).all():
                return True
    return False


def _makes_bools(node: Node) -> bool:
    return isinstance(node.type, ArrayType) and node.type.dtype.kind == "b"


def _is_float(graph: Graph, number: int | None) -> bool:
    made = None if number is None else graph.nodes[number].type
    return isinstance(made, ArrayType) and made.dtype.kind == "f"
