"""Explain: a compiled program for reading, from the recorded graph to the machine code.

k0  gemm  for i < batch, j < 64
    %8 = sum over k < 4 of x[i, k] * w[k, j]                # model.py:12
    %11[i, j] = tanh(%8 + b[j])                             # model.py:12
    stores  %11 float32[batch, 64] in the arena at 0
    reads   x, w, b
    costs   20,480 flops (2,048 are functions), 9,984 bytes moved: 2.1 flops/byte
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import indent

from wengert.codegen.cost.counts import Cost, program_cost
from wengert.codegen.explain.arena import ArenaMap, arena_map, arena_text, output_name
from wengert.codegen.explain.kernels import BodyText, KernelText, Stored, kernel_texts
from wengert.codegen.explain.passes import Stage, stages
from wengert.codegen.kernel import Arena, Input, Layout, Output, Program
from wengert.codegen.llvm.machine import native
from wengert.core.graph import Graph
from wengert.core.once import once

SOURCE_COLUMN = 60  # where the user's line stands, if there is room


@dataclass(frozen=True)
class Explained:
    """What is known of a compiled program, and all that can be told from it."""

    graph: Graph  # as it was recorded
    program: Program
    layout: Layout
    sizes: Mapping[str, int]  # behind the Dims: what bytes and operations are counted for
    fused: bool
    llvm: str  # the text of its module
    name: str = "program"

    @once
    def stages(self) -> list[Stage]:
        """The graph after each pass."""
        return stages(self.graph, self.program)

    @once
    def kernels(self) -> list[KernelText]:
        """In the order in which they run."""
        return kernel_texts(self.program, self.sizes)

    @once
    def arena(self) -> ArenaMap:
        return arena_map(self.program, self.layout, self.sizes)

    @once
    def cost(self) -> Cost:
        return program_cost(self.program, self.sizes)

    @once
    def assembly(self) -> str:
        return native.assembly(self.llvm)

    @property
    def summary(self) -> str:
        """The program in one line."""
        count = len(self.kernels)
        sizes = "".join(f"; {name} = {size:,}" for name, size in sorted(self.sizes.items()))
        fused = "fused" if self.fused else "not fused"
        return f"{count} kernel{'s' * (count != 1)}, {fused}{sizes}; {cost_text(self.cost)}"

    def place(self, slot: int) -> str:
        """Where an array lies."""
        what, guest = self.layout.slots[slot - self.layout.first], self.layout.hosted.get(slot)
        if guest is not None:
            host = output_name(self.layout, guest.host)
            return f"in {host} at {guest.offset:,}, until that is written"
        if isinstance(what, Output):
            return f"is output {what.position}"
        if isinstance(what, Input):
            return f"over the donated {self.graph.name(self.graph.inputs[what.position])}"
        for root, (whole, place) in self.program.pieces.items():
            if self.program.slots[root] == slot:
                at = f" at element {place}"
                return self.place(self.program.slots[whole]) + at
        if not isinstance(what, Arena):
            return "for the loop or branch around it"
        text = f"in the arena at {self.arena.offsets[slot]:,}"
        return text + "".join(f", {each}" for each in self.committed(slot))

    def committed(self, slot: int) -> Iterator[str]:
        """What becomes of an array when everything has succeeded."""
        for output, target in self.layout.commits:
            if self.layout.outputs[output] == slot:
                source = self.layout.slots[target - self.layout.first]
                assert isinstance(source, Input)
                name = self.graph.name(self.graph.inputs[source.position])
                yield f"in the end into the donated {name} (output {output})"


def cost_text(cost: Cost) -> str:
    """Operations and bytes, in words."""
    if not cost.flops:
        return f"{cost.moved:,} bytes moved"
    functions = f" ({cost.functions:,} are functions)" if cost.functions else ""
    return (
        f"{cost.flops:,} flops{functions}, {cost.moved:,} bytes moved: "
        f"{cost.intensity:.3g} flops/byte"
    )


def explain_text(it: Explained, ir: bool = False, assembly: bool = False) -> str:
    """Everything as text: passes, kernels, arena; with `ir` and `assembly` the code, too."""
    parts = [f"{it.name}: {it.summary}"]
    parts += [_stage_text(stage) for stage in it.stages]
    kernels = [indent("\n".join(_kernel_lines(it, kernel)), "  ") for kernel in it.kernels]
    parts.append("\n\n".join(["kernels, in the order in which they run", *kernels]))
    parts.append("\n".join(["arena", *(f"  {line}".rstrip() for line in arena_text(it.arena))]))
    if ir:
        parts.append(f"LLVM\n{indent(it.llvm.strip(), '  ')}")
    if assembly:
        parts.append(f"assembly\n{it.assembly.rstrip()}")
    return "\n\n".join(parts) + "\n"


def _stage_text(stage: Stage) -> str:
    if not stage.change:
        return f"{stage.name}: unchanged"
    lines = [f"{stage.name}: {stage.change}", f"  {stage.what}"]
    return "\n".join([*lines, indent(stage.text, "  ")] if stage.text else lines)


def _kernel_lines(it: Explained, kernel: KernelText) -> Iterator[str]:
    yield f"{kernel.name}  {kernel.kind}  {kernel.head}"
    for line in kernel.lines:
        text = f"    {line.text}"
        yield f"{text:<{SOURCE_COLUMN - 2}}  # {line.source}" if line.source else text
    for body in kernel.bodies:
        yield from _body_lines(it, body)
    for name, text in kernel_facts(it, kernel):
        yield f"    {name:<8}{text}"


def _body_lines(it: Explained, body: BodyText) -> Iterator[str]:
    if body.head:
        yield f"  {body.head}"
    yield from (f"    {line}" for line in body.entering)
    for kernel in body.kernels:
        yield from (f"    {line}" for line in _kernel_lines(it, kernel))
    yield from (f"    {line}" for line in body.leaving)


def kernel_facts(it: Explained, kernel: KernelText) -> Iterator[tuple[str, str]]:
    """How a kernel runs, what it does to memory, and what it costs."""
    if kernel.runs:
        yield "runs", kernel.runs
    for stored in kernel.stores:
        yield "stores", stored_text(it, stored)
    if kernel.reads:
        yield "reads", ", ".join(kernel.reads)
    yield "costs", cost_text(kernel.cost)


def stored_text(it: Explained, stored: Stored) -> str:
    return f"{stored.name} {stored.type} {it.place(stored.slot)}"
