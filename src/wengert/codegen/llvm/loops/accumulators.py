"""Accumulators: what a fold keeps from element to element while it goes along a block.

Mostly that is the result so far. The largest of floats would take six instructions per element:
a NaN stays, and 0.0 is larger than -0.0. So three things are kept that take one instruction each,
and the result is made of them once, at the end of the block:

    largest    by plain comparison, which takes no NaN and does not tell zeros apart
    signs      of all elements, joined by and: negative if all are. Needed where the largest is 0
    ordered    whether no element was NaN

For the smallest, signs are joined by or: negative if any is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import TypeAlias

import numpy as np

from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.instructions import Instructions
from wengert.codegen.llvm.text.vectors import Code, Vector
from wengert.core.dtypes import bool_, is_float
from wengert.core.lowering import Fold

Accumulator: TypeAlias = list[Vector]


def opened(code: Code, fold: Fold, result: Vector) -> Accumulator:
    """What is kept when a block begins with this result."""
    if not _in_three(fold, result):
        return [result]
    return [result, Instructions(code, result.dtype).bits(result), code.constant(True, bool_)]


def taken(code: Code, fold: Fold, kept: Accumulator, elements: Sequence[Vector]) -> Accumulator:
    """What is kept after some more elements."""
    e = Instructions(code, elements[0].dtype)
    if len(kept) == 1:
        return [reduce(partial(fold.combine, e), elements, kept[0])]
    largest = fold.keeps == "largest"
    best, signs, ordered = kept
    for x in elements:
        better = e.gt(x, best) if largest else e.lt(x, best)
        best = e.select(better, x, best)
        signs = (e.and_ if largest else e.or_)(signs, e.bits(x))
    return [best, signs, e.and_(ordered, all_numbers(e, elements))]


def all_numbers(e: Arithmetic, elements: Sequence[Vector]) -> Vector:
    """Where none of the floats is NaN. They are compared in pairs, and among themselves before
    they meet what was known, so that nothing waits for it.
    """
    pairs = [
        (elements[i], elements[min(i + 1, len(elements) - 1)]) for i in range(0, len(elements), 2)
    ]
    numbers = [e.code.each("fcmp ord {t} {0}, {1}", x, y, dtype=bool_) for x, y in pairs]
    return reduce(e.and_, numbers)


def closed(code: Code, kept: Accumulator) -> Vector:
    """The result of a block."""
    if len(kept) == 1:
        return kept[0]
    best, signs, ordered = kept
    e = Instructions(code, best.dtype)
    sign = e.const(np.iinfo(signs.dtype).min, signs.dtype)
    zero = e.from_bits(e.and_(signs, sign))
    signed = e.select(e.eq(best, e.const(0)), zero, best)
    return e.select(ordered, signed, e.const(np.nan))


def _in_three(fold: Fold, result: Vector) -> bool:
    return fold.keeps is not None and is_float(result.dtype)
