"""Memory of kernels: what each stores, what it reads of what others have computed, and what it
remembers along a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wengert.codegen.cost.costly import is_slow
from wengert.codegen.growing import Growing
from wengert.codegen.kernel import Kernel, Program
from wengert.codegen.read_in_place import shape_of
from wengert.codegen.views import Root


def with_memory(program: Program, kernels: Sequence[Growing]) -> list[Kernel]:
    """The kernels that a program is to have, with what each reads, stores and keeps."""
    reads = _reads(program, kernels)
    stores = _stores(program, kernels, {root for each in reads for root in each})
    finished = []
    for growing, read, stored in zip(kernels, reads, stores, strict=True):
        grown = growing.grown(read, stored)
        kept = _read_again(program, grown) if grown.kind == "rows" else ()
        finished.append(replace(grown, kept=kept) if kept else grown)
    return finished


def _reads(program: Program, kernels: Sequence[Growing]) -> list[tuple[Root, ...]]:
    """What each kernel reads and does not compute, and the pieces of it."""
    reads: list[tuple[Root, ...]] = []
    for k, kernel in enumerate(kernels):
        views = [view for i in kernel.members for view in program.operand_views(i)]
        roots = (r for v in views for r in (v.root, *program.joined.get(v.root, ())))
        reads.append(tuple(dict.fromkeys(r for r in roots if program.owner.get(r) != k)))
    return reads


def _stores(
    program: Program, kernels: Sequence[Growing], read: set[Root]
) -> list[tuple[Root, ...]]:
    """What each kernel writes to memory: what others read, what is returned, the flags that are
    tested before the commit, and every result of a kernel that is no loop over its members.
    """
    needed = {program.views[i].root for i in program.graph.returns} | program.pieces.keys() | read
    needed |= {root for roots in program.flags().values() for root in roots if root}
    stores: list[list[Root]] = [[] for _ in kernels]
    for root, k in program.owner.items():
        kernel = kernels[k]
        whole = kernel.kind == "special" or bool(kernel.bodies)
        if root in needed or whole or (kernel.kind == "gemm" and root[0] == kernel.members[0]):
            stores[k].append(root)
    return [tuple(each) for each in stores]


def _read_again(program: Program, kernel: Kernel) -> tuple[int, ...]:
    """Members at every place of the row that cost much and are needed both before and after a
    fold.
    """
    depths = program.depths(kernel)
    kept: dict[int, None] = {}
    for number in kernel.members:
        for view in program.operand_views(number):
            source = view.root[0]
            if source in depths and depths[source] < depths[number]:
                node = program.node(source)
                full = shape_of(node) == kernel.domain
                if full and is_slow(node.op) and view.root not in kernel.stores:
                    kept[source] = None
    return tuple(kept)
