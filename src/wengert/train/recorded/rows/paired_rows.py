"""Paired rows in programs of a training step, whose batches have open sizes; those of data from
outside are numbers.

A list of n arrays of one number, `[f(x[None]) for x in xs]`, is n arguments. They are rows as well,
although their number is part of the program: joined, they are a column (n, 1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from wengert.api.pairs.pairing_loss import is_own
from wengert.api.pairs.pairs_of_rows import warn_of_pairs, warn_of_pairs_of_one_size
from wengert.core.graph import Graph, Node
from wengert.core.types import ArrayType
from wengert.core.words.warn import warn_user
from wengert.errors import PairedRowsWarning
from wengert.passes.opened_bodies import with_open_bodies
from wengert.train.batch import ROWS
from wengert.train.recorded.step_arrays import OwnArguments


def warn_of_paired_rows(
    graph: Graph,
    sizes: Mapping[str, int],  # the open ones, in the call that the graph was recorded for
    own: Collection[str] = OwnArguments._fields,
    where: str = "in the loss of a TrainStep",
) -> None:
    """Warn where the loss that was recorded as this graph, maybe with its gradient, pairs its rows.
    `own` are the names of arguments that the step itself gives to it.
    """
    graph = with_open_bodies(graph)
    for rows in _sizes_of_batches(graph, own):
        warn_of_pairs(graph, own, rows, where)
        for name, numbers in _lists_of_rows(graph, own, sizes.get(rows, 0)):
            _warn_of_listed(graph, name, numbers, rows, where)
    warn_of_pairs_of_one_size(graph, own, where, sizes)


def _lists_of_rows(
    graph: Graph, own: Collection[str], count: int
) -> Iterator[tuple[str, list[int]]]:
    """Arguments that are lists of so many arrays of one number, with the numbers of their nodes."""
    lists: dict[str, list[int]] = {}
    for number in graph.inputs:
        node = graph.nodes[number]
        name, _, index = str(node.params.get("name", "")).rpartition(".")
        single = isinstance(node.type, ArrayType) and node.type.shape in ((), (1,))
        if single and index.isdigit() and not is_own(node, own):
            lists.setdefault(name, []).append(number)
    return ((name, numbers) for name, numbers in lists.items() if 1 < len(numbers) == count)


def _warn_of_listed(graph: Graph, name: str, numbers: Sequence[int], rows: str, where: str) -> None:
    """Warn, once, where what was joined of a list of rows meets the rows of another argument along
    another axis.
    """
    joined, count = set(numbers), str(len(numbers))
    for number, node in enumerate(graph.nodes):
        operands = [i for i in node.operands if i is not None]
        if operands and joined.issuperset(operands):
            joined.add(number)
        elif node.op.kind == "elementwise" and not joined.isdisjoint(operands):
            ours = {_kind(graph.nodes[i]) for i in operands if i in joined}
            others = {_kind(graph.nodes[i]) for i in operands if i not in joined}
            for mine, other in (((count, "1"), (rows,)), ((count,), (rows, "1"))):
                if mine in ours and other in others:
                    warn_user(
                        f"{node.op.name}: {name!r} is a list of {count} arrays of one number "
                        f"{where}, as many as there are rows in the batch; joined they have the "
                        f"shape ({', '.join(mine)}{',' * (len(mine) == 1)}), and the result has a "
                        "number for each pair of rows. Pass one array: np.concatenate(list) of "
                        "shape (n,), or np.stack(list) of shape (n, 1), as the other one is.",
                        PairedRowsWarning,
                        node.line,
                    )
                    return


def _kind(node: Node) -> tuple[str, ...]:
    return tuple(map(str, node.type.shape)) if isinstance(node.type, ArrayType) else ()


def _sizes_of_batches(graph: Graph, own: Collection[str]) -> list[str]:
    """The open sizes that arguments begin with: other weights among them may have the first."""
    nodes = [graph.nodes[number] for number in graph.inputs]
    types = [node.type for node in nodes if not is_own(node, own)]
    sizes = [str(t.shape[0]) for t in types if isinstance(t, ArrayType) and t.shape]
    return [size for size in dict.fromkeys(sizes) if size.startswith(ROWS)]
