"""Explain: a compiled program for reading, from the recorded graph to the machine code.

    k0 gemm [batch, 64] reads %0, %1, %2 stores %8 shares %8 {  # about 1 µs, 20,480 flops …
      %5: float32[batch, 64] = matmul(%0, %1) by k-blocks     # model.py:12
      %7: float32[batch, 64] = add(%5, %6)                    # model.py:12
      %8: float32[batch, 64] = tanh(%7)                       # model.py:12; in the arena at 0
    }

Kernels are the text that `kernel_text` writes and reads, with notes beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import indent

from wengert.codegen.cost.counts import Cost, program_cost
from wengert.codegen.explain.arena import ArenaMap, arena_map, arena_text, output_name
from wengert.codegen.explain.kernels import (
    ExplainedKernel,
    KernelNotes,
    brief_printer,
    cost_text,
    explained_kernels,
)
from wengert.codegen.explain.passes import PassResult, pass_results
from wengert.codegen.kernel import Arena, Input, Layout, Lowered, Output, Program
from wengert.codegen.llvm.machine import native
from wengert.core.graph import Graph
from wengert.core.once import once


@dataclass(frozen=True)
class ExplainedProgram:
    """What is known of a compiled program, and all that can be told from it."""

    graph: Graph  # as it was recorded
    program: Program
    layout: Layout
    sizes: Mapping[str, int]  # behind the Dims: what bytes and operations are counted for
    fused: bool
    llvm: str  # the text of its module
    name: str = "program"

    @once
    def passes(self) -> list[PassResult]:
        """The graph after each pass."""
        return pass_results(self.graph)

    @once
    def notes(self) -> KernelNotes:
        """What stands beside the kernels."""
        return KernelNotes(self.place, self.sizes)

    @once
    def kernels(self) -> list[ExplainedKernel]:
        """In the order in which they run."""
        return explained_kernels(self.program, self.notes, self.sizes)

    @once
    def kernel_text(self) -> str:
        """The program and its frame, with notes."""
        lowered = Lowered(self.program, self.layout)
        return "\n".join(brief_printer(self.notes).all_of(lowered))

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


def explain_text(it: ExplainedProgram, ir: bool = False, assembly: bool = False) -> str:
    """Everything as text: passes, kernels, arena; with `ir` and `assembly` the code, too."""
    parts = [f"{it.name}: {it.summary}"]
    parts += [_pass_text(each) for each in it.passes]
    parts.append(f"kernels\n{indent(it.kernel_text, '  ')}")
    parts.append("\n".join(["arena", *(f"  {line}".rstrip() for line in arena_text(it.arena))]))
    if ir:
        parts.append(f"LLVM\n{indent(it.llvm.strip(), '  ')}")
    if assembly:
        parts.append(f"assembly\n{it.assembly.rstrip()}")
    return "\n\n".join(parts) + "\n"


def _pass_text(it: PassResult) -> str:
    if not it.change:
        return f"{it.name}: unchanged"
    lines = [f"{it.name}: {it.change}", f"  {it.what}"]
    return "\n".join([*lines, indent(it.text, "  ")] if it.text else lines)
