"""Running combinations of elements by a function of two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.core import tree
from wengert.core.bind import located
from wengert.core.define import function
from wengert.core.op_parts.broadcast import canonical_axis
from wengert.core.table import op
from wengert.errors import ShapeError
from wengert.functions.sequences.in_chunks import scan_in_chunks


@function()
def associative_scan(
    f: Callable[[Any, Any], Any], xs: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Elements combined up to and with each one along the axis: x_0, f(x_0, x_1),
    f(f(x_0, x_1), x_2) …; with `reverse` from the end.

    `xs` is an array or a tree of arrays of one length, and f combines two such trees whose axis has
    one element. The order is always that from one end to the other: it does not depend on the
    length, and f need not be associative to the last bit.

    >>> wg.associative_scan(np.maximum, np.array([3.0, 1.0, 4.0, 1.0]))
    array([3., 3., 4., 4.])
    """
    leaves, structure = tree.flatten(tree.arrays(xs))
    if not leaves or any(not x.shape for x in leaves):
        shapes = [tuple(x.shape) for x in leaves]
        raise ShapeError(
            f"associative_scan: xs have shapes {shapes}; there must be arrays with an axis to go "
            "along. Pass at least one."
        )
    axes = [canonical_axis("associative_scan", axis, len(x.shape)) for x in leaves]
    lengths = [x.shape[along] for x, along in zip(leaves, axes, strict=True)]
    if any(n != lengths[0] for n in lengths):
        error = ShapeError(
            f"associative_scan: xs have {lengths} elements along axis {axis}; all must have as "
            "many. Slice or pad some."
        )
        raise located(error, leaves)
    rows = [op.moveaxis(x, along, 0) for x, along in zip(leaves, axes, strict=True)]
    if reverse:
        rows = [op.flip(x, axis=0) for x in rows]
    if lengths[0] != 0:
        rows = _combined(f, rows, axes, structure)
    if reverse:
        rows = [op.flip(x, axis=0) for x in rows]
    arrays = [op.moveaxis(x, 0, along) for x, along in zip(rows, axes, strict=True)]
    return tree.unflatten(structure, arrays)


def _combined(f: Callable[[Any, Any], Any], rows: Any, axes: list[int], structure: Any) -> Any:
    def whole(parts: Any) -> Any:
        """Rows as f sees them: with an axis of one element."""
        pairs = zip(parts, axes, strict=True)
        return tree.unflatten(structure, [op.expand_dims(x, axis=along) for x, along in pairs])

    def step(before: Any, x: Any) -> tuple[Any, Any]:
        combined, given = tree.flatten(tree.arrays(f(whole(before), whole(x))))
        if given != structure:
            raise ShapeError(
                "associative_scan: the function returned another tree than it was given; it must "
                "combine two elements into one. Return a tree like its arguments."
            )
        after = tuple(op.squeeze(x, axis=along) for x, along in zip(combined, axes, strict=True))
        return after, after

    first = tuple(x[0] for x in rows)
    if isinstance(rows[0].shape[0], int) and rows[0].shape[0] == 1:
        return rows
    _, rest = scan_in_chunks(step, first, tuple(x[1:] for x in rows))
    return [
        op.concat([op.expand_dims(x, axis=0), more], axis=0)
        for x, more in zip(first, rest, strict=True)
    ]
