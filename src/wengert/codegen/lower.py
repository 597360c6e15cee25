"""Lower: a graph as kernels, and a place in the frame for every array they read or write."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from wengert.codegen.committing import gate
from wengert.codegen.fuse import fuse
from wengert.codegen.hosting import Guest
from wengert.codegen.kernel import Kernel, Program
from wengert.codegen.views import Root
from wengert.core.dims import Dim, Size, product
from wengert.core.dtypes import DType
from wengert.core.graph import Graph
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.interpret.looking import any_prints

# The first words of a frame. STATUS: which node found an error (its place in `failing`, from 1);
# POSITION: where. Workers have a frame each: WORKER is its number, WORKERS how many run this call,
# MAIN the frame of worker 0, THREADS how many may run, POOL where they wait, ROOM the bytes of
# workspace that each of them has. FIRST_ROW, FIRST_COLUMN: where its part of a contraction begins.
STATUS, POSITION, WORKER, WORKERS, MAIN, THREADS, POOL, ROOM, FIRST_ROW, FIRST_COLUMN = range(10)
HEADER = 10  # words before the Dims
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


@dataclass(frozen=True)
class Printer:
    """A pointer to the function that prints what is shown; null where nobody looks."""


Slot: TypeAlias = Input | Output | Constant | Arena | Workspace | Inner | Printer


@dataclass(frozen=True)
class Shown:
    """What is known of a value that `wg.debug` prints, before there is one."""

    name: str
    dtype: DType
    rank: int
    loops: int  # around it


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
    shown: list[Shown] = field(default_factory=list)
    printer: int | None = None  # the slot of the function that prints, if anything is shown

    @property
    def first(self) -> int:
        return HEADER + len(self.dims)

    def slot(self, what: Slot) -> int:
        """A new word for a pointer."""
        self.slots.append(what)
        return self.first + len(self.slots) - 1

    @property
    def words(self) -> int:
        """Of a frame; a whole number of cache lines, for the frames of workers lie side by side."""
        return -(-(self.first + len(self.slots)) // 8) * 8


def lower(
    graph: Graph,
    fused: bool = True,
    written: Mapping[int, int] | None = None,
    early: Collection[int] = (),
) -> tuple[Program, Layout]:
    """The program of a graph that has been through the passes.

    `written` says which outputs go to the memory of an input in the end, when nothing has failed:
    behind a boundary they are written there by kernels that run last, else they are computed apart
    and copied. Outputs in `early` are written there at once.
    """
    given = written or {}
    late = {output: source for output, source in given.items() if output not in early}
    layout = Layout(sorted(_names(graph)))
    program, in_place = _fused_program(graph, fused, late)
    _set_slots(program, fused, layout, outermost=True)
    layout.outputs = [program.slots[program.views[i].root] for i in program.graph.returns]
    flags = {program.slots[r] for roots in program.flags().values() for r in roots if r}
    layout.kept |= {s for s in flags if isinstance(layout.slots[s - layout.first], Arena)}
    for output, source in given.items():
        slot, target = layout.outputs[output], program.slots[program.graph.inputs[source], 0]
        if output in early or output in in_place:
            program.slots[program.views[program.graph.returns[output]].root] = target
            layout.outputs[output] = target
            continue
        layout.slots[slot - layout.first] = Arena()
        layout.kept.add(slot)
        layout.commits.append((output, target))
    return program, layout


def _fused_program(
    graph: Graph, fused: bool, late: Mapping[int, int]
) -> tuple[Program, Collection[int]]:
    """The kernels, and which outputs those of the commit write over arguments.

    Outputs that are copied in the end cannot be computed in pieces: where some turn out to be, all
    is fused again without them.
    """
    direct = set(range(len(graph.returns)))
    while True:
        program = fuse(graph, fused, late, direct)
        in_place = gate(program, late)
        roots = {at: program.views[program.graph.returns[at]].root for at in late}
        joined = {at for at in late if at not in in_place and roots[at] in program.joined}
        if not joined:
            return program, in_place
        direct -= joined


def _body(graph: Graph, fused: bool, layout: Layout, steps: tuple[int, ...]) -> Program:
    program = fuse(graph, fused)
    program.steps = steps
    _set_slots(program, fused, layout, outermost=False)
    return program


def _set_slots(program: Program, fused: bool, layout: Layout, outermost: bool) -> None:
    """A place in the frame for every array of a program and of the bodies inside it."""
    flat = program.graph
    for position, number in enumerate(flat.inputs):
        program.slots[number, 0] = layout.slot(Input(position) if outermost else Inner())
    for position, number in enumerate(flat.returns):
        root = program.views[number].root
        program.slots[root] = layout.slot(Output(position) if outermost else Inner())
    for root in program.pieces:
        program.slots[root] = layout.slot(Inner())
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
        if flat.nodes[kernel.members[0]].op is op.debug:
            _show(program, kernel, layout)


def _show(program: Program, kernel: Kernel, layout: Layout) -> None:
    if layout.printer is None:
        layout.printer = layout.slot(Printer())
    found = shown(program, kernel)
    if found not in layout.shown:
        layout.shown.append(found)


def shown(program: Program, kernel: Kernel) -> Shown:
    """What a kernel of `wg.debug` prints."""
    node = program.node(kernel.members[0])
    (number,) = node.operands
    assert number is not None
    found = program.graph.type(number)
    return Shown(node.params["name"], found.dtype, found.ndim, len(program.steps))


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
        if any_prints(params["body"]):
            kernel.step = layout.slot(Inner())
        steps = program.steps if kernel.step is None else (*program.steps, kernel.step)
        kernel.bodies = [_body(params["body"], fused, layout, steps)]
        _share_stacks(program, kernel, layout)
        count = params["carry"]
        for found in params["body"].output_types()[:count]:
            kernel.scratch += [(layout.slot(Arena()), byte_size(found)) for _ in range(2)]
    elif kernel.kind == "cond":
        bodies = (params["then"], params["orelse"])
        steps = program.steps
        kernel.bodies = [_body(body, fused, layout, steps) for body in bodies]


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
