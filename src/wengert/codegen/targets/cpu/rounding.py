"""Rounding: the floating-point control word, which a program sets when it begins and restores when
it ends. A caller that flushes subnormals or rounds upwards gets the same bits as any other.
"""

from __future__ import annotations

from wengert.codegen.llvm.text.lines import Text

_STANDARD = 0x1F80  # of MXCSR: to nearest, subnormals kept, no traps; of FPCR the same is 0


def set_rounding(code: Text) -> str:
    """Round to nearest from here on; what `restore_rounding` needs."""
    if code.module.target.architecture == "x86_64":
        before = code.let_first("alloca i32, align 4")
        standard = code.let_first("alloca i32, align 4")
        code.call("llvm.x86.sse.stmxcsr", "void", ("ptr", before))
        code.do(f"store i32 {_STANDARD}, ptr {standard}, align 4")
        code.call("llvm.x86.sse.ldmxcsr", "void", ("ptr", standard))
        return before
    if code.module.target.architecture == "aarch64":
        word = code.call("llvm.aarch64.get.fpcr", "i64")
        code.call("llvm.aarch64.set.fpcr", "void", ("i64", "0"))
        return word
    return ""


def restore_rounding(code: Text, before: str) -> None:
    """Round as the caller did."""
    if code.module.target.architecture == "x86_64":
        code.call("llvm.x86.sse.ldmxcsr", "void", ("ptr", before))
    elif code.module.target.architecture == "aarch64":
        code.call("llvm.aarch64.set.fpcr", "void", ("i64", before))
