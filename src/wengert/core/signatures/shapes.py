"""Shape arguments as users write them, in canonical form."""

from __future__ import annotations

from typing import Any

from wengert.core.dims import Dim, Shape, Size, divide_exactly, product
from wengert.errors import ShapeError, TraceError


def canonical_shape(name: str, shape: Any) -> Shape:
    """A tuple of non-negative sizes from an integer, a Dim or a sequence of them."""
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    out: list[Size] = []
    for size in sizes:
        try:
            number = size if isinstance(size, Dim) else int(size.__index__())
        except TraceError:
            raise  # it says where sizes that are not known come from
        except (AttributeError, TypeError):
            raise ShapeError(
                f"{name}: size {size!r} was given in shape {sizes}; a size is an integer or a "
                "Dim. Pass one."
            ) from None
        if isinstance(number, int) and number < 0:
            raise ShapeError(
                f"{name}: shape {sizes} was given; sizes must not be negative. Check the sign."
            )
        out.append(number)
    return tuple(out)


def solved_shape(name: str, before: Shape, shape: Any) -> Shape:
    """The target of a reshape: -1 is solved by exact division, element counts must agree."""
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    open_axes = [
        axis for axis, size in enumerate(sizes) if not isinstance(size, Dim) and size == -1
    ]
    if len(open_axes) > 1:
        raise ShapeError(
            f"{name}: shape {sizes} was given; only one size may be -1. Write the others out."
        )
    total = product(before)
    known = canonical_shape(
        name, [1 if axis in open_axes else size for axis, size in enumerate(sizes)]
    )
    if open_axes:
        solved = divide_exactly(total, product(known))
        if solved is not None:
            return tuple(solved if axis in open_axes else size for axis, size in enumerate(known))
    if not open_axes and product(known) == total:
        return known
    raise ShapeError(
        f"{name}: given shape {before} with {total} elements; the new shape {sizes} must hold as "
        "many. Change one of its sizes, or write -1 for one."
    )
