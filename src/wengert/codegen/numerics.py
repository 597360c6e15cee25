"""Numerics: the numbers that decide in which order sums are added. No target may change them: a
different number here changes the bits of every result.
"""

from __future__ import annotations

LANES = 16  # of every vector, whatever the hardware has
BLOCK = 64  # vectors (lanes) or rows (rows) that are added up before a new sum begins
GROUP = 64  # blocks whose sums are added up before a new sum begins
INNER = 256  # products of a contraction that are added up before a new sum begins
