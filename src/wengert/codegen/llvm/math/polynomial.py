"""Polynomials evaluated in a short time rather than in few registers."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Vector


def quick_polynomial(
    e: Arithmetic, x: Vector, coefficients: Sequence[float], square: Vector
) -> Vector:
    """A polynomial in x, with x² given; the coefficient of the highest power comes first.

    A processor that waits for each step of Horner's rule runs out of other work to do meanwhile.
    So neighbours are joined in pairs, then, by Estrin's scheme, pairs of pairs while there are
    many, and what is left by Horner's rule. The last step has the lowest coefficient alone: the
    rounding errors of all steps before it count times x only.
    """
    constants = [e.const(c, x.dtype) for c in reversed(coefficients)]
    terms, power, following = constants[1:], x, square
    while True:
        pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
        terms = [pair[0] if len(pair) == 1 else e.fma(pair[1], power, pair[0]) for pair in pairs]
        power = following
        if len(terms) <= 3:
            break
        following = e.mul(power, power)
    total = terms.pop()
    while terms:
        total = e.fma(total, power, terms.pop())
    return e.fma(total, x, constants[0])
