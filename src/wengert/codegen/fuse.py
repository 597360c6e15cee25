"""Fuse: nodes become members of kernels.

In the order of demand each node joins the newest kernel that loops over the same domain and reads
nothing of it at other places than its own; else it begins a kernel. Nothing is computed twice but
what needs no memory. Without fusion every node begins a kernel, and all bits are the same.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import cast

from wengert.codegen import sums_down
from wengert.codegen.commit_region import gate, joins_operands
from wengert.codegen.cost.costly import is_costly
from wengert.codegen.flatten import flatten
from wengert.codegen.growing import MEMBERS, Borders, Growing
from wengert.codegen.kernel import COPY, KernelKind, Program, is_fold
from wengert.codegen.kernel_memory import with_memory
from wengert.codegen.options import Options
from wengert.codegen.read_in_place import (
    has_flat_source,
    is_flat,
    is_read_in_place,
    is_same,
    shape_of,
)
from wengert.codegen.views import Root, StridedView, looked_at, row_major, without_gaps
from wengert.core import lowering
from wengert.core.dims import Size
from wengert.core.graph import Graph, Node
from wengert.core.lowering import Bodies, Contraction, Elementwise, Formula, Pick, Source
from wengert.core.table import op
from wengert.core.types import ArrayType


def fuse(program: Program, options: Options) -> Program:
    """The kernels, those of the commit marked.

    >>> from wengert.codegen.kernel_text.kernel_show import read, show
    >>> program = read('''
    ... program(%0: float32[5, 4] "x") {
    ...   %1: float32[4, 5] = permute_dims(%0, axes=(1, 0))
    ...   %2: float32[4, 5] = tanh(%1)
    ...   %3: float32[4, 5] = multiply(%2, %2)
    ...   %4: float32[4] = sum(%3, axes=(1,), keepdims=False) by lanes
    ...   return %4
    ... }''')
    >>> print(show(fuse(program, Options())))
    program(%0: float32[5, 4] "x") {
      %1: float32[4, 5] = permute_dims(%0, axes=(1, 0)) as %0 strides (1, 4)
      k0 rows [4, 5] along 1 reads %0 stores %4 {
        %2: float32[4, 5] = tanh(%1)
        %3: float32[4, 5] = multiply(%2, %2)
        %4: float32[4] = sum(%3, axes=(1,), keepdims=False) by lanes
      }
      return %4
    }

    Outputs that are copied in the end cannot be computed in pieces: where some turn out to be, the
    program is fused again, and these are computed as a whole.
    """
    late = options.late
    direct = set(range(len(program.graph.returns)))
    while True:
        fused = gate(_Fusion(program, options, direct).finished(), late)
        roots = {at: fused.views[fused.graph.returns[at]].root for at in late}
        joined = {at for at in late if at not in fused.overwrites and roots[at] in fused.joined}
        if not joined:
            return fused
        direct -= joined


class _Fusion:
    """A program while nodes find their kernels. Outputs in `direct` have their place from the
    beginning.
    """

    def __init__(self, given: Program, options: Options, direct: Collection[int] = ()) -> None:
        flat = given.graph
        self.options = options
        self.graph = flat
        self.direct = {flat.returns[position] for position in direct}
        self.returned = {_root(flat, number) for number in flat.returns}
        self.kernels: list[Growing] = []
        self.borders = Borders(flat)
        self.views: dict[int, StridedView] = {}
        self.inline: set[int] = set()
        self.owner: dict[Root, int] = {}
        self.rerouted: dict[int, StridedView] = {}
        self.rerouted_whole: dict[int, StridedView] = {}
        self.joined: dict[Root, tuple[Root, ...]] = {}
        self.pieces: dict[Root, tuple[Root, Size]] = {}
        self.regions = given.regions
        # The program so far: it reads the tables above while they are filled.
        self.program = Program(
            flat,
            self.regions,
            views=self.views,
            inline=cast("frozenset[int]", self.inline),
            owner=self.owner,
            rerouted=self.rerouted,
            rerouted_whole=self.rerouted_whole,
            joined=self.joined,
            pieces=self.pieces,
        )
        for number, node in enumerate(flat.nodes):
            self.place(number, node)

    def finished(self) -> Program:
        return replace(
            self.program,
            inline=frozenset(self.inline),
            kernels=tuple(with_memory(self.program, self.kernels)),
        )

    # Where a node goes.

    def place(self, number: int, node: Node) -> None:
        program = self.program
        if self.is_inline(node):
            self.inline.add(number)
            return
        if node.op is op.pick:
            root = _root(self.graph, number)
            self.views[number] = StridedView(root, 0, row_major(program.root_type(root).shape))
            return
        if isinstance(node.op.lower, lowering.View):
            self.views[number] = self.look(number, node)
            return
        if isinstance(node.type, ArrayType):
            self.views[number] = StridedView((number, 0), 0, row_major(node.type.shape))
        if number in self.direct and joins_operands(node) and self.join(number, node):
            return
        if isinstance(node.op.lower, Source):
            return
        if is_fold(node):
            self.place_fold(number, node)
        elif isinstance(node.op.lower, Elementwise | Pick):
            self.place_map(number, node)
        else:
            self.begin(number, node)

    def join(self, number: int, node: Node) -> bool:
        """Have the pieces of a concatenation computed right where they go, if each lies in one part
        of the result.
        """
        assert isinstance(node.type, ArrayType)
        ahead = node.type.shape[: node.params["axis"]]
        sources = [i for i in node.operands if i is not None]
        if any(n != 1 for n in ahead) or len(set(sources)) < len(sources):
            return False
        pieces: dict[Root, int] = {}
        for i in sources:
            piece = self.piece(i, pieces)
            if piece is None:
                return False
            pieces[piece] = i
        place: Size = 0
        for piece, i in pieces.items():
            if piece == (i, COPY):
                self.copy(i)
            self.pieces[piece] = ((number, 0), place)
            place = place + self.graph.type(i).size
        self.joined[number, 0] = tuple(pieces)
        return True

    def piece(self, number: int, others: Collection[Root]) -> Root | None:
        """An array of its own that holds these elements in order: the one there is, or a copy of
        what no kernel computes. None where it has another place already.
        """
        program, array_type = self.program, self.graph.type(number)
        view, copy = program.views.get(number), (number, COPY)
        if view is not None and view.offset == 0 and view.root in program.owner:
            whole = without_gaps(view, array_type.shape)
            same = program.root_type(view.root).size == array_type.size
            free = not any(view.root in each for each in (others, program.pieces, self.returned))
            if whole and same and free:
                return view.root
        return None if (number, 0) in program.owner or copy in program.pieces else copy

    def is_inline(self, node: Node) -> bool:
        if node.op is op.constant:
            return bool(node.params["value"].size == 1)
        if isinstance(node.op.lower, Formula):
            return True
        inline = self.program.inline
        read = (
            node.operands[:1] if node.op is op.boundary else node.operands
        )  # the flag is only tested
        if not all(i in inline for i in read) or not read:
            return False
        if not isinstance(node.op.lower, lowering.View):
            return False
        assert node.operands[0] is not None
        assert isinstance(node.type, ArrayType)
        shape = self.graph.type(node.operands[0]).shape
        return node.op.lower.along(shape, node.type.shape, **node.params) is not None

    def single(self, node: Node) -> int:
        (source,) = node.operands
        assert source is not None
        return source

    def look(self, number: int, node: Node) -> StridedView:
        """The view of a node that shows the elements of another in another order. That one is
        copied first, where its elements do not lie at equal distances.
        """
        source = node.operands[0]
        assert source is not None
        shape = self.graph.type(source).shape
        view = self.program.views.get(source)
        reordered = None if view is None else looked_at(node, view, shape)
        if reordered is None:
            reordered = looked_at(node, StridedView(self.copy(source), 0, row_major(shape)), shape)
        assert reordered is not None
        return reordered

    def copy(self, number: int) -> Root:
        """Memory of its own for a node that has none, in which its elements lie in order."""
        root = (number, COPY)
        if root not in self.owner:
            shape, region = self.graph.type(number).shape, self.regions[number]
            self.owner[root] = len(self.kernels)
            self.kernels.append(Growing("map", shape, [number], region=region))
        return root

    # Joining a kernel.

    def begin(self, number: int, node: Node) -> None:
        lower = node.op.lower
        kind: KernelKind = lower.kind if isinstance(lower, Bodies | Contraction) else "special"
        for i in node.operands:
            if i is not None:
                self.require_memory(i, whole=isinstance(lower, Bodies))
        domain = node.type.shape if isinstance(node.type, ArrayType) else ()
        graphs = lower.graphs if isinstance(lower, Bodies) else ()
        bodies = tuple(self.body(node.params[name]) for name in graphs)
        self.add(Growing(kind, domain, [number], bodies=bodies), number)

    def body(self, graph: Graph) -> Program:
        """The kernels of what a loop or branch runs."""
        return _Fusion(flatten(graph, self.options), self.options).finished()

    def require_memory(self, number: int, whole: bool) -> None:
        """Have an operand in memory; as a `whole`, with its elements in order."""
        view, shape = self.program.views.get(number), self.graph.type(number).shape
        if view is None:
            self.views[number] = StridedView(self.copy(number), 0, row_major(shape))
        elif whole and not without_gaps(view, shape):
            self.rerouted_whole[number] = StridedView(self.copy(number), 0, row_major(shape))

    def add(self, kernel: Growing, number: int) -> None:
        kernel.region = self.regions[number]
        self.kernels.append(kernel)
        self.own(number, len(self.kernels) - 1)

    def join_kernel(self, k: int, number: int) -> None:
        """Let a node be a member of a kernel."""
        self.kernels[k].members.append(number)
        self.own(number, k)

    def own(self, number: int, kernel: int) -> None:
        for i in range(self.graph.nodes[number].outputs):
            self.owner[number, i] = kernel

    def end_kernel(self, number: int) -> None:
        """Let the newest kernel end where little crosses; its last members begin another one, which
        this node may join.
        """
        full = self.kernels[-1]
        end = self.borders.end(full.members, number)
        moved = full.members[end:]
        if moved:
            del full.members[end:]
            self.kernels.append(Growing(full.kind, full.domain, moved, region=full.region))
            for each in moved:
                self.own(each, len(self.kernels) - 1)

    def candidates(self, number: int, node: Node) -> list[int]:
        """Kernels a node may join, the newest first: those after everything it reads."""
        if not self.options.fused or not self.kernels:
            return []
        owners = [k for root in self.roots(node) for k in self.owners(root)]
        latest, newest = max(owners, default=-1), len(self.kernels) - 1
        choices = [newest] if latest == newest else [newest, latest]
        return [k for k in choices if k >= 0 and self.kernels[k].region == self.regions[number]]

    def owners(self, root: Root) -> list[int]:
        """The kernels that compute an array, all its pieces."""
        owner, joined = self.program.owner, self.program.joined
        return [owner.get(each, -1) for each in joined.get(root, (root,))]

    def roots(self, node: Node) -> list[Root]:
        views = self.program.views
        return [views[i].root for i in node.operands if i is not None and i in views]

    def place_map(self, number: int, node: Node) -> None:
        assert isinstance(node.type, ArrayType)
        for k in self.candidates(number, node):
            kernel = self.kernels[k]
            if kernel.kind not in ("map", "rows", "columns", "gemm"):
                continue
            if not self.fits(k, kernel, number):
                continue
            if len(kernel.members) == MEMBERS and kernel is self.kernels[-1] and _is_map(kernel):
                self.end_kernel(number)
                k = len(self.kernels) - 1
            if len(self.kernels[k].members) < MEMBERS:
                self.join_kernel(k, number)
                return
        self.add(Growing("map", node.type.shape, [number]), number)

    def fits(self, k: int, kernel: Growing, number: int) -> bool:
        """Whether a kernel can compute a node where its loops are: at every place of the domain, or
        once for a row or column. What the node reads of the same kernel must be of that very place.
        """
        node = self.graph.nodes[number]
        shape = self.graph.type(number).shape
        full = shape == kernel.domain
        if not full and not (kernel.folded and is_same(shape, kernel.outer)):
            return False
        if full and len(kernel.folded) > 1 and not is_flat(self.program, number, kernel):
            return False
        own_place = not isinstance(node.op.lower, Pick) or node.op.lower.in_place
        for i in node.operands:
            view = None if i is None else self.program.views.get(i)
            if view is None or k not in self.owners(view.root):
                continue
            if view.root in self.program.joined:
                return False
            if not own_place or not is_read_in_place(self.program, kernel, view, full):
                return False
        return True

    def place_fold(self, number: int, node: Node) -> None:
        source = self.single(node)
        shape, axes = self.graph.type(source).shape, node.params["axes"]
        kind: KernelKind = "rows" if node.order == "lanes" else "columns"
        for k in self.candidates(number, node):
            kernel = self.kernels[k]
            if kernel.domain != shape:
                continue
            if self.joins_rows(k, number):
                kernel.down.append(number)
                self.join_kernel(k, number)
                return
            down = sums_down.turns(self.program, k, kernel, axes) if kind == "rows" else None
            if kernel.kind not in ("map", kind) and not down:
                continue
            if kernel.kind == kind and kernel.folded != axes:  # a fold may go over no axes, too
                continue
            if not self.can_fold(k, kernel, source, axes, kind):
                continue
            kernel.kind, kernel.folded = kind, axes
            kernel.down += down or ()
            self.join_kernel(k, number)
            return
        if (
            kind == "rows"
            and len(axes) > 1
            and not has_flat_source(self.program, source, shape, len(axes))
        ):
            root = self.copy(source)
            self.rerouted[number] = StridedView(root, 0, row_major(shape))
        self.add(Growing(kind, shape, [number], axes), number)
        if kind == "rows" and len(axes) > 1:
            self.move_in(source)

    def joins_rows(self, k: int, fold: int) -> bool:
        """Whether a kernel along rows takes in a fold that goes from row to row."""
        kernel = self.kernels[k]
        return sums_down.joins(
            self.program,
            k,
            kernel,
            fold,
            lambda rows, view: is_read_in_place(self.program, rows, view, True),
        )

    def move_in(self, source: int) -> None:
        """Let the newest kernel, of a fold over several axes, compute what it alone reads: where
        that stands in a kernel that reads other arrays in a way the fold cannot, it would be
        written to memory only to be read here. So it is with the square of an outer product.
        """
        newest, k = self.kernels[-1], self.owner.get((source, 0))
        if not self.options.fused or k is None or not _is_map(self.kernels[k]):
            return
        (fold,) = newest.members
        alone = self.borders.readers(source) == [fold] and (source, 0) not in self.returned
        node, others = self.graph.nodes[source], len(self.kernels[k].members) - 1
        same = shape_of(node) == newest.domain and self.kernels[k].region == newest.region
        elementwise = isinstance(node.op.lower, Elementwise) and not is_costly(node.op)
        if alone and same and others and elementwise and is_flat(self.program, source, newest):
            self.kernels[k].members.remove(source)
            newest.members.insert(0, source)
            self.own(source, len(self.kernels) - 1)

    def can_fold(
        self, k: int, kernel: Growing, source: int, axes: tuple[int, ...], kind: str
    ) -> bool:
        view = self.program.views.get(source)
        if view is not None and k in self.owners(view.root):
            if view.root in self.program.joined:
                return False
            trial = replace(kernel, folded=axes)
            if not is_read_in_place(self.program, trial, view, True):
                return False
        if kind == "rows" and len(axes) > 1:
            full = [
                i
                for i in kernel.members
                if not is_fold(self.graph.nodes[i])
                and shape_of(self.graph.nodes[i]) == kernel.domain
            ]
            trial = Growing("rows", kernel.domain, [], axes)
            return has_flat_source(self.program, source, kernel.domain, len(axes)) and all(
                is_flat(self.program, i, trial) for i in full
            )
        return True


def _is_map(kernel: Growing) -> bool:
    return kernel.kind == "map" and not kernel.folded


def _root(graph: Graph, number: int) -> Root:
    """The array that an output is."""
    node = graph.nodes[number]
    if node.op is not op.pick:
        return number, 0
    assert node.operands[0] is not None
    return node.operands[0], node.params["index"]
