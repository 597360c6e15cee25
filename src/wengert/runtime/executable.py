"""Executable: one program as machine code, for arguments of one kind."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.codegen.explain.explained_page import explain_html
from wengert.codegen.explain.text import ExplainedProgram, explain_text
from wengert.codegen.kernel import NONFINITE, POSITION, STATUS, THREADS, Layout, Program
from wengert.codegen.llvm.machine.native import Native
from wengert.codegen.llvm.module import ENTRY
from wengert.codegen.memory.plan import Placed
from wengert.codegen.options import Options
from wengert.codegen.requirements import Requirements
from wengert.codegen.targets.cpu.splitting import grain
from wengert.codegen.targets.cpu.target import host
from wengert.compiler import Recipe, Written, compile, write
from wengert.core import tree
from wengert.core.dims import substitute
from wengert.core.graph import Graph
from wengert.core.once import once
from wengert.errors import ShapeError
from wengert.interpret.printing import quiet
from wengert.interpret.replay import replay
from wengert.passes.pipeline import run
from wengert.runtime.caching.cache import cached_object, recall
from wengert.runtime.call_memory import Memory, input_slots
from wengert.runtime.donation import matched, require_donatable
from wengert.runtime.entries import objects
from wengert.runtime.entries.entry import CountedCalls, Entry, begin, never, new_result
from wengert.runtime.entries.entry_code import LONG
from wengert.runtime.entries.entry_table import Unsupported
from wengert.runtime.entries.printer import DebugPrinter
from wengert.runtime.given_arrays import arrays_of, readable, sizes_of
from wengert.runtime.nonfinite_policies import IGNORE, SKIP
from wengert.runtime.origins.provenance import explained
from wengert.runtime.outside.watch import Watch
from wengert.runtime.profile import Profile, profile
from wengert.runtime.refusals import refuse_unseen, require_plain
from wengert.runtime.signature import Signature, output_names
from wengert.runtime.workers import begin_pool, default_threads, pool

Array: TypeAlias = np.ndarray[Any, Any]


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
        nonfinite: str = IGNORE,
        threads: int | None = None,  # as many as there are CPUs
        watch: Watch | None = None,  # what the function took from outside its arguments
    ) -> None:
        self.watch = watch or Watch()
        self._left = 0  # calls until captured arrays are looked at, where no entry counts them
        self.graph, self.signature, self.nonfinite = graph, signature, nonfinite
        self.threads = default_threads() if threads is None else threads
        self.sizes = dict(sizes)  # of the first call: what the order of kernels was chosen for
        self.input_types, self.output_types = graph.input_types(), graph.output_types()
        self.written = matched(signature.donated, self.input_types, self.output_types)
        self._target = host()
        self.options = Options(
            sizes=self.sizes,
            fused=os.environ.get("WENGERT_FUSE") != "0",
            target=self._target,
            finite=nonfinite != IGNORE,
            threads=self.threads,
            grain=grain(),
            written=self.written,
            early=frozenset(j for j, i in self.written.items() if i in signature.early),
        )
        # `cached` says whether it came from the cache, and if not, why.
        self.recipe, self.cached = recall(graph, self._key_options(), self._make_recipe)
        self.images = self.recipe.images
        self.native = Native(self.images, (ENTRY,))
        self._function = self.native.function(ENTRY, ctypes.c_void_p)
        self._idle: list[Memory] = []  # memory that no call is using
        shown = self.recipe.layout.shown
        self._printer = DebugPrinter(shown) if shown else None
        self._entry = self._make_entry()
        self.entry: Any = never  # until the first call has found out how much memory it takes

    # How it is made. An executable from the cache has its recipe, and the rest is made on demand.

    def _key_options(self) -> dict[str, Any]:
        """What decides the code besides the graph: part of the key in the cache."""
        return {
            "fused": self.options.fused,
            "lanes": self._target.width,
            "nonfinite": self.nonfinite,
            "threads": self.threads,
            "grain": self.options.grain,
            "written": sorted(self.written.items()),
            "early": sorted(self.signature.early),
            "sizes": self.sizes,
        }

    def _make_recipe(self) -> Recipe:
        begin()
        recipe, self.__dict__["_made"] = compile(
            self.graph, self.options, cached_object, self._begin_workers
        )
        return recipe

    def _begin_workers(self, program: Program) -> None:
        if self.threads > 1 and program.divided:
            begin_pool()

    @once
    def _made(self) -> Written:
        """The graph as kernels, and these as LLVM."""
        return write(self.graph, self.options)

    @once
    def ready(self) -> Graph:
        """The graph after the passes."""
        made = self.__dict__.get("_made")
        return run(self.graph) if made is None else made.ready

    @once
    def requirements(self) -> Requirements:
        return Requirements(self.ready)

    @property
    def program(self) -> Program:
        return self._made.lowered.program

    @property
    def layout(self) -> Layout:
        return self._made.lowered.layout

    @property
    def text(self) -> str:
        return self._made.text

    def _place(self, sizes: Mapping[str, int]) -> Placed:
        """Where everything lies for these sizes."""
        return self.recipe.placed if sizes == self.sizes else self._made.place(sizes)

    @property
    def input_slots(self) -> Sequence[int]:
        """Where in a frame the addresses of inputs stand."""
        return input_slots(self.recipe.layout)

    @property
    def output_slots(self) -> Sequence[int]:
        """The same for outputs; what is committed to a donated array goes to its input."""
        inputs = self.input_slots
        donated = {output: inputs[i] for output, i in self.written.items()}
        return [donated.get(j, slot) for j, slot in enumerate(self.recipe.layout.outputs)]

    def new_memory(self) -> Memory:
        """Memory of its own for one call at a time."""
        recipe = self.recipe
        if self.threads == 1 or not recipe.divided:
            return Memory(recipe.layout, self._place, recipe.grows)
        return Memory(recipe.layout, self._place, recipe.grows, self.threads, pool().address)

    def after_fork(self) -> None:
        """The next call asks for workers: a new process has none."""
        self.entry = never

    @property
    def memory(self) -> Memory | None:
        """The memory of the calls that were made one after the other."""
        if self._entry is not None:
            return self._entry.memory
        return self._idle[0] if self._idle else None

    @property
    def gateable(self) -> Entry | None:
        """What a gate leads to: the entry that calls take, where machine code does all of it."""
        entry = self._entry
        return entry if entry is not None and entry.rebuilt and self.entry is entry.call else None

    @property
    def calls(self) -> CountedCalls | None:
        """How often calls took the entry, to be asked when this is gone, too; None without one."""
        return None if self._entry is None else self._entry.calls

    def _make_entry(self) -> Entry | None:
        if not objects.fits() or self._printer is not None:  # `run` raises what printing raises
            return None
        memory = self.new_memory()
        types = self.input_types, self.output_types
        try:
            return Entry(self.signature, *types, self.written, memory, self.native, self.watch)
        except Unsupported:
            return None

    # Calls.

    def __call__(self, *args: Any) -> Any:
        """The results for arguments of the kind it was compiled for."""
        results = self.entry(*args)
        if results is not NotImplemented:
            return results
        arrays = arrays_of(args, self.signature, self.input_types)
        return self.run(arrays, sizes_of(self.input_types, arrays))

    def run(self, arrays: Sequence[Any], sizes: Mapping[str, int]) -> Any:
        """The results for the distinct arrays among the arguments, whose types have been checked,
        and for the sizes that the Dims have in them.
        """
        require_plain(self.signature.names, arrays)
        given, arrays = arrays, [np.asarray(x) for x in arrays]
        require_donatable(self.signature.names, self.signature.donated, arrays)
        staged = [readable(x) for x in arrays]
        self._require_sizes(sizes)
        shapes = [substitute(t.shape, sizes) for t in self.output_types]
        outputs = [
            None if j in self.written else new_result(shape, t.dtype)
            for j, (shape, t) in enumerate(zip(shapes, self.output_types, strict=True))
        ]
        status, position = self._execute(staged, outputs, sizes)
        error = None if self._printer is None else self._printer.take_error()
        if status:
            self._explain_failure(status, position, arrays)
        for j, i in self.written.items():
            if staged[i] is not arrays[i] and not status:
                arrays[i][...] = staged[i]
            outputs[j] = given[i] if isinstance(given[i], np.ndarray) else arrays[i]
        if error is not None:
            raise error
        return tree.unflatten(self.signature.returned, outputs)

    def _execute(
        self, inputs: Sequence[Array], outputs: Sequence[Array | None], sizes: Mapping[str, int]
    ) -> tuple[int, int]:
        """Run the program on these arrays; the status, and the position of what failed."""
        memory, entry, taken = self.take(sizes), self._entry, 0
        owned = entry is not None and memory is entry.memory
        try:
            for slot, x in zip(memory.inputs, inputs, strict=True):
                memory.frame[slot] = objects.data(x)
            for slot, out in zip(memory.outputs, outputs, strict=True):
                if out is not None:
                    memory.frame[slot] = objects.data(out)
            memory.frame[STATUS] = 0
            begin = time.perf_counter_ns()
            self._function(memory.address)
            taken = time.perf_counter_ns() - begin
            outcome = int(memory.frame[STATUS]), int(memory.frame[POSITION])
            least = self._least(sizes) if owned else None
            if entry is not None and least is not None:
                entry.accept_from(least)
        finally:
            self.give(memory, long=taken > LONG)
        if entry is not None and owned:
            self.entry = entry.call
        return outcome

    # For what calls the program itself.

    @property
    def address(self) -> int:
        """Of the program, a function of a frame."""
        return self.native.address(ENTRY)

    def run_in(self, memory: Memory) -> None:
        """Run the program on what stands in the frame."""
        self._function(memory.address)

    @property
    def prints(self) -> bool:
        return self._printer is not None

    def take(self, sizes: Mapping[str, int]) -> Memory:
        """Memory that no other call uses until `give`, for calls with these sizes. What is missing
        in its frame are the addresses of inputs and outputs, and a status of 0.
        """
        entry = self._entry
        if entry is not None and entry.claim():
            memory = entry.memory
        else:
            memory = self._idle.pop() if self._idle else self.new_memory()
        try:
            memory.make_room(sizes)
            if self._printer is not None:
                memory.frame[self.recipe.layout.printer] = self._printer.address
            if memory.frame[THREADS] > 1:
                pool().serve(self, self.threads)
        except BaseException:
            self.give(memory)
            raise
        return memory

    def give(self, memory: Memory, long: bool = False) -> None:
        """Give memory back after calls, which took long or not."""
        if self._entry is not None and memory is self._entry.memory:
            self._entry.release(long)
        else:
            self._idle.append(memory)

    # What was captured.

    def is_current(self) -> bool:
        """Whether the function would find outside its arguments what it found when it was recorded.
        Captured arrays are looked at only where a look is due; raises where one was changed.
        """
        if not self.watch.holds():
            return False
        if self._entry is None:
            self._left -= 1
        if self._left < 0 if self._entry is None else self._entry.is_due:
            return self.look(is_due=True)
        if self.watch.touched:
            return self.look()
        if self._entry is not None:
            self._entry.renew()
        return True

    def look(self, *, is_due: bool = False) -> bool:
        """The same, with a look at the captured arrays. After a look that was due, the next one is
        due after twice as many calls; other looks do not change that.
        """
        if self._entry is not None:
            self._entry.expire()
        if not (self.watch.look() and self.watch.holds()):
            return False
        if is_due:
            self.watch.wait_longer()
        self._left = self.watch.calls - 1
        if self._entry is not None:
            self._entry.renew()
            self._entry.count_calls()
        return True

    def ask_again(self) -> None:
        """Let the next call go through Python, which looks at the arguments."""
        if self._entry is not None:
            self._entry.expire()

    def watch_again(self, watch: Watch) -> None:
        """Watch other places from now on: what is there now gave the same program."""
        self.watch, self.entry = watch, never
        self._entry = self._make_entry()

    def suits(self, sizes: Mapping[str, int]) -> bool:
        """Whether the program is right for these sizes of its Dims."""
        if sizes == self.sizes:
            return self.recipe.suits
        return self.recipe.covers(sizes) or self.requirements.broken(sizes) is None

    def _least(self, sizes: Mapping[str, int]) -> dict[str, int] | None:
        """Sizes, no larger than these, from which on the program is right for all sizes; None where
        there are none.
        """
        known = sizes == self.sizes or self.recipe.covers(sizes)
        return self.recipe.least if known else self.requirements.least(sizes)

    def _require_sizes(self, sizes: Mapping[str, int]) -> None:
        node = None if self.suits(sizes) else self.requirements.broken(sizes)
        if node is not None:
            given = ", ".join(f"{name} = {size}" for name, size in sizes.items())
            wrong = "a slice in this executable ends beyond its axis then"
            if node.op.nonempty:
                wrong = f"an axis of this executable is empty then and has no {node.op.name}"
            elif node.op.several:
                wrong = "this executable is made for several elements of an axis that has one then"
            raise ShapeError(
                f"compile: given {given}; {wrong}. Call the compiled function, which makes another "
                f"one. ({node.line})"
            )

    # Looking.

    def explain(self, *, ir: bool = False, assembly: bool = False, html: bool = False) -> str:
        """The graph after each pass, the kernels, and the arena; with `ir` and `assembly` the code,
        too. With `html` it is a page.
        """
        it = ExplainedProgram(
            self.graph, self.program, self.layout, self.sizes, self.options.fused, self.text
        )
        return (explain_html if html else explain_text)(it, ir, assembly)

    def profile(self, *args: Any) -> Profile:
        """Where the time of a call with these arguments goes, kernel by kernel."""
        arrays = arrays_of(args, self.signature, self.input_types)
        sizes_of(self.input_types, arrays)  # refuses sizes that disagree
        return profile(self, arrays)

    def _explain_failure(self, status: int, position: int, arrays: Sequence[Array]) -> None:
        if status == NONFINITE:
            if self.nonfinite == SKIP:
                return
            marks = [np.empty(0) for _ in self.output_types]
            results = output_names(tree.unflatten(self.signature.returned, marks))
            names, sizes = self.signature.names, sizes_of(self.input_types, arrays)
            raise explained(self.graph, arrays, names, sizes, results, self.written, position)
        replay(quiet(self.graph), arrays)  # raises what the op says about these very numbers
        refuse_unseen(self.layout.failing[status - 1])
