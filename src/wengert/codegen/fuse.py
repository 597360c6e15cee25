"""Fuse: nodes become members of kernels.

In the order of demand each node joins the newest kernel that loops over the same domain and reads
nothing of it at other places than its own; else it begins a kernel. Nothing is computed twice but
what needs no memory. Without fusion every node begins a kernel, and all bits are the same.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import cast

from wengert.codegen.commit_region import commit_last, joins_operands
from wengert.codegen.cost.costly import is_costly, is_slow
from wengert.codegen.flatten import prepared
from wengert.codegen.growing import MEMBERS, Borders, Growing
from wengert.codegen.kernel import COPY, Kernel, KernelKind, Program, is_fold
from wengert.codegen.views import Root, StridedView, looked_at, reshaped, row_major, without_gaps
from wengert.core import lowering
from wengert.core.dims import Shape, Size, product
from wengert.core.graph import Graph, Node
from wengert.core.lowering import Bodies, Contraction, Elementwise, Formula, Pick, Source
from wengert.core.table import op
from wengert.core.types import ArrayType

ROW = 1 << 16  # elements at most of a row that is read again after a fold: it is in cache still


def fuse(
    graph: Graph,
    fused: bool = True,
    written: Collection[int] = (),
    direct: Collection[int] = (),
) -> Program:
    """The kernels of a graph that has been through the passes. Outputs in `written` go over
    arguments in the end; those in `direct` have their place from the beginning.
    """
    return _Fusion(graph, fused, written, direct).finished()


class _Fusion:
    """A program while nodes find their kernels."""

    def __init__(
        self, graph: Graph, fused: bool, written: Collection[int], direct: Collection[int]
    ) -> None:
        flat, regions = commit_last(*prepared(graph), written)
        self.fused = fused
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
        self.regions = tuple(regions)
        # What can be asked of the program so far: it looks at the tables above.
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
            self.program, inline=frozenset(self.inline), kernels=tuple(self.with_memory())
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
        program, found = self.program, self.graph.type(number)
        view, copy = program.views.get(number), (number, COPY)
        if view is not None and view.offset == 0 and view.root in program.owner:
            whole = without_gaps(view, found.shape)
            same = program.root_type(view.root).size == found.size
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
        read = node.operands[:1] if node.op is op.boundary else node.operands  # a flag is asked
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
        found = None if view is None else looked_at(node, view, shape)
        if found is None:
            found = looked_at(node, StridedView(self.copy(source), 0, row_major(shape)), shape)
        assert found is not None
        return found

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
        bodies = tuple(fuse(node.params[name], self.fused) for name in graphs)
        self.add(Growing(kind, domain, [number], bodies=bodies), number)

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
        if not self.fused or not self.kernels:
            return []
        owners = [k for root in self.roots(node) for k in self.owners(root)]
        latest, newest = max(owners, default=-1), len(self.kernels) - 1
        found = [newest] if latest == newest else [newest, latest]
        return [k for k in found if k >= 0 and self.kernels[k].region == self.regions[number]]

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
        if not full and not (kernel.folded and _same(shape, kernel.outer)):
            return False
        if full and len(kernel.folded) > 1 and not self.flat(number, kernel):
            return False
        own_place = not isinstance(node.op.lower, Pick) or node.op.lower.in_place
        for i in node.operands:
            view = None if i is None else self.program.views.get(i)
            if view is None or k not in self.owners(view.root):
                continue
            if view.root in self.program.joined:
                return False
            if not own_place or not self.read_in_place(kernel, view, full):
                return False
        return True

    def flat(self, number: int, kernel: Growing) -> bool:
        """Whether a member reads everything as if the folded axes were one."""
        node = self.graph.nodes[number]
        if isinstance(node.op.lower, Pick):
            return False
        return all(
            self.flat_view(view, kernel.domain, len(kernel.folded))
            for view in self.program.operand_views(number)
        )

    def flat_view(self, view: StridedView, domain: Shape, count: int) -> bool:
        inner, strides = domain[-count:], view.strides[-count:]
        return reshaped(inner, strides, (product(inner),)) is not None

    def read_in_place(self, kernel: Growing, view: StridedView, full: bool) -> bool:
        """Whether a member of the kernel is read at the place where the loop is."""
        number = view.root[0]
        shape = self.program.root_type(view.root).shape
        computed_full = shape == kernel.domain and not is_fold(self.graph.nodes[number])
        if view.offset != 0:
            return False
        if full and computed_full:
            return view.strides == row_major(kernel.domain)
        if not kernel.folded or computed_full:
            return False
        outer = row_major(kernel.outer)
        if not full:
            return _nonzero(view.strides) == _nonzero(outer)
        if kernel.kind == "columns" or not self.short_row(kernel):
            return False
        kept = iter(outer)
        wanted = tuple(
            0 if axis in kernel.folded else next(kept) for axis in range(len(kernel.domain))
        )
        return view.strides == wanted

    def short_row(self, kernel: Growing) -> bool:
        count = product(tuple(kernel.domain[axis] for axis in kernel.folded))
        return not isinstance(count, int) or count <= ROW

    def place_fold(self, number: int, node: Node) -> None:
        source = self.single(node)
        shape, axes = self.graph.type(source).shape, node.params["axes"]
        kind: KernelKind = "rows" if node.order == "lanes" else "columns"
        for k in self.candidates(number, node):
            kernel = self.kernels[k]
            if kernel.kind not in ("map", kind) or kernel.domain != shape:
                continue
            if kernel.kind == kind and kernel.folded != axes:  # a fold may go over no axes, too
                continue
            if not self.can_fold(k, kernel, source, axes, kind):
                continue
            kernel.kind, kernel.folded = kind, axes
            self.join_kernel(k, number)
            return
        if kind == "rows" and len(axes) > 1 and not self.flat_source(source, shape, len(axes)):
            root = self.copy(source)
            self.rerouted[number] = StridedView(root, 0, row_major(shape))
        self.add(Growing(kind, shape, [number], axes), number)
        if kind == "rows" and len(axes) > 1:
            self.move_in(source)

    def move_in(self, source: int) -> None:
        """Let the newest kernel, of a fold over several axes, compute what it alone reads: where
        that stands in a kernel that reads other arrays in a way the fold cannot, it would be
        written to memory only to be read here. So it is with the square of an outer product.
        """
        newest, k = self.kernels[-1], self.owner.get((source, 0))
        if not self.fused or k is None or not _is_map(self.kernels[k]):
            return
        (fold,) = newest.members
        alone = self.borders.readers(source) == [fold] and (source, 0) not in self.returned
        node, others = self.graph.nodes[source], len(self.kernels[k].members) - 1
        same = _shape(node) == newest.domain and self.kernels[k].region == newest.region
        elementwise = isinstance(node.op.lower, Elementwise) and not is_costly(node.op)
        if alone and same and others and elementwise and self.flat(source, newest):
            self.kernels[k].members.remove(source)
            newest.members.insert(0, source)
            self.own(source, len(self.kernels) - 1)

    def flat_source(self, source: int, shape: Shape, count: int) -> bool:
        view = self.program.views.get(source)
        return view is None or self.flat_view(view, shape, count)

    def can_fold(
        self, k: int, kernel: Growing, source: int, axes: tuple[int, ...], kind: str
    ) -> bool:
        view = self.program.views.get(source)
        if view is not None and k in self.owners(view.root):
            if view.root in self.program.joined:
                return False
            trial = Growing(kernel.kind, kernel.domain, kernel.members, axes)
            if not self.read_in_place(trial, view, True):
                return False
        if kind == "rows" and len(axes) > 1:
            full = [
                i
                for i in kernel.members
                if not is_fold(self.graph.nodes[i]) and _shape(self.graph.nodes[i]) == kernel.domain
            ]
            trial = Growing("rows", kernel.domain, [], axes)
            return self.flat_source(source, kernel.domain, len(axes)) and all(
                self.flat(i, trial) for i in full
            )
        return True

    # What is in memory.

    def with_memory(self) -> list[Kernel]:
        """The kernels, with what each stores, and reads of what others compute."""
        program = self.program
        needed = {self.views[i].root for i in self.graph.returns} | self.pieces.keys()
        needed |= {root for roots in program.flags().values() for root in roots if root}
        reads: list[tuple[Root, ...]] = []
        for k, kernel in enumerate(self.kernels):
            views = [view for i in kernel.members for view in program.operand_views(i)]
            roots = (r for v in views for r in (v.root, *self.joined.get(v.root, ())))
            reads.append(tuple(dict.fromkeys(r for r in roots if self.owner.get(r) != k)))
            needed.update(reads[-1])
        stores: list[list[Root]] = [[] for _ in self.kernels]
        for root, k in self.owner.items():
            kernel = self.kernels[k]
            whole = kernel.kind == "special" or bool(kernel.bodies)
            if root in needed or whole or (kernel.kind == "gemm" and root[0] == kernel.members[0]):
                stores[k].append(root)
        found = []
        for k, growing in enumerate(self.kernels):
            grown = growing.grown(reads[k], tuple(stores[k]))
            kept = self.read_again(grown) if grown.kind == "rows" else ()
            found.append(replace(grown, kept=kept) if kept else grown)
        return found

    def read_again(self, kernel: Kernel) -> tuple[int, ...]:
        """Members at every place of the row that cost much and are needed both before and after a
        fold.
        """
        depths = self.program.depths(kernel)
        found: dict[int, None] = {}
        for number in kernel.members:
            for view in self.program.operand_views(number):
                source = view.root[0]
                if source in depths and depths[source] < depths[number]:
                    node = self.graph.nodes[source]
                    full = _shape(node) == kernel.domain
                    if full and is_slow(node.op) and view.root not in kernel.stores:
                        found[source] = None
        return tuple(found)


def _is_map(kernel: Growing) -> bool:
    return kernel.kind == "map" and not kernel.folded


def _same(shape: Shape, other: Shape) -> bool:
    """Equal but for axes of size 1."""
    return [n for n in shape if n != 1] == [n for n in other if n != 1]


def _nonzero(strides: tuple[object, ...]) -> list[object]:
    return [s for s in strides if s != 0]


def _root(graph: Graph, number: int) -> Root:
    """The array that an output is."""
    node = graph.nodes[number]
    if node.op is not op.pick:
        return number, 0
    assert node.operands[0] is not None
    return node.operands[0], node.params["index"]


def _shape(node: Node) -> Shape | None:
    return node.type.shape if isinstance(node.type, ArrayType) else None
