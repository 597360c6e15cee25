"""Functions of float32 as sixteen polynomials, each near a center of its own. The coefficients of
the piece in which x lies are looked up: one instruction for each power, where registers hold
sixteen numbers.

Elsewhere two polynomials are evaluated, of which one counts, or exponentials are divided; both take
longer. What a polynomial near a center loses by rounding is small beside its value at the center,
which is next to a float.
"""

from __future__ import annotations

from typing import NamedTuple

from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Vector

_ROUND = 1.5 * 2.0**23  # added to a small number it leaves its nearest integer in the low bits


class Pieces(NamedTuple):
    """A function of numbers that are not negative, up to a limit.

    Without `bits`, a piece ends halfway between two whole numbers that pieces·x reaches. With them,
    the exponent of 2 + pieces·x and so many bits behind it count pieces: their width doubles where
    a power of two is passed.
    """

    pieces: float
    bits: int | None
    centers: tuple[float, ...]
    powers: tuple[tuple[float, ...], ...]  # coefficients for x - center, the highest power first
    from_x: bool = False  # the polynomial of the first piece is added to x, not to a constant


def piecewise(e: Arithmetic, x: Vector, table: Pieces) -> Vector:
    """The polynomial of the piece that x lies in."""
    bits, base = (23, _ROUND) if table.bits is None else (table.bits, 2.0)
    height = e.fma(x, e.const(table.pieces, x.dtype), e.const(base, x.dtype))
    place = e.from_bits(e.lshr(e.bits(height), 23 - bits)) if bits < 23 else height
    step = e.sub(x, e.look_up(table.centers, place))
    total, *others, start = (e.look_up(each, place) for each in table.powers)
    for each in others:
        total = e.fma(total, step, each)
    if table.from_x:
        second = base * (1 + 2.0**-bits)  # where the second piece begins
        start = e.select(e.lt(height, e.const(second, x.dtype)), x, start)
    return e.fma(total, step, start)
