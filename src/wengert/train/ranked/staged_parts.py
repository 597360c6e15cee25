"""The micro-batches of a rank, computed stage by stage together with those of other ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.graph import Graph
from wengert.runtime.executable import Executable
from wengert.runtime.signature import bound_sizes
from wengert.train.ranked.micro_batches import Span, folded
from wengert.train.ranked.program_stages import Stage, Values, returned, run_stage, staged
from wengert.train.ranked.ranks import Blocks
from wengert.train.storage import Array

AddUp = Callable[[Mapping[Span, Blocks], Blocks], None]


@dataclass(frozen=True)
class StagedProgram:
    """A program in stages, for micro-batches of one size."""

    executable: Executable
    stages: Sequence[Stage]

    @property
    def graph(self) -> Graph:
        return self.executable.graph

    def inputs(self, arguments: tuple[Any, ...]) -> Values:
        """The values that are known at first."""
        given = self.executable.signature.with_static(arguments)
        return dict(zip(self.graph.inputs, tree.distinct_leaves(given)[0], strict=True))

    def results(self, known: Values) -> Any:
        """What the program returns, when all stages are computed."""
        leaves = [np.asarray(x) for x in returned(self.graph, known)]
        return tree.unflatten(self.executable.signature.returned, leaves)


def staged_program(
    executable: Executable, arguments: tuple[Any, ...], threads: int | None
) -> StagedProgram:
    """The stages of a program, for arguments of these sizes."""
    arrays = tree.distinct_leaves(executable.signature.with_static(arguments))[0]
    sizes = bound_sizes(executable.input_types, [np.shape(x) for x in arrays]) or {}
    return StagedProgram(executable, staged(executable.graph, sizes, threads))


def compute_stages(
    parts: Mapping[int, tuple[StagedProgram, tuple[Any, ...]]],
    spans: Sequence[Span],
    add_up: AddUp,
) -> dict[int, Any]:
    """What the program returns for each micro-batch of this rank, given with its arguments by its
    number. `spans` are the subtrees of these, `add_up` adds those of all ranks.
    """
    known = {i: program.inputs(arguments) for i, (program, arguments) in parts.items()}
    first, _ = next(iter(parts.values()))
    for level in range(len(first.stages)):
        for i, (program, _) in parts.items():
            run_stage(program.stages[level], known[i])
        _exchange_sums({i: p.stages[level] for i, (p, _) in parts.items()}, known, spans, add_up)
    return {i: program.results(known[i]) for i, (program, _) in parts.items()}


def _exchange_sums(
    stages: Mapping[int, Stage], known: Mapping[int, Values], spans: Sequence[Span], add_up: AddUp
) -> None:
    """Replace what each micro-batch has by the sums over all of them."""
    if not next(iter(stages.values())).sums:
        return
    own = {
        i: [np.asarray(known[i][stage.sums[number]]) for number in sorted(stage.sums)]
        for i, stage in stages.items()
    }
    like = next(iter(own.values()))
    dtypes = list(dict.fromkeys(x.dtype for x in like))
    leaves = {i: _blocks(dtypes, values) for i, values in own.items()}
    sums = {span: folded(span, lambda s: _leaf(leaves, s), _added) for span in spans}
    total = [np.empty_like(x) for x in next(iter(leaves.values()))]
    add_up(sums, total)
    totals = _divided(dtypes, total, like)
    for i, stage in stages.items():
        known[i].update(zip(sorted(stage.sums), totals, strict=True))


def _leaf(leaves: Mapping[int, Blocks], span: Span) -> Blocks | None:
    return leaves[span[0]] if span[1] - span[0] == 1 else None


def _added(left: Blocks, right: Blocks) -> Blocks:
    return [np.add(a, b) for a, b in zip(left, right, strict=True)]


def _blocks(dtypes: Sequence[Any], values: Sequence[Array]) -> list[Array]:
    """All values of a dtype in one vector."""
    return [np.concatenate([x.reshape(-1) for x in values if x.dtype == t]) for t in dtypes]


def _divided(dtypes: Sequence[Any], blocks: Blocks, like: Sequence[Array]) -> list[Array]:
    """The values in blocks, in the shapes of others."""
    places = dict.fromkeys(dtypes, 0)
    arrays = []
    for x in like:
        begin = places[x.dtype]
        places[x.dtype] = begin + x.size
        block = blocks[dtypes.index(x.dtype)]
        arrays.append(block[begin : begin + x.size].reshape(x.shape))
    return arrays
