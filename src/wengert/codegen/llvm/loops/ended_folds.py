"""Ended folds: what is done after loops that leave sums of parts of a fold in memory."""

from __future__ import annotations

from wengert.codegen.kernel import Layout, Program
from wengert.codegen.llvm.loops.column_loops import ColumnLoops
from wengert.codegen.llvm.loops.row_loops import RowLoops
from wengert.codegen.llvm.text.frame import RowPlaces
from wengert.codegen.llvm.text.vectors import Code, Module
from wengert.codegen.sums_down import with_columns_of


def write_end(
    module: Module,
    layout: Layout,
    program: Program,
    k: int,
    name: str,
    checking: bool = False,
    places: RowPlaces = None,
) -> None:
    """void(frame): add up the results of the parts of a kernel's folds, in the one order."""
    kernel = program.kernels[k]
    program = with_columns_of(program, k) if kernel.down else program
    loops: type[RowLoops | ColumnLoops]
    loops = RowLoops if program.kernels[k].kind == "rows" else ColumnLoops
    end = loops(module, layout, program, k, checking, by_workers=False, places=places)
    end.write_end_of_parts(name)


def write_rows_and_end(
    module: Module, layout: Layout, program: Program, k: int, name: str, places: RowPlaces
) -> None:
    """void(frame): rows with sums down them, by the caller alone.

    name_rows(frame)  # leaves the sums of blocks of rows in memory
    name_end(frame)
    """
    rows = RowLoops(module, layout, program, k, places=places)
    rows.write(f"{name}_rows")
    write_end(module, layout, program, k, f"{name}_end", places=places)
    code = Code(module, 1)
    for part in ("rows", "end"):
        code.do(f"call void @{name}_{part}({rows.params})")
    code.function(name, rows.params)
