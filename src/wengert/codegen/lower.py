"""Lower: a graph as kernels, and a place in the frame for every array they read or write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from wengert.codegen.fuse import fuse
from wengert.codegen.hosting import Guest
from wengert.codegen.kernel import Kernel, Program
from wengert.codegen.views import Root
from wengert.core.dims import Dim, Size, product
from wengert.core.graph import Graph
from wengert.core.table import op
from wengert.core.types import ArrayType

STATUS, POSITION = 0, 1  # words: which node found an error (its place in `failing`, from 1), where
HEADER = 2  # words before the Dims
NONFINITE = -1  # the status where an output is not finite; the position says which


@dataclass(frozen=True)
class Input:
    """A pointer to an argument of the program."""

    position: int


@dataclass(frozen=True)
class Output:
    """A pointer to an array the program returns."""

    position: int


@dataclass(frozen=True, eq=False)
class Constant:
    """A pointer to an array that is part of the program."""

    value: Any


@dataclass(frozen=True)
class Arena:
    """A pointer into the arena: to an array that lives while others need it."""


@dataclass(frozen=True)
class Workspace:
    """A pointer to memory that one contraction after the other packs its operands into."""


@dataclass(frozen=True)
class Inner:
    """A pointer that loops and branches set themselves."""


Slot: TypeAlias = Input | Output | Constant | Arena | Workspace | Inner


@dataclass
class Layout:
    """Which word of the frame holds what: status, the numbers behind the Dims, pointers."""

    dims: list[str]
    slots: list[Slot] = field(default_factory=list)
    failing: list[Any] = field(default_factory=list)  # nodes that can find an error
    outputs: list[int] = field(default_factory=list)  # slot of each output
    kept: set[int] = field(default_factory=set)  # slots in the arena that live to the end
    hosted: dict[int, Guest] = field(default_factory=dict)  # slots whose arrays lie in outputs
    commits: list[tuple[int, int]] = field(default_factory=list)  # (output, slot it is copied to)

    @property
    def first(self) -> int:
        return HEADER + len(self.dims)

    def slot(self, what: Slot) -> int:
        """A new word for a pointer."""
        self.slots.append(what)
        return self.first + len(self.slots) - 1

    @property
    def words(self) -> int:
        return self.first + len(self.slots)


def lower(
    graph: Graph, fused: bool = True, written: Mapping[int, int] | None = None
) -> tuple[Program, Layout]:
    """The program of a graph that has been through the passes.

    `written` says which outputs go to the memory of an input in the end: they are computed apart,
    and committed when everything else is done and nothing has failed.
    """
    layout = Layout(sorted(_names(graph)))
    program = _lowered(graph, fused, layout, outermost=True)
    layout.outputs = [program.slots[program.views[i].root] for i in program.graph.returns]
    for output, source in (written or {}).items():
        slot = layout.outputs[output]
        layout.slots[slot - layout.first] = Arena()
        layout.kept.add(slot)
        layout.commits.append((output, program.slots[program.graph.inputs[source], 0]))
    return program, layout


def _lowered(graph: Graph, fused: bool, layout: Layout, outermost: bool) -> Program:
    program = fuse(graph, fused)
    flat = program.graph
    for position, number in enumerate(flat.inputs):
        program.slots[number, 0] = layout.slot(Input(position) if outermost else Inner())
    for position, number in enumerate(flat.returns):
        root = program.views[number].root
        program.slots[root] = layout.slot(Output(position) if outermost else Inner())
    for kernel in program.kernels:
        for root in kernel.reads:
            node = flat.nodes[root[0]]
            if node.op is op.constant and root not in program.slots:
                value = np.ascontiguousarray(node.params["value"])
                program.slots[root] = layout.slot(Constant(value))
        _share_memory(program, kernel)
        for root in kernel.stores:
            if root not in program.slots:
                program.slots[root] = layout.slot(Arena())
        _lower_bodies(program, kernel, fused, layout)
    return program


def _share_memory(program: Program, kernel: Kernel) -> None:
    """A contraction that only its own kernel reads puts its sums where a member goes."""
    if kernel.kind != "gemm":
        return
    root: Root = (kernel.members[0], 0)
    read = any(root in other.reads for other in program.kernels)
    if read or root in program.slots:
        return
    found = program.root_type(root)
    for other in kernel.stores:
        if other != root and program.root_type(other) == found:
            kernel.stores.remove(root)
            kernel.stores.remove(other)
            kernel.stores.append(other)  # written last: the sums are read before
            kernel.shared = other
            return


def _lower_bodies(program: Program, kernel: Kernel, fused: bool, layout: Layout) -> None:
    params = program.node(kernel.members[0]).params
    row = product(tuple(kernel.domain[axis] for axis in kernel.folded))
    for number in kernel.kept:
        size = row * program.root_type((number, 0)).dtype.itemsize
        kernel.scratch.append((layout.slot(Arena()), size))
    if kernel.kind == "scan":
        kernel.bodies = [_lowered(params["body"], fused, layout, outermost=False)]
        _share_stacks(program, kernel, layout)
        count = params["carry"]
        for found in params["body"].output_types()[:count]:
            kernel.scratch += [(layout.slot(Arena()), byte_size(found)) for _ in range(2)]
    elif kernel.kind == "cond":
        bodies = (params["then"], params["orelse"])
        kernel.bodies = [_lowered(body, fused, layout, outermost=False) for body in bodies]


def _share_stacks(program: Program, kernel: Kernel, layout: Layout) -> None:
    """A carry that is both saved before and collected after each step is written once: the array
    of collected ones is the array of saved ones, begun one step later.
    """
    number, body = kernel.members[0], kernel.bodies[0]
    params, returns = program.node(number).params, body.graph.returns
    if not params["save"] or params["reverse"]:
        return
    for j in range(params["carry"], len(returns)):
        copy = body.graph.nodes[returns[j]]
        if copy.op is not op.stop_gradient or copy.operands[0] not in returns[: params["carry"]]:
            continue
        i = returns.index(copy.operands[0])
        saved, collected = (number, len(returns) + i), (number, j)
        slots = [program.slots[root] - layout.first for root in (saved, collected)]
        if i in kernel.stacks or not all(isinstance(layout.slots[s], Arena) for s in slots):
            continue
        writer = body.kernels[body.owner[returns[j], 0]]
        if len(writer.members) == 1:  # a kernel for the copy alone: carry and copy are apart
            continue
        kernel.stacks[i] = j
        program.inside[collected] = saved
        layout.slots[slots[1]] = Inner()
        writer.stores.remove((returns[j], 0))
        writer.members.remove(returns[j])


def byte_size(found: ArrayType) -> Size:
    return found.size * found.dtype.itemsize


def _names(graph: Graph) -> set[str]:
    """The names of all Dims, in bodies too."""
    found: set[str] = set()
    for node in graph.nodes:
        types = (node.type,) if isinstance(node.type, ArrayType) else node.type
        found |= {name for t in types for n in t.shape if isinstance(n, Dim) for name in n.names}
        found |= {name for value in node.params.values() for name in _named(value)}
    return found


def _named(value: Any) -> set[str]:
    if isinstance(value, Graph):
        return _names(value)
    if isinstance(value, Dim):
        return set(value.names)
    if isinstance(value, tuple | list):
        return {name for each in value for name in _named(each)}
    return set()
