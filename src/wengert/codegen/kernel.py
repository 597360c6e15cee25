"""Kernels: a program as a list of loops over arrays in one arena."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from wengert.codegen.elements import ELEMENTS
from wengert.codegen.folds import FOLDS
from wengert.codegen.views import Root, View
from wengert.core.dims import Shape, Size
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.types import ArrayType

COPY = -1  # the output number of a node that stands for a copy of it in memory
# The region of what happens when nothing has failed; below it lie those of its parts that have
# nothing to do with each other. Only what is in one region is fused.
COMMIT = -1
Kind: TypeAlias = Literal["map", "rows", "columns", "gemm", "special", "scan", "cond"]


@dataclass(eq=False)
class Kernel:
    """One loop nest, or one call of a special kernel, or a loop or branch of whole programs.

    map      for i in domain: the members at i
    rows     the same, with folds over the last axes; results of a fold may be read in the same row
    columns  the same, with folds over other axes; results are read when the column is finished
    gemm     a contraction, and members at each element of its result
    """

    kind: Kind
    domain: Shape
    members: list[int]  # nodes it computes, in order
    folded: tuple[int, ...] = ()  # axes of the domain its folds go over
    region: int = 0  # of its members: what is recomputed together; 0 is the program itself
    stores: list[Root] = field(default_factory=list)  # what it writes to memory
    reads: list[Root] = field(default_factory=list)  # what it reads from memory
    bodies: list[Program] = field(default_factory=list)  # of a scan or cond
    kept: list[int] = field(default_factory=list)  # of rows: members remembered along a row
    shared: Root | None = None  # of a gemm: the member in whose memory it adds up
    stacks: dict[int, int] = field(default_factory=dict)  # of a scan: carry -> the same, collected
    scratch: list[tuple[int, Size]] = field(default_factory=list)  # (slot, bytes) while it runs
    step: int | None = None  # of a scan that prints: the slot that has the number of the step
    split: int | None = None  # the loop that workers divide between them; None: one does it all
    partial: int | None = None  # of a fold that is split: the slot of what its parts come to
    apart: bool = False  # whether another worker may run it while others run its neighbours
    gated: bool = False  # whether it writes over arguments, and runs only if nothing has failed

    @property
    def outer(self) -> Shape:
        """The domain without the folded axes."""
        return tuple(n for axis, n in enumerate(self.domain) if axis not in self.folded)


@dataclass(eq=False)
class Program:
    """A graph whose every node is a view, computed where it is read, or a member of a kernel."""

    graph: Graph
    regions: list[int]  # of each node
    views: dict[int, View] = field(default_factory=dict)  # of every node that is in memory
    inline: set[int] = field(default_factory=set)  # nodes computed wherever they are read
    kernels: list[Kernel] = field(default_factory=list)
    owner: dict[Root, int] = field(default_factory=dict)  # which kernel computes an array
    order: list[int] = field(default_factory=list)  # in which kernels run
    steps: tuple[int, ...] = ()  # slots with the steps of the loops around, the outermost first
    slots: dict[Root, int] = field(default_factory=dict)  # where in the frame its pointer stands
    inside: dict[Root, Root] = field(default_factory=dict)  # arrays that lie in another one
    joined: dict[Root, tuple[Root, ...]] = field(default_factory=dict)  # outputs in pieces, ...
    pieces: dict[Root, tuple[Root, Size]] = field(default_factory=dict)  # ... and where each goes
    waits: dict[int, set[int]] = field(default_factory=dict)  # kernels to wait for besides
    rerouted_whole: dict[int, View] = field(default_factory=dict)  # what loops and branches read
    rerouted: dict[int, View] = field(default_factory=dict)  # what a fold reads instead

    @property
    def divided(self) -> bool:
        """Whether several workers have something to do in it."""
        return any(kernel.split is not None or kernel.apart for kernel in self.kernels)

    def flags(self) -> dict[int, set[Root | None]]:
        """Of each node behind boundaries, where these find whether it is safe; None where that is a
        number.
        """
        found: dict[int, set[Root | None]] = {}
        for number, node in enumerate(self.graph.nodes):
            sets = [found[i] for i in node.operands if i in found]
            if node.op is op.boundary:
                flag = node.operands[1]
                view = None if flag is None else self.views.get(flag)
                sets.append({None if view is None else view.root})
            if sets:
                found[number] = set().union(*sets)
        return found

    def node(self, number: int) -> Node:
        return self.graph.nodes[number]

    def root_type(self, root: Root) -> ArrayType:
        found = self.graph.nodes[root[0]].type
        return found if isinstance(found, ArrayType) else found[root[1]]

    def depths(self, kernel: Kernel) -> dict[int, int]:
        """How many folds of a kernel lie behind each of its members, one after the other."""
        found: dict[int, int] = {}
        for number in kernel.members:
            roots = [view.root[0] for view in self.operand_views(number)]
            behind = (found[i] + (self.node(i).op in FOLDS) for i in roots if i in found)
            found[number] = max(behind, default=0)
        return found

    def whole_view(self, number: int) -> View:
        """An operand of a loop or branch: its elements lie in order."""
        return self.rerouted_whole.get(number) or self.views[number]

    def operand_views(self, number: int) -> list[View]:
        """What a member reads from memory or from other members."""
        if (number, COPY) in self.owner and (number, 0) not in self.owner:
            return [self.views[number]] if number in self.views else []
        if number in self.rerouted:
            return [self.rerouted[number]]
        node = self.graph.nodes[number]
        if node.op in (op.scan, op.cond):
            return [self.whole_view(i) for i in node.operands if i is not None]
        hidden = set() if needs_memory(node) else self.inline
        return [
            self.views[i]
            for i in node.operands
            if i is not None and i in self.views and i not in hidden
        ]


def needs_memory(node: Node) -> bool:
    """Whether all operands of a node must be in memory: it is no member of a loop."""
    return node.op.emit is None and node.op not in FOLDS and node.op not in ELEMENTS
