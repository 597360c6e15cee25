"""Steps with windows: convolutions and pools of small images, in programs with open sizes also of
batches whose size is open.
"""

from __future__ import annotations

from wengert.core.op import Op

from .builder import FLOATS, Builder
from .operands import new_input, resized

SPACES = ((5,), (7,), (1,), (4, 3), (6, 5), (3, 17), (2, 3, 4))


def _images(b: Builder, channels: int, space: tuple[int, ...]) -> str:
    names = list(b.sizes[0])
    if names and b.parent is None and b.chance(50):
        return new_input(b, (b.choose(names), channels, *space), b.choose(FLOATS))
    return resized(b, (b.choose((2, 1, 0, 3)), channels, *space))


def convolution(b: Builder, _op: Op) -> str:
    """A convolution or a transposed one, with any of its options."""
    space = b.choose(SPACES)
    groups = b.choose((1, 1, 2))
    held, outs = groups * b.choose((1, 3, 2)), groups * b.choose((2, 1, 5))
    window = tuple(b.integer(1, min(size, 3)) for size in space)
    x = _images(b, held, space)
    stride, dilation = b.choose((1, 2, 3)), b.choose((1, 1, 2))
    padding = b.choose(("'same'", "'causal'", "2", "4"))
    options = f"stride={stride}, padding={padding}, dilation={dilation}, groups={groups}"
    if b.chance(30):
        w = resized(b, (held, outs // groups, *window))
        return b.emit(f"wg.conv_transpose({x}, {w}, stride={stride}, groups={groups})")
    w = resized(b, (outs, held // groups, *window))
    return b.emit(f"wg.conv({x}, {w}, {options})")


def pooled(b: Builder, _op: Op) -> str:
    """The largest or the mean of windows."""
    space = b.choose(SPACES)
    x = _images(b, b.choose((1, 2)), space)
    window = tuple(b.integer(1, min(size, 3)) for size in space)
    stride = b.choose(("None", "1", "2"))
    padding = b.choose(("0", "'same'"))
    texts = [
        f"wg.max_pool({x}, {window}, {stride}, {padding})",
        f"wg.max_pool({x}, {window}, {stride}, {padding})",
        f"wg.mean_pool({x}, {window}, {stride}, {padding})",
        f"wg.adaptive_mean_pool({x}, {b.choose((1, 2))})",
        f"wg.sliding_windows({x}, {window[-1]}, {b.choose((1, 2))})",
    ]
    return b.emit(b.choose(texts))
