"""A graph as text that a person reads and `read` reads back.

    graph(%0: float32[batch, 4] "x", %1: float32[4, 64] "w") {
      %2: float32[batch, 64] = matmul(%0, %1)                   # model.py:12
      %3: float32[] = constant(2.0)                             # model.py:13
      %4: float32[batch, 64] = multiply(%2, %3)                 # model.py:13
      return %4
    }

Operands come first (``_`` stands for one left out), then parameters by name, as `literal` writes
them. A graph in a parameter is called ``@body`` there and is a block below its node; the bytes of
larger arrays are called ``$0`` and stand after the graph.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.text.literal import Writer, has_numbers, type_text
from wengert.core.text.read import read
from wengert.core.types import type_of

__all__ = ["param_texts", "read", "show"]

COMMENT_COLUMN = 60
WIDTH = 100  # a header that is longer takes a line for each input


def show(graph: Graph, lines: bool = True) -> str:
    """The graph as text; with `lines`, the user's file and line stand beside each node.

    >>> text = 'graph(%0: float32[batch, 4] "x") { %1: float32[batch, 4] = tanh(%0) return %1 }'
    >>> graph = read(text)
    >>> print(show(graph))
    graph(%0: float32[batch, 4] "x") {
      %1: float32[batch, 4] = tanh(%0)
      return %1
    }
    """
    printer = GraphPrinter(Writer(), lines)
    return "\n".join([*printer.graph(graph, "", ""), *printer.data()])


def param_texts(node: Node) -> tuple[dict[str, str], list[tuple[str, Graph]]]:
    """The parameters for looking only, without the bytes of arrays, and the graphs among them.

    What the node's type says already is left out; the name of a lone argument is empty.
    """
    bodies: list[tuple[str, Graph]] = []
    return GraphPrinter(Writer(brief=True), lines=False).params(node, bodies), bodies


class GraphPrinter:
    """Writes graphs line by line; the kernel language writes more behind the calls in its own."""

    def __init__(self, writer: Writer, lines: bool) -> None:
        self.writer = writer
        self.lines = lines

    def data(self) -> list[str]:
        """The bytes of the arrays written so far."""
        data = self.writer.data
        return ["data {", *(f'  ${i} = "{each}"' for each, i in data.items()), "}"] if data else []

    def graph(self, graph: Graph, opening: str, indent: str) -> Iterator[str]:
        declared = declared_inputs(graph)
        yield from self.header(graph, declared, f"{opening}graph", " {", indent)
        for number, node in enumerate(graph.nodes):
            if number not in declared:
                yield from self.node(number, node, indent + "  ")
        yield f"{indent}  return {', '.join(f'%{number}' for number in graph.returns)}".rstrip()
        yield f"{indent}}}"

    def header(
        self, graph: Graph, declared: set[int], opening: str, closing: str, indent: str
    ) -> Iterator[str]:
        """The inputs in parentheses, in one line where there is room; of those that are not
        `declared` here, the numbers.
        """
        heads, comments = [], []
        for number in graph.inputs:
            known = number in declared
            heads.append(_head(number, graph.nodes[number]) if known else f"%{number}")
            comments.append(self.comment(graph.nodes[number]) if known else "")
        line = f"{indent}{opening}({', '.join(heads)}){closing}"
        if len(line) <= WIDTH and not any(comments):
            yield line
        else:
            yield f"{indent}{opening}("
            for head, comment in zip(heads, comments, strict=True):
                yield aligned(f"{indent}  {head},", comment)
            yield f"{indent}){closing}"

    def node(self, number: int, node: Node, indent: str, more: str = "") -> Iterator[str]:
        """A node, with `more` behind its call."""
        bodies: list[tuple[str, Graph]] = []
        text = f"{indent}{self.statement(number, node, bodies)}{more}"
        yield aligned(f"{text} {{" if bodies else text, self.comment(node))
        yield from self.bodies(bodies, indent)

    def bodies(self, bodies: list[tuple[str, Graph]], indent: str) -> Iterator[str]:
        """The block below a node that has graphs among its parameters."""
        for name, body in bodies:
            yield from self.graph(body, f"{name} = ", indent + "  ")
        if bodies:
            yield f"{indent}}}"

    def statement(self, number: int, node: Node, bodies: list[tuple[str, Graph]]) -> str:
        """Number, type and call of a node; graphs among its parameters join `bodies`."""
        operands = ["_" if each is None else f"%{each}" for each in node.operands]
        params = [f"{k}={v}" if k else v for k, v in self.params(node, bodies).items()]
        call = f"{node.op.name}({', '.join(operands + params)})"
        return f"%{number}: {type_text(node.type)} = {call}"

    def comment(self, node: Node) -> str:
        return f"# {node.line}".replace("\n", " ") if self.lines and node.line else ""

    def params(self, node: Node, bodies: list[tuple[str, Graph]]) -> dict[str, str]:
        """The text of each parameter; that of a source has no name, as its type says the rest."""
        if node.op is op.constant and _is_constant(node):
            return {"": self.writer.elements(node.params["value"])}
        if node.op in (op.input, op.parameter) and _is_source(node):
            return {"": json.dumps(node.params["name"], ensure_ascii=False)}
        return {name: self.writer.value(each, name, bodies) for name, each in node.params.items()}


def _head(number: int, node: Node) -> str:
    kind = "" if node.op is op.input else "parameter "
    name = json.dumps(node.params["name"], ensure_ascii=False)
    return f"{kind}%{number}: {type_text(node.type)} {name}"


def aligned(text: str, comment: str) -> str:
    """A line with its comment, which begins in a column of its own where there is room."""
    return f"{text:<{COMMENT_COLUMN - 2}}  {comment}" if comment else text


def declared_inputs(graph: Graph) -> set[int]:
    """The inputs of which the header says all."""
    return {number for number in graph.inputs if _is_declared(graph, number)}


def _is_declared(graph: Graph, number: int) -> bool:
    """Whether the header says all about an input. Graphs that break the rules are shown, too."""
    if not 0 <= number < len(graph.nodes) or graph.inputs.count(number) > 1:
        return False
    node = graph.nodes[number]
    return node.op in (op.input, op.parameter) and _is_source(node)


def _is_source(node: Node) -> bool:
    params: dict[str, Any] = node.params
    known = not node.operands and params.keys() == {"name", "type"}
    return known and type(params["name"]) is str and params["type"] == node.type


def _is_constant(node: Node) -> bool:
    value = node.params.get("value")
    if not isinstance(value, np.ndarray) or len(node.params) != 1 or node.operands:
        return False
    return node.type == type_of(value) and has_numbers(value)
