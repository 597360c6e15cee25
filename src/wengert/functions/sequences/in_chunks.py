"""Loops over time in chunks: the way back keeps the states between chunks, and computes those
inside of one again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.core import tree
from wengert.core.table import op

CHUNK = 32  # steps whose states are alive at once on the way back


def scan_in_chunks(step: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any) -> Any:
    """`op.scan(step, init, xs)`, as a loop over chunks of time around a loop inside of a chunk. No
    step knows of it, so the bits are those of one loop. Where the length is known at call time
    only, it is one loop.
    """
    length = tree.leaves(xs)[0].shape[0]
    if not isinstance(length, int) or length < 2 * CHUNK:
        return op.scan(step, init, xs)
    count, rest = divmod(length, CHUNK)
    whole = count * CHUNK

    def chunked(x: Any) -> Any:
        return op.reshape(x[:whole], (count, CHUNK, *x.shape[1:]))

    def joined(y: Any) -> Any:
        return op.reshape(y, (whole, *y.shape[2:]))

    carry, ys = op.scan(lambda h, x: op.scan(step, h, x), init, tree.map(chunked, xs))
    ys = tree.map(joined, ys)
    if not rest:
        return carry, ys
    carry, more = op.scan(step, carry, tree.map(lambda x: x[whole:], xs))
    return carry, tree.map(lambda y, z: op.concat([y, z], axis=0), ys, more)
