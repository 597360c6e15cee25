"""The error function and its complement, in float32 and float64."""

from __future__ import annotations

from wengert.codegen.llvm.math.double import in_double, values
from wengert.codegen.llvm.math.exponential import clamp, format_of, reduced, scaled
from wengert.codegen.llvm.math.piecewise_code import piecewise
from wengert.codegen.llvm.math.piecewise_tables import ERF, ERFC
from wengert.codegen.llvm.math.polynomial import quick_polynomial
from wengert.codegen.llvm.text.arithmetic import Arithmetic, polynomial
from wengert.codegen.llvm.text.vectors import Vector
from wengert.core.dtypes import float32

# Polynomials, the highest power first.

# (x + 2) exp(x²) erfc(x) in t = a / (x + 2) + b, for x from 1/2 to 10.1; relative error 2⁻²⁶·⁶
_FAR_SINGLE = (
    *("-0x1.ad6356p-17", "0x1.46a11cp-15", "0x1.807040p-13"),
    *("-0x1.7e3e2ap-11", "-0x1.b04c00p-9", "0x1.49ab86p-7"),
    *("0x1.c6a4cep-4", "0x1.b2180ep-2", "0x1.ff0282p-1"),
)
_TO_T = float.fromhex("0x1.935556p+2"), float.fromhex("-0x1.855556p+0")

# erf(x) / x - 1 in x², for x up to 1; relative error of erf 2⁻⁵⁶
_NEAR = (
    *("-0x1.ab03e34b5f34fp-31", "0x1.d6de52d56c6c4p-27", "-0x1.5bfdba5562d0fp-23"),
    *("0x1.b97e286dd79afp-20", "-0x1.f4ca1dcd8a5bbp-17", "0x1.f9a2b7312171p-14"),
    *("-0x1.c02db0135a656p-11", "0x1.565bccf7dbd9fp-8", "-0x1.b82ce311ede4bp-6"),
    *("0x1.ce2f21a0408ccp-4", "-0x1.812746b0379b2p-2", "0x1.06eba8214db68p-3"),
)

# (1 + 2x) exp(x²) erfc(x) in (x - 3.75) / (x + 3.75), for x from 1/2 to 27.5; relative error 2⁻⁵³·⁴
_FAR = (
    *("0x1.90acd663e57a3p-26", "0x1.d2f50b63ecdb9p-27", "-0x1.fbdbceb800c5dp-23"),
    *("-0x1.864776748e14fp-25", "0x1.d122fc13f81e9p-20", "-0x1.078c5016cef5bp-20"),
    *("-0x1.7fa8ab245fdbfp-17", "0x1.779ad6e18954cp-16", "0x1.b13bc95904f59p-15"),
    *("-0x1.303fe734fb9b7p-12", "0x1.33fb63ef58b26p-12", "0x1.cc3a1153968ffp-10"),
    *("-0x1.3f603c802f744p-7", "0x1.d0b0037878854p-6", "-0x1.e0d0fa6c3e248p-5"),
    *("0x1.7a14188aad35cp-4", "-0x1.bda9309a340abp-4", "0x1.510169d095fddp-4"),
    *("0x1.d5f2948162751p-9", "-0x1.1f367683f899fp-3", "0x1.3ccda0b5d5dc2p+0"),
)


def erf(e: Arithmetic, x: Vector) -> Vector:
    """2/√π times the integral of exp(-t²) from 0 to x. Error below 1 ulp (1.1 in float64)."""
    return _single(e, x) if x.dtype == float32 else _double(e, x)


def _single(e: Arithmetic, x: Vector) -> Vector:
    size, limit = e.abs(x), e.const(3.96, x.dtype)  # 1 is the nearest beyond
    size = e.select(e.gt(size, limit), limit, size)
    return e.copysign(piecewise(e, size, ERF), x)


def _near(e: Arithmetic, x: Vector, table: tuple[str, ...]) -> Vector:
    return e.fma(x, polynomial(e, e.mul(x, x), values(table)), x)


@in_double
def _double(e: Arithmetic, x: Vector) -> Vector:
    size = e.abs(x)
    one = e.const(1)
    far = e.copysign(e.sub(one, _far(e, size)), x)
    return e.select(e.ge(size, one), far, _near(e, x, _NEAR))


def erfc(e: Arithmetic, x: Vector) -> Vector:
    """1 - erf(x), relative to itself also where erf(x) is near 1. Error below 4 ulp (float32: 3.2),
    subnormal results too.
    """
    return _complement_single(e, x) if x.dtype == float32 else _complement_double(e, x)


def _complement_single(e: Arithmetic, x: Vector) -> Vector:
    """Pieces up to 3.87, and 2 less those on the left side; a vector with a number farther out on
    the right is computed again for those.
    """
    dtype, size, limit = x.dtype, e.abs(x), e.const(3.87, x.dtype)
    size = e.select(e.gt(size, limit), limit, size)
    right = piecewise(e, size, ERFC)
    left = e.sub(e.const(2, dtype), right)
    near = e.select(e.lt(x, e.const(0, dtype)), left, right)
    return e.where_any(e.gt(x, limit), lambda: _far_single(e, x), near)


def _far_single(e: Arithmetic, x: Vector) -> Vector:
    """exp(-x²) times what varies slowly, for x ≥ 1/2."""
    dtype, form, limit = x.dtype, format_of(x.dtype), e.const(10.1, x.dtype)
    x = e.select(e.gt(x, limit), limit, x)  # erfc(10.1) is 0
    one, two = e.const(1, dtype), e.const(2, dtype)
    bottom = e.add(x, two)
    inverse = e.div(one, bottom)
    t = e.fma(inverse, e.const(_TO_T[0], dtype), e.const(_TO_T[1], dtype))
    slow = e.mul(quick_polynomial(e, t, values(_FAR_SINGLE), e.mul(t, t)), inverse)
    # What the roundings of x² and of 1 / (x + 2) lost joins the exponent: the logarithm of what
    # varies slowly moves by about 0.92 + 3 / (x + 2) times as much as that of the inverse.
    square = e.mul(x, x)
    lost = e.fma(x, x, e.neg(square))
    moved = e.sub(x, e.sub(bottom, two))
    gap = e.fma(e.neg(inverse), moved, e.fma(e.neg(bottom), inverse, one))
    share = e.fma(inverse, e.const(3, dtype), e.const(0.92, dtype))
    part = reduced(e, e.neg(square), 2 * form.bias)
    r = e.fma(share, gap, e.sub(part.r, lost))
    bent = e.mul(r, r)
    less_one = e.fma(bent, quick_polynomial(e, r, form.expm1, bent), r)
    return scaled(e, e.fma(slow, less_one, slow), part.whole)


@in_double
def _complement_double(e: Arithmetic, x: Vector) -> Vector:
    far = _far(e, e.abs(x))
    near = e.sub(e.const(1), _near(e, x, _NEAR))
    left = e.select(e.le(x, e.const(-1)), e.sub(e.const(2), far), near)
    return e.select(e.ge(x, e.const(0.5)), far, left)


def _far(e: Arithmetic, x: Vector) -> Vector:
    """erfc for x ≥ 1/2, finite everywhere: exp(-x²) times what varies slowly."""
    x = clamp(e, x, 0.5, 28.0)  # erfc(28) is 0 in float64
    one, center = e.const(1), e.const(3.75)
    ratio = e.div(e.sub(x, center), e.add(x, center))
    slow = e.div(polynomial(e, ratio, values(_FAR)), e.fma(e.const(2), x, one))
    # The rounding error of x² would be multiplied by x²: it joins the exponent's low part.
    square = e.mul(x, x)
    lost = e.fma(x, x, e.neg(square))
    form = format_of(x.dtype)
    part = reduced(e, clamp(e, e.neg(square), form.lowest, 0.0), 2 * form.bias)
    r = e.sub(part.r, lost)
    less_one = e.fma(e.mul(r, r), polynomial(e, r, form.expm1), r)
    return scaled(e, e.fma(slow, less_one, slow), part.whole)
