"""Axis groups: axes of a domain that every member of a kernel goes along as if they were one."""

from __future__ import annotations

from wengert.codegen.kernel import COPY, Kernel, Program, is_fold
from wengert.codegen.llvm.loops.members import Groups, group_stride
from wengert.codegen.views import Strides, row_major
from wengert.core.dims import Shape, Size
from wengert.core.lowering import Formula, Pick
from wengert.core.types import ArrayType


def collapsed(program: Program, kernel: Kernel) -> Groups:
    """Axes of the domain as groups that every member reads and writes as if they were one."""
    key = collapsed, kernel
    if key not in program.remembered:
        program.remembered[key] = _collapsed(program, kernel)
    groups: Groups = program.remembered[key]
    return groups


def _collapsed(program: Program, kernel: Kernel) -> Groups:
    domain = kernel.domain
    views = []
    apart = False
    for number in kernel.members:
        node = program.node(number)
        shape = node.type.shape if isinstance(node.type, ArrayType) else ()
        source = domain if is_fold(node) else shape
        if not isinstance(node.op.lower, Pick) or node.op.lower.in_place:
            views += [_spread(kernel, v.strides, source) for v in program.operand_views(number)]
        apart = apart or _needs_axes(program, kernel, number)
    full = row_major(domain)
    outer = _spread(kernel, row_major(kernel.outer), kernel.outer)
    groups: Groups = []
    for axis in range(len(domain)):
        side = axis in kernel.folded
        if groups and (groups[-1][0] in kernel.folded) == side:
            flat = side and kernel.kind == "rows"
            one = domain[axis] == 1 or all(domain[a] == 1 for a in groups[-1])
            alike = all(_joined(domain, s, groups[-1], axis) for s in (full, outer, *views))
            if flat or one or (alike and not apart):
                groups[-1] = (*groups[-1], axis)
                continue
        groups.append((axis,))
    return groups


def _needs_axes(program: Program, kernel: Kernel, number: int) -> bool:
    """Whether a member asks for positions along single axes."""
    node = program.node(number)
    if (number, COPY) in kernel.stores:
        return number in program.inline and _counts(program, number)
    if isinstance(node.op.lower, Pick):
        return True
    inline = [i for i in node.operands if i is not None and i in program.inline]
    return any(_counts(program, i) for i in inline)


def _counts(program: Program, number: int) -> bool:
    """Whether a node that needs no memory depends on the position."""
    node = program.node(number)
    lower = node.op.lower
    counted = isinstance(lower, Formula) and lower.step is not None
    return counted or any(_counts(program, i) for i in node.operands if i is not None)


def _spread(kernel: Kernel, strides: Strides, shape: Shape) -> Strides:
    if shape == kernel.domain:
        return strides
    kept = iter(s for s, n in zip(strides, shape, strict=True) if n != 1)
    return tuple(
        0 if axis in kernel.folded or n == 1 else next(kept) for axis, n in enumerate(kernel.domain)
    )


def _joined(domain: Shape, strides: Strides, group: tuple[int, ...], axis: int) -> bool:
    """Whether an axis goes on where a group ends."""
    outer: Size = group_stride(domain, strides, group)
    return outer == strides[axis] * domain[axis]
