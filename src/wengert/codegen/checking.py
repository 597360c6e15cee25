"""Checking: what must hold of a program after each stage. Tests run it between all of them.

nodes     no region is left, every node says to which it belonged, outputs are different nodes
members   every node that kernels compute is a member of one, its owner
reads     what a kernel reads exists before it runs: an argument, a constant, or what another wrote
down      sums down the rows of a kernel go over all axes that its rows do not, and are read by
          others only, when all rows are done
commit    kernels that write over arguments come last, behind all that may fail
splits    workers divide a loop that exists, and a fold only where its parts are left in memory
slots     arrays that live at the same time have words of their own
places    and bytes of their own
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from wengert.codegen.kernel import COPY, Arena, Inner, Kernel, Layout, Lowered, Program, is_fold
from wengert.codegen.llvm.kernels.registry import special_of
from wengert.codegen.memory.plan import Placed, tasks_of
from wengert.codegen.memory.tasks import flow_of, lifetimes, whole_lines
from wengert.codegen.views import Root
from wengert.core.lowering import Source
from wengert.core.table import op
from wengert.errors import CheckError


class BrokenPromise(Exception):
    """Which promise a program breaks, and how."""


@contextmanager
def _blaming_a_stage() -> Iterator[None]:
    try:
        yield
    except BrokenPromise as broken:
        raise CheckError(f"{broken}; a stage broke its promise. Please report this.") from None


def check(made: Program | Lowered) -> None:
    """Raise CheckError unless a program keeps what the stages so far have promised."""
    with _blaming_a_stage():
        verify_promises(made)


def verify_promises(made: Program | Lowered) -> None:
    """As `check`, but raise BrokenPromise: the caller says whose fault it is."""
    program = made.program if isinstance(made, Lowered) else made
    layout = made.layout if isinstance(made, Lowered) else None
    if layout is None and not program.kernels:
        _check_nodes(program)  # all that is promised before fusion
    else:
        _check_kernels(program, layout)


def _check_kernels(program: Program, layout: Layout | None) -> None:
    _check_nodes(program)
    _check_members(program)
    _check_reads(program)
    _check_commit(program)
    for kernel in program.kernels:
        _check_down(program, kernel)
        _check_split(program, kernel)
        for body in kernel.bodies:
            _check_kernels(body, layout)
    if layout is not None:
        _check_slots(program, layout)


def _require(held: bool, promise: str, told: str) -> None:
    if not held:
        raise BrokenPromise(f"{promise}: {told}")


def _check_nodes(program: Program) -> None:
    graph = program.graph
    for number, node in enumerate(graph.nodes):
        _require(node.op is not op.region, "nodes", f"%{number} is a region")
    counts = len(program.regions), len(graph.nodes)
    _require(counts[0] == counts[1], "nodes", f"{counts[0]} regions are said of {counts[1]} nodes")
    _require(len({*graph.returns}) == len(graph.returns), "nodes", "a node is returned twice")


def _check_members(program: Program) -> None:
    seen: dict[int, int] = {}
    for k, kernel in enumerate(program.kernels):
        for number in kernel.members:
            copies = (number, COPY) in program.owner and program.owner[number, COPY] == k
            if copies:
                continue
            _require(number not in seen, "members", f"%{number} is a member of two kernels")
            seen[number] = k
            owner = program.owner.get((number, 0))
            _require(owner == k, "members", f"%{number} is in k{k}, its owner is k{owner}")
    for root in {root for kernel in program.kernels for root in kernel.stores}:
        _require(root in program.owner, "members", f"{root} is stored and has no owner")


def _check_reads(program: Program) -> None:
    order = program.order or tuple(range(len(program.kernels)))
    _require(sorted(order) == list(range(len(program.kernels))), "reads", f"the order is {order}")
    written: set[Root] = set()
    for k in order:
        kernel = program.kernels[k]
        for root in kernel.reads:
            _require(
                root in written or _is_given(program, root),
                "reads",
                f"k{k} reads {root}, which nobody has written",
            )
        written |= {root for root, owner in program.owner.items() if owner == k}
        written |= {whole for whole, pieces in program.joined.items() if written.issuperset(pieces)}
    for number in program.graph.returns:
        root = program.views[number].root
        _require(root in written, "reads", f"output %{number} is written by nobody")


def _is_given(program: Program, root: Root) -> bool:
    return isinstance(program.node(root[0]).op.lower, Source)


def _check_commit(program: Program) -> None:
    order = program.order or tuple(range(len(program.kernels)))
    gated = [program.kernels[k].gated for k in order]
    if program.order:
        _require(gated == sorted(gated), "commit", "a kernel runs behind one that is gated")
    for k, others in program.waits.items():
        place = {number: at for at, number in enumerate(order)}
        if program.order:
            late = [other for other in others if place[other] > place[k]]
            _require(not late, "commit", f"k{k} writes what k{late} read later")


def _check_down(program: Program, kernel: Kernel) -> None:
    if not kernel.down:
        return
    others = tuple(axis for axis in range(len(kernel.domain)) if axis not in kernel.folded)
    held = kernel.kind == "rows" and not kernel.gated and set(kernel.down) <= set(kernel.members)
    _require(held, "down", f"sums down the rows of {kernel.kind}, or of no members")
    for number in kernel.down:
        node = program.node(number)
        shapes = [program.graph.type(i).shape for i in node.operands if i is not None]
        across = is_fold(node) and node.params["axes"] == others and shapes == [kernel.domain]
        _require(across, "down", f"%{number} does not go over axes {others} of {kernel.domain}")
    for number in kernel.members:
        early = [v.root[0] for v in program.operand_views(number) if v.root[0] in kernel.down]
        _require(not early, "down", f"%{number} reads a sum before all rows are done")
    placed = kernel.partial is not None or not program.order
    _require(placed, "down", "sums of blocks of rows have no word")


def _check_split(program: Program, kernel: Kernel) -> None:
    if kernel.split is None:
        return
    _require(not kernel.down or kernel.split == 0, "splits", "a sum down the rows is divided")
    if kernel.kind == "special":
        divisible = special_of(program.node(kernel.members[0])).units is not None
        _require(divisible, "splits", "a kernel of its own is divided that has no units")
        return
    if kernel.bodies:
        inner = any(body.divided for body in kernel.bodies)
        _require(inner, "splits", "a loop is divided, and nothing inside")
        return
    if kernel.kind == "gemm":
        _require(kernel.split in range(3), "splits", f"part {kernel.split} of a contraction")
        return
    _require(0 <= kernel.split < max(len(kernel.domain), 1), "splits", f"loop {kernel.split}")
    folds = [number for number in kernel.members if is_fold(program.node(number))]
    outer = len(kernel.domain) - len(kernel.folded)
    _require(outer > 0 or kernel.kind == "rows" or not folds, "splits", "a fold is divided")


def _check_slots(program: Program, layout: Layout) -> None:
    held: dict[int, Root] = {}
    shared = {(kernel.members[0], 0) for kernel in program.kernels if kernel.shared is not None}
    for root, slot in program.slots.items():
        _require(
            layout.first <= slot < layout.first + len(layout.slots), "slots", f"no word {slot}"
        )
        if root in shared or not layout.holds(slot, Arena):
            continue
        _require(slot not in held, "slots", f"{root} and {held.get(slot)} have word {slot}")
        held[slot] = root
    for kernel in program.kernels:
        for root in (*kernel.reads, *kernel.stores):
            joined = root in program.joined
            _require(joined or root in program.slots, "slots", f"{root} has no word")
        for slot, _ in kernel.scratch:
            _require(slot not in held, "slots", f"scratch in word {slot} of {held.get(slot)}")
    for slot in layout.hosted:
        _require(layout.holds(slot, Inner), "slots", f"guest {slot} has a place in the arena, too")


def check_places(lowered: Lowered, placed: Placed, sizes: dict[str, int]) -> None:
    """Raise CheckError unless arrays that are alive at the same time share no byte of the arena."""
    with _blaming_a_stage():
        _check_places(lowered, placed, sizes)


def _check_places(lowered: Lowered, placed: Placed, sizes: dict[str, int]) -> None:
    program, layout = lowered.program, lowered.layout
    tasks, buffers = tasks_of(program, layout, sizes)
    kept = layout.kept & buffers.keys()
    flow = flow_of(tasks, buffers, kept, {})
    lives = lifetimes(flow, program.order)
    over = {pair for task in flow.over for pair in task}
    for a, b in _meeting(lives, buffers):
        begin_a, begin_b = placed.offsets[a], placed.offsets[b]
        apart = (
            begin_a + whole_lines(buffers[a]) <= begin_b
            or begin_b + whole_lines(buffers[b]) <= begin_a
        )
        touching = lives[a][1] == lives[b][0] or lives[b][1] == lives[a][0]
        _require(apart or touching or (a, b) in over, "places", f"words {a} and {b} overlap")
    for slot, size in buffers.items():
        _require(placed.offsets[slot] + size <= placed.arena, "places", f"word {slot} is too long")


def _meeting(
    lives: dict[int, tuple[int, int]], buffers: dict[int, int]
) -> Iterator[tuple[int, int]]:
    """Pairs of buffers that are alive at the same time."""
    slots: Sequence[int] = [slot for slot in lives if buffers[slot]]
    for position, a in enumerate(slots):
        for b in slots[position + 1 :]:
            if lives[a][0] <= lives[b][1] and lives[b][0] <= lives[a][1]:
                yield a, b
