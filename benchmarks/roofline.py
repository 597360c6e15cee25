"""The kernels of training steps under the roofs of this machine: `python -m benchmarks roofline`.

Each kernel is a dot: to the right, the operations it does for each byte it moves; upwards, the
operations it does in a second. No kernel can be above what the memory delivers (the slope) or what
the arithmetic does (the ceiling), both measured here by our own code on one thread, as `profile`
runs; only a kernel whose arrays lie in caches can be above the slope. The larger a dot, the more of
the step's time it takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from benchmarks.drawing import GRID, INK, PALE, LogAxis, dot, line, svg, text
from benchmarks.networks import NETWORKS, data
from benchmarks.stepping import executable_of
from benchmarks.training import our_step

if TYPE_CHECKING:
    from wengert.runtime.profile import KernelProfile, Profile

WIDTH, HEIGHT = 460, 330  # of one step
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 34, 44
SHOWN = 0.04  # kernels with a smaller share of the time have no name beside them
LEAST = 1e-3  # and with a smaller one than this, no dot
NAME, LINE = 60, 12  # pixels that a name takes


def profiles(names: tuple[str, ...] = tuple(NETWORKS)) -> dict[str, Profile]:
    """Of the training steps of these networks."""
    by_title = {}
    for name in names:
        network = NETWORKS[name]
        _, x, y = data(network)
        step = our_step(network)
        step(x, y)
        executable, arguments = executable_of(step, x, y)
        by_title[f"step {name} ({network})"] = executable.profile(*arguments)
    return by_title


def roofline(programs: Mapping[str, Profile]) -> str:
    """An SVG with one panel for each program, two beside each other."""
    rows = math.ceil(len(programs) / 2)
    shapes: list[str] = []
    for i, (title, profile) in enumerate(programs.items()):
        shapes += _panel(title, profile, WIDTH * (i % 2), HEIGHT * (i // 2))
    return svg(WIDTH * min(len(programs), 2), HEIGHT * rows, shapes)


def _panel(title: str, profile: Profile, left: float, top: float) -> Iterator[str]:
    kernels = [each for each in profile.kernels if each.share >= LEAST and each.flops]
    peak, memory = profile.gemm_rate * 1e-9, profile.bandwidth * 1e-9
    rates = [each.flops_per_second * 1e-9 for each in kernels]
    x = LogAxis(0.05, 1000, left + LEFT, WIDTH - LEFT - RIGHT)
    low = min([peak / 300, *rates])
    y = LogAxis(low, 2 * max([peak, *rates]), top + HEIGHT - BOTTOM, BOTTOM + TOP - HEIGHT)
    yield text(left + LEFT, top + 20, title)
    yield from _axes(x, y, left, top)
    ridge = peak / memory
    points = [(x.low, memory * x.low), (ridge, peak), (x.high, peak)]
    for (x1, y1), (x2, y2) in pairwise(points):
        if y1 < low:
            x1, y1 = low / memory, low
        yield line(x.place(x1), y.place(y1), x.place(x2), y.place(y2), INK, 1.5)
    yield text(x.place(x.high), y.place(peak) - 4, f"{peak:.0f} GF/s (gemm)", "end")
    yield text(x.place(ridge) - 6, y.place(peak) - 4, f"{memory:.0f} GB/s", "end")
    for each in sorted(kernels, key=lambda each: -each.share):
        yield _dot(each, x, y)
    yield from _names([each for each in kernels if each.share >= SHOWN], x, y)


def _axes(x: LogAxis, y: LogAxis, left: float, top: float) -> Iterator[str]:
    bottom = top + HEIGHT - BOTTOM
    for tick in x.ticks((1,)):
        yield line(x.place(tick), top + TOP, x.place(tick), bottom, GRID)
        yield text(x.place(tick), bottom + 14, f"{tick:g}", "middle")
    for tick in y.ticks((1,)):
        yield line(left + LEFT, y.place(tick), left + WIDTH - RIGHT, y.place(tick), GRID)
        yield text(left + LEFT - 6, y.place(tick) + 4, f"{tick:g}", "end")
    yield text(left + LEFT, bottom + 30, "operations per byte")
    yield text(left + 8, top + TOP - 2, "GF/s")


def _place(kernel: KernelProfile, x: LogAxis, y: LogAxis) -> tuple[float, float, float]:
    """Where its dot lies, and how large it is."""
    intensity, rate = kernel.flops / kernel.bytes, kernel.flops_per_second * 1e-9
    return x.place(intensity), y.place(rate), 2 + 12 * math.sqrt(kernel.share)


def _dot(kernel: KernelProfile, x: LogAxis, y: LogAxis) -> str:
    ops, rate = ", ".join(dict.fromkeys(kernel.ops)), kernel.flops_per_second * 1e-9
    told = f"{kernel.name}: {ops}; {kernel.share:.0%} of the time, {rate:.1f} GF/s"
    return dot(*_place(kernel, x, y), PALE, told)


def _names(kernels: Sequence[KernelProfile], x: LogAxis, y: LogAxis) -> Iterator[str]:
    """Beside the dots, or below the name that is there already."""
    taken: list[tuple[float, float]] = []
    for kernel in sorted(kernels, key=lambda each: -each.flops_per_second):
        across, down, radius = _place(kernel, x, y)
        left, base = across + radius + 2, down + 4
        while any(abs(left - a) < NAME and abs(base - b) < LINE for a, b in taken):
            base += 1
        taken.append((left, base))
        yield text(left, base, f"{kernel.name} {kernel.share:.0%}")
