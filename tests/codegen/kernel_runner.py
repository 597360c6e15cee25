"""Runs kernels in NumPy as their text says: what each reads, computes and stores, and nothing else.

Understands all kernels but loops and branches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.codegen.kernel import COPY, Kernel, Program
from wengert.codegen.views import Root, StridedView
from wengert.core.dims import Shape, substitute
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.interpret.replay import run_node


class Runner:
    """Arrays in memory, each flat, and what kernels make of them."""

    def __init__(self, program: Program, given: Sequence[Any], sizes: Mapping[str, int]) -> None:
        self.program, self.sizes = program, dict(sizes)
        self.memory: dict[Root, Any] = {
            (number, 0): np.ravel(x) for number, x in zip(program.graph.inputs, given, strict=True)
        }
        for number, node in enumerate(program.graph.nodes):
            if node.op is op.constant:
                self.memory[number, 0] = np.ravel(node.params["value"])

    def outputs(self) -> list[Any]:
        for k in self.program.order:
            self.run(self.program.kernels[k])
        graph = self.program.graph
        return [self.look(self.memory, i, self.program.views[i]) for i in graph.returns]

    def run(self, kernel: Kernel) -> None:
        """Compute the members from what the kernel reads, and keep what it stores."""
        found = {root: self.memory[root] for root in kernel.reads}
        for number in kernel.members:
            if (number, COPY) in kernel.stores:
                found[number, COPY] = np.ravel(self.value(found, number))
                continue
            node = self.program.node(number)
            operands = {i: self.value(found, i) for i in node.operands if i is not None}
            if number in self.program.rerouted:
                (i,) = operands
                operands = {i: self.look(found, i, self.program.rerouted[number])}
            made = run_node(node, operands, self.sizes)
            several = not isinstance(node.type, ArrayType)
            for output, x in enumerate(made if several else [made]):
                found[number, output] = np.ravel(x)
        self.memory.update({root: found[root] for root in kernel.stores})

    def value(self, found: Mapping[Root, Any], number: int) -> Any:
        """A node as a member reads it: computed on the spot, or looked at where it lies."""
        if number in self.program.inline:
            node = self.program.node(number)
            operands = {i: self.value(found, i) for i in node.operands if i is not None}
            return run_node(node, operands, self.sizes)
        return self.look(found, number, self.program.views[number])

    def look(self, found: Mapping[Root, Any], number: int, view: StridedView) -> Any:
        shape: Shape = substitute(self.program.graph.type(number).shape, self.sizes)
        place: Any = substitute(view.offset, self.sizes)
        strides = substitute(view.strides, self.sizes)
        for axis, (size, stride) in enumerate(zip(shape, strides, strict=True)):
            ahead = (1,) * axis + (-1,) + (1,) * (len(shape) - axis - 1)
            place = place + (np.arange(size) * stride).reshape(ahead)
        return found[view.root][np.broadcast_to(place, shape)]
