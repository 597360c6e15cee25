"""Requirements: what a program with open sizes takes for granted about them.

`x[1:]` of an axis of size n is recorded with size n - 1. That is right from n = 1 on; for n = 0 it
is another program. So every slice of an open axis is a requirement on the sizes of a call. So is
every maximum over one: of no elements there is none, and who asks for it is told so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from wengert.core.dims import Dim, Size, has_dims, product
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.types import ArrayType


@dataclass(frozen=True, slots=True)
class _Span:
    """Along one axis of `size`: `count` elements from `start` on, `step` apart."""

    node: Node
    size: Size
    start: Size
    count: Size
    step: Size

    def bounds(self) -> tuple[Size, ...]:
        """What must not be negative, for an axis that is not empty."""
        last = self.start + (self.count - 1) * self.step
        return (self.start, last, self.size - 1 - self.start, self.size - 1 - last)


class Requirements:
    """Of one program, its bodies included."""

    def __init__(self, graph: Graph) -> None:
        self.spans = list(_spans(graph))
        self.axes: dict[Dim, Node] = {}  # open sizes, each with the first node that has it
        for size, node in _axes(graph):
            self.axes.setdefault(size, node)
        self.counts: dict[Dim, Node] = {}  # of elements that become one, and must not be none
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
        for span in self.spans:
            count = _number(span.count, sizes)
            if count < 0 or (count and any(_number(bound, sizes) < 0 for bound in span.bounds())):
                return span.node
        return None

    @property
    def grow(self) -> bool:
        """Whether no array gets larger where a size gets smaller."""
        return all(map(_grows, self.axes))

    def least(self, sizes: Mapping[str, int]) -> dict[str, int] | None:
        """Sizes up to these ones from which on all are right: none, one or these, if any."""
        for start in (0, 1, *sizes.values()):
            found = {name: min(start, size) for name, size in sizes.items()}
            if self._hold_from(found):
                return found
        return None

    def _hold_from(self, sizes: Mapping[str, int]) -> bool:
        """Whether these sizes and all larger ones are right."""
        bounds = [bound for span in self.spans for bound in (span.count, *span.bounds())]
        bounds += [*self.axes, *(size - 1 for size in self.counts)]
        return all(_grows(bound) and _number(bound, sizes) >= 0 for bound in bounds)


def _spans(graph: Graph) -> Iterator[_Span]:
    for node in graph.nodes:
        if node.op in (op.slice_axes, op.place):
            (source,) = node.operands
            assert source is not None
            assert isinstance(node.type, ArrayType)
            taken = node.op is op.slice_axes
            whole = graph.type(source).shape if taken else node.type.shape
            count = node.type.shape if taken else graph.type(source).shape
            for each in zip(whole, node.params["start"], count, node.params["step"], strict=True):
                if has_dims(each):
                    yield _Span(node, *each)
    for body in graph.subgraphs():
        yield from _spans(body)


def _axes(graph: Graph) -> Iterator[tuple[Dim, Node]]:
    for node in graph.nodes:
        for found in (node.type,) if isinstance(node.type, ArrayType) else node.type:
            yield from ((size, node) for size in found.shape if isinstance(size, Dim))
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
    for body in graph.subgraphs():
        yield from _counts(body)


def _along(axis: int | None) -> tuple[int, ...] | None:
    return None if axis is None else (axis,)


def _number(size: Size, sizes: Mapping[str, int]) -> int:
    found = size.substitute(sizes) if isinstance(size, Dim) else size
    assert isinstance(found, int)
    return found


def _grows(size: Size) -> bool:
    """Whether a polynomial is never smaller for larger sizes."""
    if not isinstance(size, Dim):
        return True
    return all(coefficient >= 0 for monomial, coefficient in size.terms if monomial)
