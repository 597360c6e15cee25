"""PairingLoss: the forward pass of a loss, and the nodes of it that pair rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cached_property

from wengert.api.pairs.columns_of_tables import (
    computed_of,
    has_other_pairs,
    is_computed_of,
    is_read_by_rows,
    is_stacked,
    is_turned,
    products_in_a_row,
    read_one_table,
)
from wengert.api.pairs.ends_of_pairs import are_laid_out, are_reduced_by_turns, are_weighed
from wengert.api.pairs.recorded_pairs import (
    COLUMN,
    LYING,
    REDUCTIONS,
    ROW,
    ROWS,
    SQUARE,
    SQUARED,
    RecordedLoss,
    is_backward,
    operands,
)
from wengert.api.pairs.written_columns import are_hardly_meant, written_columns
from wengert.core.dims import Dim, Shape
from wengert.core.graph import Graph, Node
from wengert.core.lowering import Elementwise
from wengert.core.table import op
from wengert.core.types import ArrayType

_REPAIRS = {ROW: "as with prediction[:, 0]", LYING: "as with prediction.T"}
_NO_AXIS = "without the axis that was added to one of them, as with [:, None]"
FEWEST_OUTSIDE = 5  # rows of an array that is no argument; few numbers may be anything


def shape_of(node: Node) -> Shape:
    return node.type.shape if isinstance(node.type, ArrayType) else ()


def _size(node: Node) -> int:
    return int(node.params["value"].size)


def _argument(node: Node) -> str:
    """The name of the argument that an input is, or is a part of."""
    return str(node.params.get("name", "")).partition(".")[0]


def is_own(node: Node, own: Collection[str]) -> bool:
    """Whether a node is an input, or a part of one, with one of these names."""
    return _argument(node) in own


def shown(kind: tuple[str, ...]) -> str:
    return f"({kind[0]},)" if len(kind) == 1 else f"({', '.join(kind)})"


def _square(rows: str) -> str:
    """The number of pairs of so many rows, an open size or a number; of another expression, no
    size at all.
    """
    if rows.isdecimal():
        return str(int(rows) ** 2)
    return str(Dim(rows) * Dim(rows)) if rows.isidentifier() else ""


class PairingLoss:
    """The forward pass of a step's program, and what is known of its nodes by number: by kinds,
    which are shapes where `rows`, the size of the batch, is called ROWS. Where these are what is
    left of more rows, `whole` are the natural columns of those.
    """

    def __init__(
        self,
        graph: Graph,
        own: Collection[str],
        rows: Collection[str],
        whole: Collection[int] | None = None,
    ) -> None:
        self._graph, self._own = graph, own
        self._whole, self._is_cut = whole or (), whole is not None
        names = {ROWS: f"other {ROWS}"} | dict.fromkeys(rows, ROWS)
        names |= {_square(size): SQUARED for size in rows}
        self._kinds = [
            tuple(names.get(size, size) for size in map(str, shape_of(node)))
            for node in graph.nodes
        ]

    def paired(self) -> Iterator[tuple[Node, str, str, str]]:
        """The nodes that pair rows, with the shape of the second operand, what becomes of them, and
        the repair.
        """
        for number, node in enumerate(self._graph.nodes):
            by_kind = {self._kinds[i]: i for i in operands(node)}
            column, row = by_kind.get(COLUMN), by_kind.get(ROW, by_kind.get(LYING))
            if (
                node.op.kind == "elementwise"
                and self._kinds[number] == SQUARE
                and column is not None
                and row is not None
                and (end := self._end_of(number, column, row)) is not None
            ):
                repair = _NO_AXIS if column in self._written else _REPAIRS[self._kinds[row]]
                yield node, shown(self._kinds[row]), end, repair

    def _end_of(self, pairs: int, column: int, row: int) -> str | None:
        """What becomes of pairs that are hardly meant, in words."""
        if not self._is_natural(column, row):
            reduced = column in self._written and pairs in self._reduced
            if not reduced or not are_hardly_meant(self.recorded, pairs, column, row):
                return None
        if are_weighed(self.recorded, pairs, column, row):
            return None
        if pairs in self._reduced:
            return "reduced" if self._are_two_things(column, row) else None
        if not self._is_of_model(column, row):
            return None
        if self._pairs_are_meant or self._reduced_meets_pairs:
            return None
        if are_reduced_by_turns(self.recorded, pairs):
            return "reduced"
        return "laid out in one row" if are_laid_out(self.recorded, pairs) else None

    def every_index_of_every_row(self) -> Iterator[tuple[Node, str, str]]:
        """The nodes that read a table of rows at the indices of all rows, with the shapes of
        both.
        """
        for number, node in enumerate(self._graph.nodes):
            if node.op is not op.gather or self._kinds[number] != SQUARE:
                continue
            table, *indices = operands(node)
            kind = self._kinds[table]
            if (
                [self._kinds[i] for i in indices] == [ROW]
                and len(kind) == 2
                and (kind[0] == ROWS) != (kind[1] == ROWS)
                and node.params["axis"] == 1
                and number in self._reduced
            ):
                yield node, shown(kind), shown(ROW)

    def every_time_of_every_row(self) -> Iterator[tuple[Node, str, str]]:
        """The nodes that read (time, rows, …) at times of all rows, with the shapes of both."""
        for number, node in enumerate(self._graph.nodes):
            if node.op is not op.gather or self._kinds[number][:2] != SQUARE:
                continue
            table, *indices = operands(node)
            kind = self._kinds[table]
            if (
                [self._kinds[i] for i in indices] == [ROW]
                and node.params["axis"] == 0
                and kind[0] != ROWS == kind[1]
                and number in self._reduced_with_more_axes
                and not self._pairs_are_meant
            ):
                yield node, shown(kind), shown(ROW)

    def _are_two_things(self, column: int, row: int) -> bool:
        """Whether pairs of these are hardly meant: one is of the model and the other is not, or
        nothing in the loss is about pairs. Two parts of one array are no two things.
        """
        if self._is_of_model(column, row) or self._is_cut:
            return self._is_of_model(column, row)
        while row != column and self._graph.nodes[row].op.kind == "linear":
            of = operands(self._graph.nodes[row])
            if len(of) != 1:
                break
            (row,) = of
        return row != column and not self._pairs_are_meant

    def _is_of_model(self, column: int, row: int) -> bool:
        """Whether one of these is of the model, and the other is not."""
        return (column in self._of_model) != (row in self._of_model)

    @cached_property
    def recorded(self) -> RecordedLoss:
        return RecordedLoss(self._graph, self._kinds, self._readers, self._of_model)

    @cached_property
    def _reduced_meets_pairs(self) -> bool:
        """Whether the loss computes with pairs and with what it has reduced others to, as a softmax
        does: each row is weighed against all.
        """
        reduced: set[int] = set()
        for number, node in enumerate(self._graph.nodes):
            kind = self._kinds[number]
            if not kind or is_backward(node):
                continue
            reduces = node.op.name in REDUCTIONS and self._kinds[operands(node)[0]] == SQUARE
            follows = not reduced.isdisjoint(operands(node))
            if follows and kind == SQUARE:
                return True
            if reduces or follows:
                reduced.add(number)
        return False

    @cached_property
    def _readers(self) -> dict[int, list[int]]:
        """The nodes of the forward pass that read a node."""
        readers: dict[int, list[int]] = {}
        for number, node in enumerate(self._graph.nodes):
            for operand in () if is_backward(node) else dict.fromkeys(operands(node)):
                readers.setdefault(operand, []).append(number)
        return readers

    @cached_property
    def _of_model(self) -> set[int]:
        """Those that depend on what the step itself gives to the loss."""
        dependent: set[int] = set()
        for number, node in enumerate(self._graph.nodes):
            own = number in self._graph.inputs and is_own(node, self._own)
            if own or not dependent.isdisjoint(operands(node)):
                dependent.add(number)
        return dependent

    def _is_natural(self, column: int, row: int) -> bool:
        """Whether nobody has written the axis of one element here, to pair rows."""
        lies = self._kinds[row] == LYING
        if lies and not self._is_natural_beside(column, row):
            return False
        if lies or column in self._of_tables:
            return not self._has_other_pairs and not read_one_table(self.recorded, column, row)
        return column in self.natural or (
            column in self._from_outside
            and (column in self._of_model) != (row in self._of_model)
            and self._has_other_numbers(self._from_outside[column], row)
        )

    def _is_natural_beside(self, column: int, row: int) -> bool:
        """The same for a row (1, n): a product has made it, of the model or beside it."""
        natural = column in self.natural and row in self._lying
        two = natural and self._is_of_model(column, row)
        return two and not is_computed_of(self.recorded, row, column)

    @cached_property
    def _from_outside(self) -> dict[int, list[int]]:
        """Columns that are computed of columns alone, some of them arrays that the function reads
        from outside; with the constants that these are.
        """
        sources: dict[int, list[int]] = {}
        for number, node in enumerate(self._graph.nodes):
            if self._kinds[number] != COLUMN or is_backward(node):
                continue
            columns = [i for i in operands(node) if self._kinds[i] == COLUMN]
            if node.op is op.constant:
                sources[number] = [number] if _size(node) >= FEWEST_OUTSIDE else []
                continue
            known = all(i in sources or i in self.natural for i in columns)
            if isinstance(node.op.lower, Elementwise) and columns and known:
                sources[number] = [c for i in columns for c in sources.get(i, ())]
        return {number: constants for number, constants in sources.items() if constants}

    def _has_other_numbers(self, columns: Collection[int], row: int) -> bool:
        """Whether a row is computed of no constant that has the numbers of one of these columns:
        `t[:, None]` and `t` are two sides of a grid.
        """
        known = {self._graph.nodes[i].params["value"].tobytes() for i in columns}
        pending, seen = [row], set()
        while pending:
            number = pending.pop()
            node = self._graph.nodes[number]
            if node.op is op.constant and node.params["value"].tobytes() in known:
                return False
            more = [i for i in operands(node) if i not in seen]
            seen.update(more)
            pending += more
        return True

    @cached_property
    def natural(self) -> set[int]:
        """Columns that come from matrix products, from other tables of the same rows and from
        columns of the batch, maybe beside rows with an axis to fit, `r[:, None] + v(s)`. Where
        products of matrices have all pairs themselves, as in the squared distances of two sets of
        points, tables do not count: pairs are meant.
        """
        natural: set[int] = set()
        for number, node in enumerate(self._graph.nodes):
            if self._kinds[number] != COLUMN:
                continue
            columns = [i for i in operands(node) if self._kinds[i] == COLUMN]
            computed = isinstance(node.op.lower, Elementwise) or node.op.kind == "composite"
            known = all(i in natural or i in self._written for i in columns)
            follows = computed and known and not natural.isdisjoint(columns)
            cut = node.op is op.slice_axes and operands(node)[0] in self._whole
            made = node.op.kind == "bilinear" or is_stacked(self._graph, node) or cut
            made = made or self._is_of_tables(node)
            if number in self._graph.inputs or made or follows or self._of_table(node, natural):
                natural.add(number)
        return natural

    @cached_property
    def _written(self) -> set[int]:
        return written_columns(self.recorded)

    def _is_of_tables(self, node: Node) -> bool:
        """Whether a column was read from a table, or is a product with the rows in columns."""
        read = is_read_by_rows(self.recorded, node) or is_turned(node, self._lying)
        return read and not self._pairs_are_meant

    @cached_property
    def _lying(self) -> set[int]:
        return products_in_a_row(self.recorded)

    @cached_property
    def _of_tables(self) -> set[int]:
        """Natural columns that are such, or are computed of them."""
        first = [i for i in self.natural if self._is_of_tables(self._graph.nodes[i])]
        return self.natural & computed_of(self.recorded, first)

    @cached_property
    def _has_other_pairs(self) -> bool:
        known = self._pairs_are_meant
        return known or has_other_pairs(self.recorded, self.natural, self._lying)

    def _of_table(self, node: Node, natural: set[int]) -> bool:
        """Whether a column is what is left of more than a column: `sum(q, axis=1, keepdims=True)`,
        `take_along_axis(q, actions[:, None], axis=1)`, `q[:, :1]`.
        """
        first = next(iter(operands(node)), None)
        kind = () if first is None else self._kinds[first]
        table = len(kind) > 1 and kind[0] == ROWS and (kind != COLUMN or first in natural)
        return table and not self._pairs_are_meant

    @cached_property
    def _pairs_are_meant(self) -> bool:
        """Whether the loss has a product of matrices for all pairs."""
        return any(
            node.op.kind == "bilinear" and kind == SQUARE and not is_backward(node)
            for node, kind in zip(self._graph.nodes, self._kinds, strict=True)
        )

    @cached_property
    def _reduced(self) -> set[int]:
        """Those of which all that the loss computes ends in single numbers."""
        return self._ending(lambda kind: kind == SQUARE)

    @cached_property
    def _reduced_with_more_axes(self) -> set[int]:
        """The same for numbers of pairs that have further axes on the way."""
        return self._ending(lambda kind: kind[:2] == SQUARE)

    def _ending(self, of_pairs: Callable[[tuple[str, ...]], bool]) -> set[int]:
        """Those of which all that the loss computes is of pairs until it is a single number."""
        read, kept = set(), set()
        for number, node in reversed([*enumerate(self._graph.nodes)]):
            if is_backward(node):
                continue
            read.update(operands(node))
            kind = self._kinds[number]
            if (kind and (not of_pairs(kind) or number in kept)) or self._chooses(node, kind):
                kept.update(operands(node))
        return read - kept

    def _chooses(self, node: Node, kind: tuple[str, ...]) -> bool:
        """Whether a single number is made of a matrix by something else, as in cross-entropy: rows
        of the matrix are told apart.
        """
        arrays = [i for i in operands(node) if self._kinds[i]]
        return not kind and node.op.kind == "composite" and len(arrays) > 1
