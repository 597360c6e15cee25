"""The kernel language: what a graph is, just before it is written as code.

    Program  =  graph, kernels in an order, and where every array lies: a view of memory, inside
                another array, or nowhere (computed wherever it is read)
    Kernel   =  map      for i in domain: the members at i
             |  rows     the same, with folds over the last axes; results of a fold may be read in
                         the same row; and with sums down the rows, read when all are done
             |  columns  the same, with folds over other axes; results are read when the column is
                         finished
             |  gemm     a contraction, and members at each element of its result
             |  special  one call of a kernel of its own
             |  scan     a body per step  |  cond  one of two bodies
             |  while    a body as long as another one says so;  a body is a Program
    Layout   =  the frame: which of its words holds what

All are values: a stage makes a new one of what the stage before made. `stages.py` has the stages in
order, `checking.py` what each promises. `kernel_text` writes a value as text after any stage, and
reads it back:

    program(%0: float64[3, 2] "x", %1: float64[2] "w") {
      k0 gemm [3] reads %0, %1 stores %3 {
        %2: float64[3] = matmul(%0, %1) by k-blocks             # model.py:12
        %3: float64[3] = tanh(%2)                               # model.py:12
      }
      return %3
    }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from wengert.codegen.views import Root, StridedView
from wengert.core.dims import Shape, Size
from wengert.core.dtypes import DType
from wengert.core.graph import Graph, Node
from wengert.core.lowering import Bodies, Elementwise, Fold, Pick
from wengert.core.once import once
from wengert.core.table import op
from wengert.core.types import ArrayType

COPY = -1  # in place of the number of an output: a copy of the node in memory
# The region of the commit: what is done when nothing has failed. Parts of it that are independent
# of each other have regions of their own, with lower numbers. Only nodes of one region are fused.
COMMIT = -1
KernelKind: TypeAlias = Literal[
    "map", "rows", "columns", "gemm", "special", "scan", "cond", "while"
]


@dataclass(frozen=True, eq=False)
class Kernel:
    """One loop nest, or one call of a special kernel, or a loop or branch of whole programs."""

    kind: KernelKind
    domain: Shape
    members: tuple[int, ...]  # nodes it computes, in order
    folded: tuple[int, ...] = ()  # axes of the domain its folds go over
    down: tuple[int, ...] = ()  # of rows: members that are sums over all other axes
    region: int = 0  # of its members: what is recomputed together; 0 is the program itself
    bodies: tuple[Program, ...] = ()  # of a loop or branch
    # What is in memory: known when all members are.
    stores: tuple[Root, ...] = ()  # what it writes
    reads: tuple[Root, ...] = ()  # what it reads
    kept: tuple[int, ...] = ()  # of rows: members remembered along a row
    shared: Root | None = None  # of a gemm: the member in whose memory it adds up
    stacks: Mapping[int, int] = field(default_factory=dict)  # of a scan: carry -> the collected one
    gated: bool = False  # whether it writes over arguments, and runs only if nothing has failed
    # Workers and the frame.
    split: int | None = None  # the loop that workers divide between them; None: one does it all
    apart: bool = False  # whether another worker may run it while others run its neighbours
    scratch: tuple[tuple[int, Size], ...] = ()  # (slot, bytes) while it runs
    step: int | None = None  # of a loop that prints: the slot that has the number of the step
    partial: int | None = None  # of a fold in parts: the slot of their results

    @property
    def by_workers(self) -> bool:
        """Whether any worker may run it, or a part of it; if not, only the caller does."""
        return not self.bodies and (self.split is not None or self.apart)

    @property
    def outer(self) -> Shape:
        """The domain without the folded axes."""
        return tuple(n for axis, n in enumerate(self.domain) if axis not in self.folded)


@dataclass(frozen=True, eq=False)
class Program:
    """A graph whose every node is a view, computed where it is read, or a member of a kernel."""

    graph: Graph
    regions: tuple[int, ...]  # of each node
    kernels: tuple[Kernel, ...] = ()
    views: Mapping[int, StridedView] = field(
        default_factory=dict
    )  # of every node that is in memory
    inline: frozenset[int] = frozenset()  # nodes computed wherever they are read
    owner: Mapping[Root, int] = field(default_factory=dict)  # which kernel computes an array
    rerouted: Mapping[int, StridedView] = field(default_factory=dict)  # what a fold reads instead
    rerouted_whole: Mapping[int, StridedView] = field(
        default_factory=dict
    )  # and loops and branches
    joined: Mapping[Root, tuple[Root, ...]] = field(default_factory=dict)  # outputs in pieces, ...
    pieces: Mapping[Root, tuple[Root, Size]] = field(default_factory=dict)  # ... where each goes
    inside: Mapping[Root, Root] = field(default_factory=dict)  # arrays that lie in another one
    waits: Mapping[int, frozenset[int]] = field(default_factory=dict)  # kernels to wait for besides
    overwrites: frozenset[int] = frozenset()  # outputs that gated kernels write over arguments
    slots: Mapping[Root, int] = field(default_factory=dict)  # where in the frame its pointer stands
    steps: tuple[int, ...] = ()  # slots with the steps of the loops around, the outermost first
    order: tuple[int, ...] = ()  # in which kernels run

    @once
    def remembered(self) -> dict[Any, Any]:
        """What was computed from this program, and may be needed again: by the function that
        computed it and its arguments.
        """
        return {}

    @property
    def divided(self) -> bool:
        """Whether several workers have something to do in it."""
        return any(kernel.split is not None or kernel.apart for kernel in self.kernels)

    def flags(self) -> dict[int, set[Root | None]]:
        """For each node behind boundaries, the arrays that hold the flags of these; None stands for
        a flag that is a number and no array.
        """
        flags: dict[int, set[Root | None]] = {}
        for number, node in enumerate(self.graph.nodes):
            sets = [flags[i] for i in node.operands if i in flags]
            if node.op is op.boundary:
                flag = node.operands[1]
                view = None if flag is None else self.views.get(flag)
                sets.append({None if view is None else view.root})
            if sets:
                flags[number] = set().union(*sets)
        return flags

    def node(self, number: int) -> Node:
        return self.graph.nodes[number]

    def root_type(self, root: Root) -> ArrayType:
        result_type = self.graph.nodes[root[0]].type
        return result_type if isinstance(result_type, ArrayType) else result_type[root[1]]

    def depths(self, kernel: Kernel) -> dict[int, int]:
        """How many folds of a kernel lie behind each of its members, one after the other."""
        depths: dict[int, int] = {}
        for number in kernel.members:
            roots = [view.root[0] for view in self.operand_views(number)]
            behind = (depths[i] + is_fold(self.node(i)) for i in roots if i in depths)
            depths[number] = max(behind, default=0)
        return depths

    def whole_view(self, number: int) -> StridedView:
        """How an operand of a loop or branch is read: its elements lie in order."""
        return self.rerouted_whole.get(number) or self.views[number]

    def operand_views(self, number: int) -> list[StridedView]:
        """What a member reads from memory or from other members."""
        if (number, COPY) in self.owner and (number, 0) not in self.owner:
            return [self.views[number]] if number in self.views else []
        if number in self.rerouted:
            return [self.rerouted[number]]
        node = self.graph.nodes[number]
        if isinstance(node.op.lower, Bodies):
            return [self.whole_view(i) for i in node.operands if i is not None]
        views, read = self.views, (i for i in node.operands if i is not None)
        if needs_memory(node):
            return [views[i] for i in read if i in views]
        return [views[i] for i in read if i in views and i not in self.inline]


# The frame.

# Its first words. STATUS: which node found an error (its place in `failing`, from 1); POSITION:
# where. WORKERS: how many may take part in this call, THREADS: in any, POOL: where they wait,
# ROOM: the bytes of workspace that each of them has.
STATUS, POSITION, WORKERS, THREADS, POOL, ROOM = range(6)
HEADER = 10  # words before the Dims; the last four are free
# Behind the frame each worker has words of its own: status and position of what it ran.
LINE = 8  # words from one worker to the next; a cache line, which no two of them write to
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
class ConstantArray:
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
    """A pointer to the function that prints what is shown; null where nothing is printed."""


Slot: TypeAlias = Input | Output | ConstantArray | Arena | Workspace | Inner | Printer


@dataclass(frozen=True)
class Shown:
    """What is known of a value that `wg.debug` prints, before there is one."""

    name: str
    dtype: DType
    rank: int
    loops: int  # around it


@dataclass(frozen=True, slots=True)
class Guest:
    """Where a buffer lies: so many bytes into an output."""

    host: int
    offset: int


@dataclass(frozen=True)
class Layout:
    """Which word of the frame holds what: status, the numbers behind the Dims, pointers."""

    dims: tuple[str, ...]
    slots: tuple[Slot, ...] = ()
    failing: tuple[Node, ...] = ()  # nodes that can find an error
    outputs: tuple[int, ...] = ()  # slot of each output
    kept: frozenset[int] = frozenset()  # slots in the arena that live to the end
    hosted: Mapping[int, Guest] = field(default_factory=dict)  # slots whose arrays lie in outputs
    commits: tuple[tuple[int, int], ...] = ()  # (output, slot it is copied to in the end)
    shown: tuple[Shown, ...] = ()
    printer: int | None = None  # the slot of the function that prints, if anything is shown

    @property
    def first(self) -> int:
        return HEADER + len(self.dims)

    @property
    def words(self) -> int:
        """Of a frame; a whole number of cache lines, for those of workers follow."""
        return -(-(self.first + len(self.slots)) // LINE) * LINE

    def holds(self, slot: int, kind: type) -> bool:
        """Whether a word holds this kind of pointer."""
        return isinstance(self.slots[slot - self.first], kind)


@dataclass(frozen=True)
class Lowered:
    """A program and its frame: what stages make of each other."""

    program: Program
    layout: Layout


def all_programs(program: Program) -> list[Program]:
    """A program and the bodies inside it."""
    programs = [program]
    for kernel in program.kernels:
        for body in kernel.bodies:
            programs += all_programs(body)
    return programs


def byte_size(array_type: ArrayType) -> Size:
    return array_type.size * array_type.dtype.itemsize


def shown(program: Program, kernel: Kernel) -> Shown:
    """What a kernel of `wg.debug` prints."""
    node = program.node(kernel.members[0])
    (number,) = node.operands
    assert number is not None
    array_type = program.graph.type(number)
    return Shown(node.params["name"], array_type.dtype, array_type.ndim, len(program.steps))


_IN_LOOPS = (Elementwise, Fold, Pick)


def needs_memory(node: Node) -> bool:
    """Whether all operands of a node must be in memory: it is no member of a loop."""
    return not isinstance(node.op.lower, _IN_LOOPS)


def is_fold(node: Node) -> bool:
    """Whether a node reduces axes."""
    return isinstance(node.op.lower, Fold)
