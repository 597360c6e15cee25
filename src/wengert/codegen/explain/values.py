"""What a kernel computes at each place of its loops, as expressions.

An array is called by its input's name or its node's number, with an index where it is in memory
and without one where it is a value on its way. What is used once stands inside what uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from wengert.codegen.cost.counts import loads
from wengert.codegen.explain.index import NONE, axis_names, index_text, sum_text
from wengert.codegen.folds import is_fold
from wengert.codegen.kernel import COPY, Program
from wengert.codegen.slots import copied_node
from wengert.codegen.views import Root, View, axes_read, row_major, without_gaps
from wengert.core.dims import Dim, Shape, Size, product
from wengert.core.graph import Node
from wengert.core.lowering import Bodies, Contraction, Fold, Formula, Pick, Source
from wengert.core.show import param_texts
from wengert.core.table import op
from wengert.core.types import ArrayType

Names: TypeAlias = tuple[str, ...]  # of the loops a value is computed in, axis by axis
LONG = 56  # letters; a longer expression gets a line of its own
# How Python's operators are written between their operands, and how tightly they bind.
SYMBOLS = {"__add__": ("+", 1), "__sub__": ("-", 1), "__mul__": ("*", 2), "__truediv__": ("/", 2)}
TIGHT = 3  # a name or a call


@dataclass(frozen=True)
class Expression:
    """An expression, and how tightly its last operation binds."""

    text: str
    binds: int = TIGHT

    def inside(self, binds: int) -> str:
        """As an operand of an operation that binds as tightly as this."""
        return self.text if self.binds >= binds else f"({self.text})"


@dataclass(frozen=True)
class Assignment:
    """One value a kernel computes: what it is, and where the user wrote it."""

    text: str
    source: str = ""


def root_name(program: Program, root: Root) -> str:
    """What an array in memory is called."""
    number, output = root
    if output == COPY:
        return f"copy(%{number})"
    node = program.node(number)
    if not isinstance(node.type, ArrayType):
        return f"%{number}.{output}"
    given = isinstance(node.op.lower, Source) and node.op is not op.constant
    return program.graph.name(number) if given else f"%{number}"


def whole_name(program: Program, reader: Node, number: int) -> str:
    """What an operand is called that is read as a whole: by its array's name if it is all of it."""
    control = isinstance(reader.op.lower, Bodies)
    view = program.whole_view(number) if control else program.views[number]
    shape = program.graph.type(number).shape
    whole = view.offset == 0 and without_gaps(view, shape)
    whole = whole and product(shape) == program.root_type(view.root).size
    return root_name(program, view.root) if whole else f"%{number}"


def call_text(node: Node, operands: list[str]) -> str:
    params = [f"{name}={text}" if name else text for name, text in param_texts(node)[0].items()]
    return f"{node.op.name}({', '.join([*operands, *params])})"


def taken_names(program: Program) -> set[str]:
    """Names that mean something else than a loop: those of inputs and Dims."""
    inputs = {program.graph.name(i) for i in program.graph.inputs}
    shapes = [found.shape for node in program.graph.nodes for found in _types(node)]
    return inputs | {name for shape in shapes for n in shape for name in dim_names(n)}


def dim_names(size: Size) -> frozenset[str]:
    return size.names if isinstance(size, Dim) else frozenset()


def _types(node: Node) -> tuple[ArrayType, ...]:
    return (node.type,) if isinstance(node.type, ArrayType) else node.type


class Values:
    """The values of one kernel of kind map, rows, columns or gemm."""

    def __init__(self, program: Program, number: int) -> None:
        self.program, self.number = program, number
        self.kernel = kernel = program.kernels[number]
        first = program.node(kernel.members[0])
        self.inner: Size = 1  # what a gemm adds up over
        if kernel.kind == "gemm":
            assert first.operands[0] is not None
            self.inner = program.graph.type(first.operands[0]).shape[-1]
        *names, self.inner_name = axis_names((*kernel.domain, self.inner), taken_names(program))
        self.names: Names = tuple(names)
        self.known: dict[int, Expression] = {}
        self.uses: dict[int, int] = {}
        for member in kernel.members:
            for view, _ in loads(program, member):
                self.uses[view.root[0]] = self.uses.get(view.root[0], 0) + 1

    # What it loops over.

    def head(self) -> str:
        """The loops, from the outermost to the innermost."""
        kernel = self.kernel
        outer = self.ranges([a for a in range(len(kernel.domain)) if a not in kernel.folded])
        inner = self.ranges(list(kernel.folded))
        if kernel.kind == "rows" and inner:
            return f"for {outer}, along a row of {inner}" if outer else f"along a row of {inner}"
        if kernel.kind == "columns" and inner:
            return f"for {outer}, down {inner}" if outer else f"down {inner}"
        return f"for {outer}" if outer else "once"

    def ranges(self, axes: list[int]) -> str:
        found = [(self.names[axis], self.kernel.domain[axis]) for axis in axes]
        return ", ".join(f"{name} < {size}" for name, size in found if name != NONE)

    def names_of(self, number: int) -> Names:
        """The loops in which a member is computed."""
        node = self.program.node(number)
        shape = self.program.graph.type(number).shape
        if shape == self.kernel.domain and not is_fold(node):
            return self.names
        kept = (
            name
            for axis, name in enumerate(self.names)
            if axis not in self.kernel.folded and name != NONE
        )
        return tuple(NONE if n == 1 else next(kept) for n in shape)

    # What it computes.

    def lines(self) -> list[Assignment]:
        """The members, each after what it reads."""
        found = []
        for number in self.kernel.members:
            text = self.expression(number)
            if self.has_line(number, text):
                node = self.program.node(number)
                line = f"{self.target(number)} = {text.text}"
                found.append(Assignment(line, str(node.line) if node.line else ""))
                text = Expression(f"%{number}")
            self.known[number] = text
        return found

    def has_line(self, number: int, text: Expression) -> bool:
        stored = any(root[0] == number for root in self.kernel.stores)
        fold = isinstance(self.program.node(number).op.lower, Fold | Contraction)
        return stored or fold or self.uses.get(number) != 1 or len(text.text) > LONG

    def target(self, number: int) -> str:
        """What is computed: with an index where it is stored."""
        shape = self.program.graph.type(number).shape
        for root in self.kernel.stores:
            if root[0] == number:
                view = View(root, 0, row_major(shape))
                name = root_name(self.program, root)
                return name + index_text(view, shape, self.names_of(number), shape)
        return f"%{number}"

    def expression(self, number: int) -> Expression:
        node, names = self.program.node(number), self.names_of(number)
        if (number, COPY) in self.kernel.stores:
            return self.operand(number, self.names)
        if is_fold(node):
            source = self.folded(number, node).inside(TIGHT)
            return Expression(f"{node.op.name} over {self.folded_names()} of {source}")
        if isinstance(node.op.lower, Contraction):
            return self.product(node)
        if isinstance(node.op.lower, Pick) and not node.op.lower.in_place:
            operands = [
                self.operand(i, names).text
                if i in self.program.inline
                else whole_name(self.program, node, i)
                for i in node.operands
                if i is not None
            ]
            return Expression(call_text(node, operands))
        copied = copied_node(self.program.graph, number)
        if copied is not None:
            return self.operand(copied, names)
        given = ["_" if i is None else self.operand(i, names) for i in node.operands]
        if node.op.infix in SYMBOLS:
            symbol, binds = SYMBOLS[node.op.infix]
            x, y = (each for each in given if isinstance(each, Expression))
            return Expression(f"{x.inside(binds)} {symbol} {y.inside(binds + 1)}", binds)
        texts = [each if isinstance(each, str) else each.text for each in given]
        return Expression(call_text(node, texts))

    def folded_names(self) -> str:
        names = [self.names[axis] for axis in self.kernel.folded]
        return ", ".join(name for name in names if name != NONE) or "one element"

    def folded(self, number: int, node: Node) -> Expression:
        (source,) = node.operands
        assert source is not None
        if number in self.program.rerouted:
            return Expression(
                self.load(self.program.rerouted[number], self.kernel.domain, self.names)
            )
        return self.operand(source, self.names)

    def product(self, node: Node) -> Expression:
        """A contraction: rows of the left operand by columns of the right one."""
        left, right = (i for i in node.operands if i is not None)
        x, y = (self.program.graph.type(i).shape for i in (left, right))
        rows, columns = len(x) > 1, len(y) > 1
        batch = self.names[: len(self.names) - rows - columns]
        row = self.names[len(batch) : len(batch) + rows]
        column = self.names[len(batch) + rows :]
        before = [batch[len(batch) - max(len(shape) - 2, 0) :] for shape in (x, y)]
        a = self.load(self.program.views[left], x, (*before[0], *row, self.inner_name))
        b = self.load(self.program.views[right], y, (*before[1], self.inner_name, *column))
        over = f"{self.inner_name} < {self.inner}" if self.inner_name != NONE else "one element"
        return Expression(f"sum over {over} of {a} * {b}")

    # What it reads.

    def operand(self, number: int, names: Names) -> Expression:
        """A value at the place where loops of these names are."""
        if number in self.program.inline:
            return self.inline(number, names)
        view = self.program.views[number]
        if self.program.owner.get(view.root) == self.number and view.root[0] in self.known:
            return self.known[view.root[0]]
        return Expression(self.load(view, self.program.graph.type(number).shape, names))

    def load(self, view: View, shape: Shape, names: Names) -> str:
        root_shape = self.program.root_type(view.root).shape
        return root_name(self.program, view.root) + index_text(view, shape, names, root_shape)

    def inline(self, number: int, names: Names) -> Expression:
        """A value that is computed wherever it is read: a number, a size or a position."""
        node = self.program.node(number)
        if node.op is op.constant:
            return Expression(
                str(node.params["value"].reshape(-1)[0])
            )  # in as few digits as it takes
        if isinstance(node.op.lower, Formula):
            start, step = node.op.lower.start(node.params), node.op.lower.step
            if step is None or names[0] == NONE:
                return _sum(sum_text(start, []))
            count = self.program.graph.type(number).shape[0]
            return _sum(sum_text(start, [(step(node.params), names[0], count)]))
        source = node.operands[0]
        assert source is not None
        shape = self.program.graph.type(source).shape
        return self.inline(source, looked_through(node, names, shape))


def looked_through(node: Node, names: Names, shape: Shape) -> Names:
    """The places in an operand of this shape that a view of it shows in loops of these names."""
    shown = (
        NONE if each.axis is None else _moved(each.start, each.step, names[each.axis])
        for each in axes_read(node, shape)
    )
    return tuple(NONE if n == 1 else name for n, name in zip(shape, shown, strict=True))


def _sum(text: str) -> Expression:
    return Expression(text, 1 if " " in text or "*" in text else TIGHT)


def _moved(start: Size, step: Size, name: str) -> str:
    text = sum_text(start, [] if name == NONE else [(step, name, 1)])
    return f"({text})" if " " in text else text
