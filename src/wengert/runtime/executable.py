"""Executable: one program as machine code, for arguments of one kind."""

from __future__ import annotations

import ctypes
import os
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from wengert.codegen.explain import Explained, explain_text
from wengert.codegen.explain_html import explain_html
from wengert.codegen.llvm.code import Module
from wengert.codegen.llvm.native import Native, object_code
from wengert.codegen.llvm.program import ENTRY, ask_for_scratch, write_program
from wengert.codegen.lower import NONFINITE, POSITION, STATUS, lower
from wengert.codegen.plan import schedule
from wengert.codegen.requirements import Requirements
from wengert.core import tree
from wengert.core.dims import Dim, substitute
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType
from wengert.errors import CompileError, DTypeError, NonFiniteError, ShapeError, TraceError
from wengert.interpret.replay import replay
from wengert.passes.pipeline import run
from wengert.runtime import objects
from wengert.runtime.entry import Entry, never
from wengert.runtime.entry_table import Unsupported
from wengert.runtime.memory import Memory
from wengert.runtime.profile import Profile, profile
from wengert.runtime.signature import Signature, bound_sizes, output_names

Array: TypeAlias = np.ndarray[Any, Any]
LONG = 20_000  # nanoseconds that make it worth while to let other Python threads run meanwhile


class Executable:
    """A compiled program: trees of arrays in, new arrays out.

    `entry(*args)` is the quick way in. It answers NotImplemented where the slow one must look:
    `__call__`, or `run` for arrays that were taken out of their trees.
    """

    def __init__(
        self,
        graph: Graph,
        signature: Signature,
        sizes: Mapping[str, int],
        nonfinite: str = "ignore",
    ) -> None:
        self.graph, self.signature, self.nonfinite = graph, signature, nonfinite
        self.sizes = dict(sizes)  # of the first call: what the order of kernels was chosen for
        self.fused = os.environ.get("WENGERT_FUSE") != "0"
        self.ready = run(graph)
        self.requirements = Requirements(self.ready)
        self.input_types, self.output_types = graph.input_types(), self.ready.output_types()
        self.written = _matched(signature.donated, self.input_types, self.output_types)
        try:
            self._write()
        except Exception as error:
            _explain_emit(error, self.ready)
            raise
        self.images = object_code(self.text)
        self._native = Native(self.images, (ENTRY,))
        self._function = self._native.function(ENTRY, ctypes.c_void_p)
        self._idle: list[Memory] = []  # memory that no call is using
        self._entry = self._make_entry()
        self.entry: Any = never  # until the first call has found out how much memory it takes

    def _write(self) -> None:
        """The graph as kernels, and these as LLVM."""
        self.program, self.layout = lower(self.ready, self.fused, self.written)
        ask_for_scratch(self.program, self.layout)
        schedule(self.program, self.layout, self.sizes)
        self.text = write_program(self.program, self.layout, Module(), self.nonfinite != "ignore")

    @property
    def memory(self) -> Memory | None:
        """The memory of the calls that were made one after the other."""
        if self._entry is not None:
            return self._entry.memory
        return self._idle[0] if self._idle else None

    def _make_entry(self) -> Entry | None:
        if not objects.fits():
            return None
        memory = Memory(self.program, self.layout, self.requirements.grow)
        types = self.input_types, self.output_types
        try:
            return Entry(self.signature, *types, self.written, memory, self._native)
        except Unsupported:
            return None

    # Calls.

    def __call__(self, *args: Any) -> Any:
        """The results for arguments of the kind it was compiled for."""
        found = self.entry(*args)
        if found is not NotImplemented:
            return found
        arrays = self._arrays(args)
        return self.run(arrays, self._sizes_of(arrays))

    def _arrays(self, args: Sequence[Any]) -> list[Any]:
        """The distinct arrays among the arguments, of the types it was compiled for."""
        leaves, structure = tree.flatten(self.signature.with_static(args))
        for x in leaves:
            if isinstance(x, Tensor):
                state, can = ("", "traced") if x.level.symbolic else ("being ", "differentiated")
                raise TraceError(
                    f"executable: given a Tensor that is {state}{can}; an executable takes arrays. "
                    f"Call the compiled function, which can be {can}."
                )
        if structure != self.signature.structure:
            raise ShapeError(
                f"compile: given arguments {structure}; this executable was made for "
                f"{self.signature.structure}. Call the compiled function, which makes one for each."
            )
        arrays: list[Any] = [None] * len(self.signature.names)
        for x, place in zip(leaves, self.signature.places, strict=True):
            arrays[place] = x
        for name, x, wanted in zip(self.signature.names, arrays, self.input_types, strict=True):
            self._require_type(name, x, wanted)
        return arrays

    def run(self, arrays: Sequence[Any], sizes: Mapping[str, int]) -> Any:
        """The results for the distinct arrays among the arguments, whose types have been checked,
        and for the sizes that the Dims have in them.
        """
        arrays = [np.asarray(x) for x in arrays]
        self._require_donatable(arrays)
        staged = [_staged(x) for x in arrays]
        self._require_sizes(sizes)
        shapes = [substitute(t.shape, sizes) for t in self.output_types]
        outputs = [
            None if j in self.written else np.empty(shape, t.dtype)
            for j, (shape, t) in enumerate(zip(shapes, self.output_types, strict=True))
        ]
        status, position = self._execute(staged, outputs, sizes)
        if status:
            self._explain_failure(status, position, arrays)
        for j, i in self.written.items():
            if staged[i] is not arrays[i] and not status:
                arrays[i][...] = staged[i]
            outputs[j] = arrays[i]
        return tree.unflatten(self.signature.returned, outputs)

    def _execute(
        self, inputs: Sequence[Array], outputs: Sequence[Array | None], sizes: Mapping[str, int]
    ) -> tuple[int, int]:
        entry = self._entry
        if entry is None or not entry.claim():
            memory = (
                self._idle.pop()
                if self._idle
                else Memory(self.program, self.layout, self.requirements.grow)
            )
            found, _ = self._run_in(memory, inputs, outputs, sizes)
            self._idle.append(memory)
            return found
        taken = 0
        try:
            found, taken = self._run_in(entry.memory, inputs, outputs, sizes)
            least = self.requirements.least(sizes)
            if least is not None:
                entry.accept_from(least)
        finally:
            entry.release(long=taken > LONG)
        self.entry = entry.call
        return found

    def _run_in(
        self,
        memory: Memory,
        inputs: Sequence[Array],
        outputs: Sequence[Array | None],
        sizes: Mapping[str, int],
    ) -> tuple[tuple[int, int], int]:
        """Run in memory that no other call uses: status and position, and the nanoseconds taken."""
        memory.make_room(sizes)
        frame = memory.frame
        for slot, x in zip(memory.inputs, inputs, strict=True):
            frame[slot] = objects.data(x)
        for slot, out in zip(memory.outputs, outputs, strict=True):
            if out is not None:
                frame[slot] = objects.data(out)
        frame[STATUS] = 0
        begin = time.perf_counter_ns()
        self._function(memory.address)
        taken = time.perf_counter_ns() - begin
        return (int(frame[STATUS]), int(frame[POSITION])), taken

    def suits(self, sizes: Mapping[str, int]) -> bool:
        """Whether the program is right for these sizes of its Dims."""
        return self.requirements.broken(sizes) is None

    def _require_sizes(self, sizes: Mapping[str, int]) -> None:
        node = self.requirements.broken(sizes)
        if node is not None:
            given = ", ".join(f"{name} = {size}" for name, size in sizes.items())
            raise ShapeError(
                f"compile: given {given}; a slice in this executable ends beyond its axis then. "
                f"Call the compiled function, which makes another one. ({node.line})"
            )

    def _sizes_of(self, arrays: Sequence[Any]) -> dict[str, int]:
        shapes = [x.shape for x in arrays]
        sizes = bound_sizes(self.input_types, shapes)
        if sizes is None:
            raise ShapeError(
                f"compile: arguments have shapes {', '.join(map(str, shapes))}; this executable "
                f"was made for {', '.join(str(t.shape) for t in self.input_types)}, where one Dim "
                "has one size. Use arrays that agree, or two Dims."
            )
        return sizes

    # Looking.

    def explain(self, *, ir: bool = False, assembly: bool = False, html: bool = False) -> str:
        """The graph after each pass, the kernels, and the arena; with `ir` and `assembly` the code,
        too. With `html` it is a page.
        """
        it = Explained(self.graph, self.program, self.layout, self.sizes, self.fused, self.text)
        return (explain_html if html else explain_text)(it, ir, assembly)

    def profile(self, *args: Any) -> Profile:
        """Where the time of a call with these arguments goes, kernel by kernel."""
        arrays = self._arrays(args)
        self._sizes_of(arrays)  # refuses sizes that disagree
        return profile(self, arrays)

    # What is refused.

    def _require_type(self, name: str, x: Any, wanted: ArrayType) -> None:
        if x.dtype.newbyteorder("=") != wanted.dtype:
            raise DTypeError(
                f"compile: argument {name!r} has dtype {x.dtype}; this executable was made for "
                f"{wanted.dtype}. Convert it with astype."
            )
        fits = len(x.shape) == wanted.ndim and all(
            isinstance(n, Dim) or n == given for n, given in zip(wanted.shape, x.shape, strict=True)
        )
        if not fits:
            raise ShapeError(
                f"compile: argument {name!r} has shape {tuple(x.shape)}; this executable was made "
                f"for {wanted.shape}. Call the compiled function, which makes one for each."
            )

    def _require_donatable(self, arrays: Sequence[Array]) -> None:
        names, donated = self.signature.names, set(self.signature.donated)
        for i in self.signature.donated:
            if not arrays[i].flags.writeable:
                raise ValueError(
                    f"compile: argument {names[i]!r} was donated and is read-only; a donated array "
                    "is written to. Pass a copy, or do not donate it."
                )
        for i, j in _overlapping(arrays) if donated else ():
            if i == j and i in donated:
                raise ValueError(
                    f"compile: argument {names[i]!r} was donated and overlaps itself; a donated "
                    "array is written to, and each element needs its own place. Pass a copy."
                )
            if i in donated or j in donated:
                i, j = (i, j) if i in donated else (j, i)
                raise ValueError(
                    f"compile: argument {names[i]!r} was donated and shares memory with "
                    f"{names[j]!r}; a donated array is written to, and must be alone. Pass a copy "
                    "of one of them."
                )

    def _explain_failure(self, status: int, position: int, arrays: Sequence[Array]) -> None:
        if status == NONFINITE:
            if self.nonfinite == "skip":
                return
            marks = [np.empty(0) for _ in self.output_types]
            names = output_names(tree.unflatten(self.signature.returned, marks))
            raise NonFiniteError(
                f"compile: {names[position]} is not finite; nonfinite='raise' refuses that. "
                "Check the arguments, or pass nonfinite='ignore'."
            )
        replay(self.graph, arrays)  # raises what the op says about these very numbers
        _refuse_unseen(self.layout.failing[status - 1])


def _refuse_unseen(node: Node) -> NoReturn:
    """Report what a node refused, and NumPy on the same arguments did not."""
    name, place = node.op.name, f" ({node.line})" if node.line else ""
    if node.op in (op.solve, op.inv, op.triangular_solve, op.cholesky):
        raise np.linalg.LinAlgError(
            f"{name}: given a matrix that is singular, or not positive definite, in compiled "
            "arithmetic; NumPy's finds it barely is not. Add a small multiple of the identity."
            f"{place}"
        )
    negative = node.op is op.power
    what = "a negative exponent of integers" if negative else "an index out of range"
    raise (DTypeError if negative else IndexError)(
        f"{name}: found {what}, and none when NumPy ran the same arguments; arguments must not "
        f"change during a call. Do not write to them from another thread.{place}"
    )


def _explain_emit(error: Exception, graph: Graph) -> None:
    """Name the op whose `emit` raised this error, if one did."""
    running = {frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)}
    for node in graph.nodes:
        if getattr(node.op.emit, "__code__", None) in running:
            place = f" ({node.line})" if node.line else ""
            raise CompileError(
                f"{node.op.name}: its `emit` raised {type(error).__name__}; it is written in the "
                "instructions of `wengert.core.emit.Emit`, and nothing else. Correct it where the "
                f"error above says.{place}"
            ) from error
    for body in graph.subgraphs():
        _explain_emit(error, body)


def _staged(x: Array) -> Array:
    """The array as programs read it: in C order, aligned, native. A copy only where it is not."""
    flags = x.flags
    if flags.c_contiguous and flags.aligned and x.dtype.isnative:
        return x
    return np.require(x, x.dtype.newbyteorder("="), requirements=["C", "A"])


def _overlapping(arrays: Sequence[Array]) -> Iterator[tuple[int, int]]:
    """Pairs of arrays that share memory; an array may do so with itself."""
    bounds = ((*np.lib.array_utils.byte_bounds(x), i) for i, x in enumerate(arrays) if x.size)
    open_until: list[tuple[int, int]] = []  # (end, array) of those that reach this far
    for begin, end, j in sorted(bounds):
        if not _simple(arrays[j]):
            yield j, j
        open_until = [(e, i) for e, i in open_until if e > begin]
        for _, i in open_until:
            if np.shares_memory(arrays[i], arrays[j]):
                yield i, j
        open_until.append((end, j))


def _simple(x: Array) -> bool:
    """Whether no two elements lie in the same place: each stride steps over all that the smaller
    ones reach.
    """
    reach = x.itemsize
    for stride, size in sorted((abs(s), n) for s, n in zip(x.strides, x.shape, strict=True)):
        if size > 1 and stride < reach:
            return False
        reach += stride * (size - 1)
    return True


def _matched(
    donated: Sequence[int], inputs: Sequence[ArrayType], outputs: Sequence[ArrayType]
) -> dict[int, int]:
    """Which outputs go into donated arrays: each into the first of its type that is left."""
    found: dict[int, int] = {}
    for i in donated:
        for j, t in enumerate(outputs):
            if j not in found and t == inputs[i]:
                found[j] = i
                break
    return found
