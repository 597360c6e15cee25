"""LLVM leaves addresses in loops as they are written; for others in the process it is as it was."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from wengert.codegen.llvm.machine.native import assembly, complete, machine_for, make_object
from wengert.codegen.llvm.machine.strength_reduction import SWITCHED, off
from wengert.codegen.llvm.text.lines import Module, Text
from wengert.codegen.targets.cpu.target import host


def strided_sum(adding: bool) -> str:
    """A module with total(at, n): the sum of every 48th number, in at[0]."""
    module = Module()
    code = Text(module)

    def add(i: int | str, sums: list[str]) -> list[str]:
        at = code.let(f"getelementptr i64, ptr %at, i64 {code.mul(i, 48)}")
        return [str(code.add(sums[0], code.let(f"load i64, ptr {at}, align 8")))]

    (total,) = code.loop(2, "%n", 3, add, [("i64", "0")], adding=adding)
    code.do(f"store i64 {total}, ptr %at, align 8")
    code.function("total", "ptr %at, i64 %n", linkage="")
    return module.text()


def made_elsewhere(text: str) -> str:
    """The machine code that another user of LLVM gets."""
    module = llvm.parse_assembly(complete(text), llvm.create_context())
    return str(machine_for(host()).emit_assembly(module))


@pytest.mark.skipif(not SWITCHED, reason="this LLVM is not asked to")
def test_the_switch_is_back_where_it_was():
    text = strided_sum(adding=False)
    before = made_elsewhere(text)
    ours = assembly(text)
    make_object(text)
    assert ours != before  # the product is still there
    assert made_elsewhere(text) == before
    with off, off:
        assert made_elsewhere(text) == ours
    assert made_elsewhere(text) == before


def test_multiples_of_an_index_are_added_up():
    plain, adding = strided_sum(adding=False), strided_sum(adding=True)
    assert " mul " in plain
    assert " mul " not in adding
    assert "phi i64 [ 96, %start ]" in adding  # 2 · 48, then 3 · 48 more in every turn
    assert ", 144\n" in adding
