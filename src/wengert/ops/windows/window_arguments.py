"""Windows as users describe them: one number for all axes or one for each, and padding in words."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from wengert.core.dims import Dim, Size
from wengert.errors import ShapeError
from wengert.ops.windows.convolution import span

Pads: TypeAlias = tuple[tuple[Size, Size], ...]  # before and after, along each axis


def _is_whole(x: Any) -> bool:
    return isinstance(x, int | np.integer) and not isinstance(x, bool)


def each_axis(by: str, name: str, given: Any, axes: int, least: int = 1) -> tuple[int, ...]:
    """One whole number for each axis, from one for all or a sequence, or the worded error."""
    values = tuple(given) if isinstance(given, tuple | list) else (given,) * axes
    if len(values) == axes and all(_is_whole(n) and n >= least for n in values):
        return tuple(int(n) for n in values)
    raise ShapeError(
        f"{by}: {name}={given!r} was given for {_counted(axes)}; it must be a whole number of at "
        f"least {least}, or one for each axis. Choose another."
    )


def _counted(axes: int) -> str:
    return "one axis" if axes == 1 else f"{axes} axes"


def pads_of(
    by: str,
    padding: Any,
    space: tuple[Size, ...],
    window: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> Pads:
    """How many zeros stand before and after, along each axis."""
    axes = len(space)
    if isinstance(padding, str):
        return _in_words(by, padding, space, window, stride, dilation)
    if _is_whole(padding) and padding >= 0:
        return ((int(padding), int(padding)),) * axes
    given = tuple(padding) if isinstance(padding, tuple | list) else ()
    pairs = [(each, each) if _is_whole(each) else each for each in given]
    fits = all(
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and all(_is_whole(n) and n >= 0 for n in pair)
        for pair in pairs
    )
    if fits and len(pairs) == axes:
        return tuple((int(before), int(after)) for before, after in pairs)
    raise ShapeError(
        f"{by}: padding={padding!r} was given for {_counted(axes)}; it must be a whole number of "
        'at least 0, one of these or a pair (before, after) for each axis, or "valid", "same" or '
        '"causal". Write one of these.'
    )


def _in_words(
    by: str,
    padding: str,
    space: tuple[Size, ...],
    window: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> Pads:
    reach = [span(k, d) for k, d in zip(window, dilation, strict=True)]
    if padding == "valid":
        return ((0, 0),) * len(space)
    if padding == "causal":
        return tuple((each - 1, 0) for each in reach)
    if padding != "same":
        raise ShapeError(
            f'{by}: padding={padding!r} was given; in words it is "valid" (none), "same" (as many '
            'positions as elements, divided by the stride) or "causal" (all before). Choose one.'
        )
    pads = []
    for size, step, each in zip(space, stride, reach, strict=True):
        if step == 1:
            total: Any = each - 1
        else:
            number = int(size)
            total = max((-(-number // step) - 1) * step + each - number, 0)
        pads.append((total // 2, total - total // 2))
    return tuple(pads)


def require_fit(
    by: str,
    space: tuple[Size, ...],
    window: tuple[int, ...],
    pads: Pads,
    dilation: tuple[int, ...],
) -> None:
    """Refuse a window that has no position."""
    for axis, (size, k, pad, d) in enumerate(zip(space, window, pads, dilation, strict=True)):
        if not isinstance(size, Dim) and size + pad[0] + pad[1] < span(k, d):
            wide = f"{k} (dilated: {span(k, d)})" if d > 1 else f"{k}"
            raise ShapeError(
                f"{by}: a window of size {wide} was given for axis {axis} of space, which has "
                f"{size} elements and padding {pad}; it must fit in at least once. Pad more, or "
                "make it smaller."
            )
