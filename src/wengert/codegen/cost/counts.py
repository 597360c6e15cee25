"""Costs: how many operations a kernel does, and how many bytes it has to move at the least.

An elementwise op counts one operation per element, and so do functions such as `exp`, which are
counted apart too; a fold counts one per element it takes in, a product of matrices 2 · m · n · k,
and what only moves elements counts none. Integers count like floats. Bytes are those of the
distinct elements read from other kernels' arrays and written, each once: the traffic that is left
with an unlimited cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from wengert.codegen.cost.costly import is_costly
from wengert.codegen.kernel import COPY, Kernel, Program, byte_size, needs_memory
from wengert.codegen.memory.plan import number_of
from wengert.codegen.views import StridedView
from wengert.core import lowering
from wengert.core.dims import Shape
from wengert.core.graph import Node
from wengert.core.lowering import Bodies, Contraction, Elementwise, Fold, Pick
from wengert.core.types import ArrayType

Sizes: TypeAlias = Mapping[str, int]
ASSUMED_STEPS = 16  # of a loop that ends by itself


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a kernel or program takes."""

    flops: int = 0  # operations on elements
    functions: int = 0  # those of them that are functions such as exp: many instructions each
    read: int = 0  # bytes
    written: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.flops + other.flops,
            self.functions + other.functions,
            self.read + other.read,
            self.written + other.written,
        )

    @property
    def moved(self) -> int:
        """Bytes read and written."""
        return self.read + self.written

    @property
    def intensity(self) -> float:
        """Operations per byte moved."""
        return self.flops / self.moved if self.moved else 0.0


def program_cost(program: Program, sizes: Sizes) -> Cost:
    """All kernels together."""
    return sum((kernel_cost(program, k, sizes) for k in range(len(program.kernels))), Cost())


def kernel_cost(program: Program, number: int, sizes: Sizes) -> Cost:
    """One kernel; a loop costs the operations of its body in each step, and moves its operands and
    results once; a branch costs as much as the more expensive side. Of a loop that ends by itself
    16 steps are counted, or as many as it may take.
    """
    key = kernel_cost, number, tuple(sizes.items())
    if key not in program.remembered:
        program.remembered[key] = _counted(program, number, sizes)
    cost: Cost = program.remembered[key]
    return cost


def _counted(program: Program, number: int, sizes: Sizes) -> Cost:
    kernel = program.kernels[number]
    flops, functions = _operations(program, kernel, sizes)
    written = sum(number_of(byte_size(program.root_type(root)), sizes) for root in kernel.stores)
    return Cost(flops, functions, _bytes_read(program, number, sizes), written)


# Operations


def _operations(program: Program, kernel: Kernel, sizes: Sizes) -> tuple[int, int]:
    """How many, and how many of them are functions."""
    if kernel.bodies:
        costs = [program_cost(body, sizes) for body in kernel.bodies]
        steps = _steps(program, kernel, sizes)
        largest = max(costs, key=lambda each: each.flops)
        if kernel.kind == "while":
            largest = sum(costs, Cost())
        return steps * largest.flops, steps * largest.functions
    flops = functions = 0
    for member in kernel.members:
        if (member, COPY) in kernel.stores:
            continue
        count = _member_flops(program, member, sizes)
        flops += count
        functions += count if is_costly(program.node(member).op) else 0
    return flops, functions


def _steps(program: Program, kernel: Kernel, sizes: Sizes) -> int:
    """How often a body runs: of a loop that ends by itself that is a guess."""
    params = program.node(kernel.members[0]).params
    if kernel.kind == "while":
        limit = params["max_steps"]
        return ASSUMED_STEPS if limit is None else min(limit, ASSUMED_STEPS)
    return number_of(params["length"], sizes) if kernel.kind == "scan" else 1


def _member_flops(program: Program, number: int, sizes: Sizes) -> int:
    node = program.node(number)
    outputs = (node.type,) if isinstance(node.type, ArrayType) else node.type
    results = [_numbers(each.shape, sizes) for each in outputs]
    operands = [
        _numbers(program.graph.type(i).shape, sizes) for i in node.operands if i is not None
    ]
    match node.op.lower:
        case Fold():
            return prod(operands[0])
        case Elementwise(moves=False):
            return prod(results[0])
        case Contraction():
            return 2 * prod(results[0]) * operands[0][-1]
        case lowering.SpecialKernel() as kernel:
            return kernel.flops(operands, results, node.params)
    return 0


def _numbers(shape: Shape, sizes: Sizes) -> tuple[int, ...]:
    return tuple(number_of(n, sizes) for n in shape)


# Bytes


def loads(program: Program, number: int) -> Iterator[tuple[StridedView, Shape]]:
    """What a member reads from memory or other members, each with the shape of the view."""
    node, graph = program.node(number), program.graph
    if (number, COPY) in program.owner and (number, 0) not in program.owner:
        if number in program.views:
            yield program.views[number], graph.type(number).shape
        return
    for i in node.operands:
        if i is None:
            continue
        shape = graph.type(i).shape
        if number in program.rerouted:
            yield program.rerouted[number], shape
        elif isinstance(node.op.lower, Bodies):
            yield program.whole_view(i), shape
        elif i in program.views and (i not in program.inline or needs_memory(node)):
            yield program.views[i], shape


def _bytes_read(program: Program, number: int, sizes: Sizes) -> int:
    """The elements of each array that any of the members reads, once."""
    kernel = program.kernels[number]
    touched: dict[StridedView, int] = {}
    for member in kernel.members:
        for view, shape in loads(program, member):
            if program.owner.get(view.root) != number:
                count = _elements(program.node(member), view, shape, sizes)
                touched[view] = max(count, touched.get(view, 0))
    total = 0
    for root in dict.fromkeys(view.root for view in touched):
        array_type = program.root_type(root)
        count = sum(n for view, n in touched.items() if view.root == root)
        total += min(count * array_type.dtype.itemsize, number_of(byte_size(array_type), sizes))
    return total


def _elements(node: Node, view: StridedView, shape: Shape, sizes: Sizes) -> int:
    """How many different elements of its root a view shows, and an op picks of them at most."""
    axes = zip(shape, view.strides, strict=True)
    count = prod(number_of(n, sizes) for n, stride in axes if stride != 0)
    count = 0 if 0 in _numbers(shape, sizes) else count
    if isinstance(node.op.lower, Pick) and isinstance(node.type, ArrayType):
        return min(count, number_of(node.type.size, sizes))
    return count
