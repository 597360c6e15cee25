"""Commit region: the end of a program, which writes over its arguments when nothing has failed.

What lies behind a `boundary` in the graph, or is made of arguments alone, and leads only to outputs
that go over arguments is the commit: kernels of their own, which write in place. All others run
before these, which run only if none of the others has failed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

from wengert.codegen.flatten import is_given, without_kernels
from wengert.codegen.kernel import COMMIT, Kernel, Program, is_fold
from wengert.codegen.options import Options
from wengert.codegen.views import Root, StridedView, repeats, row_major
from wengert.core import lowering
from wengert.core.dims import Size
from wengert.core.graph import Graph, Node
from wengert.core.lowering import Elementwise, Fold, Pick, can_fail
from wengert.core.table import op
from wengert.core.types import ArrayType

CommitTarget: TypeAlias = tuple[
    int, Root, Size
]  # an output, the argument it goes over, the place there


def committed(graph: Graph, regions: Sequence[int], written: Collection[int]) -> set[int]:
    """The nodes of the commit: behind a boundary, or made of arguments alone, computed in loops,
    and of use for outputs in `written` only.
    """
    behind: set[int] = set()
    plain: set[int] = set()
    users: list[list[int]] = [[] for _ in graph.nodes]
    for number, node in enumerate(graph.nodes):
        operands = [i for i in node.operands if i is not None]
        for i in operands:
            users[i].append(number)
        if node.op is op.boundary or any(i in behind for i in operands):
            behind.add(number)
        elif is_given(node) or (_in_loops(node) and all(i in plain for i in operands)):
            plain.add(number)
    early = {number for at, number in enumerate(graph.returns) if at not in written}
    returned = set(graph.returns)
    commit: set[int] = set()
    for number in sorted(behind | plain, reverse=True):
        useful = bool(users[number]) or number in returned
        alone = number not in early and all(i in commit for i in users[number])
        if useful and alone and regions[number] == 0 and _in_loops(graph.nodes[number]):
            commit.add(number)
    return commit


def commit_last(program: Program, options: Options) -> Program:
    """The nodes of the commit behind all others, in regions of their own.

    >>> from wengert.codegen.kernel_text.kernel_show import read, show
    >>> program = read('''
    ... program(%0: float32[3] "p", %1: float32[3] "x") {
    ...   %2: float32[3] = exp(%1)
    ...   %3: bool[] = constant(False)
    ...   %4: float32[3] = boundary(%2, %3)
    ...   %5: float32[3] = subtract(%0, %4)
    ...   %6: float32[3] = tanh(%2)
    ...   return %5, %6
    ... }''')
    >>> print(show(commit_last(program, Options(written={0: 0}))))
    program(%0: float32[3] "p", %1: float32[3] "x") {
      %2: float32[3] = exp(%1)
      %3: bool[] = constant(False)
      %4: float32[3] = tanh(%2)
      %5: float32[3] = boundary(%2, %3) region -2
      %6: float32[3] = subtract(%0, %5) region -2
      return %6, %4
    }
    """
    graph, regions = program.graph, program.regions
    last = committed(graph, regions, options.late)
    if not last:
        return program
    joins = _joins(graph, last)
    parts = _parts(graph, last, joins)

    def rank(number: int) -> tuple[int, int, int]:
        """What parts share comes before them, and what is put together from them behind."""
        if number not in last:
            return 0, 0, number
        if number in joins:
            return 3, 0, number
        return 1 + (parts[number] < COMMIT), -parts[number], number

    order = sorted(range(len(graph.nodes)), key=rank)
    numbers = {old: new for new, old in enumerate(order)}
    out = Graph()
    for old in order:
        node = graph.nodes[old]
        operands = tuple(None if i is None else numbers[i] for i in node.operands)
        out.append(node.reading(operands))
    out.inputs[:] = [numbers[i] for i in graph.inputs]
    out.returns[:] = [numbers[i] for i in graph.returns]
    return without_kernels(out, [parts.get(old, regions[old]) for old in order])


def _joins(graph: Graph, commit: Collection[int]) -> set[int]:
    """Concatenations of the commit that are outputs, and nothing else: they are put together from
    what the parts have computed.
    """
    read = {i for node in graph.nodes for i in node.operands}
    outputs = set(graph.returns) & set(commit) - read
    return {number for number in outputs if joins_operands(graph.nodes[number])}


def _parts(graph: Graph, commit: Collection[int], joins: Collection[int]) -> dict[int, int]:
    """The region of each node of the commit. What leads to the outputs of one set only is a part by
    itself; what leads to several is in none, and neither are single numbers made of others.
    """
    sets = _sets(graph, commit)
    goals: dict[int, set[int]] = {number: set() for number in commit}
    for number in set(graph.returns) & set(commit):
        for piece in graph.nodes[number].operands if number in joins else (number,):
            if piece in goals:
                goals[piece].add(sets[piece])
    for number in sorted(set(commit) - set(joins), reverse=True):
        for i in graph.nodes[number].operands:
            if i in goals:
                goals[i] |= goals[number]
    seen: dict[int, None] = {}
    for number in sorted(commit):
        if not goals[number] <= seen.keys():
            seen |= dict.fromkeys(sorted(goals[number]))
    regions = {goal: COMMIT - 1 - n for n, goal in enumerate(seen)}
    single = _single_numbers(graph, commit)
    return {
        number: regions[next(iter(each))] if len(each) == 1 and number not in single else COMMIT
        for number, each in goals.items()
    }


def _single_numbers(graph: Graph, commit: Collection[int]) -> set[int]:
    """Nodes of the commit that are single numbers, computed from such numbers alone. Among the
    others they would stand between kernels that could be one.
    """
    single: set[int] = set()
    for number in sorted(commit):
        node = graph.nodes[number]
        made = all(i is None or i in single or i not in commit for i in node.operands)
        alike = isinstance(node.op.lower, Elementwise) and not graph.type(number).shape
        if made and alike and number not in graph.returns:
            single.add(number)
    return single


def _sets(graph: Graph, commit: Collection[int]) -> dict[int, int]:
    """For each node of the commit, the number of its set: nodes of one size that are connected.
    What is computed for one parameter, and its state, is such a set.
    """
    above = list(range(len(graph.nodes)))

    def top(number: int) -> int:
        while above[number] != number:
            above[number] = above[above[number]]
            number = above[number]
        return number

    for number in commit:
        mine = graph.type(number)
        for i in graph.nodes[number].operands:
            if i is not None and not _connects_nothing(graph, i):
                other = graph.type(i)
                if mine.shape and other.shape and mine.size == other.size:
                    above[top(i)] = top(number)
    return {number: top(number) for number in commit}


def joins_operands(node: Node) -> bool:
    """Whether a node is its operands, one after the other."""
    return isinstance(node.op.lower, Pick) and node.op.lower.joins


def _connects_nothing(graph: Graph, number: int) -> bool:
    """Whether a node connects nothing that reads it: numbers that repeat or follow a formula."""
    node = graph.nodes[number]
    if isinstance(node.op.lower, lowering.View):
        source = node.operands[0]
        assert source is not None
        return repeats(node, graph.type(source).shape)
    return node.op is op.constant or isinstance(node.op.lower, lowering.Formula)


_LOOPED = (Elementwise, Pick, Fold, lowering.View)


def _in_loops(node: Node) -> bool:
    """Whether a node is computed in loops, and cannot fail: in the commit it would be too late."""
    if not isinstance(node.op.lower, _LOOPED):
        return False
    assert isinstance(node.type, ArrayType)
    return not can_fail(node.op.lower, node.type.dtype)


def harmless(graph: Graph, written: Mapping[int, int]) -> frozenset[int]:
    """Outputs that may go over arguments as soon as they are computed, and need no commit: nobody
    reads these arguments, and nothing in the graph can fail.
    """
    if not written or _can_fail(graph):
        return frozenset()
    read = {i for node in graph.nodes for i in node.operands} | set(graph.returns)
    return frozenset(at for at, source in written.items() if graph.inputs[source] not in read)


def _can_fail(graph: Graph) -> bool:
    """Whether any node, also of bodies, may find an error in its numbers."""
    for node in graph.nodes:
        types = (node.type,) if isinstance(node.type, ArrayType) else node.type
        if any(can_fail(node.op.lower, each.dtype) for each in types):
            return True
        if any(isinstance(value, Graph) and _can_fail(value) for value in node.params.values()):
            return True
    return False


def gate(program: Program, written: Mapping[int, int]) -> Program:
    """The program in which those kernels of the commit are marked that can write directly over
    arguments. `written` says which output goes over which input.
    """
    inputs = {at: (program.graph.inputs[source], 0) for at, source in written.items()}
    targets: dict[Root, CommitTarget] = {}
    for at in written:
        root = program.views[program.graph.returns[at]].root
        for each in program.joined.get(root, (root,)):
            place = program.pieces[each][1] if root in program.joined else 0
            targets[each] = (at, inputs[at], place)
    readers = _readers(program)
    able = {
        k
        for k, kernel in enumerate(program.kernels)
        if kernel.region <= COMMIT
        and kernel.kind in ("map", "rows")
        and _writes_in_place(program, k, kernel, targets, readers)
    }
    missing = {at for root, (at, *_) in targets.items() if program.owner.get(root) not in able}
    while True:  # a kernel that writes an output of which another cannot write its piece
        spoilt = {
            k
            for k in able
            if any(targets[root][0] in missing for root in program.kernels[k].stores)
        }
        waits = _waits(program, able, targets, readers)
        if not spoilt and not _waits_for_itself(program, waits):
            break
        able -= spoilt or able
        missing |= {targets[r][0] for k in spoilt for r in program.kernels[k].stores}
        missing |= set() if able else set(written)
    kernels = tuple(
        replace(kernel, gated=True) if k in able else kernel
        for k, kernel in enumerate(program.kernels)
    )
    return replace(
        program, kernels=kernels, waits=waits, overwrites=frozenset(set(written) - missing)
    )


def _readers(program: Program) -> dict[Root, list[int]]:
    """The kernels that read each array."""
    readers: dict[Root, list[int]] = {}
    for k, kernel in enumerate(program.kernels):
        for root in kernel.reads:
            readers.setdefault(root, []).append(k)
    return readers


def _writes_in_place(
    program: Program,
    number: int,
    kernel: Kernel,
    targets: Mapping[Root, CommitTarget],
    readers: Mapping[Root, Sequence[int]],
) -> bool:
    """Whether everything it stores goes over an argument that it reads at the same place only, and
    nobody else reads that afterwards.
    """
    if not kernel.stores or any(root not in targets for root in kernel.stores):
        return False
    if not _stores_last(program, kernel):
        return False
    full = row_major(kernel.domain)

    def read_by_others(root: Root) -> bool:
        return any(k != number for k in readers.get(root, ()))

    places: dict[Root, set[Size]] = {}  # of each argument, where what is written begins
    for root in kernel.stores:
        _, source, place = targets[root]
        places.setdefault(source, set()).add(place)
        if read_by_others(root) or program.root_type(root).shape != kernel.domain:
            return False
        if root in program.pieces and read_by_others(program.pieces[root][0]):
            return False
    return all(
        view.offset in places[view.root] and view.strides == full and not _reads_elsewhere(node)
        for node, view in _reads(program, kernel)
        if view.root in places
    )


def _stores_last(program: Program, kernel: Kernel) -> bool:
    """Whether a kernel stores in its last sweep over a row only: then it has read everything."""
    depths = program.depths(kernel)
    last = max(depths[i] + is_fold(program.node(i)) for i in kernel.members)
    return all(depths[number] == last for number, _ in kernel.stores)


def _reads(program: Program, kernel: Kernel) -> Iterator[tuple[Node, StridedView]]:
    """Everything that the members of a kernel read, each with the member that reads it."""
    for i in kernel.members:
        for view in program.operand_views(i):
            yield program.node(i), view


def _reads_elsewhere(node: Node) -> bool:
    """Whether it reads an operand at other positions than the one it computes."""
    return isinstance(node.op.lower, Pick) and not node.op.lower.in_place


def _waits(
    program: Program,
    able: Collection[int],
    targets: Mapping[Root, CommitTarget],
    readers: Mapping[Root, Sequence[int]],
) -> dict[int, frozenset[int]]:
    """For each kernel that writes over an argument, the others it waits for: those that read it."""
    waits: dict[int, frozenset[int]] = {}
    sources_of = {
        k: {targets[root][1] for root in kernel.stores if root in targets}
        for k, kernel in enumerate(program.kernels)
        if kernel.region <= COMMIT
    }
    reads = {k: set(program.kernels[k].reads) for k in sources_of}
    for k in able:
        sources = sources_of[k]
        others = {
            other
            for source in sources
            for other in readers.get(source, ())
            if other != k and other in sources_of
        }
        if not others.isdisjoint(able):
            # Where both write pieces of the same arguments, each reads its own piece only.
            others = {r for r in others if not sources & reads[r] <= sources_of[r]}
        if others:
            waits[k] = frozenset(others)
    return waits


def _waits_for_itself(program: Program, waits: Mapping[int, Collection[int]]) -> bool:
    """Whether a kernel waits, through others or what it reads, for itself."""
    if not waits:
        return False
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for k, kernel in enumerate(program.kernels):
        owners = (program.owner.get(root) for root in kernel.reads)
        sorter.add(k, *(n for n in owners if n is not None), *waits.get(k, ()))
    try:
        sorter.prepare()
    except CycleError:
        return True
    return False
