"""Sums down: which sums over the leading axes a kernel that goes along rows takes in.

The gradient of a normalisation is computed along rows; those of its scale and shift are sums over
all rows of what stands there. A kernel of kind rows adds such values to the sums of their columns
while it has them. So they need not be written, and what is read for both is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from wengert.codegen.growing import Growing
from wengert.codegen.kernel import COMMIT, Kernel, Program
from wengert.codegen.numerics import BLOCK, LANES
from wengert.codegen.views import StridedView, row_major
from wengert.core.dims import Shape, product
from wengert.core.lowering import Fold
from wengert.core.types import ArrayType

MOST = 4  # sums of one kernel: each has its columns loaded and stored in every row
ROWS = 4 * BLOCK  # from which on: workers divide whole blocks of rows
NARROWEST = 2 * LANES  # columns from which on: shorter rows are computed side by side
WIDEST = 4096  # columns up to which a row and its sums stay in the nearer caches


def joins(
    program: Program,
    k: int,
    kernel: Growing,
    fold: int,
    in_place: Callable[[Growing, StridedView], bool],
) -> bool:
    """Whether a kernel along rows takes in a fold over other axes: a sum over all of them, of what
    it computes or reads anyway. `in_place` says of a member whether it is read where the loops are.
    """
    node = program.node(fold)
    (source,) = node.operands
    view = None if source is None else program.views.get(source)
    if kernel.kind != "rows" or view is None or view.root in program.joined:
        return False
    if len(kernel.down) == MOST or not _suits(program, kernel, [fold], kernel.folded):
        return False
    if program.owner.get(view.root) == k:
        return in_place(kernel, view)
    read = {each.root for i in kernel.members for each in program.operand_views(i)}
    return view.root in read and view.strides == row_major(kernel.domain)


def turns(program: Program, k: int, kernel: Growing, along: Sequence[int]) -> list[int] | None:
    """The folds of a kernel of columns that it has as sums down the rows when it goes along rows
    instead; None where it cannot.
    """
    folds = [i for i in kernel.members if isinstance(program.node(i).op.lower, Fold)]
    if kernel.kind != "columns" or len(folds) > MOST:
        return None
    if not _suits(program, kernel, folds, along):
        return None
    for number in kernel.members:
        array_type = program.node(number).type
        assert isinstance(array_type, ArrayType)
        if number not in folds:
            if array_type.shape != kernel.domain:  # it is computed from a sum
                return None
            continue
        for view in program.operand_views(number):
            if program.owner.get(view.root) != k and view.strides != row_major(kernel.domain):
                return None
    return folds


def _suits(program: Program, kernel: Growing, folds: Sequence[int], along: Sequence[int]) -> bool:
    """Whether these folds go over all axes but those that rows go along, are plain sums, and there
    are so many rows of such a length that the kernel is better for them.
    """
    nodes, domain = [program.node(i) for i in folds], kernel.domain
    others = tuple(axis for axis in range(len(domain)) if axis not in along)
    if not others or kernel.region <= COMMIT:
        return False
    for node in nodes:
        (source,) = node.operands
        assert source is not None
        lower, shape = node.op.lower, program.graph.type(source).shape
        if not isinstance(lower, Fold) or not lower.adds:
            return False
        if shape != domain or node.params["axes"] != others:
            return False
    return _pays(domain, others, along)


def _pays(domain: Shape, others: Sequence[int], along: Sequence[int]) -> bool:
    rows, columns = (product(tuple(domain[axis] for axis in part)) for part in (others, along))
    many = not isinstance(rows, int) or rows >= ROWS
    return many and isinstance(columns, int) and NARROWEST <= columns <= WIDEST


def columns_of(kernel: Kernel) -> Kernel:
    """What a kernel along rows sums down them, as a kernel of columns."""
    others = tuple(axis for axis in range(len(kernel.domain)) if axis not in kernel.folded)
    stores = tuple(root for root in kernel.stores if root[0] in kernel.down)
    return Kernel(
        "columns",
        kernel.domain,
        kernel.down,
        others,
        stores=stores,
        split=0,
        partial=kernel.partial,
    )


def with_columns_of(program: Program, number: int) -> Program:
    """The program in which a kernel along rows has nothing but its sums down the rows. That one is
    ended as any kernel of columns, when the sums of all blocks of rows are in memory.
    """
    columns = columns_of(program.kernels[number])
    kernels = (*program.kernels[:number], columns, *program.kernels[number + 1 :])
    return replace(program, kernels=kernels)
