"""Stages: a graph that has been through the passes becomes kernels, then text.

    flatten                              Graph   -> Program, which has no kernels yet
    commit_last                          Program -> Program
    fuse                                 Program -> Program, of kernels
    share_memory, split                  Program -> Program
    give_slots                           Program -> Lowered, a program and its frame
    give_scratch, schedule               Lowered -> Lowered

Where arrays lie depends on the sizes of a call: `memory/plan.py` places them. `llvm/module.py`
writes what the stages have made.

Each stage is a function from a value to a value, whose docstring shows a program before and after
it. `codegen/kernel.py` is the language, `kernel_text` the language as text, and `check` of
`codegen/checking.py` says what must hold after each stage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from wengert.codegen.commit_region import commit_last, harmless
from wengert.codegen.flatten import flatten
from wengert.codegen.fuse import fuse
from wengert.codegen.kernel import Lowered, Program
from wengert.codegen.llvm.kernel_scratch import give_scratch
from wengert.codegen.memory.plan import schedule
from wengert.codegen.options import Options
from wengert.codegen.slots import give_slots, share_memory
from wengert.codegen.targets.cpu.splitting import split
from wengert.core.graph import Graph

Stage = Callable[[Any, Options], Any]

STAGES: tuple[Stage, ...] = (
    flatten,
    commit_last,
    fuse,
    share_memory,
    split,
    give_slots,
    give_scratch,
    schedule,
)


def lower(
    graph: Graph, options: Options, begin: Callable[[Program], None] = lambda _: None
) -> Lowered:
    """The program of a graph, ready to be written. `begin` is called as soon as its kernels are
    known, and may start work that depends on nothing else.
    """
    if not options.finite:
        early = options.early | harmless(graph, options.written)
        options = replace(options, early=early)
    made: Any = graph
    for stage in STAGES:
        made = stage(made, options)
        if stage is split:
            begin(made)
    assert isinstance(made, Lowered)
    return made
