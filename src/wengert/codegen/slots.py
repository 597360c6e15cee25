"""Slots: memory that serves twice, and a word of the frame for every array that kernels read or
write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wengert.codegen.kernel import (
    HEADER,
    Arena,
    ConstantArray,
    Inner,
    Input,
    Kernel,
    Layout,
    Lowered,
    Output,
    Printer,
    Program,
    Shown,
    Slot,
    byte_size,
    shown,
)
from wengert.codegen.options import Options
from wengert.codegen.views import Root
from wengert.core.dims import Dim, product
from wengert.core.graph import Graph, Node
from wengert.core.lowering import Elementwise, can_fail
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.interpret.printing import any_prints

# Memory that serves twice.


def share_memory(program: Program, options: Options) -> Program:
    """Let results lie where others are computed: sums of a contraction in the memory of a member,
    and carries that are collected in the array of those that are saved.

    >>> from wengert.codegen.kernel_text.kernel_show import read, show
    >>> program = read('''
    ... program(%0: float32[5, 4] "x", %1: float32[4, 3] "w") {
    ...   k0 gemm [5, 3] reads %0, %1 stores %2, %3 {
    ...     %2: float32[5, 3] = matmul(%0, %1) by k-blocks
    ...     %3: float32[5, 3] = tanh(%2)
    ...   }
    ...   return %3
    ... }''')
    >>> print(show(share_memory(program, Options())))
    program(%0: float32[5, 4] "x", %1: float32[4, 3] "w") {
      k0 gemm [5, 3] reads %0, %1 stores %3 shares %3 {
        %2: float32[5, 3] = matmul(%0, %1) by k-blocks
        %3: float32[5, 3] = tanh(%2)
      }
      return %3
    }
    """
    outer = {program.views[number].root for number in program.graph.returns} | {*program.pieces}
    needed = outer | {root for kernel in program.kernels for root in kernel.reads}
    kernels: list[Kernel] = []
    inside: dict[Root, Root] = {}
    for kernel in program.kernels:
        if kernel.bodies:
            bodies = tuple(share_memory(body, options) for body in kernel.bodies)
            kernel = replace(kernel, bodies=bodies)
        if kernel.kind == "gemm":
            kernel = _share_sums(program, kernel, needed)
        elif kernel.kind == "scan":
            kernel, nested = _share_stacks(program, kernel, outer)
            inside |= nested
        kernels.append(kernel)
    return replace(program, kernels=tuple(kernels), inside=inside)


def _share_sums(program: Program, kernel: Kernel, needed: set[Root]) -> Kernel:
    """A contraction that only its own kernel reads puts its sums where a member goes."""
    root: Root = (kernel.members[0], 0)
    if root in needed:
        return kernel
    for other in kernel.stores:
        if other != root and program.root_type(other) == program.root_type(root):
            rest = tuple(each for each in kernel.stores if each not in (root, other))
            return replace(kernel, stores=(*rest, other), shared=other)  # sums are read before
    return kernel


def _share_stacks(
    program: Program, kernel: Kernel, outer: set[Root]
) -> tuple[Kernel, dict[Root, Root]]:
    """A carry that is both saved before and collected after each step is written once: the array
    of collected ones is the array of saved ones, begun one step later.
    """
    number, (body,) = kernel.members[0], kernel.bodies
    params, returns = program.node(number).params, body.graph.returns
    stacks: dict[int, int] = {}
    inside: dict[Root, Root] = {}
    kernels = list(body.kernels)
    counted = len(program.node(number).operands) > len(body.graph.inputs)
    if not params["save"] or params["reverse"] or counted:
        return kernel, {}
    for j in range(params["carry"], len(returns)):
        copied = copied_node(body.graph, returns[j])
        if copied not in returns[: params["carry"]]:
            continue
        i = returns.index(copied)
        saved, collected = (number, len(returns) + i), (number, j)
        if i in stacks or saved in outer or collected in outer:
            continue
        at = body.owner[returns[j], 0]
        writer = kernels[at]
        if len(writer.members) == 1:  # a kernel for the copy alone: carry and copy are apart
            continue
        stacks[i] = j
        inside[collected] = saved
        kernels[at] = replace(
            writer,
            members=tuple(m for m in writer.members if m != returns[j]),
            stores=tuple(root for root in writer.stores if root != (returns[j], 0)),
        )
    return replace(kernel, stacks=stacks, bodies=(replace(body, kernels=tuple(kernels)),)), inside


def copied_node(graph: Graph, number: int) -> int | None:
    """The node of which this one is a copy, if it is one."""
    node = graph.nodes[number]
    if not isinstance(node.op.lower, Elementwise) or not node.op.lower.moves:
        return None
    source = node.operands[0]
    assert source is not None
    return source if graph.type(source) == node.type else None


# The frame.


@dataclass
class _Frame:
    """A layout while words are given out."""

    dims: tuple[str, ...]
    slots: list[Slot] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    printer: int | None = None

    def slot(self, what: Slot) -> int:
        """A new word for a pointer."""
        self.slots.append(what)
        return HEADER + len(self.dims) + len(self.slots) - 1


def give_slots(program: Program, options: Options) -> Lowered:
    """The program with a place in the frame for every array, its bodies' too.

    >>> from wengert.codegen.kernel_text.kernel_show import read, show
    >>> program = read('''
    ... program(%0: float32[batch, 4] "x") {
    ...   k0 special [batch, 4] reads %0 stores %1 { %1: float32[batch, 4] = cumsum(%0, axis=1) }
    ...   k1 map [batch, 4] reads %1 stores %2 { %2: float32[batch, 4] = tanh(%1) }
    ...   return %2
    ... }''')
    >>> print(show(give_slots(program, Options())))
    program(%0: float32[batch, 4] "x") {
      k0 special [batch, 4] reads %0 stores %1 { %1: float32[batch, 4] = cumsum(%0, axis=1) }
      k1 map [batch, 4] reads %1 stores %2 { %2: float32[batch, 4] = tanh(%1) }
      words %0: 11, %2: 12, %1: 13
      return %2
    }
    frame(batch) {
      11: input 0
      12: output 0
      13: arena
      outputs 12
    }
    """
    frame = _Frame(tuple(sorted(_names(program.graph))))
    program = _with_slots(program, frame, (), outermost=True)
    returned = [program.views[number].root for number in program.graph.returns]
    slots, kept, commits = dict(program.slots), set[int](), []
    first = Layout(frame.dims).first
    outputs = [slots[root] for root in returned]
    for roots in program.flags().values():
        flags = {slots[root] for root in roots if root is not None}
        kept |= {slot for slot in flags if isinstance(frame.slots[slot - first], Arena)}
    for output, source in options.written.items():
        slot, target = outputs[output], slots[program.graph.inputs[source], 0]
        if output in options.early or output in program.overwrites:
            slots[returned[output]] = outputs[output] = target
            continue
        frame.slots[slot - first] = Arena()
        kept.add(slot)
        commits.append((output, target))
    layout = Layout(
        frame.dims,
        tuple(frame.slots),
        failing=tuple(_failing(program)),
        outputs=tuple(outputs),
        kept=frozenset(kept),
        commits=tuple(commits),
        shown=tuple(frame.shown),
        printer=frame.printer,
    )
    return Lowered(replace(program, slots=slots), layout)


def _with_slots(
    program: Program, frame: _Frame, steps: tuple[int, ...], outermost: bool
) -> Program:
    program = replace(program, steps=steps)
    slots: dict[Root, int] = {}
    for position, number in enumerate(program.graph.inputs):
        slots[number, 0] = frame.slot(Input(position) if outermost else Inner())
    for position, number in enumerate(program.graph.returns):
        root = program.views[number].root
        slots[root] = frame.slot(Output(position) if outermost else Inner())
    for root in program.pieces:
        slots[root] = frame.slot(Inner())
    kernels = []
    for kernel in program.kernels:
        for root in kernel.reads:
            node = program.node(root[0])
            if node.op is op.constant and root not in slots:
                value = np.ascontiguousarray(node.params["value"])
                slots[root] = frame.slot(ConstantArray(value))
        for root in kernel.stores:
            if root not in slots:
                slots[root] = frame.slot(Inner() if root in program.inside else Arena())
        if kernel.shared is not None:
            slots[kernel.members[0], 0] = slots[kernel.shared]
        kernels.append(_with_inner_slots(program, kernel, frame))
        if program.node(kernel.members[0]).op is op.debug:
            _show(program, kernel, frame)
    return replace(program, slots=slots, kernels=tuple(kernels))


def _show(program: Program, kernel: Kernel, frame: _Frame) -> None:
    if frame.printer is None:
        frame.printer = frame.slot(Printer())
    printed = shown(program, kernel)
    if printed not in frame.shown:
        frame.shown.append(printed)


def _with_inner_slots(program: Program, kernel: Kernel, frame: _Frame) -> Kernel:
    """Words for what a kernel keeps while it runs, and for its bodies."""
    if not kernel.kept and not kernel.bodies:
        return kernel
    params = program.node(kernel.members[0]).params
    row = product(tuple(kernel.domain[axis] for axis in kernel.folded))
    scratch = list(kernel.scratch)
    for number in kernel.kept:
        size = row * program.root_type((number, 0)).dtype.itemsize
        scratch.append((frame.slot(Arena()), size))
    step = None
    loops = kernel.kind in ("scan", "while")
    if loops and any(any_prints(body.graph) for body in kernel.bodies):
        step = frame.slot(Inner())
    steps = program.steps if step is None else (*program.steps, step)
    bodies = tuple(_with_slots(body, frame, steps, outermost=False) for body in kernel.bodies)
    if loops:
        for carry_type in params["body"].output_types()[: params["carry"]]:
            scratch += [(frame.slot(Arena()), byte_size(carry_type)) for _ in range(2)]
    if kernel.kind == "while":
        scratch.append((frame.slot(Arena()), 1))  # whether it goes on
    return replace(kernel, bodies=bodies, step=step, scratch=tuple(scratch))


def _failing(program: Program) -> Iterator[Node]:
    """The nodes that can find an error in their numbers, those in bodies too."""
    for kernel in program.kernels:
        for body in kernel.bodies:
            yield from _failing(body)
        for number in kernel.members:
            node = program.node(number)
            types = (node.type,) if isinstance(node.type, ArrayType) else node.type
            if any(can_fail(node.op.lower, each.dtype) for each in types):
                yield node


def _names(graph: Graph) -> set[str]:
    """The names of all Dims, in bodies too."""
    names: set[str] = set()
    for node in graph.nodes:
        types = (node.type,) if isinstance(node.type, ArrayType) else node.type
        names |= {name for t in types for n in t.shape if isinstance(n, Dim) for name in n.names}
        names |= {name for value in node.params.values() for name in _named(value)}
    return names


def _named(value: Any) -> set[str]:
    if isinstance(value, Graph):
        return _names(value)
    if isinstance(value, Dim):
        return set(value.names)
    if isinstance(value, tuple | list):
        return {name for each in value for name in _named(each)}
    return set()
