"""Angles: x = (quadrant) π/2 + head + rest, the beginning of sin, cos and tan, for every finite x.

Moderate arguments subtract a multiple of π/2 held in three floats (Cody and Waite), with fma. If
any lane is larger, one function that is written once per module reduces the lanes one by one in
fixed point (Payne and Hanek): x · 2/π modulo 4, in 192 bits.
"""

from __future__ import annotations

from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Vector
from wengert.core.dtypes import bool_, float64, int64

# π/2 as the sum of three numbers of the dtype.
_HALF_PI = {
    4: ("0x1.921fb6p+0", "-0x1.777a5cp-25", "-0x1.ee59dap-50"),
    8: ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110"),
}
_TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")

# Adding this rounds to a whole number, which is then in the lowest bits of the sum.
_ROUNDER = {4: 1.5 * 2.0**23, 8: 1.5 * 2.0**52}

# Below these the multiple of π/2 is so small that the three floats leave an error of 2⁻²⁸ (2⁻⁶⁹)
# of the result, however near the argument lies to a multiple.
_MODERATE = {4: 2.0**18, 8: 2.0**30}

# The first 1216 bits of 2/π after a word of zeros: as many as the largest float64 reaches.
_BITS = (
    0x0,
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08,
    0x56033046FC7B6BAB,
)
_TABLE = "two_over_pi"
_FUNCTION = "reduce_huge_angles"


def reduced(e: Arithmetic, x: Vector) -> tuple[Vector, Vector, Vector]:
    """Quadrant (the two lowest bits of an integer of the float's size), head and rest.

    head + rest is in ±π/4 and a hundredth more; |rest| is at most about an ulp of the head.
    """
    quadrant, head, rest = _moderate(e, x)
    size = x.dtype.itemsize
    huge = e.ge(e.abs(x), e.const(_MODERATE[size], x.dtype))
    code = e.code
    kinds = [code.type(each.dtype) for each in (quadrant, head, rest) for _ in each.parts]

    def slow() -> tuple[str, ...]:
        fixed = _huge(e, x, huge)
        chosen = zip(fixed, (quadrant, head, rest), strict=True)
        return tuple(p for new, old in chosen for p in e.select(huge, new, old).parts)

    def fast() -> tuple[str, ...]:
        return (*quadrant.parts, *head.parts, *rest.parts)

    names = code.either(e.any_lane(huge), kinds, slow, fast)
    n = code.pieces
    parts = (tuple(names[k : k + n]) for k in (0, n, 2 * n))
    dtypes = (quadrant.dtype, x.dtype, x.dtype)
    first, second, third = (Vector(p, d) for p, d in zip(parts, dtypes, strict=True))
    return first, second, third


def _moderate(e: Arithmetic, x: Vector) -> tuple[Vector, Vector, Vector]:
    size = x.dtype.itemsize
    first, second, third = (e.const(float.fromhex(c), x.dtype) for c in _HALF_PI[size])
    rounder = e.const(_ROUNDER[size], x.dtype)
    shifted = e.fma(x, e.const(_TWO_OVER_PI, x.dtype), rounder)
    n = e.sub(shifted, rounder)
    minus_n = e.neg(n)
    # Exact: both terms are multiples of an ulp of 1 (of x where x < 1), and the result is below 1.
    near = e.fma(minus_n, first, x)
    # near - n · second as a sum of two floats, exactly: `near` is a multiple of an ulp of `step`.
    step = e.mul(n, second)
    step_rest = e.fma(n, second, e.neg(step))
    head = e.sub(near, step)
    lost = e.sub(e.sub(near, head), step)
    rest = e.fma(minus_n, third, e.sub(lost, step_rest))
    return e.bits(shifted), head, rest


def _huge(e: Arithmetic, x: Vector, huge: Vector) -> tuple[Vector, Vector, Vector]:
    """The same by the function for huge angles, for the lanes where `huge` holds."""
    code, dtype = e.code, x.dtype
    if _TABLE not in code.module.declared:
        _write_reduction(code)
    angles = e.cast(e.select(huge, x, e.const(_MODERATE[8], dtype)), float64)
    places = [code.room(d, code.lanes) for d in (float64, int64, float64, float64)]
    code.store(angles, places[0])
    code.do(f"call void @{_FUNCTION}({', '.join(f'ptr {p}' for p in places)}, i64 {code.lanes})")
    quadrant = e.cast(code.load(places[1], int64), e.bits(x).dtype)
    wide = code.load(places[2], float64)
    head = e.cast(wide, dtype)
    # Of the two float64s a float32 needs only the first.
    rest = (
        code.load(places[3], float64)
        if dtype == float64
        else e.cast(e.sub(wide, e.cast(head, float64)), dtype)
    )
    return quadrant, e.fma(x, e.const(0, dtype), head), rest  # inf · 0 makes the NaN


def _write_reduction(code: Code) -> None:
    """The function for huge angles, in scalar code.

    for i in 0 … count: quadrants[i], heads[i], rests[i] = angles[i] reduced in fixed point
    """
    words = ", ".join(f"i64 {w}" for w in _BITS)
    table = f"@{_TABLE} = internal constant [{len(_BITS)} x i64] [{words}]"
    code.module.declared[_TABLE] = table
    scalar = Code(code.module, lanes=1)
    e = Arithmetic(scalar, float64)

    def body(i: int | str, _: list[str]) -> None:
        x = scalar.load(scalar.address("%angles", i, float64), float64)
        quadrant, magnitude, negative = _fixed_point(e, x)
        head, rest = _as_floats(e, magnitude, negative)
        scalar.store(Vector((quadrant,), int64), scalar.address("%quadrants", i, int64))
        scalar.store(head, scalar.address("%heads", i, float64))
        scalar.store(rest, scalar.address("%rests", i, float64))

    scalar.loop(0, "%count", 1, body)
    scalar.function(_FUNCTION, "ptr %angles, ptr %quadrants, ptr %heads, ptr %rests, i64 %count")


def _fixed_point(e: Arithmetic, x: Vector) -> tuple[str, str, str]:
    """Quadrant of x, and what is left over as a fraction of one: |fraction| · 2¹²⁸, and its sign.

    x is m · 2ᵉ with m below 2⁵³. The bits of 2/π that count are 192 from the one of weight 2¹⁻ᵉ
    on: larger ones give multiples of 4, smaller ones change less than 2⁻¹³⁷.
    """
    code = e.code
    let = code.let
    bits = e.bits(x).parts[0]
    m = let(f"or i64 {let(f'and i64 {bits}, {2**52 - 1}')}, {2**52}")
    exponent = let(f"and i64 {let(f'lshr i64 {bits}, 52')}, 2047")
    start = let(f"sub i64 {exponent}, 1013")  # exponent - 1075 - 2, after the word of zeros
    word, shift = let(f"lshr i64 {start}, 6"), let(f"and i64 {start}, 63")
    words = []
    for k in range(4):
        at = let(f"getelementptr i64, ptr @{_TABLE}, i64 {let(f'add i64 {word}, {k}')}")
        words.append(let(f"load i64, ptr {at}, align 8"))
    wide = let(f"zext i64 {m} to i128")
    carry, limbs = "0", []
    for k in (2, 1, 0):
        operands = (("i64", words[k]), ("i64", words[k + 1]), ("i64", shift))
        window = let(f"zext i64 {code.call('llvm.fshl.i64', 'i64', *operands)} to i128")
        product = let(f"add i128 {let(f'mul i128 {wide}, {window}')}, {carry}")
        carry = let(f"lshr i128 {product}, 64")
        limbs.append(let(f"trunc i128 {product} to i64"))
    high = let(f"shl i128 {let(f'zext i64 {limbs[2]} to i128')}, 64")
    turns = let(f"or i128 {high}, {let(f'zext i64 {limbs[1]} to i128')}")  # x · 2/π mod 4, · 2¹²⁶
    nearest = let(f"lshr i128 {let(f'add i128 {turns}, {2**125}')}, 126")
    fraction = let(f"shl i128 {turns}, 2")  # signed: the nearest quadrant is taken off
    negative = let(f"icmp slt i128 {fraction}, 0")
    magnitude = let(f"select i1 {negative}, i128 {let(f'sub i128 0, {fraction}')}, i128 {fraction}")
    # So far this is the result for |x|.
    below = let(f"icmp slt i64 {bits}, 0")
    quadrant = let(f"trunc i128 {nearest} to i64")
    quadrant = let(f"select i1 {below}, i64 {let(f'sub i64 0, {quadrant}')}, i64 {quadrant}")
    return quadrant, magnitude, let(f"xor i1 {negative}, {below}")


def _as_floats(e: Arithmetic, magnitude: str, negative: str) -> tuple[Vector, Vector]:
    """A fraction · 2¹²⁸ of a quadrant, as an angle in two floats."""
    code = e.code
    let = code.let
    zeros = code.call("llvm.ctlz.i128", "i128", ("i128", magnitude), ("i1", "false"))
    aligned = let(f"shl i128 {magnitude}, {let(f'and i128 {zeros}, 127')}")
    halves = []
    for below in (75, 22):  # 53 bits each
        bits = let(f"trunc i128 {let(f'lshr i128 {aligned}, {below}')} to i64")
        halves.append(e.cast(Vector((let(f"and i64 {bits}, {2**53 - 1}"),), int64), float64))
    exponent = let(f"sub i64 {1023 - 53}, {let(f'trunc i128 {zeros} to i64')}")
    unit = e.from_bits(Vector((let(f"shl i64 {exponent}, 52"),), int64))
    unit = e.select(Vector((negative,), bool_), e.neg(unit), unit)
    first, second = e.mul(halves[0], unit), e.mul(e.mul(halves[1], e.const(2.0**-53)), unit)
    large, small, _ = (e.const(float.fromhex(c)) for c in _HALF_PI[8])
    head = e.mul(first, large)
    lost = e.fma(first, large, e.neg(head))
    return head, e.fma(first, small, e.fma(second, large, lost))
