"""The values inside a program, computed again by a checked build: the same graph with intermediate
values as outputs. Fusion changes no bits, so neither does its absence.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from wengert.codegen.kernel import STATUS
from wengert.codegen.llvm.machine.native import Native, object_code
from wengert.codegen.llvm.module import ENTRY, write_module
from wengert.codegen.memory.plan import plan
from wengert.codegen.options import Options
from wengert.codegen.stages import lower
from wengert.core.dims import substitute
from wengert.core.graph import Graph, Node
from wengert.core.lowering import Source, View
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.runtime.call_memory import Memory
from wengert.runtime.given_arrays import readable

Array: TypeAlias = np.ndarray[Any, Any]

LIMIT = 1 << 30  # bytes of values that are kept at a time


class Failed(Exception):
    """The checked build stopped where the program did not; nothing can be said then."""


class _Build:
    """An unfused program that returns these nodes of a graph."""

    def __init__(self, graph: Graph, returns: Sequence[int], sizes: Mapping[str, int]) -> None:
        wanted = Graph([*graph.nodes], [*graph.inputs], [*returns])
        types, self.sizes = wanted.output_types(), dict(sizes)
        options = Options(self.sizes, fused=False)
        lowered = lower(wanted, options)
        self._native = Native(object_code(write_module(lowered, options).text()), (ENTRY,))
        self._function = self._native.function(ENTRY, ctypes.c_void_p)
        layout = lowered.layout
        self._memory = Memory(layout, partial(plan, lowered.program, layout))
        self._shapes = [(substitute(t.shape, sizes), t.dtype) for t in types]

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        outputs = [np.empty(shape, dtype) for shape, dtype in self._shapes]
        memory = self._memory
        memory.make_room(self.sizes)
        frame = memory.frame
        for slot, x in zip(memory.inputs, inputs, strict=True):
            frame[slot] = x.ctypes.data
        for slot, out in zip(memory.outputs, outputs, strict=True):
            frame[slot] = out.ctypes.data
        frame[STATUS] = 0
        self._function(memory.address)
        if frame[STATUS]:
            raise Failed
        return outputs


class Checked:
    """A graph that has been through the passes, whose nodes can be asked for their values.

    All values at once may need too much memory. Whoever walks back through a graph asks for nodes
    with smaller and smaller numbers: so a build returns the node asked for and as many before it as
    fit.
    """

    def __init__(self, graph: Graph, sizes: Mapping[str, int]) -> None:
        self.graph, self.sizes = graph, dict(sizes)
        self.positions = {number: i for i, number in enumerate(graph.inputs)}
        self._builds: dict[tuple[int, ...], _Build] = {}
        self._bodies: dict[int, Checked] = {}

    def body(self, graph: Graph) -> Checked:
        """The body of a loop, branch or region of this graph."""
        if id(graph) not in self._bodies:
            self._bodies[id(graph)] = Checked(graph, self.sizes)
        return self._bodies[id(graph)]

    def window(self, last: int) -> tuple[int, ...]:
        """Nodes up to this one whose values together take no more than LIMIT bytes."""
        numbers: list[int] = []
        total = 0
        for number in reversed(range(last + 1)):
            if self._is_computed(self.graph.nodes[number]):
                t = self.graph.type(number)
                total += int(np.prod(substitute(t.shape, self.sizes))) * t.dtype.itemsize
                if numbers and total > LIMIT:
                    break
                numbers.append(number)
        return tuple(numbers)

    def _is_computed(self, node: Node) -> bool:
        others = isinstance(node.op.lower, View | Source)
        return isinstance(node.type, ArrayType) and not others

    def compute(self, returns: tuple[int, ...], inputs: Sequence[Array]) -> list[Array]:
        if returns not in self._builds:
            self._builds[returns] = _Build(self.graph, returns, self.sizes)
        return self._builds[returns].run(inputs)

    def params(self, node: Node) -> dict[str, Any]:
        """The parameters of a node, with numbers for its Dims."""
        if not (self.sizes and node.op.sized):
            return node.params
        return {name: substitute(value, self.sizes) for name, value in node.params.items()}


class NameOfMany(str):
    """What messages call an array that holds several of the user's, and what the one is called that
    a first and a last place are of.
    """

    at: Callable[[int, int], str]

    def __new__(cls, name: str, at: Callable[[int, int], str]) -> NameOfMany:
        self = super().__new__(cls, name)
        self.at = at
        return self


class Scope:
    """A checked graph with arrays for its inputs: one run of it."""

    def __init__(
        self,
        checked: Checked,
        inputs: Sequence[Any],
        input_names: Sequence[str],  # what the user calls them, where there is a name
        steps: tuple[int, ...] = (),  # of the loops around this run, the outermost first
    ) -> None:
        self.checked, self.graph = checked, checked.graph
        self.inputs = [readable(np.asarray(x)) for x in inputs]
        self.input_names, self.steps = input_names, steps
        self._known: dict[int, Array] = {}

    def value(self, number: int) -> Array:
        """The value of a node with one output."""
        node = self.graph.nodes[number]
        if number in self.checked.positions:
            return self.inputs[self.checked.positions[number]]
        if node.op is op.constant:
            return np.asarray(node.params["value"])
        if isinstance(node.op.lower, View):  # the same elements, in another order
            source, *_ = node.operands
            assert source is not None
            if node.op is op.boundary:
                return self.value(source)
            return np.asarray(node.op.numpy(self.value(source), **self.checked.params(node)))
        if number not in self._known:
            wanted = self.checked.window(number)
            self._known = {}  # before the others are there
            values = self.checked.compute(wanted, self.inputs)
            self._known = dict(zip(wanted, values, strict=True))
        return self._known[number]

    def operands(self, node: Node) -> list[Array | None]:
        return [None if i is None else self.value(i) for i in node.operands]

    def names(self, node: Node) -> list[str]:
        """What the user calls the operands of a node; empty for those without a name."""
        return ["" if i is None else self.name(i) for i in node.operands]

    def name(self, number: int) -> str:
        views: list[Node] = []
        while isinstance(self.graph.nodes[number].op.lower, View):
            views.append(self.graph.nodes[number])
            source, *_ = views[-1].operands
            assert source is not None
            number = source
        position = self.checked.positions.get(number)
        if position is None:
            return ""
        name = self.input_names[position]
        return name if not isinstance(name, NameOfMany) else name.at(*self._read(position, views))

    def _read(self, position: int, views: Sequence[Node]) -> tuple[int, int]:
        """The first and the last place of an input that its views, the last one first, read."""
        x = self.inputs[position]
        places = np.arange(x.size).reshape(x.shape)
        for node in reversed(views):
            if node.op is not op.boundary:
                places = np.asarray(node.op.numpy(places, **self.checked.params(node)))
        return (int(places.min()), int(places.max())) if places.size else (0, 0)
