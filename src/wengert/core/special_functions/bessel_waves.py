"""The Bessel functions J and Y of whole orders.

Orders 0 and 1 are polynomials near 0, and waves far from it:

    J(x) = √(2/πx) (P cos χ - Q sin χ),   Y(x) = √(2/πx) (P sin χ + Q cos χ),   χ = x - (2n + 1) π/4

Other orders follow by the recurrence f[k + 1] = 2k/x f[k] - f[k - 1]: upwards for Y, and for J as
long as k stays below x. Beyond that J falls, and upwards its digits are lost: there the quotients
of neighbours are found downwards, the first of them from a continued fraction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wengert.core.special_functions.pieces import choose, polynomial

_LIMIT = 10_000  # the highest order, and steps of the continued fraction
_TINY = 1e-290

# Chebyshev interpolation in 40 digits, as polynomials, lowest power first.
# fmt: off
# J0(x) in x²/32 - 1, for x from 0 to 8
_J0_NEAR = (
    0.04582966485981377, 0.9303012472958572, -0.6484692830871837, -0.8080888076696872,
    1.0383794611437211, -0.5074680458471, 0.14598884856759267, -0.028472718610882044,
    0.004058078989140805, -0.000443545922431152, 3.8473197856340086e-05, -2.7177492236298073e-06,
    1.5956109057781304e-07, -7.915323084479192e-09, 3.363450456866669e-10, -1.2433011305498057e-11,
    4.0030437640628113e-13,
)
# J1(x) / x in x²/32 - 1, for x from 0 to 8
_J1_NEAR = (
    -0.05814382795599107, 0.08105866038589796, 0.15151665143806636, -0.2595948652859303,
    0.15858376432721838, -0.05474581821284725, 0.012456814392263375, -0.0020290394945704573,
    0.00024949458135972767, -2.404574866003479e-05, 1.8684526037182737e-06, -1.196708182234105e-07,
    6.43119017895857e-09, -2.943016833829492e-10, 1.1658971884036515e-11, -4.0037632815796753e-13,
)
# Y0(x) - 2/π log(x) J0(x) in x²/32 - 1, for x from 0 to 8
_Y0_NEAR = (
    -0.382250654459425, -0.8284358903604587, 1.6470964788745466, 0.14412632369302475,
    -1.0775477338215995, 0.6721770783431679, -0.2189574709617164, 0.046367047681375125,
    -0.007025741057270546, 0.00080615860596164, -7.279541882544516e-05, 5.321318810394401e-06,
    -3.218507833909702e-07, 1.6390875017619395e-08, -7.130468040126112e-10, 2.6926937109987802e-11,
    -8.838468394309022e-13,
)
# (Y1(x) - 2/π (log(x) J1(x) - 1/x)) / x in x²/32 - 1, for x from 0 to 8
_Y1_NEAR = (
    0.07075985882118005, -0.24337743079193114, 0.023367571720993584, 0.23507209206669755,
    -0.19639839859930425, 0.07854786922242532, -0.019628756833099427, 0.0034224907399188495,
    -0.00044381734351148726, 4.4674330126463756e-05, -3.6009998743823114e-06,
    2.3804930420500538e-07, -1.3153322522176987e-08, 6.169688029976363e-10, -2.4887527719058385e-11,
    8.760000901470383e-13, -2.6946935633741497e-14,
)
# P of order 0 in 128/x² - 1, for x from 8 on
_P0 = (
    0.9994572757882519, -0.0005363673192129684, 6.137416080147722e-06, -2.0527448258799454e-07,
    1.2803760990761632e-08, -1.2121099519052884e-09, 1.5500758850965851e-10,
    -2.4911156906092825e-11, 4.7832464504070676e-12, -1.0160586409351026e-12, 2.486651879170221e-13,
    -1.0240462527458219e-13, 3.2274659236696375e-14,
)
# x Q of order 0 in 128/x² - 1, for x from 8 on
_Q0 = (
    -0.12444091103610815, 0.0005466519279475117, -1.1817110661199724e-05, 5.684971887324096e-07,
    -4.5349728393922074e-08, 5.146225589983031e-09, -7.57632926931228e-10, 1.3626359564350156e-10,
    -2.8707565261924586e-11, 6.8818527860469436e-12, -1.8731177440368512e-12, 5.520265629286774e-13,
    -1.3175768260882e-13, 4.085343187221175e-14, -4.046427325528616e-14, 1.6262268161564722e-14,
)
# P of order 1 in 128/x² - 1, for x from 8 on
_P1 = (
    1.0009070262780821, 0.0008988049416705564, -7.95969469844003e-06, 2.453676622679369e-07,
    -1.4708512970871809e-08, 1.3603054724512454e-09, -1.713108363257052e-10, 2.7205216071451606e-11,
    -5.190987549128526e-12, 1.1443000350441976e-12, -2.635099411586755e-13, 7.019004954768849e-14,
    -3.5404613525657416e-14, 1.2012721775449965e-14,
)
# x Q of order 1 in 128/x² - 1, for x from 8 on
_Q1 = (
    0.3742149922195918, -0.00076971670576437, 1.4569614809828342e-05, -6.633568561252034e-07,
    5.136106034386487e-08, -5.720890726108569e-09, 8.316054768262827e-10, -1.4816645190838213e-10,
    3.101014520989263e-11, -7.46416005204052e-12, 1.993145349755006e-12, -4.923339389851518e-13,
    1.4696599919708492e-13, -1.073572214809827e-13, 4.074705384627214e-14,
)
# fmt: on


def _near(e: Any, size: Any, table: Sequence[float]) -> Any:
    inside = e.min(size, e.const(8))
    return polynomial(e, e.fma(e.mul(inside, inside), e.const(1 / 32), e.const(-1)), table)


def _far(e: Any, size: Any, p: Sequence[float], q: Sequence[float]) -> tuple[Any, Any]:
    """P and Q, each times √(1/πx)."""
    outside = e.max(size, e.const(8))
    inverse = e.div(e.const(8), outside)
    place = e.fma(e.mul(inverse, inverse), e.const(2), e.const(-1))
    scale = e.sqrt(e.div(e.const(1 / math.pi), outside))
    odd = e.mul(e.mul(inverse, e.const(1 / 8)), polynomial(e, place, q))
    return e.mul(scale, polynomial(e, place, p)), e.mul(scale, odd)


def _turns(e: Any, size: Any) -> tuple[Any, Any]:
    """cos x + sin x and sin x - cos x, which are √2 times cos and sin of x - π/4; 0 at infinity."""
    finite = e.lt(size, e.const(math.inf))
    x = e.select(finite, size, e.const(0))
    sine, cosine = e.sin(x), e.cos(x)
    zero = e.const(0)
    return (
        e.select(finite, e.add(cosine, sine), zero),
        e.select(finite, e.sub(sine, cosine), zero),
    )


def j0(e: Any, x: Any) -> Any:
    """J of order 0."""
    size = e.abs(x)
    (p, q), (plus, minus) = _far(e, size, _P0, _Q0), _turns(e, size)
    far = e.sub(e.mul(p, plus), e.mul(q, minus))
    value = e.select(e.le(size, e.const(8)), _near(e, size, _J0_NEAR), far)
    value = e.select(e.eq(x, e.const(0)), e.const(1), value)
    return e.select(e.ne(x, x), x, value)


def _j1_far(e: Any, size: Any) -> Any:
    (p, q), (plus, minus) = _far(e, size, _P1, _Q1), _turns(e, size)
    return e.add(e.mul(p, minus), e.mul(q, plus))


def j1(e: Any, x: Any) -> Any:
    """J of order 1."""
    size = e.abs(x)
    near = e.mul(x, _near(e, size, _J1_NEAR))
    far = _j1_far(e, size)
    far = e.select(e.lt(x, e.const(0)), e.neg(far), far)
    value = e.select(e.le(size, e.const(8)), near, far)
    return e.select(e.ne(x, x), x, value)


def j1_over_x(e: Any, x: Any) -> Any:
    """J of order 1 divided by x, which is 1/2 at 0."""
    size = e.abs(x)
    far = e.div(_j1_far(e, size), e.max(size, e.const(8)))
    value = e.select(e.le(size, e.const(8)), _near(e, size, _J1_NEAR), far)
    value = e.select(e.eq(x, e.const(0)), e.const(0.5), value)
    return e.select(e.ne(x, x), x, value)


def _above_zero(e: Any, x: Any, value: Any) -> Any:
    """The value for x > 0; -inf at 0, NaN below."""
    zero = e.const(0)
    return choose(e, e.gt(x, zero), value, e.eq(x, zero), e.const(-math.inf), e.const(math.nan))


def _log(e: Any, x: Any) -> Any:
    """2/π log(x) where x is above 0; elsewhere some number."""
    return e.mul(e.const(2 / math.pi), e.log(e.select(e.gt(x, e.const(0)), x, e.const(1))))


def y0(e: Any, x: Any) -> Any:
    """Y of order 0."""
    size = e.abs(x)
    near = e.fma(_log(e, x), _near(e, size, _J0_NEAR), _near(e, size, _Y0_NEAR))
    (p, q), (plus, minus) = _far(e, size, _P0, _Q0), _turns(e, size)
    far = e.add(e.mul(p, minus), e.mul(q, plus))
    return _above_zero(e, x, e.select(e.le(size, e.const(8)), near, far))


def y1(e: Any, x: Any) -> Any:
    """Y of order 1."""
    size = e.abs(x)
    smooth = e.fma(_log(e, x), _near(e, size, _J1_NEAR), _near(e, size, _Y1_NEAR))
    near = e.sub(e.mul(x, smooth), e.div(e.const(2 / math.pi), x))
    (p, q), (plus, minus) = _far(e, size, _P1, _Q1), _turns(e, size)
    far = e.sub(e.mul(q, minus), e.mul(p, plus))
    return _above_zero(e, x, e.select(e.le(size, e.const(8)), near, far))


def _climb(e: Any, order: Any, x: Any, zeroth: Any, first: Any) -> Any:
    """f[order] from f[0] and f[1], upwards."""
    one, two = e.const(1), e.const(2)

    def step(k: Any, before: Any, here: Any) -> Any:
        going = e.lt(k, order)
        after = e.sub(e.mul(e.div(e.mul(two, k), x), here), before)
        endless = e.eq(e.abs(here), e.const(math.inf))
        after = e.select(endless, here, after)
        return (
            e.select(going, e.add(k, one), k),
            e.select(going, here, before),
            e.select(going, after, here),
        )

    last = e.iterate(_LIMIT, step, (one, zeroth, first))[2]
    return e.select(e.eq(order, e.const(0)), zeroth, last)


def _not_zero(e: Any, x: Any) -> Any:
    return e.select(e.eq(x, e.const(0)), e.const(_TINY), x)


def _quotient(e: Any, order: Any, x: Any) -> Any:
    """J[order] / J[order - 1] for orders above x, by Lentz's method."""
    two = e.const(2)
    first = e.div(e.mul(two, order), x)

    def step(total: Any, c: Any, d: Any, k: Any) -> Any:
        b = e.div(e.mul(two, k), x)
        c = _not_zero(e, e.sub(b, e.div(e.const(1), c)))
        d = e.div(e.const(1), _not_zero(e, e.sub(b, d)))
        return e.mul(total, e.mul(c, d)), c, d, e.add(k, e.const(1))

    start = (first, first, e.const(0), e.add(order, e.const(1)))
    return e.div(e.const(1), e.iterate(_LIMIT, step, start)[0])


def _fall(e: Any, order: Any, x: Any, zeroth: Any, first: Any) -> Any:
    """J[order] for orders above x: quotients downwards, times what J[0] or J[1] is."""
    one, two = e.const(1), e.const(2)
    last = _quotient(e, order, x)

    def step(k: Any, quotient: Any, by_zeroth: Any, by_first: Any) -> Any:
        going = e.gt(k, one)
        below = e.sub(e.div(e.mul(two, e.sub(k, one)), x), quotient)
        below = e.div(one, _not_zero(e, below))
        return (
            e.select(going, e.sub(k, one), k),
            e.select(going, below, quotient),
            e.select(going, e.mul(by_zeroth, below), by_zeroth),
            e.select(going, e.mul(by_first, quotient), by_first),
        )

    carried = e.iterate(_LIMIT, step, (order, last, last, one))
    larger = e.gt(e.abs(zeroth), e.abs(first))
    return e.select(larger, e.mul(carried[2], zeroth), e.mul(carried[3], first))


def _odd(e: Any, n: Any) -> Any:
    half = e.mul(n, e.const(0.5))
    return e.ne(half, e.floor(half))


def jn(e: Any, n: Any, x: Any) -> Any:
    """J of whole order n; NaN for orders beyond 10,000."""
    order, size = e.abs(n), e.abs(x)
    known = e.and_(e.le(order, e.const(_LIMIT)), e.eq(order, e.floor(order)))
    order = e.select(known, order, e.const(0))
    tiny = e.lt(size, e.const(_TINY))
    inside = e.select(tiny, e.const(1), e.min(size, e.const(1e300)))
    zeroth, first = j0(e, inside), j1(e, inside)
    above = e.gt(order, inside)
    up = _climb(e, e.select(above, e.const(0), order), inside, zeroth, first)
    down_order = e.select(above, order, e.add(e.floor(e.min(inside, e.const(2))), e.const(1)))
    down_x = e.select(above, inside, e.min(inside, e.const(2)))
    down = _fall(e, down_order, down_x, zeroth, first)
    at_zero = e.select(e.eq(order, e.const(0)), e.const(1), e.const(0))
    value = choose(e, e.eq(order, e.const(1)), j1(e, size), tiny, at_zero, above, down, up)
    value = e.select(e.eq(size, e.const(math.inf)), e.const(0), value)
    turned = e.and_(_odd(e, order), e.ne(e.lt(n, e.const(0)), e.lt(x, e.const(0))))
    value = e.select(turned, e.neg(value), value)
    value = e.select(known, value, e.const(math.nan))
    return e.select(e.ne(x, x), x, value)


def yn(e: Any, n: Any, x: Any) -> Any:
    """Y of whole order n; NaN for orders beyond 10,000."""
    order = e.abs(n)
    known = e.and_(e.le(order, e.const(_LIMIT)), e.eq(order, e.floor(order)))
    order = e.select(known, order, e.const(0))
    inside = e.select(e.gt(x, e.const(0)), e.min(x, e.const(1e300)), e.const(1))
    value = _climb(e, order, inside, y0(e, inside), y1(e, inside))
    value = e.select(e.eq(x, e.const(math.inf)), e.const(0), value)
    value = _above_zero(e, x, value)
    value = e.select(e.and_(_odd(e, order), e.lt(n, e.const(0))), e.neg(value), value)
    value = e.select(known, value, e.const(math.nan))
    return e.select(e.ne(x, x), x, value)
