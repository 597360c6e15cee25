"""The forward pass of a loss that was recorded with its gradient and the update."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from functools import cached_property

from wengert.core.dims import Size
from wengert.core.graph import Graph, Node
from wengert.core.types import ArrayType
from wengert.passes.opened_bodies import with_open_bodies


class ForwardPass:
    """Nodes before any of a backward pass, by number: who reads them, and which depend on the model
    and on the data. `own` are the names of arguments that the step itself gives to the loss.
    """

    def __init__(self, graph: Graph, own: Collection[str]) -> None:
        graph = with_open_bodies(graph)
        self.returns = graph.returns
        self.nodes: dict[int, Node] = {}
        self.readers: dict[int, list[int]] = {}
        self.of_model: set[int] = set()
        self.of_data: set[int] = set()
        for number, node in enumerate(graph.nodes):
            forward = node.line is None or node.line.phase == "forward"
            operands = operands_of(node)
            if not forward or not self.nodes.keys() >= set(operands):
                continue
            self.nodes[number] = node
            for operand in dict.fromkeys(operands):
                self.readers.setdefault(operand, []).append(number)
            self._enter(number, node, own)

    def _enter(self, number: int, node: Node, own: Collection[str]) -> None:
        operands = operands_of(node)
        if node.op.name == "input":
            argument = str(node.params.get("name", "")).partition(".")[0]
            (self.of_model if argument in own else self.of_data).add(number)
        for dependent in (self.of_model, self.of_data):
            if not dependent.isdisjoint(operands):
                dependent.add(number)

    def shape(self, number: int) -> tuple[Size, ...]:
        return shape_of(self.nodes[number])

    @cached_property
    def forms(self) -> dict[int, int]:
        """One number for all that is computed in the same way, however often."""
        forms: dict[int, int] = {}
        known: dict[Hashable, int] = {}
        for number, node in self.nodes.items():
            own = number if node.op.name in ("input", "constant") else str(node.params)
            key = node.op.name, tuple(map(forms.get, operands_of(node))), own
            forms[number] = known.setdefault(key, number)
        return forms

    def after(self, number: int) -> list[int]:
        """The node and all that is computed of it, until that is a single number."""
        seen, pending = {number}, [number]
        for before in pending:
            kind = self.nodes[before].type
            ends = isinstance(kind, ArrayType) and not kind.shape
            more = [] if ends else [i for i in self.readers.get(before, ()) if i not in seen]
            seen.update(more)
            pending += more
        return pending

    def before(self, number: int) -> set[int]:
        """The node and all that it is computed of."""
        seen, pending = {number}, [number]
        for after in pending:
            more = [i for i in operands_of(self.nodes[after]) if i not in seen]
            seen.update(more)
            pending += more
        return seen


def shape_of(node: Node) -> tuple[Size, ...]:
    return node.type.shape if isinstance(node.type, ArrayType) else ()


def operands_of(node: Node) -> list[int]:
    return [i for i in node.operands if i is not None]
