"""Lowering: how an op becomes code. It is the field `lower` of an op, and every target reads it.

    Source          what is there before a program runs: arguments, constants
    Elementwise     each element from the elements of the operands at the same place
    View            the elements of the operand, found by other indices; nothing is computed
    Fold            axes that are reduced, from element to element
    Pick            each element is one of an operand's, found by its position
    Formula         each element follows from its position alone
    Contraction     sums of products over one axis: the product of matrices
    Bodies          whole programs inside the program: a loop, a branch
    SpecialKernel   a loop nest of its own; each target has a writer of this name

An op without one does not reach kernels: composites expand, and passes dissolve regions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from wengert.core.dims import Shape, Size
from wengert.core.dtypes import DType
from wengert.core.types import ArrayType

Params: TypeAlias = dict[str, Any]
Shapes: TypeAlias = Sequence[tuple[int, ...]]
# (shapes of the operands, shapes of the results, parameters) -> operations: the leading terms of
# the usual methods
Flops: TypeAlias = Callable[[Shapes, Shapes, Params], int]


class Failure(NamedTuple):
    """An error that native code can find in the numbers it is given.

    `refuses(e, *operands)` is a bool in the instructions of `Emit`: where it holds, an elementwise
    op refuses its operands. `when` says for which results it can happen at all.
    """

    error: type[Exception]
    what: str  # was found; see `runtime/refusals.py`
    repair: str
    refuses: Callable[..., Any] | None = None
    when: Callable[[DType], bool] = lambda _: True  # of the dtype of the result


def changed_meanwhile(
    error: type[Exception], now: str, before: str = "none", **fields: Any
) -> Failure:
    """What native code can only find where another thread has changed an argument: NumPy, which
    has run them first, would have refused it.
    """
    what = (
        f"found {now}, and {before} when NumPy ran the same arguments; arguments must not change "
        "during a call"
    )
    return Failure(error, what, "Do not write to them from another thread", **fields)


BAD_INDEX = changed_meanwhile(IndexError, "an index out of range")


class Source:
    """An array that no kernel computes."""

    __slots__ = ()


class Elementwise(NamedTuple):
    """`emit(e, *operands, **params)` is one element in the instructions of `Emit`."""

    emit: Callable[..., Any]
    moves: bool = False  # whether it only moves or casts elements, which counts as no operation
    chooses: bool = False  # whether it is its second or its third operand, by its first
    failure: Failure | None = None


class Along(NamedTuple):
    """Along one axis of the operand: the index is start + step · (index along `axis` of the
    result), or just the start where it follows no axis.
    """

    axis: int | None
    start: Size = 0
    step: Size = 1


class View(NamedTuple):
    """`along(shape, out, **params)` says for each axis of the operand where it is read, given the
    shapes of operand and result; None where that cannot be said axis by axis. A view that
    `regroups` has the elements of its operand in the same order, along other axes.
    """

    along: Callable[..., tuple[Along, ...] | None]
    regroups: bool = False


class Fold(NamedTuple):
    """A reduction as a loop: from the identity on, each element is combined with what came before.

    A reduction over several groups of axes is one after another; `again` is then the name of the op
    that reduces the results of the first, where that is another one.
    """

    identity: Callable[[DType], Any]  # of the result's dtype
    combine: Callable[[Any, Any, Any], Any]  # (e, so far, element)
    truth: bool = False  # whether elements are first turned into bools: not zero
    adds: bool = False  # whether an element of 0 changes nothing
    again: str | None = None
    keeps: Literal["largest", "smallest"] | None = None  # of all elements, in whatever order


@dataclass(frozen=True, slots=True)
class Span:
    """Along an axis of `size`: `count` elements from `start` on, `step` apart, all inside."""

    size: Size
    start: Size
    count: Size
    step: Size


Element: TypeAlias = Any  # one element of the result while a program runs, in a target's own form
AxisPlace: TypeAlias = Any  # a position along one axis


class Places(Protocol):
    """What a target offers to ops that find elements by position, inside its loops."""

    e: Any  # `Emit`, for masks, positions and elements
    types: Sequence[ArrayType]  # of the operands
    out: ArrayType
    params: Params
    own: Sequence[AxisPlace]  # where the loops are: one position along each axis of the result

    def here(self, operand: int) -> Element:
        """The operand's element at the loops' own place."""

    def read(self, operand: int, places: Sequence[AxisPlace], inside: Any = None) -> Element:
        """The operand's element at these places; any number where the mask does not hold."""

    def number(self, value: float, dtype: DType) -> Element:
        """A constant."""

    def cast(self, x: Element, dtype: DType) -> Element:
        """The same number in another dtype."""

    def fixed(self, size: Size) -> AxisPlace:
        """The same position for every element."""

    def shift(self, place: AxisPlace, by: Size) -> AxisPlace:
        """A position further on."""

    def scale(self, place: AxisPlace, by: Size) -> AxisPlace:
        """A multiple of a position."""

    def add(self, x: AxisPlace, y: AxisPlace) -> AxisPlace:
        """The sum of two positions."""

    def divide(self, place: AxisPlace, by: Size) -> tuple[AxisPlace, Any]:
        """A position divided by a number towards zero, and a mask: where nothing is left over."""

    def unravel(self, place: AxisPlace, shape: Shape) -> list[AxisPlace]:
        """A position in an array read row by row, along each of its axes."""

    def whole(self, place: AxisPlace) -> Element:
        """A position as an int64."""

    def at_least(self, place: AxisPlace, limit: Size) -> Any:
        """A mask: where the position is not below the limit."""

    def below(self, place: AxisPlace, limit: Size) -> Any:
        """A mask: where the position is below the limit."""

    def index(self, operand: int, places: Sequence[AxisPlace], size: Size) -> tuple[AxisPlace, Any]:
        """An element of an operand of integers as a position along an axis of this size: negative
        ones count from the end. Where one is out of range an error is noted, the position is 0,
        and the mask holds.
        """


def inside_or(p: Places, places: Sequence[AxisPlace], masks: Sequence[Any], rest: float) -> Element:
    """The first operand's element at these places, and a number where a mask does not hold."""
    if not masks:
        return p.read(0, places)
    inside = reduce(p.e.and_, masks)
    return p.e.select(inside, p.read(0, places, inside), p.number(rest, p.out.dtype))


class Pick(NamedTuple):
    """`element(places)` finds one element of the result."""

    element: Callable[[Places], Element]
    in_place: bool = False  # whether it reads its operand only at the place it computes
    joins: bool = False  # whether its operands lie one behind the other along an axis
    failure: Failure | None = None
    # spans(shape, out, **params): what it takes for granted about open axes, see `Span`
    spans: Callable[..., Sequence[Span]] | None = None


class Formula(NamedTuple):
    """Element i of a vector is start + i · step; without a step it is one number, 0-d."""

    start: Callable[[Params], Any]
    step: Callable[[Params], Any] | None = None


class Contraction:
    """Sums of products over the last axis of the left operand and the last but one of the right."""

    __slots__ = ()
    kind: ClassVar[Literal["gemm"]] = "gemm"


class Bodies(NamedTuple):
    """Whole programs, run as often as the operands say; `graphs` are the parameters that hold
    them.
    """

    kind: Literal["scan", "cond", "while"]
    graphs: tuple[str, ...]
    failure: Failure | None = None


def one_each(operands: Shapes, results: Shapes, _params: Params) -> int:
    """One operation for each element of the largest array."""
    return max((prod(shape) for shape in (*operands, *results)), default=0)


def cubes(numerator: int, denominator: int = 1) -> Flops:
    """A multiple of n³ for each matrix."""
    return lambda operands, *_: numerator * prod(operands[0]) * operands[0][-1] // denominator


def comparisons(count: int, among: int) -> int:
    """As many as it takes to find each of `count` elements its place among others."""
    return count * max(among - 1, 0).bit_length()


class SpecialKernel(NamedTuple):
    """A kernel that each target writes for this op: the writer has this name."""

    name: str
    flops: Flops = one_each
    failure: Failure | None = None
    one_dtype: bool = False  # whether operands are cast to the dtype of the result first

    @property
    def kind(self) -> Literal["special"]:
        return "special"


Lowering: TypeAlias = (
    Source | Elementwise | View | Fold | Pick | Formula | Contraction | Bodies | SpecialKernel
)


def can_fail(lower: Lowering | None, dtype: DType) -> bool:
    """Whether native code may find an error while it computes results of this dtype."""
    failure: Failure | None = getattr(lower, "failure", None)
    return failure is not None and failure.when(dtype)
