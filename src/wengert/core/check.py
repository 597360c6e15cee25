"""Check that a graph keeps its own rules: scope, types, parameters, names, and those of its bodies.

Tests call this after every pass. The first broken rule is reported with the number and op of its
node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

from wengert.core.dims import Dim, is_countable, product
from wengert.core.dtypes import SUPPORTED, bool_, int64
from wengert.core.graph import Graph, Node
from wengert.core.op import Op
from wengert.core.table import op as table
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Type
from wengert.core.words.source import Line
from wengert.errors import CheckError

# (op, operand types, params) -> the type of a composite that gives no type rule
Infer: TypeAlias = Callable[[Op, Sequence[ArrayType | None], dict[str, Any]], Type]

_CONDITION, _COUNT = ArrayType((), bool_), ArrayType((), int64)


def check(graph: Graph, infer: Infer | None = None) -> None:
    """Raise CheckError where the graph breaks a rule.

    A composite without a type rule keeps the type it has, unless `infer` says what it should be.

    >>> x = ArrayType((3,), np.dtype("float32"))
    >>> graph = Graph([Node(table.input, (), {"name": "x", "type": x}, x)], [0], [1])
    >>> check(graph)
    Traceback (most recent call last):
    wengert.errors.CheckError: graph: has node 1 among its outputs; its last node is 0.
    """
    try:
        verify(graph, infer)
    except Fault as fault:
        raise CheckError(str(fault)) from fault.__cause__


class Fault(Exception):
    """A broken rule: in which graph, at which node (None: in the graph's own lists), and how."""

    def __init__(self, graph: Graph, number: int | None, text: str) -> None:
        super().__init__(text)
        self.graph = graph
        self.number = number


def verify(graph: Graph, infer: Infer | None = None) -> None:
    """As `check`, but raise a Fault, which knows its place, for `read` to name a line of text."""
    _Check(graph, infer, frozenset(), "", ()).run()


class _Check:
    """The check of one graph. `place` says where a body lies: `` in body of node 7 (scan)``."""

    def __init__(
        self,
        graph: Graph,
        infer: Infer | None,
        dims: frozenset[str],
        place: str,
        outside: tuple[Graph, ...],
    ) -> None:
        self.graph = graph
        self.infer = infer
        self.place = place
        self.outside = outside  # the graphs this one lies in
        self.dims = set(dims)  # the names of sizes that inputs here or outside introduce
        self.number: int | None = None

    def run(self) -> None:
        if any(each is self.graph for each in self.outside):
            self.wrong("contains itself; a body must be a graph of its own")
        self.inputs()
        for number, node in enumerate(self.graph.nodes):
            self.number = number
            self.node(node)
        self.number = None
        self.numbers("outputs", self.graph.returns)
        for number in self.graph.returns:
            if type(self.graph.nodes[number].type) is tuple:
                self.wrong(f"returns node {number}, which has several outputs; pick one of them")

    def wrong(self, text: str, cause: BaseException | None = None) -> NoReturn:
        if self.number is None:
            subject = f"graph{self.place}: "
        else:
            node: Any = self.graph.nodes[self.number]
            name = node.op.name if hasattr(node, "op") and hasattr(node.op, "name") else "graph"
            stored = getattr(node, "line", None)
            line = f" ({stored})" if isinstance(stored, Line) else ""
            subject = f"{name}: node {self.number}{self.place}{line} "
        raise Fault(self.graph, self.number, f"{subject}{text}.") from cause

    # The graph's own lists

    def numbers(self, what: str, listed: Sequence[Any]) -> None:
        for number in listed:
            if not _is_number(number):
                self.wrong(f"has {number!r} among its {what}; they are node numbers")
            if not 0 <= number < len(self.graph.nodes):
                last = len(self.graph.nodes) - 1
                self.wrong(f"has node {number} among its {what}; its last node is {last}")

    def inputs(self) -> None:
        """Each input is listed once, the captured ones too, and has a name of its own."""
        self.numbers("inputs", self.graph.inputs)
        listed = set(self.graph.inputs)
        if len(listed) != len(self.graph.inputs):
            self.wrong(f"lists an input twice: {self.graph.inputs}; each may be given once")
        named: dict[str, int] = {}
        sources = (table.input, table.parameter)
        nodes: Sequence[Any] = self.graph.nodes
        for number, node in enumerate(nodes):
            self.number = number
            if not isinstance(node, Node) or not isinstance(node.op, Op):
                self.wrong("is no node with an op; every entry of a graph is one")
            if node.op not in sources:
                if number in listed:
                    self.wrong("is listed as an input; only inputs and parameters can be given")
                continue
            if node.op is table.input and number not in listed:
                self.wrong("is not listed among the graph's inputs; nothing would give it a value")
            name = node.params.get("name")
            if name and named.setdefault(name, number) != number:
                self.wrong(f"is named {name!r} as node {named[name]} is; names must differ")
            for each in _types(node.type):
                sizes = each.shape if type(each.shape) is tuple else ()
                self.dims.update(*(size.names for size in sizes if isinstance(size, Dim)))
        self.number = None

    # One node

    def node(self, node: Node) -> None:
        self.stored_type(node)
        types = self.operands(node)
        self.params(node)
        if node.op is table.pick:
            self.pick(node)
        else:
            for number, t in zip(node.operands, types, strict=True):
                if type(t) is tuple:
                    self.wrong(f"reads node {number}, which has several outputs; only pick may")
        self.given_type(node, types)

    def stored_type(self, node: Node) -> None:
        if node.line is not None and not isinstance(node.line, Line):
            self.wrong(f"has {node.line!r} for its line; a Line or None is needed")
        each: Any = node.type if type(node.type) is tuple else (node.type,)
        for t in each:
            if not isinstance(t, ArrayType):
                self.wrong(f"has {t!r} for its type; an ArrayType, or a tuple of them, is needed")
            if t.dtype not in SUPPORTED:
                self.wrong(f"has dtype {t.dtype!r}; wengert does not compute with it")
            if type(t.shape) is not tuple:
                self.wrong(f"has shape {t.shape!r}; a tuple is needed")
            for size in t.shape:
                if isinstance(size, Dim):
                    self.scope(size)
                elif type(size) is not int or size < 0:
                    self.wrong(f"has size {size!r}; a Dim or a non-negative int is needed")
            self.countable(t)

    def countable(self, t: ArrayType) -> None:
        """Machine code counts bytes, and says how many, in 64 bits."""
        known = product(tuple(size for size in t.shape if type(size) is int and size))
        assert isinstance(known, int)
        if known * t.dtype.itemsize >= 2**63 or not all(map(is_countable, t.shape)):
            self.wrong("has a type of 2**63 bytes or more; no array is as large")

    def scope(self, dim: Dim) -> None:
        if not dim.names <= self.dims:
            unknown = ", ".join(sorted(dim.names - self.dims))
            self.wrong(f"has size {dim}; no input has an axis named {unknown}")

    def operands(self, node: Node) -> list[Any]:
        """The types of the operands, which must be earlier nodes and as many as the op takes."""
        call, count = node.op.call, len(node.operands)
        least = len(call.operands) - call.variadic
        if count < least or (count > least and not call.variadic):
            needed = f"at least {least}" if call.variadic else str(least)
            self.wrong(f"has {count} operands; {node.op.name} takes {needed}")
        types: list[Any] = []
        for position, number in enumerate(node.operands):
            if number is None:
                name = call.operands[min(position, len(call.operands) - 1)]
                if name not in call.optional:
                    self.wrong(f"has no operand {position}; {name} is not optional")
                types.append(None)
            elif not _is_number(number):
                self.wrong(f"has operand {position} = {number!r}; a node number is needed")
            elif not 0 <= number < self._now():
                self.wrong(
                    f"has operand {position} = node {number}; only the nodes before it are in scope"
                )
            else:
                types.append(self.graph.nodes[number].type)
        return types

    def _now(self) -> int:
        assert self.number is not None
        return self.number

    def pick(self, node: Node) -> None:
        source = node.operands[0]
        assert source is not None
        outputs = self.graph.nodes[source].type
        index: Any = node.params.get("index")
        if type(outputs) is not tuple:
            self.wrong(f"picks from node {source}, which has one output; nothing is to be picked")
        if not _is_number(index) or not 0 <= index < len(outputs):
            self.wrong(f"picks output {index!r} of node {source}, which has {len(outputs)} outputs")

    def given_type(self, node: Node, types: Sequence[Any]) -> None:
        """The stored type must be what the op's own rule says."""
        rule: Any = node.op.type
        try:
            if node.op.dtypes is not None:
                self.entry_dtypes(node, types)
            self.canonical(node, types)
            if rule is not None:
                given = rule(*types, **node.params)
            elif self.infer is not None:
                given = self.infer(node.op, types, node.params)
            else:
                return
        except Fault:
            raise
        except Exception as error:  # whatever makes a rule fail was wrong in the node
            self.wrong(f"is refused by its own type rule: {str(error).rstrip('.')}", error)
        if given != node.type:
            self.wrong(f"has type {node.type}; its rule gives {given}")
        return

    def entry_dtypes(self, node: Node, types: Sequence[Any]) -> None:
        """Operands of an elementwise op have been converted before; a kernel converts nothing."""
        wanted = node.op.operand_dtypes(types)
        for position, (t, dtype) in enumerate(zip(types, wanted, strict=True)):
            if t is not None and t.dtype != dtype:
                self.wrong(
                    f"reads operand {position} as {t.dtype}; it computes in {dtype}, an astype "
                    "must stand between"
                )

    def canonical(self, node: Node, types: Sequence[Any]) -> None:
        """Parameters are in the one form that passes and kernels know: reading them again changes
        nothing.
        """
        read = node.op.settled or node.op.canonical
        if read is None:
            if set(node.params) != set(node.op.call.params):
                names = sorted(node.op.call.params)
                self.wrong(f"has parameters {sorted(node.params)}; its definition has {names}")
            return
        again = read(*types, **node.params)
        for name in (*again, *node.params):
            have, want = node.params.get(name), again.get(name)
            if have is not want and repr(have) != repr(want):
                self.wrong(f"has {name}={have!r}; in canonical form that is {want!r}")

    # Parameters

    def params(self, node: Node) -> None:
        if type(node.params) is not dict or not all(isinstance(key, str) for key in node.params):
            self.wrong(f"has parameters {node.params!r}; a dict with names is needed")
        for name, value in node.params.items():
            self.param(node, name, value)
            if name in ("axis", "axes"):
                self.axes(node, name, value)

    def param(self, node: Node, path: str, value: Any) -> None:
        if type(value) is tuple:
            for index, item in enumerate(value):
                self.param(node, f"{path}.{index}", item)
        elif isinstance(value, Graph):
            self.body(node, path, value)
        elif isinstance(value, Dim):
            self.scope(value)
            if not node.op.sized:
                self.wrong(
                    f"has {path}={value}; {node.op.name} is not sized, it takes numbers only"
                )
        elif isinstance(value, list | dict | set):
            self.wrong(
                f"has {path}={value!r}; a {type(value).__name__} is not canonical, a tuple is"
            )
        elif isinstance(value, Tensor):
            self.wrong(f"has a Tensor for {path}; Tensors are operands, parameters are static")

    def body(self, node: Node, path: str, body: Graph) -> None:
        """Each input of a body, captured or not, is given by an operand or by a row of one."""
        place = f" in {path} of node {self.number} ({node.op.name}){self.place}"
        outside = (*self.outside, self.graph)
        _Check(body, self.infer, frozenset(self.dims), place, outside).run()
        types: list[Any] = [None if i is None else self.graph.nodes[i].type for i in node.operands]
        if len(types) == len(body.inputs) + 1 and types[0] == _CONDITION:
            types = types[1:]  # it chooses between bodies
        elif len(types) == len(body.inputs) + 1 and types[-1] == _COUNT:
            types = types[:-1]  # it says how many steps are taken
        if len(types) != len(body.inputs):
            self.wrong(f"has {len(types)} operands for the {len(body.inputs)} inputs of {path}")
        for position, number in enumerate(body.inputs):
            given, wanted = types[position], body.nodes[number].type
            rows = isinstance(given, ArrayType) and given.with_shape(given.shape[1:])
            if wanted not in (given, rows):
                self.wrong(f"gives {given} to input {position} of {path}; that is {wanted}")

    def axes(self, node: Node, name: str, value: Any) -> None:
        numbers = value if type(value) is tuple else (value,)
        if not all(type(axis) is int for axis in numbers):
            return  # None, or a form of the op's own
        types = [self.graph.nodes[i].type for i in node.operands if i is not None]
        ranks = [each.ndim for t in (*types, node.type) for each in _types(t)]
        if any(axis < 0 for axis in numbers):
            self.wrong(f"has {name}={value}; canonical axes are not negative")
        if ranks and any(axis >= max(ranks) for axis in numbers):
            self.wrong(f"has {name}={value}; its arrays have at most {max(ranks)} axes")
        if name == "axes" and len(set(numbers)) != len(numbers):
            self.wrong(f"has {name}={value}; each axis may appear once")


def _is_number(value: Any) -> bool:
    return type(value) is int


def _types(t: Any) -> tuple[ArrayType, ...]:
    """The ArrayTypes of a node's type; empty where that is malformed."""
    each = t if type(t) is tuple else (t,)
    return each if all(isinstance(one, ArrayType) for one in each) else ()
