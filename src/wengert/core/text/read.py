"""Read back the text that `show` wrote."""

from __future__ import annotations

import base64
import difflib
import re
from dataclasses import dataclass, field
from typing import Any

from wengert.core.check import Fault, Infer, verify
from wengert.core.graph import Graph, Node
from wengert.core.op import Op
from wengert.core.table import op
from wengert.core.text.literal import DATA, Body, ValueTokens
from wengert.core.text.tokens import WORD
from wengert.core.types import ArrayType, Type
from wengert.core.words.source import Line
from wengert.errors import CheckError

NUMBERED = re.compile(r"%(\d{1,9})(?!\d)")
ABSENT = re.compile(r"_(?!\w)")
NAMED = re.compile(r"([^\W\d]\w*)=")
BODY_NAME = re.compile(r"[^\W\d][\w.]*")
DATA_SECTION = re.compile(r"^data \{", re.MULTILINE)
PLACE = re.compile(r"(.+):(\d{1,9})")


def read(text: str, infer: Infer | None = None) -> Graph:
    """The graph of a text; CheckError names the line where the text is malformed or untrue. `infer`
    is that of `check`.

    >>> graph = read('''
    ... graph(%0: float32[3] "x") {
    ...   %1: float32[3] = tanh(%0)   # model.py:12
    ...   return %1
    ... }''')
    >>> graph.nodes[1].op, graph.nodes[1].type, str(graph.nodes[1].line)
    (<op tanh>, float32[3], 'model.py:12')
    """
    reader = GraphReader(text)
    graph = reader.alone()
    try:
        verify(graph, infer)
    except Fault as fault:
        line = reader.line(reader.places[id(fault.graph)][fault.number])
        raise CheckError(f"read: line {line}: {fault}") from fault.__cause__
    return graph


@dataclass(slots=True)
class GraphBlock:
    """A graph while it is read: its nodes, and where they stand; None is the graph itself."""

    graph: Graph
    places: dict[int | None, int]
    nodes: dict[int, Node] = field(default_factory=dict)


class GraphReader(ValueTokens):
    """Reads graphs; the kernel language reads more behind the calls in its own."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.places: dict[int, dict[int | None, int]] = {}  # id of a graph -> as in its block

    def alone(self) -> Graph:
        """The graph that is all of the text."""
        end = self.read_data()
        graph = self.graph()
        if self.here() != end:
            self.fail("the text must end after the graph, or go on with 'data {'")
        return graph

    def read_data(self) -> int:
        """Read the data section, if there is one, and come back; where what is before it ends."""
        end = len(self.text)
        section = DATA_SECTION.search(self.text)
        if section is not None:  # first, as nodes refer to it
            self.at = section.end()
            self.data_section()
            if self.here() != end:
                self.fail("the text must end after the data")
            self.at, end = 0, section.start()
        return end

    def data_section(self) -> None:
        while not self.take("}"):
            name = self.need_match(DATA, "data such as '$0 = \"…\"', or '}'")[1]
            self.need("=")
            at = self.here()
            try:
                self.data[name] = base64.b64decode(self.string(), validate=True)
            except ValueError:
                self.fail("expected base64", at)

    def graph(self) -> Graph:
        block = GraphBlock(Graph(), {None: self.here()})
        if not self.keyword("graph"):
            self.fail("a graph begins with 'graph('")
        self.need("(")
        block.graph.inputs[:] = self.items(lambda: self.head(block), ")")
        self.need("{")
        while not self.keyword("return"):
            self.node(block)
        block.graph.returns[:] = self.items(self.output, "}")
        self.number_all(block)
        self.places[id(block.graph)] = block.places
        return block.graph

    def number_all(self, block: GraphBlock) -> None:
        """Bring the nodes in order; inputs stand in the header wherever they are numbered."""
        for number in range(len(block.nodes)):
            if number not in block.nodes:
                last = block.places[max(block.nodes)]
                self.fail(f"there is no %{number}, nodes are numbered without gaps", last)
            block.graph.nodes.append(block.nodes[number])

    def output(self) -> int:
        return int(self.need_match(NUMBERED, "an output such as %3, or '}'")[1])

    def new_number(self, block: GraphBlock) -> int:
        at = self.here()
        number = int(self.need_match(NUMBERED, "a node such as '%3: float32[] = …' or 'return'")[1])
        if number in block.places:
            self.fail(f"this number is taken in line {self.line(block.places[number])}", at)
        block.places[number] = at
        return number

    def head(self, block: GraphBlock) -> int:
        """An input in the header; without a type it is a reference to a node below."""
        kind = op.parameter if self.keyword("parameter") else op.input
        start = self.here()
        reference = self.need_match(NUMBERED, "an input such as '%0: float32[3] \"x\"'")[1]
        if not self.take(":"):
            return int(reference)
        self.at = start
        number = self.new_number(block)
        self.need(":")
        t, name = self.array_type(), self.string()
        end = self.at
        self.take(",")  # the comment stands after it
        block.nodes[number] = Node(kind, (), {"name": name, "type": t}, t, self.place())
        self.at = end
        return number

    def place(self) -> Line | None:
        """The user's file and line, if a comment on the rest of this line says them."""
        match = PLACE.fullmatch(self.comment())
        return Line(match[1], int(match[2])) if match else None

    def node(self, block: GraphBlock) -> int:
        """Read a node; its number."""
        number = self.new_number(block)
        self.need(":", " and a type")
        t = self.type()
        self.need("=")
        called = self.op()
        self.need("(")
        operands, params = self.arguments(called, t)
        order = self.after_call(number)
        line = self.place()
        if self.take("{"):
            line = line or self.place()
            params = self.with_bodies(params)
        for each in params.values():
            self.require_no_body(each)
        block.nodes[number] = Node(called, operands, params, t, line, order)
        return number

    def after_call(self, number: int) -> str | None:
        """What stands behind a call: nothing, in a graph. The order in which it adds up."""

    def op(self) -> Op:
        at = self.here()
        name = self.need_match(WORD, "the name of an op")[0]
        if name not in op:
            close = difflib.get_close_matches(name, [each.name for each in op], n=1)
            self.fail("there is no such op" + (f", did you mean {close[0]}?" if close else ""), at)
        called: Op = op[name]
        return called

    def arguments(self, called: Op, t: Type) -> tuple[tuple[int | None, ...], dict[str, Any]]:
        operands: list[int | None] = []
        params: dict[str, Any] = {}

        def argument() -> None:
            at = self.here()
            number = self.match(NUMBERED)
            if number or self.match(ABSENT):
                if params:
                    self.fail("operands must stand before parameters", at)
                operands.append(int(number[1]) if number else None)
                return
            name = self.match(NAMED)
            if name is None:
                params.update(self.lone_argument(called, t))
            elif name[1] in params:
                self.fail("this parameter is given twice", at)
            else:
                params[name[1]] = self.value()

        self.items(argument, ")")
        return tuple(operands), params

    def lone_argument(self, called: Op, t: Type) -> dict[str, Any]:
        """What a source has in its parentheses, completed by its type."""
        if called is op.constant and isinstance(t, ArrayType):
            return {"value": self.elements(t.dtype, t.shape)}
        if called not in (op.input, op.parameter):
            self.fail("expected an operand such as %3 or a parameter such as axis=0")
        return {"name": self.string(), "type": t}

    def with_bodies(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters with the graphs of the block below in their places."""
        bodies: dict[str, tuple[int, Graph]] = {}
        while not self.take("}"):
            at = self.here()
            name = self.need_match(BODY_NAME, "a graph such as 'body = graph(…', or '}'")[0]
            if name in bodies:
                self.fail("this graph is given twice", at)
            self.need("=")
            self.enter()
            bodies[name] = (at, self.graph())
            self.depth -= 1

        def put(value: Any) -> Any:
            if type(value) is tuple:
                return tuple(map(put, value))
            known = isinstance(value, Body) and value.name in bodies
            return bodies.pop(value.name)[1] if known else value

        params = {name: put(value) for name, value in params.items()}
        for name, (at, _) in bodies.items():
            self.fail(f"no parameter above is @{name}", at)
        return params

    def require_no_body(self, value: Any) -> None:
        if type(value) is tuple:
            for item in value:
                self.require_no_body(item)
        elif isinstance(value, Body):
            self.fail("expected this graph in a block '{ … }' after the node", value.at)
