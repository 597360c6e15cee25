"""Requirements: what a program with open sizes takes for granted about them.

`x[1:]` of an axis of size n is recorded with size n - 1. That is right from n = 1 on; for n = 0 it
is another program. So every slice of an open axis is a requirement on the sizes of a call. So is
every maximum over an open axis: no elements have no maximum, which is an error. And there are
functions that refuse a single element, and say so by an op.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from wengert.codegen.views import axes_read
from wengert.core.dims import Dim, Size, has_dims, product
from wengert.core.graph import Graph, Node
from wengert.core.lowering import Pick, Span, View
from wengert.core.types import ArrayType


def _bounds(span: Span) -> tuple[Size, ...]:
    """What must not be negative, for an axis that is not empty."""
    last = span.start + (span.count - 1) * span.step
    return (span.start, last, span.size - 1 - span.start, span.size - 1 - last)


class Requirements:
    """Of one program, its bodies included."""

    def __init__(self, graph: Graph) -> None:
        self.spans = list(_spans(graph))
        self.axes: dict[Dim, Node] = {}  # open sizes, each with the first node that has it
        for size, node in _axes(graph):
            self.axes.setdefault(size, node)
        # How many elements a node reduces to one, which must be at least one. Where there must be
        # several, how many there are besides the first.
        self.counts: dict[Dim, Node] = {}
        for size, node in _counts(graph):
            self.counts.setdefault(size, node)

    def broken(self, sizes: Mapping[str, int]) -> Node | None:
        """The first node that these sizes do not suit, if any."""
        for size, node in self.axes.items():
            if _number(size, sizes) < 0:
                return node
        for size, node in self.counts.items():
            if _number(size, sizes) < 1:
                return node
        for node, span in self.spans:
            count = _number(span.count, sizes)
            if count < 0 or (count and any(_number(bound, sizes) < 0 for bound in _bounds(span))):
                return node
        return None

    @property
    def grow(self) -> bool:
        """Whether no array gets larger where a size gets smaller."""
        return all(map(_grows, self.axes))

    def least(self, sizes: Mapping[str, int]) -> dict[str, int] | None:
        """The smallest sizes from which on all sizes are right; of 0, 1, 2 and these, if any."""
        for start in (0, 1, 2, *sizes.values()):
            smallest = {name: min(start, size) for name, size in sizes.items()}
            if self._hold_from(smallest):
                return smallest
        return None

    def _hold_from(self, sizes: Mapping[str, int]) -> bool:
        """Whether these sizes and all larger ones are right."""
        bounds = [bound for _, span in self.spans for bound in (span.count, *_bounds(span))]
        bounds += [*self.axes, *(size - 1 for size in self.counts)]
        return all(_grows(bound) and _number(bound, sizes) >= 0 for bound in bounds)


def _spans(graph: Graph) -> Iterator[tuple[Node, Span]]:
    for node in graph.nodes:
        for span in _spans_of(graph, node):
            yield node, span
    for body in graph.subgraphs():
        yield from _spans(body)


def _spans_of(graph: Graph, node: Node) -> Iterator[Span]:
    """What a node requires of open axes; an axis that is read as a whole requires nothing."""
    lower, out = node.op.lower, node.type
    if not isinstance(lower, View | Pick) or not isinstance(out, ArrayType):
        return
    source = node.operands[0]
    assert source is not None
    shape = graph.type(source).shape
    spans: Iterable[Span] = ()
    if isinstance(lower, Pick):
        spans = lower.spans(shape, out.shape, **node.params) if lower.spans is not None else ()
    elif not lower.regroups:
        spans = (
            Span(size, along.start, out.shape[along.axis], along.step)
            for size, along in zip(shape, axes_read(node, shape), strict=True)
            if along.axis is not None
        )
    for span in spans:
        whole = span == Span(span.size, 0, span.size, 1)
        if not whole and has_dims((span.size, span.start, span.count, span.step)):
            yield span


def _axes(graph: Graph) -> Iterator[tuple[Dim, Node]]:
    for node in graph.nodes:
        for array_type in (node.type,) if isinstance(node.type, ArrayType) else node.type:
            yield from ((size, node) for size in array_type.shape if isinstance(size, Dim))
    for body in graph.subgraphs():
        yield from _axes(body)


def _counts(graph: Graph) -> Iterator[tuple[Dim, Node]]:
    for node in graph.nodes:
        if node.op.nonempty:
            (source,) = node.operands
            assert source is not None
            shape = graph.type(source).shape
            axes = node.params["axes"] if "axes" in node.params else _along(node.params["axis"])
            count = product(shape if axes is None else tuple(shape[axis] for axis in axes))
            if isinstance(count, Dim):
                yield count, node
        if node.op.several:
            count = product(node.params["over"])
            if isinstance(count, Dim):
                yield count - 1, node
    for body in graph.subgraphs():
        yield from _counts(body)


def _along(axis: int | None) -> tuple[int, ...] | None:
    return None if axis is None else (axis,)


def _number(size: Size, sizes: Mapping[str, int]) -> int:
    number = size.substitute(sizes) if isinstance(size, Dim) else size
    assert isinstance(number, int)
    return number


def _grows(size: Size) -> bool:
    """Whether a polynomial is never smaller for larger sizes."""
    if not isinstance(size, Dim):
        return True
    return all(coefficient >= 0 for monomial, coefficient in size.terms if monomial)
