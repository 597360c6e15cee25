"""Rows that are compared with those before them: `y[1:]` with what the model makes of `y[:-1]`.

Slices that leave out some rows at the beginning or the end have places, by how many rows they
leave out before. In an autoregression what is predicted has another place than what it is
predicted from, both of one argument. Where rows are paired at random, as in a ranking, everything
that is compared is taken from the same places: then the order of rows does not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import Any

from wengert.core.dims import Size
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.types import ArrayType

REORDERING = ("gather", "sort", "argsort", "scatter", "take_along_axis", "last_at")
_ADDING = ("add", "subtract")
_KEEPING = ("negative", "astype", "stop_gradient", "reshape")  # what they are given, but for a sign
_LENGTHENING = ("pad", "place", "concat")
_OF_PLACES = ("start", "size", "shape", "step")  # parameters that differ from place to place
_Places = dict[int, frozenset[int | None]]  # by argument; None is the place of all rows


class FollowedRows:
    """What the forward pass of a loss takes from which places of its rows."""

    def __init__(
        self,
        graph: Graph,
        forward: Collection[tuple[int, Node]],
        rows: Mapping[int, Size],  # of arguments
        of_model: Collection[int],
    ) -> None:
        self._nodes, self._forward, self._of_model = graph.nodes, forward, of_model
        self._rows = dict(rows)  # of all values that have them, or most of them
        self._places: dict[int, _Places] = {i: {i: frozenset([None])} for i in rows}
        self._forms: dict[int, Hashable] = {}  # equal for what differs in places and constants
        self._known: dict[Hashable, int] = {}
        for number in graph.inputs:
            self._forms[number] = number
        for number, node in forward:
            self._follow(number, node)
            self._forms[number] = self._form(node)

    def has_rows(self, number: int) -> bool:
        """Whether a value has the rows of the data in their order, or a part of these."""
        return number in self._rows

    def nodes(self) -> Iterator[tuple[Node, str]]:
        """Nodes that compare rows with those before them, and what they are."""
        for node in self._compared():
            yield node, "getitem: x[1:] beside x[:-1]"
        for node in self._next_values():
            yield node, "getitem: x[1:] beside x[:-1]"
        for _, node in self._forward:
            if self._moves(node):
                name = "at" if node.op.name == "place" else node.op.name
                yield node, f"{name}: x[1:] or x[:-1], as long as x again,"

    def _follow(self, number: int, node: Node) -> None:
        shape, operands = _shape(node), _operands(node)
        if node.op is op.gather and operands and operands[0] not in self._rows:
            operands = operands[1:]  # a table that is looked up for each row
        elif node.op.name in REORDERING and node.params.get("axis") in (0, None):
            return
        left_out = self._left_out(node)
        if left_out is not None:
            self._rows[number] = shape[0]
            self._places[number] = {
                root: frozenset(left_out + (place or 0) for place in places)
                for root, places in self._places[operands[0]].items()
            }
            return
        given = [i for i in operands if i in self._rows and shape[:1] == (self._rows[i],)]
        if given:
            self._rows[number] = shape[0]
            self._places[number] = _united(self._places[i] for i in given)

    def _left_out(self, node: Node) -> int | None:
        """How many rows a slice leaves out before those that it takes, if it leaves out a few."""
        source = node.operands[0] if node.op is op.slice_axes else None
        if source is None or source not in self._rows or node.params["step"][0] != 1:
            return None
        start, less = node.params["start"][0], self._rows[source] - node.params["size"][0]
        if not isinstance(less, int) or not isinstance(start, int) or less < 1:
            return None
        return start

    def _form(self, node: Node) -> Hashable:
        operands = _operands(node)
        same = self._scaled(node)
        if same or self._takes_whole_rows(node):
            return self._forms.get((same or operands)[0])
        params: list[Any] = [(k, str(v)) for k, v in node.params.items() if k not in _OF_PLACES]
        if node.op is op.slice_axes:
            params += [str(node.params[name][1:]) for name in ("start", "size", "step")]
        if node.op.name == "constant":
            params = []
        key = node.op.name, tuple(map(self._forms.get, operands)), tuple(params)
        return "form", self._known.setdefault(key, len(self._known))

    def _takes_whole_rows(self, node: Node) -> bool:
        if self._left_out(node) is None:
            return False
        source = _shape(self._nodes[_operands(node)[0]])
        return _shape(node)[1:] == source[1:] and set(node.params["step"]) == {1}

    def _terms(self, number: int) -> Iterator[int]:
        """What a value is the sum of, but for signs and constant factors."""
        seen, pending = {number}, [number]
        while pending:
            number = pending.pop()
            node = self._nodes[number]
            parts = _operands(node) if node.op.name in _ADDING else self._scaled(node)
            if not parts:
                yield number
            more = [i for i in dict.fromkeys(parts) if i not in seen]
            seen.update(more)
            pending += more

    def _scaled(self, node: Node) -> list[int]:
        """The one operand that a node gives again, maybe with a sign or a constant factor."""
        operands = _operands(node)
        if node.op.name in _KEEPING:
            return operands
        if node.op.name not in ("multiply", "divide"):
            return []
        others = [i for i in operands if self._nodes[i].op.name != "constant"]
        divides = node.op.name == "divide" and others == operands[1:]
        return [] if len(others) != 1 or divides else others

    def _comparisons(self) -> Iterator[tuple[Node, list[int]]]:
        """Sums and losses that are no parts of larger sums, with what they add or compare."""
        parts = set[int]()
        for number, node in reversed(list(self._forward)):
            adds = node.op.name in _ADDING
            if adds and number not in parts:
                yield node, list(self._terms(number))
            elif "reduction" in node.params or self._picks_in_rows(node):
                yield node, [term for i in _operands(node) for term in self._terms(i)]
            if adds or number in parts:
                parts.update(_operands(node) if adds else self._scaled(node))

    def _picks_in_rows(self, node: Node) -> bool:
        """Whether one number of each row is picked, as the logarithm of a probability is."""
        return node.op is op.gather and len(node.operands) > 2 and node.operands[0] in self._rows

    def _compared(self) -> Iterator[Node]:
        """Where data of some places are compared with what the model makes of others."""
        whole, nodes = set[int](), list[tuple[int, Node]]()
        paired = self._paired(of_model=False) | self._paired(of_model=True)
        for node, terms in self._comparisons():
            data = [i for i in terms if i not in self._of_model]
            model = [i for i in terms if i in self._of_model]
            if not model:
                continue
            targets, inputs = self._by_form(data), self._by_form(model)
            for root in {root for places in targets.values() for root in places}:
                ours = {places[root] for places in targets.values() if root in places}
                theirs = {places[root] for places in inputs.values() if root in places}
                if any(None in places for places in ours) and any(None in p for p in theirs):
                    whole.add(root)
                elif any(None in places for places in ours | theirs):
                    continue
                elif (theirs and ours != theirs) or (
                    any(len(places) > 1 for places in ours)
                    and all(len(p) < 2 for places in inputs.values() for p in places.values())
                    and paired == {root}
                ):
                    nodes.append((root, node))
        yield from (node for root, node in nodes if root not in whole)

    def _by_form(self, terms: list[int]) -> dict[Hashable, _Places]:
        forms: dict[Hashable, list[_Places]] = {}
        for i in terms:
            forms.setdefault(self._forms.get(i), []).append(self._places.get(i, {}))
        return {form: _united(places) for form, places in forms.items()}

    def _paired(self, of_model: bool) -> set[int]:
        """The arguments that are sliced at several places, as they are or by the model."""
        slices = [
            self._places[number]
            for number, node in self._forward
            if self._left_out(node) is not None and (number in self._of_model) == of_model
        ]
        return {root for root, places in _united(slices).items() if len(places - {None}) > 1}

    def _next_values(self) -> Iterator[Node]:
        """Slices of one number for each row, computed by the model, that begin with a later row
        where others of the same begin with the first, and nothing of the data is paired so.
        """
        if self._paired(of_model=False):
            return
        rolled = {i for _, node in self._forward if self._rolls(node) for i in _operands(node)}
        later: dict[Hashable, Node] = {}
        first = set[Hashable]()
        for number, node in self._forward:
            left_out = self._left_out(node)
            if left_out is None or number not in self._of_model or number in rolled:
                continue
            form = self._forms[number]
            if left_out == 0:
                first.add(form)
            elif len(_shape(node)) == 1 or _shape(node)[1:] == (1,):
                later.setdefault(form, node)
        yield from (node for form, node in later.items() if form in first)

    def _moves(self, node: Node) -> bool:
        """Whether rows without the first ones, or the last ones, are lengthened to as many as there
        were, at other places. Those that go on at the other end only change their order.
        """
        operands, shape = _operands(node), _shape(node)
        if node.op.name not in _LENGTHENING or not shape or shape[0] not in self._rows.values():
            return False
        if node.op.name == "pad":
            return self._is_moved(operands[0], int(node.params["pad_width"][0][0]))
        if node.op.name == "place":
            to, step = node.params["start"][0], node.params["step"][0]
            return step == 1 and isinstance(to, int) and self._is_moved(operands[0], to)
        if not self._joins_rows(node) or self._rolls(node):
            return False
        before = _shape(self._nodes[operands[0]])[0]
        behind = isinstance(before, int) and self._is_moved(operands[1], before)
        return behind or self._is_moved(operands[0], 0)

    def _joins_rows(self, node: Node) -> bool:
        return node.op is op.concat and node.params["axis"] == 0 and len(node.operands) == 2

    def _rolls(self, node: Node) -> bool:
        """Whether rows from one on are joined with those before it."""
        if not self._joins_rows(node):
            return False
        first, second = _operands(node)
        if self._is_moved(first, 0):
            return self._is_end_of(second, first, last=False)
        return self._is_end_of(first, second, last=True)

    def _is_moved(self, number: int, to: int) -> bool:
        places = self._places.get(number, {}).values()
        return any(len(p) == 1 and None not in p and to not in p for p in places)

    def _is_end_of(self, number: int, other: int, last: bool) -> bool:
        """Whether a slice has the first rows, or the last ones, of what another is taken from."""
        node, beside = self._nodes[number], self._nodes[other]
        if node.op is not op.slice_axes or beside.op is not op.slice_axes:
            return False
        alike = self._forms.get(_operands(node)[0]) == self._forms.get(_operands(beside)[0])
        return alike and (node.params["start"][0] != 0) == last


def _united(several: Any) -> _Places:
    united: dict[int, frozenset[int | None]] = {}
    for places in several:
        for root, some in places.items():
            united[root] = united.get(root, frozenset()) | some
    return united


def _shape(node: Node) -> tuple[Size, ...]:
    return node.type.shape if isinstance(node.type, ArrayType) else ()


def _operands(node: Node) -> list[int]:
    return [i for i in node.operands if i is not None]
