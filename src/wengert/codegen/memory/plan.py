"""Plan: in which order kernels run, and where in the arena each array lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from wengert.codegen.kernel import (
    Arena,
    Guest,
    Inner,
    Kernel,
    Layout,
    Lowered,
    Program,
    Workspace,
    byte_size,
)
from wengert.codegen.memory.guests import hosted
from wengert.codegen.memory.packing import place
from wengert.codegen.memory.search import by_number, orders, results_first
from wengert.codegen.memory.task_order import order
from wengert.codegen.memory.tasks import Task, flow_of, peak_of
from wengert.codegen.options import Options
from wengert.codegen.views import Root, row_major
from wengert.core.dims import Dim, Size
from wengert.core.lowering import Elementwise
from wengert.interpret.printing import prints

ALIGNMENT = 64


@dataclass(frozen=True)
class Placed:
    """An offset for each slot; behind the arena lies the workspace of contractions, one for each
    thread.
    """

    offsets: dict[int, int]
    arena: int  # bytes
    workspace: int
    threads: int = 1

    @property
    def size(self) -> int:
        return self.arena + self.threads * self.workspace


def number_of(size: Size, sizes: Mapping[str, int]) -> int:
    """A size as a number, with these numbers for its Dims."""
    number = (
        size if type(size) is int else size.substitute(sizes) if isinstance(size, Dim) else size
    )
    assert isinstance(number, int)
    return number if number > 0 else 0


def schedule(lowered: Lowered, options: Options) -> Lowered:
    """The same with an order of the kernels, and with arrays in outputs that are not written yet,
    where these have room for them.

    >>> from wengert.codegen.kernel_text.kernel_show import read, show
    >>> lowered = read('''
    ... program(%0: float32[100] "x") {
    ...   k0 special [100] reads %0 stores %1 { %1: float32[100] = cumsum(%0, axis=0) }
    ...   k1 special [100] reads %0 stores %2 { %2: float32[100] = cumprod(%0, axis=0) }
    ...   k2 special [] reads %1 stores %3 { %3: int64[] = argmax(%1, axis=0, keepdims=False) }
    ...   k3 special [] reads %2 stores %4 { %4: int64[] = argmax(%2, axis=0, keepdims=False) }
    ...   k4 special [100] reads %2 stores %5 { %5: float32[100] = cumsum(%2, axis=0) }
    ...   words %0: 10, %3: 11, %4: 12, %5: 13, %1: 14, %2: 15
    ...   return %3, %4, %5
    ... }
    ... frame() {
    ...   10: input 0
    ...   11: output 0, output 1, output 2
    ...   14: arena, arena
    ...   outputs 11, 12, 13
    ... }''')
    >>> print(show(schedule(lowered, Options())))
    program(%0: float32[100] "x") in order {
      k0 special [100] reads %0 stores %1 { %1: float32[100] = cumsum(%0, axis=0) }
      k2 special reads %1 stores %3 { %3: int64[] = argmax(%1, axis=0, keepdims=False) }
      k1 special [100] reads %0 stores %2 { %2: float32[100] = cumprod(%0, axis=0) }
      k3 special reads %2 stores %4 { %4: int64[] = argmax(%2, axis=0, keepdims=False) }
      k4 special [100] reads %2 stores %5 { %5: float32[100] = cumsum(%2, axis=0) }
      words %0: 10, %3: 11, %4: 12, %5: 13, %1: 14, %2: 15
      return %3, %4, %5
    }
    frame() {
      10: input 0
      11: output 0, output 1, output 2
      14: inner in 13 at 0
      15: arena
      outputs 11, 12, 13
    }
    """
    lowered = Lowered(_ordered(lowered.program, lowered.layout, options.sizes), lowered.layout)
    return lowered if lowered.layout.dims else _with_guests(lowered)


def _ordered(program: Program, layout: Layout, sizes: Mapping[str, int]) -> Program:
    """An order in which little is alive at any time, inside loops and branches first."""
    kernels = tuple(
        replace(kernel, bodies=tuple(_ordered(body, layout, sizes) for body in kernel.bodies))
        if kernel.bodies
        else kernel
        for kernel in program.kernels
    )
    program = replace(program, kernels=kernels, order=tuple(range(len(kernels))))
    tasks, buffers = tasks_of(program, layout, sizes)
    kept = layout.kept & buffers.keys()
    kernel_order = order(tasks, buffers, kept, in_place(program, layout))
    return replace(program, order=tuple(kernel_order))


def _with_guests(lowered: Lowered) -> Lowered:
    """Of several orders, the one that needs the smallest arena when outputs take in what they can.

    Only where all sizes are known: then arrays have fixed places in outputs.
    """
    program, layout = lowered.program, lowered.layout
    tasks, buffers = tasks_of(program, layout, {})
    alias, kept = in_place(program, layout), layout.kept & buffers.keys()
    outputs = {
        layout.outputs[i]: number_of(byte_size(output_type), {})
        for i, output_type in enumerate(program.graph.output_types())
        if layout.outputs[i] not in kept
    }
    flow = flow_of(tasks, buffers, kept, alias)
    best: tuple[int, Sequence[int], dict[int, Guest]] | None = None
    for each in (program.order, results_first(flow), *orders(flow, by_number(flow))):
        guests = hosted(tasks, flow, buffers, each, outputs)
        size = peak_of(flow.without(guests), each)
        if best is None or size < best[0]:
            best = (size, each, guests)
    assert best is not None
    _, best_order, guests = best
    slots = tuple(
        Inner() if number in guests else slot
        for number, slot in enumerate(layout.slots, layout.first)
    )
    layout = replace(layout, slots=slots, hosted=dict(sorted(guests.items())))
    return Lowered(replace(program, order=tuple(best_order)), layout)


def plan(program: Program, layout: Layout, sizes: Mapping[str, int], threads: int = 1) -> Placed:
    """Where everything lies for these sizes, with room for so many threads."""
    bodies = [[plan(body, layout, sizes, threads) for body in k.bodies] for k in program.kernels]
    tasks, buffers = tasks_of(program, layout, sizes, bodies, threads)
    kept = layout.kept & buffers.keys()
    packed = place(tasks, buffers, kept, program.order, in_place(program, layout))
    offsets = dict(packed.offsets)
    for number, kernel in enumerate(program.kernels):
        base = packed.scratch.get(number, 0)
        for slot, size in kernel.scratch:
            if not layout.holds(slot, Workspace):
                offsets[slot] = base
                copies = threads if is_own(layout, kernel, slot) else 1
                base += copies * _aligned(number_of(size, sizes))
        for inside in bodies[number]:
            offsets |= {slot: base + offset for slot, offset in inside.offsets.items()}
            base += _aligned(inside.arena)
    arena, workspace = _aligned(packed.size), _aligned(_workspace(program, layout, sizes))
    offsets |= {
        number: arena
        for number, slot in enumerate(layout.slots, layout.first)
        if isinstance(slot, Workspace)
    }
    return Placed(offsets, arena, workspace, threads)


def _workspace(program: Program, layout: Layout, sizes: Mapping[str, int]) -> int:
    """The most that a contraction asks for; they run one after the other."""
    own = [
        number_of(size, sizes)
        for kernel in program.kernels
        for slot, size in kernel.scratch
        if layout.holds(slot, Workspace)
    ]
    bodies = (body for kernel in program.kernels for body in kernel.bodies)
    return max([*own, *(_workspace(body, layout, sizes) for body in bodies)], default=0)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def tasks_of(
    program: Program,
    layout: Layout,
    sizes: Mapping[str, int],
    bodies: Sequence[Sequence[Placed]] | None = None,  # of each kernel, where they are known
    threads: int = 1,
) -> tuple[list[Task], dict[int, int]]:
    """Kernels as tasks, and the bytes of each slot that lies in the arena."""
    if bodies is None:
        bodies = [[plan(body, layout, sizes) for body in k.bodies] for k in program.kernels]
    slots, inside = program.slots, program.inside
    longer = {saved: collected for collected, saved in program.inside.items()}
    buffers = {
        slots[root]: number_of(_bytes(program, root, root in longer), sizes)
        for kernel in program.kernels
        for root in kernel.stores
        if layout.holds(slots[root], Arena)
    }
    writers = _regions(program)
    before = _printing(program)
    tasks = [
        Task(
            reads=tuple(dict.fromkeys(slots[inside.get(root, root)] for root in kernel.reads)),
            writes=_writes(program, kernel),
            after=(*writers[number], *before.get(number, ())),
            scratch=_scratch(kernel, layout, sizes, threads)
            + sum(_aligned(b.arena) for b in placed),
        )
        for number, (kernel, placed) in enumerate(zip(program.kernels, bodies, strict=True))
    ]
    return tasks, buffers


def _writes(program: Program, kernel: Kernel) -> tuple[int, ...]:
    """What a kernel writes for others; arguments are written when nobody reads them any more."""
    if kernel.gated:
        return ()
    roots = (program.inside.get(root, root) for root in kernel.stores)
    return tuple(dict.fromkeys(program.slots[root] for root in roots))


def _bytes(program: Program, root: Root, longer: bool) -> Size:
    """The size of an array; one with another inside is longer by a step."""
    array_type = program.root_type(root)
    size = byte_size(array_type)
    return size + byte_size(array_type.with_shape(array_type.shape[1:])) if longer else size


def _scratch(kernel: Kernel, layout: Layout, sizes: Mapping[str, int], threads: int) -> int:
    return sum(
        (threads if is_own(layout, kernel, slot) else 1) * _aligned(number_of(size, sizes))
        for slot, size in kernel.scratch
        if not layout.holds(slot, Workspace)
    )


def is_own(layout: Layout, kernel: Kernel, slot: int) -> bool:
    """Whether each worker has a place in the arena of its own for what a kernel keeps there."""
    loops = kernel.kind in ("map", "rows", "columns") and slot != kernel.partial
    return loops and kernel.split is not None and not layout.holds(slot, Workspace)


def _regions(program: Program) -> list[tuple[int, ...]]:
    """What is recomputed waits for everything its region reads from outside, as far as that was
    begun before it.
    """
    outside: dict[int, set[int]] = {}
    for kernel in program.kernels:
        if kernel.region:
            for root in kernel.reads:
                owner = program.owner.get(root)
                if owner is not None and program.kernels[owner].region != kernel.region:
                    outside.setdefault(kernel.region, set()).add(owner)
    waits = [
        tuple(sorted(k for k in outside.get(kernel.region, ()) if k < number))
        for number, kernel in enumerate(program.kernels)
    ]
    others = [k for k, kernel in enumerate(program.kernels) if not kernel.gated]
    for number, kernel in enumerate(program.kernels):
        if kernel.gated:
            waits[number] = (*others, *sorted(program.waits.get(number, set()) - set(others)))
    return waits


def _printing(program: Program) -> dict[int, tuple[int]]:
    """Which kernel each kernel that prints comes after: the one that prints before it."""
    printing = [
        k for k, kernel in enumerate(program.kernels) if prints(program.node(kernel.members[0]))
    ]
    return {later: (earlier,) for earlier, later in pairwise(printing)}


def in_place(program: Program, layout: Layout) -> dict[int, int]:
    """Arrays that a map may write over one it reads: at the same place, of the same size."""
    alias: dict[int, int] = {}
    for kernel in program.kernels:
        if kernel.kind != "map" or not kernel.stores:
            continue
        root = kernel.stores[-1]  # when it is written, all that is read here has been read
        source = _source(program, kernel, root)
        if source is not None:
            alias[program.slots[root]] = program.slots[source]
    return alias


def _source(program: Program, kernel: Kernel, root: Root) -> Root | None:
    array_type = program.root_type(root)
    for read in kernel.reads:
        if program.owner.get(read) is None:
            continue
        other = program.root_type(read)
        same = byte_size(other) == byte_size(array_type) and other.dtype == array_type.dtype
        if same and _read_in_place(program, kernel, read):
            return read
    return None


def _read_in_place(program: Program, kernel: Kernel, root: Root) -> bool:
    """Whether a kernel reads an array only at the place that it is computing."""
    views = [v for i in kernel.members for v in program.operand_views(i) if v.root == root]
    plain = all(isinstance(program.node(i).op.lower, Elementwise) for i in kernel.members)
    return plain and all(v.offset == 0 and v.strides == row_major(kernel.domain) for v in views)
