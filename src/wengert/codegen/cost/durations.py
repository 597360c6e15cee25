"""Times in words."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Three digits and a unit.

    >>> [duration(s) for s in (0, 12e-9, 3.456e-6, 0.0789, 12.3)]
    ['0 ns', '12 ns', '3.46 µs', '78.9 ms', '12.3 s']
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
