"""Printing from compiled code: a kernel calls the function that a word of the frame points to.

The function is Python's, and belongs to the process that runs the program: the code itself knows
the number of what is shown and nothing else, so it can be stored. Where the word is null, nothing
is called.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.frame import Frame
from wengert.core.dtypes import int64


def write_report(frame: Frame, number: int, x: StridedArray, steps: Sequence[int]) -> None:
    """Call `printer(number, pointer, words)`; the words are the sizes of the array, its strides in
    elements, and the steps of the loops around, which stand in these slots.
    """
    code, slot = frame.code, frame.layout.printer
    assert slot is not None
    printer = frame.word(slot, "ptr")
    words = [*x.shape, *x.strides, *map(frame.word, steps)]
    room = code.room(int64, max(len(words), 1))

    def report() -> None:
        for i, word in enumerate(words):
            code.do(f"store i64 {word}, ptr {code.address(room, i, int64)}, align 8")
        code.do(f"call void {printer}(i64 {number}, ptr {x.pointer}, ptr {room})")

    code.when(code.let(f"icmp ne ptr {printer}, null"), report)


def _emit(call: KernelCall) -> None:
    assert call.report is not None
    call.report(call.operands[0])


DEBUG = {"debug": Special(_emit)}
