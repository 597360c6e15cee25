"""Sums and products of whole matrices in scratch memory, and the largest number in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.codegen.llvm.linalg.matrix_rows import MatrixRows, carried, fill, uncarried
from wengert.codegen.llvm.linalg.small_products import subtract_product
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.codegen.numerics import LANES


def multiply(e: Arithmetic, x: MatrixRows, y: MatrixRows, into: MatrixRows) -> None:
    """into = x @ y, apart from both."""
    code = e.code
    fill(e, into, 0)
    sizes = (x.count, into.step, x.count)
    subtract_product(
        code, e.dtype, into.pointer, into.step, x.pointer, x.step, 1, y.pointer, y.step, *sizes
    )
    combine(e, into, [(-1.0, into)])


def combine(
    e: Arithmetic,
    into: MatrixRows,
    terms: Sequence[tuple[float, MatrixRows]],
    diagonal: float = 0.0,
) -> None:
    """into = a sum of multiples, of the identity too; the terms may be where it goes."""
    code = e.code

    def vector(i: Index, _: Any) -> None:
        total: Vector | None = None
        for factor, each in terms:
            elements = code.load(code.address(each.pointer, i, e.dtype), e.dtype)
            number = e.const(factor)
            total = e.mul(number, elements) if total is None else e.fma(number, elements, total)
        assert total is not None
        code.store(total, code.address(into.pointer, i, e.dtype))

    code.loop(0, code.mul(into.count, into.step), LANES, vector)
    if diagonal:
        with code.with_lanes(1):

            def number(i: Index, _: Any) -> None:
                at = into.at(code, i, i)
                code.store(e.add(code.load(at, e.dtype), e.const(diagonal)), at)

            code.loop(0, into.count, 1, number)


def largest(e: Arithmetic, x: MatrixRows, less: MatrixRows | None = None) -> Vector:
    """The largest |element| of x, or of x - less, in every lane; NaN where there is one."""
    code = e.code

    def vector(i: Index, parts: list[str]) -> list[str]:
        (so_far,) = uncarried(code, parts, e.dtype)
        elements = code.load(code.address(x.pointer, i, e.dtype), e.dtype)
        if less is not None:
            other = code.load(code.address(less.pointer, i, e.dtype), e.dtype)
            elements = e.sub(elements, other)
        return list(e.max(so_far, e.abs(elements)).parts)

    count = code.mul(x.count, x.step)
    parts = code.loop(0, count, LANES, vector, carried(code, e.const(0)))
    return code.join(uncarried(code, parts, e.dtype)[0], e.max)
