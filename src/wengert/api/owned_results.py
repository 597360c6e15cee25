"""What a transformation returns: arrays of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from wengert.core.types import Value


def owned(values: Iterable[Value], *borrowed: Sequence[Value]) -> list[Value]:
    """The values as arrays that share memory neither with each other nor with `borrowed`."""
    taken = {id(x) for xs in borrowed for x in xs}
    out = []
    for x in values:
        if isinstance(x, np.generic):
            x = np.asarray(x)
        elif type(x) is np.ndarray:
            if id(x) in taken or x.base is not None or not x.flags.writeable:
                x = np.array(x)
            taken.add(id(x))
        out.append(x)
    return out


def copied(values: Sequence[Value]) -> list[Value]:
    """The values, arrays among them as copies: they may be a user's own, or read again later."""
    return [np.array(x) if isinstance(x, np.ndarray | np.generic) else x for x in values]
