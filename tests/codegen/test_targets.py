"""Code for other machines: the whole op table is assembled for them, though it cannot run here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from compiler.calls_of_ops import Gradients, Values
from table.calls import Call, calls
from table.ops import OPS

import wengert as wg
from codegen.explained_programs import NETWORK, network
from wengert.api.trace import trace_with_sizes
from wengert.codegen.llvm.machine.native import assembly, make_object
from wengert.codegen.llvm.module import write_module
from wengert.codegen.options import Options
from wengert.codegen.stages import lower
from wengert.codegen.targets.cpu.pool import pool_text
from wengert.codegen.targets.cpu.target import Target, host
from wengert.passes.pipeline import run

TARGETS = {
    "arm": Target("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon,+fp-armv8"),
    "apple": Target("arm64-apple-macosx14.0.0", "apple-m1", "+neon,+fp-armv8"),
    "x86 of 128 bits": Target(
        "x86_64-unknown-linux-gnu", "x86-64-v3", "+avx2,+fma,+prefer-128-bit", width=4
    ),
    "x86 of 512 bits": Target(
        "x86_64-unknown-linux-gnu", "x86-64-v4", "+avx2,+fma,+avx512f,+avx512vl"
    ),
}
# How object files begin, by system, and what stands in assembly, by architecture: multiply-add, a
# write to the floating-point control word, and the names of vector registers by their bytes.
BEGINNINGS = {"linux": b"\x7fELF", "darwin": b"\xcf\xfa\xed\xfe"}
ASSEMBLY = {
    "aarch64": ("fmla", "fpcr", {16: ".4s"}),
    "x86_64": ("vfmadd", "ldmxcsr", {16: "%xmm", 32: "%ymm", 64: "%zmm"}),
}
EACH_TARGET = pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
AT_ONCE = 12  # ops in one module: assembling one by one takes longer
SECOND = {
    "betainc_slope",
    "gammainc_slope",
    "ive_slope",
}  # slopes: theirs are the same code, and far more


def text_for(target: Target, function: Any, *args: Any) -> str:
    graph, sizes = trace_with_sizes(function, *args)
    options = Options(sizes, target=target, threads=2, grain=1, finite=True)
    return write_module(lower(run(graph), options), options).text()


def programs() -> Iterator[tuple[str, Any, list[Any]]]:
    """Values and gradients of the first calls of some ops each."""
    chosen = [op for op in OPS if op.samples]
    for begin in range(0, len(chosen), AT_ONCE):
        some = chosen[begin : begin + AT_ONCE]
        given = [calls(op, dtype)[0] for op in some for dtype in (np.float32, np.float64)]
        yield f"{some[0].name} to {some[-1].name}", Values(given), Values(given).arguments()
        smooth = [call for call in given if call.op.name not in SECOND and _has_gradient(call)]
        if smooth:
            yield f"gradients from {some[0].name}", Gradients(smooth), Gradients(smooth).arguments()


def _has_gradient(call: Call) -> bool:
    with np.errstate(all="ignore"):
        return call.op.differentiable and bool(call.floats and call.function()(*call.primals))


PROGRAMS = {name: (function, arguments) for name, function, arguments in programs()}


# Apple's processors have the instructions of the others of their kind: values show the system.
EACH_PROGRAM = [
    pytest.param(name, target, id=f"{name}-{where}")
    for where, target in TARGETS.items()
    for name in PROGRAMS
    if target.system != "darwin" or not name.startswith("gradients")
]


@pytest.mark.parametrize(("name", "target"), EACH_PROGRAM)
def test_every_op_is_assembled(name, target):
    function, arguments = PROGRAMS[name]
    made = make_object(text_for(target, function, *arguments), target)
    assert made.startswith(BEGINNINGS[target.system])


@EACH_TARGET
def test_training_and_workers_are_assembled(target):
    assert make_object(text_for(target, network, *NETWORK), target)
    assert make_object(pool_text(target), target)
    x, w = np.ones((70, 300), np.float32), np.ones((300, 130), np.float32)
    text = assembly(text_for(target, lambda x, w: np.tanh(x @ w), x, w), target).lower()
    multiply_add, control, registers = ASSEMBLY[target.architecture]
    assert multiply_add in text
    assert control in text
    assert registers[target.register_bytes] in text
    assert ("zmm" in text) == (target.register_bytes == 64)


def test_what_is_written_for_this_machine_names_no_other():
    this = host()
    assert this.register_bytes in (16, 32, 64)
    assert this.registers in (16, 32)
    assert this == wg.compile(np.tanh).executable(np.ones(3)).options.target
