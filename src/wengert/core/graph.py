"""Node and Graph: a program as data. Nodes are numbered in order and refer to earlier ones by
number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from wengert.core.dims import has_dims
from wengert.core.op import Op
from wengert.core.types import ArrayType, Type
from wengert.core.words.source import Line


@dataclass(frozen=True, slots=True)
class Node:
    """One call: the op, the numbers of its operands, canonical parameters, its type and the user's
    line.
    """

    op: Op
    operands: tuple[int | None, ...]
    params: dict[str, Any]
    type: Type
    line: Line | None = None
    order: str | None = None  # in which order a fold or contraction adds up; set by `passes.order`

    def reading(self, operands: tuple[int | None, ...]) -> Node:
        """The same call of other operands; passes ask for this at every node."""
        if operands == self.operands:
            return self
        return Node(self.op, operands, self.params, self.type, self.line, self.order)

    @property
    def outputs(self) -> int:
        """How many outputs it has."""
        return 1 if isinstance(self.type, ArrayType) else len(self.type)


@dataclass(eq=False)
class Graph:
    """A program: nodes in order, and which of them are inputs and outputs."""

    nodes: list[Node] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    returns: list[int] = field(default_factory=list)
    # Notes of the recording, for messages: node -> the inputs whose cotangent it is.
    gradient_of: dict[int, list[int]] = field(default_factory=dict, repr=False)

    def append(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def type(self, number: int) -> ArrayType:
        """The type of a node with one output."""
        t = self.nodes[number].type
        assert isinstance(t, ArrayType)
        return t

    def name(self, number: int) -> str:
        """The user's name of an input or parameter, else its number."""
        return str(self.nodes[number].params.get("name") or f"%{number}")

    def input_types(self) -> list[ArrayType]:
        return [self.type(number) for number in self.inputs]

    def output_types(self) -> list[ArrayType]:
        return [self.type(number) for number in self.returns]

    @property
    def has_dims(self) -> bool:
        """Whether any size in the program is open."""
        shapes = (t.shape for node in self.nodes for t in _types(node.type))
        params = (tuple(node.params.values()) for node in self.nodes)
        return any(map(has_dims, shapes)) or any(map(has_dims, params))

    def subgraphs(self) -> Iterator[Graph]:
        """The bodies of scans, branches and regions."""
        for node in self.nodes:
            for value in node.params.values():
                if isinstance(value, Graph):
                    yield value

    def __len__(self) -> int:
        return len(self.nodes)


def _types(t: Type) -> tuple[ArrayType, ...]:
    return (t,) if isinstance(t, ArrayType) else t
