"""Profile: where the time of a compiled program goes, kernel by kernel.

The kernels run in their order, one after the other in the memory of a call, and a clock is read
between them: each finds its operands in the caches, or does not, as in any other call. One that
takes no longer than a reading of the clock is run so often in turn that its time can be seen, and
in memory where it finds the same operands each time; only what writes to arguments goes on from
what it wrote. Beside its time stand the operations it does and the bytes it has to move, and how
near that is to what this machine can do: to the rate of a large product of matrices, and to the
memory's bandwidth.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wengert.codegen.cost.counts import Cost, kernel_cost
from wengert.codegen.kernel import STATUS, Kernel, Layout, Lowered, Program, byte_size
from wengert.codegen.llvm.commit_code import checked_outputs
from wengert.codegen.llvm.machine.native import Native, object_code
from wengert.codegen.llvm.module import SET_POINTERS, write_module
from wengert.codegen.llvm.text.lines import Text
from wengert.codegen.llvm.text.vectors import Module
from wengert.codegen.memory.plan import number_of, plan
from wengert.codegen.options import Options
from wengert.codegen.stages import lower
from wengert.codegen.targets.cpu.rounding import restore_rounding, set_rounding
from wengert.core.dims import substitute
from wengert.core.dtypes import DType, float32, is_float
from wengert.core.text.read import read
from wengert.core.types import ArrayType
from wengert.passes.pipeline import run
from wengert.runtime.call_memory import Memory
from wengert.runtime.nonfinite_policies import IGNORE
from wengert.runtime.profile_table import table
from wengert.runtime.signature import bound_sizes

if TYPE_CHECKING:
    from wengert.runtime.executable import Executable

Array: TypeAlias = np.ndarray[Any, Any]

SECONDS = 0.5  # to spend on one profile
MOST, LEAST = 500, 3  # how often a program is run for it
ENOUGH = 5e3  # nanoseconds between two readings of the clock, beside which a reading takes little
REPEATED = 1 << 14  # how often in a row, at most, something short is run to reach that
SMALL = 1 << 20  # bytes of memory that caches hold, even where no array takes the place of another
GEMM = 512  # rows and columns of the product that gives the machine's rate
SWEEP = 2**24  # float32 numbers in the array that gives its bandwidth: more than caches hold


@dataclass(frozen=True)
class KernelProfile:
    """One kernel: the best time of many runs, what it did in that time, and what this machine
    could have done.
    """

    name: str  # that of its function in the LLVM text; `check_finite` and `commit` end a program
    kind: str
    ops: tuple[str, ...]  # what it computes
    line: str  # the user's line where it begins
    seconds: float
    cost: Cost
    gemm_rate: float  # operations per second of a large product of matrices in its dtype
    bandwidth: float  # bytes per second of a sweep over an array in main memory
    share: float  # its part of the time of all kernels

    @property
    def flops(self) -> int:
        return self.cost.flops

    @property
    def bytes(self) -> int:
        """Read and written, each element once."""
        return self.cost.moved

    @property
    def flops_per_second(self) -> float:
        return _rate(self.flops, self.seconds)

    @property
    def bytes_per_second(self) -> float:
        return _rate(self.bytes, self.seconds)

    @property
    def share_of_gemm_rate(self) -> float:
        return self.flops_per_second / self.gemm_rate

    @property
    def share_of_bandwidth(self) -> float:
        """More than 1 where the arrays lie in caches."""
        return self.bytes_per_second / self.bandwidth


@dataclass(frozen=True)
class Profile:
    """A program's kernels in the order in which they ran. Prints as a table."""

    kernels: tuple[KernelProfile, ...]
    seconds: float  # of the program as a whole, without clocks in between
    bandwidth: float
    gemm_rate: float  # in float32

    @property
    def sum(self) -> float:
        """The seconds of all kernels."""
        return sum(kernel.seconds for kernel in self.kernels)

    @property
    def cost(self) -> Cost:
        return sum((kernel.cost for kernel in self.kernels), Cost())

    def __repr__(self) -> str:
        return table(self)


def profile(executable: Executable, arrays: Sequence[Any], seconds: float = SECONDS) -> Profile:
    """Time the kernels of an executable on these arrays: the distinct ones among its arguments, of
    the types it was compiled for. It works on copies of them.
    """
    sizes = bound_sizes(executable.input_types, [np.shape(x) for x in arrays])
    assert sizes is not None, "types have been checked"
    copies = [_copied(x) for x in arrays]
    executable.run(copies, sizes)  # raises where a call with these arrays does
    program, layout = executable.program, executable.layout
    steps = _steps(program, layout, sizes, executable.nonfinite != IGNORE)
    bench = _Bench(program, layout, sizes, arrays, [step.name for step in steps])
    times, whole = bench.times(seconds)
    total = sum(times) or 1.0
    kernels = tuple(
        KernelProfile(
            step.name,
            step.kind,
            step.ops,
            step.line,
            taken,
            step.cost,
            gemm_rate(step.dtype),
            bandwidth(),
            taken / total,
        )
        for step, taken in zip(steps, times, strict=True)
    )
    return Profile(kernels, whole, bandwidth(), gemm_rate(float32))


def _rate(count: int, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0


def _copied(x: Any) -> Array:
    x = np.asarray(x)
    return np.array(x, x.dtype.newbyteorder("="), order="C", copy=True)


# What is timed.


@dataclass(frozen=True)
class _TimedFunction:
    """A function of the program that runs between two readings of the clock."""

    name: str
    kind: str
    ops: tuple[str, ...]
    line: str
    cost: Cost
    dtype: DType  # of its largest floats


def _steps(
    program: Program, layout: Layout, sizes: Mapping[str, int], finite: bool
) -> list[_TimedFunction]:
    steps = [_kernel_step(program, number, sizes) for number in program.order]
    types = program.graph.output_types()
    if finite:
        floats = [types[output] for output in checked_outputs(layout, program)]
        count = sum(number_of(t.size, sizes) for t in floats)
        cost = Cost(flops=count, read=_bytes_of(floats, sizes))
        steps.append(
            _TimedFunction("check_finite", "check", ("isfinite",), "", cost, _widest(floats))
        )
    if layout.commits:
        donated = [types[output] for output, _ in layout.commits]
        moved = _bytes_of(donated, sizes)
        cost = Cost(read=moved, written=moved)
        steps.append(_TimedFunction("commit", "copy", (), "", cost, _widest(donated)))
    return steps


def _kernel_step(program: Program, number: int, sizes: Mapping[str, int]) -> _TimedFunction:
    kernel = program.kernels[number]
    nodes = [program.node(member) for member in kernel.members]
    lines = [str(node.line) for node in nodes if node.line is not None]
    return _TimedFunction(
        f"k{number}",
        kernel.kind,
        tuple(_ops(program, kernel)),
        lines[0] if lines else "",
        kernel_cost(program, number, sizes),
        _widest([program.root_type(root) for root in kernel.stores]),
    )


def _ops(program: Program, kernel: Kernel) -> Iterator[str]:
    """The names of the ops that a kernel computes, in order; those inside loops too."""
    for member in kernel.members:
        yield program.node(member).op.name
    for body in kernel.bodies:
        for number in body.order:
            yield from _ops(body, body.kernels[number])


def _bytes_of(types: Sequence[ArrayType], sizes: Mapping[str, int]) -> int:
    return sum(number_of(byte_size(t), sizes) for t in types)


def _widest(types: Sequence[ArrayType]) -> DType:
    floats = [t.dtype for t in types if is_float(t.dtype)]
    return max(floats, key=lambda dtype: dtype.itemsize, default=float32)


# Timing.


class _Bench:
    """A program with clocks in it, and arrays to run on."""

    def __init__(
        self,
        program: Program,
        layout: Layout,
        sizes: Mapping[str, int],
        arrays: Sequence[Any],
        names: Sequence[str],
    ) -> None:
        options = Options(sizes, finite="check_finite" in names)
        module = write_module(Lowered(program, layout), options, named=True)
        kernels = [name for name in names if name not in ("check_finite", "commit")]
        _write_clocked(module, "apart", kernels, [[name] for name in names])
        _write_clocked(module, "whole", kernels, [names])
        self._native = Native(object_code(module.text()), ("apart", "whole"))
        self._counts = {"apart": np.ones(len(names), np.int64), "whole": np.ones(1, np.int64)}
        self._memory = _memory(program, layout, sizes)
        self._given = [np.asarray(x) for x in arrays]
        self._inputs = [_copied(x) for x in arrays]
        types = program.graph.output_types()
        self._outputs = [np.empty(substitute(t.shape, sizes), t.dtype) for t in types]
        written = {*dict(layout.commits).values(), *layout.outputs}
        self._donated = [i for i, slot in enumerate(self._memory.inputs) if slot in written]
        self._point(layout)

    def _point(self, layout: Layout) -> None:
        """Fill the frame: inputs, and outputs that are neither in the arena nor in inputs."""
        frame = self._memory.frame
        committed = {output for output, _ in layout.commits}
        for i, (slot, out) in enumerate(zip(layout.outputs, self._outputs, strict=True)):
            if i not in committed:
                frame[slot] = out.ctypes.data
        for slot, x in zip(self._memory.inputs, self._inputs, strict=True):
            frame[slot] = x.ctypes.data

    def write_over_input(self) -> None:
        """Let the first output lie where the first input does."""
        frame = self._memory.frame
        frame[self._memory.outputs[0]] = frame[self._memory.inputs[0]]

    def times(self, seconds: float) -> tuple[list[float], float]:
        """The best time of each step, and of all of them without clocks in between."""
        apart, whole = (_Best(counts) for counts in self._counts.values())
        for best, name in ((apart, "apart"), (whole, "whole")):
            best.note(self._run(name))  # and let pages and caches warm up
        end = time.perf_counter() + seconds
        for turn in range(MOST):
            known = apart.are_known and whole.are_known
            if known and turn >= LEAST and time.perf_counter() > end:
                break
            apart.note(self._run("apart"))
            whole.note(self._run("whole"))
        reading = min(apart.reading, whole.reading)
        return apart.seconds(reading).tolist(), float(whole.seconds(reading)[0])

    def _run(self, name: str) -> Array:
        """Nanoseconds between the readings of the clock."""
        counts, frame = self._counts[name], self._memory.frame
        stamps = np.zeros((len(counts) + 2, 2), np.int64)
        for i in self._donated:  # written by the last run: begin where that began
            np.copyto(self._inputs[i], self._given[i])
        frame[STATUS] = 0
        function = self._native.function(name, *[ctypes.c_void_p] * 3)
        function(self._memory.address, stamps.ctypes.data, counts.ctypes.data)
        return np.diff(stamps[:, 0] * 1_000_000_000 + stamps[:, 1]).astype(np.float64)


class _Best:
    """The shortest times, in nanoseconds, of functions that are each run several times in a row."""

    def __init__(self, counts: Array) -> None:
        self._counts = counts
        self._times = np.full(len(counts), np.inf)
        self.reading = np.inf  # what a reading of the clock takes

    @property
    def are_known(self) -> bool:
        """Whether each was run often enough in a row for its time to be seen."""
        return bool(np.isfinite(self._times).all())

    def note(self, intervals: Array) -> None:
        """Take in the readings of the clock, and have what was too short to be seen run
        more often.
        """
        self._times = np.minimum(self._times, intervals[:-1])
        self.reading = min(self.reading, intervals[-1])  # between these nothing happened
        short = (self._times - self.reading < ENOUGH) & (self._counts < REPEATED)
        self._counts[short] *= 2
        self._times[short] = np.inf

    def seconds(self, reading: float) -> Any:
        """The shortest time of running each once."""
        return np.maximum(self._times - reading, 0) / self._counts * 1e-9


def _memory(program: Program, layout: Layout, sizes: Mapping[str, int]) -> Memory:
    """The memory of a call. Where it is small, no array in it takes the place of another: a kernel
    that wrote over its operand would compute with other numbers when it runs again.
    """
    every = range(layout.first, layout.first + len(layout.slots))
    apart = replace(layout, kept=frozenset(every))
    memory = Memory(layout, partial(plan, program, apart))
    memory.make_room(sizes)
    if memory.size > SMALL:
        memory = Memory(layout, partial(plan, program, layout))
        memory.make_room(sizes)
    return memory


def _write_clocked(
    module: Module, name: str, kernels: Sequence[str], groups: Sequence[Sequence[str]]
) -> None:
    """void @name(frame, stamps, counts): run the kernels once, to warm up; then the groups of
    functions, each as often as its count says, with a reading of the clock before the first and
    after each, and one more.
    """
    code = Text(module)
    before = set_rounding(code)
    code.do(f"call void @{SET_POINTERS}(ptr %frame)")

    def call(names: Sequence[str], *_of_loop: object) -> None:
        for each in names:
            code.do(f"call void @{each}(ptr %frame)")

    call(kernels)
    _read_clock(code, 0)
    for position, group in enumerate(groups):
        at = code.let(f"getelementptr i64, ptr %counts, i64 {position}")
        count = code.let(f"load i64, ptr {at}, align 8")
        code.loop(0, count, 1, partial(call, group))
        _read_clock(code, position + 1)
    _read_clock(code, len(groups) + 1)
    restore_rounding(code, before)
    code.function(name, "ptr %frame, ptr %stamps, ptr %counts", linkage="")


def _read_clock(code: Text, position: int) -> None:
    """Seconds and nanoseconds, as the C library's timespec."""
    at = code.let(f"getelementptr i64, ptr %stamps, i64 {2 * position}")
    clock = ("i32", str(time.CLOCK_MONOTONIC))
    code.call("clock_gettime", "i32", clock, ("ptr", at))


# What this machine can do.


@cache
def gemm_rate(dtype: DType) -> float:
    """Operations per second of a large product of matrices, by our own code; measured once."""
    matrix = f"{dtype.name}[{GEMM}, {GEMM}]"
    text = f"""
        graph(%0: {matrix} "a", %1: {matrix} "b") {{
          %2: {matrix} = matmul(%0, %1)
          return %2
        }}"""
    bench = _bench_of(text, [np.ones((GEMM, GEMM), dtype)] * 2)
    return 2 * GEMM**3 / bench.times(SECONDS)[1]


@cache
def bandwidth() -> float:
    """Bytes per second that a sweep over a large array reads and writes in place; measured once."""
    text = f"""
        graph(%0: float32[{SWEEP}] "x") {{
          %1: float32[{SWEEP}] = negative(%0)
          return %1
        }}"""
    bench = _bench_of(text, [np.ones(SWEEP, np.float32)])
    bench.write_over_input()
    return 2 * 4 * SWEEP / bench.times(SECONDS)[1]


def _bench_of(text: str, arrays: Sequence[Array]) -> _Bench:
    lowered = lower(run(read(text)), Options())
    names = [f"k{number}" for number in lowered.program.order]
    return _Bench(lowered.program, lowered.layout, {}, arrays, names)
