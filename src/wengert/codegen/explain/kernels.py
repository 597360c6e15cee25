"""Kernels as text, with notes beside them: what each costs, and where its results lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from wengert.codegen.cost.counts import Cost, kernel_cost
from wengert.codegen.cost.durations import duration
from wengert.codegen.kernel import Program
from wengert.codegen.kernel_text.kernel_show import KernelPrinter, Notes
from wengert.codegen.targets.cpu.splitting import work
from wengert.codegen.views import Root
from wengert.core.text.literal import Writer


@dataclass(frozen=True)
class ExplainedKernel:
    """One kernel: what it is called, its lines in the text of the program, and what it costs."""

    name: str  # that of its function in the LLVM text
    kind: str
    domain: str
    lines: list[str]
    cost: Cost
    nanoseconds: float  # about, by one worker


class KernelNotes(Notes):
    """Costs beside kernels, places beside what they store; `place` gives that of a word."""

    def __init__(self, place: Callable[[int], str], sizes: Mapping[str, int]) -> None:
        self.place, self.sizes = place, sizes

    def kernel(self, program: Program, k: int) -> str:
        cost, time = kernel_cost(program, k, self.sizes), work(program, k, self.sizes)
        return f"about {duration(time * 1e-9)}, {cost_text(cost)}"

    def array(self, program: Program, root: Root) -> str:
        owner = program.owner.get(root)
        stored = owner is not None and root in program.kernels[owner].stores
        return self.place(program.slots[root]) if stored else ""


def brief_printer(notes: Notes) -> KernelPrinter:
    """A printer for people, which leaves out the bytes of arrays."""
    return KernelPrinter(Writer(brief=True), lines=True, notes=notes)


def explained_kernels(
    program: Program, notes: Notes, sizes: Mapping[str, int]
) -> list[ExplainedKernel]:
    """All kernels of a program, in the order in which they run."""
    return [
        ExplainedKernel(
            f"k{k}",
            program.kernels[k].kind,
            ", ".join(map(str, program.kernels[k].domain)),
            lines,
            kernel_cost(program, k, sizes),
            work(program, k, sizes),
        )
        for k, lines in brief_printer(notes).parts(program, "k", "")
        if k is not None
    ]


def cost_text(cost: Cost) -> str:
    """Operations and bytes, in words."""
    if not cost.flops:
        return f"{cost.moved:,} bytes moved"
    functions = f" ({cost.functions:,} are functions)" if cost.functions else ""
    return (
        f"{cost.flops:,} flops{functions}, {cost.moved:,} bytes moved: "
        f"{cost.intensity:.3g} flops/byte"
    )
