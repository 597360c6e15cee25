"""Which element of which operand has made an element of a node not finite.

The op itself answers: all elements that are not finite are replaced by numbers, then some of them
are put back, and the op is run on that. So no op has to say what it reads, and an infinity that it
does not read, or that vanishes, is never blamed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from wengert.core.dtypes import is_float
from wengert.core.graph import Node
from wengert.core.lowering import Contraction, View
from wengert.core.table import op

Array: TypeAlias = np.ndarray[Any, Any]
ArrayPosition: TypeAlias = tuple[int, ...]

FILLS = (0.5, 1.5, 0.0, -0.5)  # an op is finite at one of them at least


def kind_of(x: Any) -> str:
    """What messages call a number that is not finite; empty for others."""
    x = float(x)
    return "nan" if math.isnan(x) else "" if math.isfinite(x) else "inf" if x > 0 else "-inf"


def first_bad(x: Array) -> ArrayPosition | None:
    """The first element that is not finite."""
    bad = _bad_places(x)
    return unraveled(int(bad[0]), x.shape) if bad.size else None


def unraveled(place: int, shape: Sequence[int]) -> ArrayPosition:
    return tuple(int(i) for i in np.unravel_index(place, tuple(shape)))


def _bad_places(x: Array | None) -> Array:
    if x is None or not is_float(x.dtype):
        return np.empty(0, np.intp)
    return np.flatnonzero(~np.isfinite(x))


@dataclass(frozen=True)
class Question:
    """Why is this element of this node not finite?"""

    node: Node
    params: dict[str, Any]  # with numbers for Dims
    operands: Sequence[Array | None]
    output: int  # of the node's, where it has several
    element: ArrayPosition

    def answer(self, operands: Sequence[Array | None]) -> str | None:
        """The kind of number (nan, inf, -inf) that the op gives for these operands at the element;
        empty where it is finite, None where the op refuses the operands.
        """
        try:
            with np.errstate(all="ignore"):
                result = self.node.op.numpy(*operands, **self.params)
        except (ArithmeticError, ValueError, IndexError, np.linalg.LinAlgError):
            return None
        if isinstance(result, tuple):
            result = result[self.output]
        return kind_of(np.asarray(result)[self.element])


def culprit(asked: Question, kind: str) -> tuple[int, ArrayPosition] | None:
    """The operand and its element that made the element be of this kind; None where the op itself
    did.
    """
    if isinstance(asked.node.op.lower, View):
        return 0, _moved_from(asked)
    narrowed = _narrowed(asked)
    suspects = _Suspects(asked if narrowed is None else narrowed[0], kind)
    if not suspects.count:
        return None
    suspect = suspects.guilty(needed=narrowed is not None)
    if suspect is None:
        return None
    operand, element = suspect
    return operand, element if narrowed is None else narrowed[1](operand, element)


def _moved_from(asked: Question) -> ArrayPosition:
    x, *_ = asked.operands
    assert x is not None
    if asked.node.op is op.boundary:
        return asked.element
    places = np.arange(x.size).reshape(x.shape)
    moved = np.asarray(asked.node.op.numpy(places, **asked.params))
    return unraveled(int(moved[asked.element]), x.shape)


# What one element needs of the operands: mostly little, and then nothing else is looked at.

Back: TypeAlias = Callable[
    [int, ArrayPosition], ArrayPosition
]  # an element in the operand it was taken from


def _narrowed(asked: Question) -> tuple[Question, Back] | None:
    """The question for the part of the operands that the element needs, where that is known."""
    node, element = asked.node, asked.element
    given = [x for x in asked.operands if x is not None]
    if node.op.kind == "elementwise" and all(x.ndim == len(element) for x in given):
        parts = [None if x is None else x[element] for x in asked.operands]
        return _part(asked, parts, {}, ()), lambda _operand, _at: element
    if "axes" in asked.params and "keepdims" in asked.params and len(given) == 1:
        return _folded(asked, given[0])
    if isinstance(node.op.lower, Contraction) and all(x.ndim == 2 for x in given):
        (left, right), (i, j) = given, element
        products = _part(asked, [left[i : i + 1], right[:, j : j + 1]], {}, (0, 0))
        return products, lambda operand, at: (at[0], j) if operand else (i, at[1])
    return None


def _part(
    asked: Question,
    operands: Sequence[Array | None],
    params: dict[str, Any],
    element: ArrayPosition,
) -> Question:
    arrays = [None if x is None else np.asarray(x) for x in operands]
    return Question(asked.node, asked.params | params, arrays, asked.output, element)


def _folded(asked: Question, x: Array) -> tuple[Question, Back]:
    """A fold of the one row that ends in the element."""
    axes = asked.params["axes"]
    kept = iter(asked.element)
    begins: list[int | None] = []
    for axis in range(x.ndim):
        if axis in axes:
            begins.append(None)
            if asked.params["keepdims"]:
                next(kept)
        else:
            begins.append(next(kept))
    row = x[tuple(slice(None) if b is None else slice(b, b + 1) for b in begins)]
    question = _part(asked, [row], {"keepdims": True}, (0,) * x.ndim)
    return question, lambda _operand, at: tuple(
        i if b is None else b for i, b in zip(at, begins, strict=True)
    )


# Which of the elements that are not finite is enough to explain what the op gave.


@dataclass
class _Suspects:
    asked: Question
    kind: str  # of the element in question
    which: Array = field(init=False)  # operand of each suspect
    place: Array = field(init=False)  # and its place there
    filled: list[Array | None] = field(init=False)  # operands without any of them

    def __post_init__(self) -> None:
        places = [_bad_places(x) for x in self.asked.operands]
        counts = [each.size for each in places]
        self.which = np.repeat(np.arange(len(counts)), counts)
        self.place = np.concatenate([np.empty(0, np.intp), *places])

    @property
    def count(self) -> int:
        return int(self.place.size)

    def guilty(self, needed: bool) -> tuple[int, ArrayPosition] | None:
        """The first suspect that is enough, or None where the op itself did it. `needed` says that
        the element depends on all of the operands.
        """
        answers = []
        for fill in FILLS:
            self.fill(fill)
            answers.append(self.asked.answer(self.filled))
            if answers[-1] == "":
                break
        else:
            # Whatever stands in their place, the element is not finite. They have no part in it,
            # unless they are needed, or the op can do nothing without them.
            return self.at(0) if needed or None in answers else None
        for enough in (lambda answer: answer == self.kind, lambda answer: answer != ""):
            first = self.search(enough)
            if first is not None:
                return self.at(first)
        return self.at(0)

    def search(self, enough: Callable[[str | None], bool]) -> int | None:
        """The first suspect whose presence alone gives such an answer."""
        begin, end = 0, self.count
        while end - begin > 1:
            middle = (begin + end) // 2
            if enough(self.with_some(begin, middle)):
                end = middle
            elif enough(self.with_some(middle, end)):
                begin = middle
            else:
                return None
        return begin if enough(self.with_some(begin, end)) else None

    def fill(self, number: float) -> None:
        """Put a number in the place of all suspects."""
        self.filled = []
        for x in self.asked.operands:
            if x is not None and is_float(x.dtype):
                x = np.where(np.isfinite(x), x, np.asarray(number, x.dtype))
            self.filled.append(x)

    def with_some(self, begin: int, end: int) -> str | None:
        """The answer where some suspects are back in their places."""
        operands = list(self.filled)
        for i in np.unique(self.which[begin:end]):
            original, changed = self.asked.operands[i], operands[i]
            assert original is not None
            assert changed is not None
            places = self.place[begin:end][self.which[begin:end] == i]
            changed = np.array(changed)
            changed.reshape(-1)[places] = original.reshape(-1)[places]
            operands[i] = changed
        return self.asked.answer(operands)

    def at(self, suspect: int) -> tuple[int, ArrayPosition]:
        operand = int(self.which[suspect])
        x = self.asked.operands[operand]
        assert x is not None
        return operand, unraveled(int(self.place[suspect]), x.shape)
