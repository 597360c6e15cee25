"""The rational function of degree 13 that is nearest to exp at 0 (Padé's), for the exponential of
matrices: p(x) / p(-x), where p has these coefficients, from that of 1 on.
"""

from __future__ import annotations

from math import factorial

_DEGREE = 13

COEFFICIENTS = tuple(
    float(factorial(2 * _DEGREE - k) // (factorial(k) * factorial(_DEGREE - k)))
    for k in range(_DEGREE + 1)
)

# The norm up to which it is used. Up to 5.37 its error is below the rounding errors of float64
# (Higham, 2005), but p(-x) is then smaller than its terms, and what cancels there is squared. The
# loss is least near 1; this costs about one squaring more.
LARGEST_NORM = 2.0
