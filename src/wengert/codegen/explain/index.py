"""Where a kernel reads an array, as a person would write it: `x[i, j]`, `w[j, i]`, `x[2*i + 1]`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from wengert.codegen.views import View, row_major
from wengert.core.dims import Shape, Size, divide_exactly

# How far a place moves: (times, name of the loop, how many steps the loop takes)
Term: TypeAlias = tuple[Size, str, Size]
AXES = "ijklpqrsuvwxyz"
NONE = "0"  # where an axis of size 1 is: there is no loop over it


def axis_names(shape: Shape, taken: Collection[str] = ()) -> tuple[str, ...]:
    """A letter for the loop over each axis; none of those that mean something else already.

    >>> axis_names((4, 1, 3), taken=["i"])
    ('j', '0', 'k')
    """
    free = iter([*(a for a in AXES if a not in taken), *(f"i{n}" for n in range(len(shape)))])
    return tuple(NONE if n == 1 else next(free) for n in shape)


def index_text(view: View, shape: Shape, names: Sequence[str], root_shape: Shape) -> str:
    """What stands behind an array's name where a view of it is read inside loops of these names.

    >>> index_text(View((0, 0), 0, (1, 3)), (3, 4), ("i", "j"), (4, 3))
    '[j, i]'
    >>> index_text(View((0, 0), 11, (-2,)), (5,), ("i",), (12,))
    '[11 - 2*i]'
    >>> index_text(View((0, 0), 0, (1,)), (12,), ("i",), (4, 3))
    '.flat[i]'
    """
    axes = zip(view.strides, names, shape, strict=True)
    terms = [each for each in axes if each[0] != 0 and each[1] != NONE]
    if not root_shape:
        return ""
    parts = _along_axes(view.offset, terms, root_shape)
    if parts is None:
        return f".flat[{sum_text(view.offset, terms)}]"
    return f"[{', '.join(parts)}]"


def _along_axes(offset: Size, terms: Sequence[Term], shape: Shape) -> list[str] | None:
    """The index of each axis of the root, or None where it cannot be said axis by axis."""
    strides = row_major(shape)
    starts = _starts(offset, strides)
    if starts is None:
        return None
    found: list[list[Term]] = [[] for _ in shape]
    for stride, name, count in terms:
        for axis, step in enumerate(strides):
            times = divide_exactly(stride, step) if step != 0 else None
            if times is not None:
                found[axis].append((times, name, count))
                break
    if not all(map(_stays_inside, starts, found, shape)):
        return None
    return [sum_text(start, inside) for start, inside in zip(starts, found, strict=True)]


def _starts(offset: Size, strides: Sequence[Size]) -> list[Size] | None:
    if offset == 0:
        return [0] * len(strides)
    starts: list[Size] = []
    for step in strides:
        if not isinstance(offset, int) or not isinstance(step, int):
            return None
        starts.append(offset // step if step else 0)
        offset = offset % step if step else offset
    return starts


def _stays_inside(start: Size, terms: Sequence[Term], size: Size) -> bool:
    """Whether an index is one of its axis for every step of the loops; False where unknown."""
    if not terms:
        return True
    if start == 0 and len(terms) == 1 and terms[0][0] == 1 and terms[0][2] == size:
        return True
    low = high = start
    for times, _, count in terms:
        if not isinstance(times, int) or not isinstance(count, int):
            return False
        end = times * (count - 1)
        low, high = low + min(end, 0), high + max(end, 0)
    known = isinstance(low, int) and isinstance(high, int) and isinstance(size, int)
    return known and low >= 0 and high < size


def sum_text(start: Size, terms: Sequence[Term]) -> str:
    """A start and multiples of loop variables, as one expression.

    >>> sum_text(3, [(6, "i", 4), (1, "j", 6)]), sum_text(9, [(-1, "i", 10)]), sum_text(0, [])
    ('6*i + j + 3', '9 - i', '0')
    """
    texts = [_term(times, name) for times, name, _ in terms]
    if start != 0:
        falling = bool(texts) and texts[0].startswith("-")
        texts.insert(0 if falling else len(texts), str(start))
    return " + ".join(texts).replace("+ -", "- ") or "0"


def _term(times: Size, name: str) -> str:
    if times == 1:
        return name
    if times == -1:
        return f"-{name}"
    return f"({times})*{name}" if " " in str(times) else f"{times}*{name}"
