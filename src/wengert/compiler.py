"""Compiler: a traced graph becomes a recipe, which is all that calls need of a program.

    graph ──passes──▶ graph ──stages──▶ kernels and frame ──write──▶ text ──LLVM──▶ object files

Nothing here knows of calls, arrays or caches; a caller that keeps object files passes `make`.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from wengert.codegen.kernel import Layout, Lowered, Program
from wengert.codegen.llvm.loops.products import write_products
from wengert.codegen.llvm.machine.alike_functions import called_directly
from wengert.codegen.llvm.machine.native import Images, begin_common, object_code
from wengert.codegen.llvm.module import write_module
from wengert.codegen.llvm.text.vectors import Module
from wengert.codegen.memory.plan import Placed, plan
from wengert.codegen.options import Options
from wengert.codegen.requirements import Requirements
from wengert.codegen.stages import lower
from wengert.core.graph import Graph
from wengert.core.lowering import Elementwise
from wengert.errors import CompileError
from wengert.passes.pipeline import run


@dataclass(frozen=True)
class Recipe:
    """A program as its calls see it; `placed`, `least` and `suits` are about the sizes of the first
    one.
    """

    images: Images
    layout: Layout  # without the nodes that can fail, which have lines
    placed: Placed
    grows: bool  # as `Requirements.grow`
    least: dict[str, int] | None  # as `Requirements.least`
    suits: bool  # whether the sizes break no requirement
    divided: bool  # whether several workers can run it

    def covers(self, sizes: Mapping[str, int]) -> bool:
        """Whether the program is known to be right for these sizes."""
        return self.least is not None and all(sizes[name] >= n for name, n in self.least.items())


@dataclass(frozen=True)
class Written:
    """A graph as kernels, and these as LLVM."""

    ready: Graph  # after the passes
    lowered: Lowered
    options: Options
    text: str

    def place(self, sizes: Mapping[str, int]) -> Placed:
        """Where everything lies for these sizes."""
        program, layout = self.lowered.program, self.lowered.layout
        return plan(program, layout, sizes, self.options.threads if program.divided else 1)


def write(
    graph: Graph, options: Options, begin: Callable[[Program], None] = lambda _: None
) -> Written:
    """The text of a graph's program; `begin` is called when the kernels are known."""
    ready = run(graph)
    try:
        lowered = lower(ready, options, begin)
        module = write_module(lowered, options)
        module.functions[:] = called_directly(module.functions)
        text = module.text()
    except Exception as error:
        explain_emit(error, ready)
        raise
    return Written(ready, lowered, options, text)


def compile(
    graph: Graph,
    options: Options,
    make: Callable[..., bytes],
    begin: Callable[[Program], None] = lambda _: None,
) -> tuple[Recipe, Written]:
    """The recipe of a traced graph, and what it was made of. `make` turns a text into an object
    file.
    """

    def begin_parts(program: Program) -> None:
        begin(program)
        begin_common(write_products(Module(options.target), program), make)

    written = write(graph, options, begin_parts)
    requirements = Requirements(written.ready)
    recipe = Recipe(
        images=object_code(written.text, make),
        layout=replace(written.lowered.layout, failing=()),
        placed=written.place(options.sizes),
        grows=requirements.grow,
        least=requirements.least(options.sizes),
        suits=requirements.broken(options.sizes) is None,
        divided=written.lowered.program.divided,
    )
    return recipe, written


def explain_emit(error: Exception, graph: Graph) -> None:
    """Name the op whose `emit` raised this error, if one did."""
    running = {frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)}
    for node in graph.nodes:
        emit = node.op.lower.emit if isinstance(node.op.lower, Elementwise) else None
        if getattr(emit, "__code__", None) in running:
            place = f" ({node.line})" if node.line else ""
            raise CompileError(
                f"{node.op.name}: its `emit` raised {type(error).__name__}; it is written in the "
                "instructions of `wengert.core.emit.Emit`, and nothing else. Correct it where the "
                f"error above says.{place}"
            ) from error
    for body in graph.subgraphs():
        explain_emit(error, body)
