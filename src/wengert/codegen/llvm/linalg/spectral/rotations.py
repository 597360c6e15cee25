"""Rotations of neighbouring rows, as the iterations for eigen- and singular values make them: one
after the other along the diagonal. All of them are applied to one vector of columns after the
other, so that a row is loaded and stored once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.codegen.llvm.linalg.matrix_rows import carried, routine, uncarried
from wengert.codegen.llvm.linalg.spectral.reflections import lost
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.codegen.numerics import LANES

_WIDE = 4  # vectors of columns whose rows are in registers at once


def repeat(
    code: Code,
    carry: Sequence[tuple[str, str]],
    body: Callable[[list[str]], tuple[str, Sequence[str]]],
) -> list[str]:
    """Run the body once, and again as long as the i1 holds that it returns before the values it
    carries; their last values.
    """
    k, before = code.fresh(), code.block
    names = [f"%r{k}_{n}" for n in range(len(carry))]
    code.do(f"br label %again{k}")
    code.label(f"again{k}")
    position = len(code.lines)
    again, after = body(names)
    last = code.block
    code.do(f"br i1 {again}, label %again{k}, label %done{k}")
    code.lines[position:position] = [
        f"  {name} = phi {kind} [ {first}, %{before} ], [ {new}, %{last} ]"
        for name, (kind, first), new in zip(names, carry, after, strict=True)
    ]
    code.label(f"done{k}")
    return list(after)


def rotation(e: Arithmetic, f: Vector, g: Vector) -> tuple[Vector, Vector, Vector]:
    """The c, s and r with c f + s g = r and c g - s f = 0, of numbers not much larger than 1.

    Where both are so small that their squares are lost, g counts as 0.
    """
    squares = e.fma(f, f, e.mul(g, g))
    flat = e.lt(squares, lost(e))
    r = e.sqrt(e.select(flat, e.const(1), squares))
    c, s = e.div(f, r), e.div(g, r)
    return (
        e.select(flat, e.const(1), c),
        e.select(flat, e.const(0), s),
        e.select(flat, f, r),
    )


@routine("ptr %first, i64 %apart, i64 %columns, ptr %cosines, ptr %sines, i64 %step, i64 %count")
def rotate_rows(
    e: Arithmetic,
    first: str,
    apart: str,
    columns: str,
    cosines: str,
    sines: str,
    step: str,
    count: str,
) -> None:
    """Rotate rows 0 and 1, then 1 and 2, and so on: x, y = c x + s y, c y - s x.

    Rows are `apart` from each other, and the numbers of the rotations `step`; both may be negative.
    """
    code = e.code
    rotations = (cosines, sines, step, count)
    wide = code.mul(code.div(columns, _WIDE * LANES), _WIDE * LANES)
    code.loop(0, wide, _WIDE * LANES, lambda j, _: _rotate(e, first, apart, j, _WIDE, rotations))
    code.loop(wide, columns, LANES, lambda j, _: _rotate(e, first, apart, j, 1, rotations))


def _rotate(
    e: Arithmetic, first: str, apart: str, j: Index, size: int, rotations: tuple[str, ...]
) -> None:
    """All rotations of so many vectors of columns, from column j on."""
    code, dtype = e.code, e.dtype
    cosines, sines, step, count = rotations

    def at(row: str, k: int) -> str:
        return code.address(row, k * LANES, dtype)

    def rotate(_: Index, parts: list[str]) -> list[str]:
        here, cosine, sine, *rest = parts
        c, s = code.load_splat(cosine, dtype), code.load_splat(sine, dtype)
        below = code.address(here, apart, dtype)
        carry: list[str] = []
        for k, x in enumerate(uncarried(code, rest, *[dtype] * size)):
            y = code.load(at(below, k), dtype)
            code.store(e.fma(c, x, e.mul(s, y)), at(here, k))
            carry.extend(e.fma(c, y, e.neg(e.mul(s, x))).parts)
        return [below, *(code.address(p, step, dtype) for p in (cosine, sine)), *carry]

    start = code.address(first, j, dtype)
    pointers = [("ptr", p) for p in (start, cosines, sines)]
    top = carried(code, *(code.load(at(start, k), dtype) for k in range(size)))
    last = code.loop(0, count, 1, rotate, [*pointers, *top])
    for k, x in enumerate(uncarried(code, last[3:], *[dtype] * size)):
        code.store(x, at(last[0], k))
