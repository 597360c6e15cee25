"""Members: the value of a member of a kernel at the place where its loops are.

A value is computed once per place and remembered. What stays the same in the innermost loop, row
pointers and numbers that are broadcast, is written in front of that loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.codegen.kernel import COPY, Kernel, Program
from wengert.codegen.llvm.loops.places import LanePlaces
from wengert.codegen.llvm.text.frame import Frame
from wengert.codegen.llvm.text.instructions import Instructions
from wengert.codegen.llvm.text.positions import Position, Positions
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.codegen.views import Root, StridedView, Strides, axes_read, row_major
from wengert.core.dims import Dim, Shape, Size
from wengert.core.dtypes import DType, int64
from wengert.core.graph import Node
from wengert.core.lowering import Elementwise, Formula, Pick, can_fail
from wengert.core.table import op
from wengert.core.types import ArrayType

Groups = list[tuple[int, ...]]


class Evaluator:
    """Values of one kernel's members, in one function."""

    def __init__(self, frame: Frame, number: int, groups: Groups) -> None:
        self.frame = frame
        self.code: Code = frame.code
        self.program: Program = frame.program
        self.number = number
        self.kernel: Kernel = self.program.kernels[number]
        self.groups = groups  # axes of the domain that are looped over as one
        self.at = Positions(self.code)
        self.positions: list[Position] = []  # one per group
        self.mask: Vector | None = None
        self.values: dict[int, Vector] = {}  # at this place
        self.fixed: dict[int, Vector] = {}  # results of folds, and what is computed from them only
        self.in_memory: set[Root] = set()  # of this kernel's own: read back, not computed again
        self.along_row: dict[int, str] = {}  # members in memory for this row only: where it begins
        # What was read at places that the loops come back to, if it is to be kept.
        self.seen: dict[Any, Vector] | None = None
        self.before: list[Any] | None = None  # the place in front of the innermost loop
        self._rows: dict[Any, str] = {}
        self._splats: dict[Any, Vector] = {}

    # Places.

    def enter_row(self, before: list[Any]) -> None:
        """The innermost loop begins: nothing has been written in front of it yet."""
        self.before = before
        self._rows, self._splats = {}, {}

    def enter(self, positions: list[Position], mask: Vector | None) -> None:
        """The loops are at a new place."""
        self.positions, self.mask = positions, mask
        self.values = {}

    def axis_positions(self) -> list[Position]:
        """Where the loops are, along each axis of the domain."""
        by_axis: dict[int, Position] = {}
        for group, position in zip(self.groups, self.positions, strict=True):
            sizes = [self.frame.size(self.kernel.domain[axis]) for axis in group]
            by_axis |= dict(zip(group, self.unravel(position, sizes), strict=True))
        return [by_axis[axis] for axis in range(len(self.kernel.domain))]

    def unravel(self, position: Position, sizes: Sequence[Index]) -> list[Position]:
        """A position in several axes read as one, along each of them."""
        longer = [i for i, size in enumerate(sizes) if size != 1]
        if len(longer) <= 1:
            return [position if i in longer else Position(0) for i in range(len(sizes))]
        inner: list[Position] = []
        for size in reversed(sizes[1:]):
            if size in (0, 1):
                inner.append(Position(0))
            elif position.uniform:
                inner.append(Position(self.code.mod(position.base, size)))
                position = Position(self.code.div(position.base, size))
            else:
                lanes = self.at.lanes(position)
                e = self.at.e
                by = self.code.constant(size, int64) if isinstance(size, int) else None
                by = self.code.splat(str(size), int64) if by is None else by
                whole = self.code.each("udiv {t} {0}, {1}", lanes, by)
                rest = e.sub(lanes, e.mul(whole, by))
                inner.append(Position(0, 0, rest))
                position = Position(0, 0, whole)
        return [position, *reversed(inner)]

    # Values.

    def value(self, number: int) -> Vector:
        """The value of a member here."""
        for known in (self.values, self.fixed):
            if number in known:
                return known[number]
        node = self.program.node(number)
        if number in self.along_row:
            value = self.read_along_row(number)
        elif (number, 0) in self.in_memory:
            value = self.read(StridedView((number, 0), 0, row_major(_shape(node))), _shape(node))
        elif (number, COPY) in self.kernel.stores:
            value = self.operand(number, _shape(node))
        elif isinstance(node.op.lower, Pick):
            value = node.op.lower.element(LanePlaces(self, node))
        else:
            value = self.elementwise(node)
        self.values[number] = value
        return value

    def elementwise(self, node: Node) -> Vector:
        lower = node.op.lower
        assert isinstance(lower, Elementwise)
        graph = self.program.graph
        types = [None if i is None else graph.type(i) for i in node.operands]
        dtypes = node.op.operand_dtypes(types)
        operands = [
            None if i is None else self.cast(self.operand(i, _shape(node)), dtype)
            for i, dtype in zip(node.operands, dtypes, strict=True)
        ]
        assert isinstance(node.type, ArrayType)
        last = [x.dtype for x in operands if x is not None][-1]
        e = Instructions(self.code, last)
        if can_fail(lower, node.type.dtype):  # as eager calls do
            assert lower.failure is not None
            assert lower.failure.refuses is not None
            self.fail(lower.failure.refuses(e, *operands), node, Position(0))
        emitted: Vector = lower.emit(e, *operands, **node.params)
        return self.cast(emitted, node.type.dtype)

    def cast(self, x: Vector, dtype: DType) -> Vector:
        return x if x.dtype == dtype else Instructions(self.code, dtype).cast(x, dtype)

    def operand(self, number: int, shape: Shape) -> Vector:
        """What a member of this shape reads at its own place."""
        if number in self.program.inline:
            return self.inline(number, self.own_positions(shape))
        return self.viewed(self.program.views[number], shape)

    def viewed(self, view: StridedView, shape: Shape) -> Vector:
        own = self.program.owner.get(view.root) == self.number
        if own and view.root not in self.in_memory:
            return self.value(view.root[0])
        return self.read(view, shape)

    def own_positions(self, shape: Shape) -> list[Position]:
        """Where the loops are, along each axis of a member's shape."""
        every = self.axis_positions()
        if shape == self.kernel.domain:
            return every
        folded = self.kernel.folded
        kept = iter(
            p
            for axis, p in enumerate(every)
            if axis not in folded and self.kernel.domain[axis] != 1
        )
        return [Position(0) if n == 1 else next(kept) for n in shape]

    # Memory.

    def domain_strides(self, strides: Strides, shape: Shape) -> Strides:
        """Strides along the axes of a member's shape, along those of the domain."""
        domain, folded = self.kernel.domain, self.kernel.folded
        if shape == domain:
            return strides
        kept = iter(s for s, n in zip(strides, shape, strict=True) if n != 1)
        return tuple(
            0 if axis in folded or domain[axis] == 1 else next(kept) for axis in range(len(domain))
        )

    def read(self, view: StridedView, shape: Shape) -> Vector:
        """Elements of an array in memory, at the place of a member of this shape."""
        strides = self.domain_strides(view.strides, shape)
        steps = [group_stride(self.kernel.domain, strides, group) for group in self.groups]
        dtype = self.program.root_type(view.root).dtype
        inner = self.inner_group()
        key = (view.root, view.offset, tuple(steps), self.known_places(inner))
        moving = inner is not None and steps[inner] != 0
        if not moving and key in self._splats:
            return self._splats[key]
        pointer = self.row_pointer(key, self.frame.at(view, dtype), steps, dtype, inner)
        if inner is None or not moving:
            with self.code.writing(self.code.lines if self.before is None else self.before):
                elements = self.code.load_splat(pointer, dtype)
            self._splats[key] = elements
            return elements
        if self.seen is not None and key in self.seen:
            return self.seen[key]
        position = self.at.scale(self.positions[inner], self.frame.size(steps[inner]))
        elements = self.load(pointer, position, dtype, self.mask)
        if self.seen is not None:
            self.seen[key] = elements
        return elements

    def read_along_row(self, number: int) -> Vector:
        dtype = self.program.root_type((number, 0)).dtype
        inner = self.inner_group()
        assert inner is not None
        return self.load(self.along_row[number], self.positions[inner], dtype, self.mask)

    def store_along_row(self, number: int, pointer: str) -> None:
        """Remember a member along this row."""
        value, inner = self.value(number), self.inner_group()
        assert inner is not None
        at = self.code.address(pointer, self.positions[inner].base, value.dtype)
        self.code.store(value, at, self.mask)

    def store(self, root: Root, value: Vector, strides: Strides) -> None:
        """Write a value where the loops are; strides are along the axes of the domain."""
        steps = [group_stride(self.kernel.domain, strides, group) for group in self.groups]
        inner = self.inner_group()
        code, dtype = self.code, value.dtype
        first = self.frame.pointer(root)
        key = ("store", root, self.known_places(inner))
        pointer = self.row_pointer(key, first, steps, dtype, inner)
        if inner is None or steps[inner] == 0:
            scalar = code.lane(value, 0)
            with code.with_lanes(1):
                code.store(Vector((scalar,), dtype), pointer)
            return
        place = self.at.scale(self.positions[inner], self.frame.size(steps[inner]))
        if place.step == 1:
            code.store(value, code.address(pointer, place.base, dtype), self.mask)
        else:
            code.scatter(value, pointer, self.at.lanes(place), self.mask)

    def inner_group(self) -> int | None:
        """The group whose positions change in the innermost loop."""
        moving = [g for g, p in enumerate(self.positions) if not p.uniform]
        return moving[-1] if moving else None

    def known_places(self, inner: int | None) -> tuple[int, ...]:
        """The positions that are numbers: where rows are unrolled, they tell rows apart."""
        return tuple(
            p.base for g, p in enumerate(self.positions) if g != inner and isinstance(p.base, int)
        )

    def row_pointer(
        self, key: Any, first: str, steps: Sequence[Size], dtype: DType, inner: int | None
    ) -> str:
        """The pointer to where the innermost loop begins, written in front of it."""
        if key not in self._rows:
            sizes = [self.frame.size(step) for step in steps]
            with self.code.writing(self.code.lines if self.before is None else self.before):
                offset: Index = 0
                for g, position in enumerate(self.positions):
                    if g != inner:
                        part = self.code.mul(position.base, sizes[g])
                        offset = self.code.add(offset, part)
                self._rows[key] = self.code.address(first, offset, dtype)
        return self._rows[key]

    def load(self, pointer: str, position: Position, dtype: DType, mask: Vector | None) -> Vector:
        """Elements at these positions behind a pointer; 0 where the mask does not hold."""
        code = self.code
        if position.uniform and mask is None:
            return code.load_splat(code.address(pointer, position.base, dtype), dtype)
        if position.vector is None and position.step == 1:
            return code.load(code.address(pointer, position.base, dtype), dtype, mask)
        if position.vector is None and position.step == -1 and mask is None:
            last = code.sub(position.base, code.lanes - 1)
            return code.reversed(code.load(code.address(pointer, last, dtype), dtype))
        # The frame always exists.
        return code.gather(pointer, self.at.lanes(position), dtype, mask, readable="%frame")

    def read_at(
        self, number: int, positions: Sequence[Position], mask: Vector | None = None
    ) -> Vector:
        """An operand at positions of its own, one per axis; any number where the mask does not
        hold.
        """
        if number in self.program.inline:
            return self.inline(number, positions)
        view = self.program.views[number]
        dtype = self.program.root_type(view.root).dtype
        total = Position(0)
        for position, stride in zip(positions, view.strides, strict=True):
            total = self.at.add(total, self.at.scale(position, self.frame.size(stride)))
        total = self.at.shift(total, self.frame.offset(view.offset))
        if self.code.lanes == 1 and mask is not None:
            # A scalar load has no mask: it reads the frame, which always exists.
            where = self.at.lanes(total).parts[0]
            at = self.code.address(self.frame.pointer(view.root), where, dtype)
            chosen = self.code.let(f"select i1 {mask.parts[0]}, ptr {at}, ptr %frame")
            return self.code.load(chosen, dtype)
        return self.load(self.frame.pointer(view.root), total, dtype, self.both(mask))

    def both(self, mask: Vector | None) -> Vector | None:
        if mask is None or self.mask is None:
            return self.mask if mask is None else mask
        return self.at.e.and_(mask, self.mask)

    # Nodes that need no memory.

    def inline(self, number: int, positions: Sequence[Position]) -> Vector:
        node = self.program.node(number)
        assert isinstance(node.type, ArrayType)
        dtype = node.type.dtype
        if node.op is op.constant:
            return self.code.constant(node.params["value"].item(), dtype)
        if isinstance(node.op.lower, Formula):
            return self.counted(node, node.op.lower, positions, dtype)
        source = node.operands[0]
        assert source is not None
        shape = self.program.graph.type(source).shape
        size, at = self.frame.size, self.at
        places = [
            Position(size(each.start))
            if each.axis is None
            else at.shift(at.scale(positions[each.axis], size(each.step)), size(each.start))
            for each in axes_read(node, shape)
        ]
        return self.inline(source, places)

    def counted(
        self, node: Node, formula: Formula, positions: Sequence[Position], dtype: DType
    ) -> Vector:
        """start + i · step, rounded as NumPy's arange does."""
        start = formula.start(node.params)
        if formula.step is None:
            return self.cast(self.at.lanes(Position(self.index(start))), dtype)
        (position,), step = positions, formula.step(node.params)
        if dtype.kind != "f":
            steps = self.at.scale(position, self.index(step))
            return self.cast(self.at.lanes(self.at.shift(steps, self.index(start))), dtype)
        lanes = self.at.lanes(position)
        e = Instructions(self.code, dtype)
        if isinstance(start, Dim) or isinstance(step, Dim):
            first = self.cast(self.at.lanes(Position(self.index(start))), dtype)
            by = self.cast(self.at.lanes(Position(self.index(step))), dtype)
        else:
            begin = dtype.type(start)
            first = e.const(float(begin))
            by = e.const(float(dtype.type(start + step) - begin))
        return e.add(first, e.mul(self.cast(lanes, dtype), by))

    def index(self, value: Any) -> Index:
        return self.frame.size(value if isinstance(value, Dim) else int(value))

    def fail(self, bad: Vector, node: Node, position: Position) -> None:
        """Note an error where the mask holds in a lane that counts."""
        held = bad if self.mask is None else self.at.e.and_(bad, self.mask)
        self.frame.fail(self.at.e.any_lane(held), node, position.base)


def _shape(node: Node) -> Shape:
    assert isinstance(node.type, ArrayType)
    return node.type.shape


def group_stride(domain: Shape, strides: Strides, group: tuple[int, ...]) -> Size:
    """The distance between neighbours along axes that are looped over as one."""
    for axis in reversed(group):
        if domain[axis] != 1:
            return strides[axis]
    return 0
