"""summary: what a model consists of, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core import tree
from wengert.core.dtypes import is_float
from wengert.core.words.arguments import worded

HEAD = ("path", "shape", "dtype", "count", "")


@worded
def summary(model: Any) -> str:
    """A table of the arrays of a model: path, shape, dtype and count of each, and totals.

    An array at several paths is counted once, where it is met first; the others say what they are
    tied to. Integers and bools are data, and counted apart from the parameters.

    >>> print(wg.nn.summary(wg.nn.Mlp((4, 8, 2))))
    path             shape  dtype    count
    layers.0.weight  8 × 4  float32     32
    layers.0.bias    8      float32      8
    layers.1.weight  2 × 8  float32     16
    layers.1.bias    2      float32      2
    58 parameters, 232 bytes
    """
    rows: list[Sequence[str]] = [HEAD]
    counts, bytes_of = {True: 0, False: 0}, {True: 0, False: 0}
    first: dict[int, str] = {}
    for path, x in zip(tree.paths(model), tree.leaves(model), strict=True):
        trained = is_float(x.dtype)
        shape = " × ".join(map(str, x.shape)) or "scalar"
        seen = first.setdefault(id(x), path)
        if seen is not path:
            rows.append((path, shape, str(x.dtype), "", f"tied to {seen}"))
            continue
        counts[trained] += x.size
        bytes_of[trained] += x.size * x.dtype.itemsize
        rows.append((path, shape, str(x.dtype), f"{x.size:,}", "" if trained else "data"))
    totals = [f"{counts[True]:,} parameters, {bytes_of[True]:,} bytes"]
    if counts[False]:
        totals.append(f"{counts[False]:,} of data, {bytes_of[False]:,} bytes")
    return "\n".join([*_aligned(rows), "; ".join(totals)])


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns under each other: counts to the right, all else to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i == HEAD.index("count") else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
