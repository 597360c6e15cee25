"""Read in place: whether a member of a kernel reads others right where the loop is.

What a loop has just computed is in a register, if it is asked for at that very place: an element of
the same position, or the result of a fold over the same row.
"""

from __future__ import annotations

from wengert.codegen.growing import Growing
from wengert.codegen.kernel import Program, is_fold
from wengert.codegen.views import StridedView, reshaped, row_major
from wengert.core.dims import Shape, product
from wengert.core.graph import Node
from wengert.core.lowering import Pick
from wengert.core.types import ArrayType

ROW = 1 << 16  # elements at most of a row that is read again after a fold: it is in cache still


def is_read_in_place(program: Program, kernel: Growing, view: StridedView, full: bool) -> bool:
    """Whether a member of the kernel is read at the place where the loop is; by another at every
    place of the domain, where it is `full`, else by one for each row or column.
    """
    number = view.root[0]
    shape = program.root_type(view.root).shape
    computed_full = shape == kernel.domain and not is_fold(program.node(number))
    if view.offset != 0 or number in kernel.down:
        return False
    if full and computed_full:
        return view.strides == row_major(kernel.domain)
    if not kernel.folded or computed_full:
        return False
    outer = row_major(kernel.outer)
    if not full:
        return _nonzero(view.strides) == _nonzero(outer)
    if kernel.kind == "columns" or not _has_short_rows(kernel):
        return False
    kept = iter(outer)
    wanted = tuple(0 if axis in kernel.folded else next(kept) for axis in range(len(kernel.domain)))
    return view.strides == wanted


def _has_short_rows(kernel: Growing) -> bool:
    count = product(tuple(kernel.domain[axis] for axis in kernel.folded))
    return not isinstance(count, int) or count <= ROW


def is_flat(program: Program, number: int, kernel: Growing) -> bool:
    """Whether a member reads everything as if the folded axes were one."""
    if isinstance(program.node(number).op.lower, Pick):
        return False
    return all(
        _is_flat_view(view, kernel.domain, len(kernel.folded))
        for view in program.operand_views(number)
    )


def has_flat_source(program: Program, source: int, shape: Shape, count: int) -> bool:
    """Whether a node can be read as if its last axes, so many, were one."""
    view = program.views.get(source)
    return view is None or _is_flat_view(view, shape, count)


def _is_flat_view(view: StridedView, domain: Shape, count: int) -> bool:
    inner, strides = domain[-count:], view.strides[-count:]
    return reshaped(inner, strides, (product(inner),)) is not None


def is_same(shape: Shape, other: Shape) -> bool:
    """Equal but for axes of size 1."""
    return [n for n in shape if n != 1] == [n for n in other if n != 1]


def shape_of(node: Node) -> Shape | None:
    """The shape of a node's result; None where it has several."""
    return node.type.shape if isinstance(node.type, ArrayType) else None


def _nonzero(strides: tuple[object, ...]) -> list[object]:
    return [s for s in strides if s != 0]
