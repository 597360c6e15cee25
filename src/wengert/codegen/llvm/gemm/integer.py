"""Matrix products of integers, which wrap, and of bools: the or of ands. Any order gives the same
bits here.
"""

from __future__ import annotations

from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, Module, Vector
from wengert.core.dtypes import DType


def define_integer(module: Module, name: str, params: str, dtype: DType) -> None:
    """The product function of an integer dtype or bool: one vector of a row of C at a time where
    the columns of B lie side by side, else one element at a time.
    """
    code = Code(module)
    side = code.compare("eq", "%b_col", 1)
    code.either(side, (), lambda: _products(code, dtype), lambda: _one_by_one(code, dtype))
    wanted = code.let("icmp ne ptr %finish, null")
    finish = "call void %finish(ptr %frame, i64 %batch, i64 0, i64 %m, i64 0, i64 %n)"
    code.when(wanted, lambda: code.do(finish))
    code.function(name, params)


def _one_by_one(code: Code, dtype: DType) -> list[str]:
    with code.with_lanes(1):
        return _products(code, dtype)


def _products(code: Code, dtype: DType) -> list[str]:
    """for i in rows: for each vector of columns j: C[i, j] = sum over p of A[i, p] · B[p, j]."""
    e = Arithmetic(code, dtype)

    def row(i: Index, _: list[str]) -> None:
        a = code.address("%a", code.mul(i, "%a_row"), dtype)
        c = code.address("%c", code.mul(i, "%c_row"), dtype)

        def column(j: Index, _: list[str]) -> None:
            held = code.first_lanes(code.sub("%n", j))
            b = code.address("%b", code.mul(j, "%b_col"), dtype)

            def product(p: Index, carried: list[str]) -> list[str]:
                x = code.load_splat(code.address(a, code.mul(p, "%a_inner"), dtype), dtype)
                y = code.load(code.address(b, code.mul(p, "%b_inner"), dtype), dtype, held)
                total = Vector(tuple(carried), dtype)
                return list(e.add(total, e.mul(x, y)).parts)

            zero = e.const(0)
            carry = [(code.type(dtype), part) for part in zero.parts]
            total = code.loop(0, "%k", 1, product, carry)
            code.store(Vector(tuple(total), dtype), code.address(c, j, dtype), held)

        code.loop(0, "%n", code.lanes, column)

    code.loop(0, "%m", 1, row)
    return []
