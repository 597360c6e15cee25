"""Trace: the level on which calls are recorded as nodes of a graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, combinations
from typing import Any, TypeAlias

import numpy as np

from wengert.core.bind import Level, at_line, opened, recording
from wengert.core.dims import Dim, SizeNeeded, is_known, substitute, yielding_sizes
from wengert.core.dtypes import DType, float64, native
from wengert.core.graph import Graph, Node
from wengert.core.op import Op
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.table import op
from wengert.core.table import op as table
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Type, Value, type_of
from wengert.core.values.number import key_of_argument
from wengert.core.words.noticed.masked import require_plain_array
from wengert.core.words.source import Line, user_line
from wengert.errors import ShapeError, TraceError, WengertError
from wengert.interpret.mistakes.mixed_rows import (
    note_mixed_rows,
    note_rows_from_outside,
    note_summed_rows,
)
from wengert.interpret.mistakes.torch_modes import torch_stops
from wengert.interpret.mistakes.widening import note_widening

Constants: TypeAlias = list[tuple[np.ndarray[Any, Any], Line | None]]

_OF_A_BODY = re.compile(r"x\d+")  # what the operands of a scan or a loop are called

_noted_constants = Meanwhile[Constants]()


def noting_constants() -> AbstractContextManager[Constants]:
    """The arrays that become constants of graphs meanwhile, and the lines that use them."""
    return _noted_constants.said([])


def recorded_program() -> object | None:
    """What stands for the program that is being recorded around this place; None outside of one."""
    return _noted_constants.value


def recorded_constants() -> Constants:
    """The arrays that have become constants of the program that is being recorded."""
    return _noted_constants.value or []


class Trace(Level):
    """Records into one graph. Tensors of lower levels become inputs, remembered in `captured`."""

    symbolic = True

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        # By id of the Tensor or array, which the entry keeps alive: the node that stands for it.
        self.captured: dict[int, tuple[int, Tensor]] = {}
        self._constants: dict[int, tuple[int, Any]] = {}
        # For warnings: values of outer levels that inputs stand for, conversions that nobody wrote,
        # nodes that have been named.
        self.stands_for: dict[int, Value] = {}
        self.implicit: set[int] = set()
        self.told: set[int] = set()
        self.origins: dict[int, tuple[Trace, int] | None] = {}  # of float64, as far as asked for
        self.weak: set[int] = set()  # constants that are Python numbers
        self.arrays_told = {}
        self._began_stopped = torch_stops()
        self.under_no_grad: set[int] = set()  # what was recorded inside of torch.no_grad()

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Record here, also what has no operand; where that raises, take the nodes back."""
        before = len(self.graph)
        try:
            with recording(self):
                yield
        except BaseException:
            self._take_back(before)
            raise

    def _take_back(self, before: int) -> None:
        del self.graph.nodes[before:]
        for number in [number for number in self.graph.gradient_of if number >= before]:
            del self.graph.gradient_of[number]
        for numbers in (self.implicit, self.weak, self.told, self.under_no_grad):
            numbers -= {number for number in numbers if number >= before}
        self.origins = {number: x for number, x in self.origins.items() if number < before}
        for known in (self.captured, self._constants):
            for key in [key for key, entry in known.items() if entry[0] >= before]:
                del known[key]

    def process(self, op: Op, operands: Sequence[Value], params: dict[str, Any]) -> Value:
        before, types, lifted = len(self.graph), [], []
        try:
            lifted = self._lift_all(op, operands)
            types = [None if x is None else _plain_type(x) for x in lifted]
            t = node_type(op, types, params)
        except BaseException as error:
            self._take_back(before)
            if isinstance(error, ShapeError):
                _note_misfit(op, operands, lifted, params)
                _let_sizes_yield(op, types, params, error)
            if isinstance(error, WengertError):
                raise at_line(error, user_line()) from None
            raise
        numbers = tuple(x if x is None else x.handle for x in lifted)
        line = user_line()
        if isinstance(t, ArrayType) and t.dtype == float64:
            note_widening(op.name, operands, line)
        if not self._began_stopped and torch_stops():
            self.under_no_grad.add(len(self.graph))
        return self._record(Node(op, numbers, params, t, line))

    def _record(self, node: Node) -> Value:
        number = self.graph.append(node)
        if isinstance(node.type, ArrayType):
            return self.tensor(number)
        picks = [
            Node(op.pick, (number,), {"index": i}, each, node.line)
            for i, each in enumerate(node.type)
        ]
        return tuple(self.tensor(self.graph.append(pick)) for pick in picks)

    def sizes_behind(self, tensor: Tensor) -> frozenset[str]:
        names: set[str] = set()
        for node in self._nodes_behind(tensor):
            if node.op is op.parameter:
                return frozenset()
            if node.op is op.input:
                argument = key_of_argument(node.params["name"])
                if not is_known(argument):
                    return frozenset()
                names.add(argument)
            # Of what sizes alone make, as eye(n) is, they are parameters.
            names.update(*(x.names for x in _sizes_in(node.params) if isinstance(x, Dim)))
        return frozenset(names)

    def argument_behind(self, tensor: Tensor) -> str:
        inputs = [each for each in self._nodes_behind(tensor) if each.op is op.input]
        name = str(inputs[0].params["name"]) if len(inputs) == 1 else ""
        if not name.isidentifier() or _OF_A_BODY.fullmatch(name):
            return ""
        t = inputs[0].type
        assert isinstance(t, ArrayType)
        return name if t.shape == () and t.dtype.kind in "iu" else ""

    def _nodes_behind(self, tensor: Tensor) -> Iterator[Node]:
        """The node of a Tensor, and all that it is computed from."""
        pending, seen = [tensor.handle], {tensor.handle}
        while pending:
            node: Node = self.graph.nodes[pending.pop()]
            yield node
            new = {i for i in node.operands if i is not None} - seen
            seen |= new
            pending.extend(new)

    def line_of(self, tensor: Tensor) -> Line | None:
        node: Node = self.graph.nodes[tensor.handle]
        return node.line

    def made_by(self, tensor: Tensor) -> str:
        node: Node = self.graph.nodes[tensor.handle]
        return node.op.name

    def note_gradient(self, g: Tensor, of: Tensor) -> None:
        if self.graph.nodes[of.handle].op is op.input:
            self.graph.gradient_of.setdefault(g.handle, []).append(of.handle)

    def tensor(self, number: int) -> Tensor:
        return Tensor(self, number, None, self.graph.type(number))

    def input(self, t: ArrayType, name: str, line: Line | None = None) -> Tensor:
        """A new input node."""
        number = self.graph.append(Node(op.input, (), {"name": name, "type": t}, t, line))
        self.graph.inputs.append(number)
        return self.tensor(number)

    def lift(self, x: Value, dtype: DType | None = None) -> Tensor:
        """Any operand as a Tensor of this level, in `dtype` if one is given."""
        if type(x) is Tensor:
            tensor = x if x.level is self else self._capture(x)
        elif isinstance(x, Dim):
            wanted = dtype or np.dtype("int64")
            params = {"dim": x, "dtype": wanted}
            tensor = self._record(Node(op.size, (), params, ArrayType((), wanted), user_line()))
        else:
            tensor = self._constant(x, dtype)
        if dtype is not None and tensor.dtype != dtype:
            tensor = self.process(op.astype, (tensor,), {"dtype": dtype})
            self.implicit.add(tensor.handle)
        return tensor

    def _lift_all(self, op: Op, operands: Sequence[Value]) -> list[Tensor | None]:
        ready = [x if x is None or _has_type(x) else np.asarray(x) for x in operands]
        plain = [native(x) if isinstance(x, np.ndarray) else x for x in ready]
        op.require_operands(plain)
        dtypes = op.operand_dtypes(plain)
        return [None if x is None else self.lift(x, d) for x, d in zip(ready, dtypes, strict=True)]

    def _constant(self, x: Value, dtype: DType | None) -> Tensor:
        known = self._constants.get(id(x))
        if known is not None and known[1] is x and isinstance(x, np.ndarray):
            before = self.graph.nodes[known[0]].params["value"]
            if before is x:
                return self.tensor(known[0])
            now = native(x)
            if before.dtype == now.dtype and before.tobytes() == now.tobytes():  # not changed since
                return self.tensor(known[0])
        weak = isinstance(x, bool | int | float)
        if _noted_constants.value is not None and isinstance(x, np.ndarray):
            _noted_constants.value.append((x, user_line()))
        value = native(np.array(x, dtype=dtype if weak else None))  # a copy: x may change later
        value.flags.writeable = False
        node = Node(op.constant, (), {"value": value}, type_of(value), user_line())
        number = self.graph.append(node)
        self._constants[id(x)] = (number, x)
        self._constants[id(value)] = (number, value)  # a backward pass reads this one
        if weak and not isinstance(x, np.generic):
            self.weak.add(number)
        return self.tensor(number)

    def constant_of(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
        known = self._constants.get(id(x))
        if known is None or known[1] is not x:
            return None
        value: np.ndarray[Any, Any] = self.graph.nodes[known[0]].params["value"]
        return value

    def has_constant(self, x: Value) -> bool:
        known = self._constants.get(id(x))
        return known is not None and known[1] is x

    def array_of(self, number: int) -> Value:
        """The array of the user's that a node stands for, if it is known."""
        if number in self.stands_for:
            return self.stands_for[number]
        return next((x for known, x in self._constants.values() if known == number), None)

    def constant_arrays(self) -> Iterator[tuple[np.ndarray[Any, Any], int]]:
        """The arrays that have become constants here, and the nodes that stand for them."""
        for number, x in self._constants.values():
            if isinstance(x, np.ndarray):
                yield x, number

    def _capture(self, x: Tensor) -> Tensor:
        x.level.require_open()
        if x.level.number > self.number or (x.level.number == self.number and x.level is not self):
            raise TraceError(
                "Tensor: given one of another graph or of a transformation inside this one; "
                "operands must come from this graph or from outside. Pass it in as an argument."
            )
        if id(x) not in self.captured:
            tensor = self.input(type_of(x), f"captured{len(self.captured)}")
            self.graph.inputs.pop()
            self.captured[id(x)] = (tensor.handle, x)
            self.stands_for[tensor.handle] = x
        return self.tensor(self.captured[id(x)][0])


_TYPED = (Tensor, bool, int, float, Dim, np.ndarray)


def _has_type(x: Value) -> bool:
    return isinstance(x, _TYPED)


def _plain_type(x: Tensor) -> ArrayType:
    """The type of a Tensor, whether it gives way to others or not."""
    return x.known if type(x.known) is ArrayType else type_of(x)


def trace_flat(
    function: Callable[..., Sequence[Value]],
    types: Sequence[ArrayType | None],
    names: Sequence[str],
    graph: Graph | None = None,
    whole: bool = False,
    given: Sequence[Value] = (),
) -> tuple[Graph, list[Tensor]]:
    """Record `function` called with one Tensor per type; return the graph and the outer Tensors it
    used.

    The inputs of the graph are the captured Tensors first, then the arguments. Calls on outer
    Tensors alone happen outside, once; as a `whole`, the graph records those too. `given` are the
    values that the arguments stand for, where they are known; warnings name where these were made.
    """
    level = Trace(Graph() if graph is None else graph)
    level.whole = whole
    with opened(level):
        arguments = [
            None if t is None else level.input(t, name)
            for t, name in zip(types, names, strict=True)
        ]
        for argument, value in zip(arguments, given, strict=False):
            if argument is not None and value is not None:
                level.stands_for[argument.handle] = value
        results = function(*arguments)
        for x in results:
            require_plain_array("return", x)
        level.graph.returns[:] = [level.lift(x).handle for x in results]
    level.graph.inputs[:0] = [number for number, _ in level.captured.values()]
    return level.graph, [tensor for _, tensor in level.captured.values()]


def _note_misfit(
    op: Op, operands: Sequence[Value], lifted: Sequence[Tensor | None], params: dict[str, Any]
) -> None:
    """Note where rows meet columns in what has its operands side by side, an elementwise op or a
    loss; and in a product of matrices. And where they meet an array from outside.
    """
    given = [x for x in operands if x is not None]
    shapes = [_plain_type(x).shape for x in lifted if x is not None]
    if op.kind == "bilinear":
        note_summed_rows(op.name, given)
    elif len(shapes) == len(given):
        note_rows_from_outside(op.name, shapes, given)
    if op.kind == "elementwise" or "reduction" in params:
        class_axis = None
        if "reduction" in params and len(set(map(len, shapes))) == 2:
            class_axis = params.get("axis")
        note_mixed_rows(op.name, shapes, given, class_axis)


def _let_sizes_yield(
    op: Op, types: Sequence[ArrayType | None], params: dict[str, Any], misfit: ShapeError
) -> None:
    """Operands do not fit while sizes are open. Where they fit with some of these sizes as numbers,
    as few as possible, have those specialised.
    """
    shapes = [size for t in types if t is not None for size in t.shape]
    named = [*shapes, *_sizes_in(params)]
    sizes = yielding_sizes(frozenset().union(*(x.names for x in named if isinstance(x, Dim))))
    latest_first = list(reversed(sizes))  # so that the batch itself goes last
    counts = range(1, len(sizes) + 1)
    for chosen in chain.from_iterable(combinations(latest_first, count) for count in counts):
        closed = {name: sizes[name] for name in chosen}
        known = [t and ArrayType(substitute(t.shape, closed), t.dtype) for t in types]
        try:
            node_type(op, known, {name: substitute(x, closed) for name, x in params.items()})
        except ShapeError:
            continue
        raise SizeNeeded(frozenset(closed), misfit)


def _sizes_in(x: Any) -> Iterator[Any]:
    if isinstance(x, tuple | dict):
        for each in x.values() if isinstance(x, dict) else x:
            yield from _sizes_in(each)
    else:
        yield x


_bodies: dict[Any, Graph] = {}  # of composites; the oldest goes when there are too many
REMEMBERED = 1024


def composite_body(op: Op, types: Sequence[ArrayType | None], params: dict[str, Any]) -> Graph:
    """The graph of a composite's body for operands of these types.

    That of an op made for one call is recorded once, too: what it reads outside may be something
    else when a pass asks for it again.
    """
    assert op.body is not None
    for_one_call = op.name not in table or table[op.name] is not op
    known = op.recorded if for_one_call else _bodies
    key: Any
    try:
        key = (None if for_one_call else op, tuple(types), tuple(sorted(params.items())))
        if key in known:
            recorded: Graph = known[key]
            return recorded
    except TypeError:
        key = None  # a parameter without a hash (an array, a function's tree)
    body = op.body

    def run(*operands: Value) -> Sequence[Value]:
        result = body(*operands, **params)
        return result if isinstance(result, tuple | list) else (result,)

    names = [f"x{i}" for i in range(len(types))] if op.call.variadic else op.call.operands
    graph, captured = trace_flat(run, types, names)
    if captured:
        raise outer_tensor(op.name)
    if key is not None:
        if len(known) >= REMEMBERED:
            del known[next(iter(known))]
        known[key] = graph
    return graph


def outer_tensor(name: str) -> TraceError:
    """The refusal of a body that closes over a Tensor."""
    return TraceError(
        f"{name}: its body uses a Tensor from outside; it may use its arguments only. "
        "Pass that Tensor in as an argument."
    )


def node_type(op: Op, types: Sequence[ArrayType | None], params: dict[str, Any]) -> Type:
    """The type of a call; a composite that gives no type rule has that of its body."""
    if op.type is not None:
        return op.type(*types, **params)
    outputs = tuple(composite_body(op, types, params).output_types())
    return outputs[0] if len(outputs) == 1 else outputs
