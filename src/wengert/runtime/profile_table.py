"""A profile as a table, for reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wengert.codegen.cost.durations import duration

if TYPE_CHECKING:
    from wengert.runtime.profile import KernelProfile, Profile

HEAD = ("kernel", "kind", "time", "share", "flops", "GF/s", "of gemm", "bytes", "GB/s", "of memory")
WIDE = 56  # letters for the names of the ops


def table(it: Profile) -> str:
    """A line about the program and the machine, and one for each kernel."""
    count = len(it.kernels)
    rows = [_cells(kernel) for kernel in it.kernels]
    lines = [
        f"{count} kernel{'s' * (count != 1)}: {duration(it.seconds)}, and "
        f"{duration(it.sum)} one by one",
        f"This machine: {it.gemm_rate * 1e-9:.1f} GF/s (gemm, float32), "
        f"{it.bandwidth * 1e-9:.1f} GB/s (memory).",
        "",
        *_aligned([(*HEAD, "computes"), *rows]),
    ]
    return "\n".join(lines)


def _cells(kernel: KernelProfile) -> tuple[str, ...]:
    return (
        kernel.name,
        kernel.kind,
        duration(kernel.seconds),
        f"{kernel.share:.1%}",
        f"{kernel.flops:,}",
        f"{kernel.flops_per_second * 1e-9:.1f}",
        f"{kernel.share_of_gemm_rate:.0%}",
        f"{kernel.bytes:,}",
        f"{kernel.bytes_per_second * 1e-9:.1f}",
        f"{kernel.share_of_bandwidth:.0%}",
        _computes(kernel),
    )


def _computes(kernel: KernelProfile) -> str:
    """The ops, each named once, and the user's line."""
    text = ", ".join(dict.fromkeys(kernel.ops))
    text = text if len(text) <= WIDE else text[: WIDE - 2] + " …"
    return f"{text}  # {kernel.line}" if kernel.line else text


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if 2 <= i < len(HEAD) else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
