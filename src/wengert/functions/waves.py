"""Functions of signals."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.define import composite
from wengert.core.op_parts.samples import uniform
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.functions.statistics import as_float

# sin(πx) / (πx) = 1 - (πx)²/3! + (πx)⁴/5! - …, as far as it counts for x below 0.3
_SERIES = [(-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(11)]


@composite(
    type=lambda x: ArrayType(x.shape, dtypes.floating(x.dtype)),
    samples=(*uniform((-2.9, 2.9)), *uniform((-0.2, 0.2))),
    at=[((0.0,), 1.0, (0.0,), "the limit, which is a maximum")],
    array_function=(np.sinc,),
)
def sinc(x: Any, /) -> Any:
    """sin(πx) / (πx) of each element, and 1 at 0.

    >>> wg.sinc(np.array([0.0, 0.5, 1.0, 1e15 + 0.5]))
    array([1.00000000e+00, 6.36619772e-01, 0.00000000e+00, 3.18309886e-16])
    """
    x = as_float(x)
    near = op.less(op.abs(x), 0.3)
    square = op.square(op.where(near, x, 0))
    series = reduce(lambda total, each: total * square + each, _SERIES[-2::-1], _SERIES[-1])
    far = op.where(near, 1, x)
    turn = far - 2 * op.stop_gradient(op.round(far * 0.5))  # whole turns change nothing
    over = op.greater(op.abs(turn), 0.5)  # sin(π - t) = sin t, and exactly 0 for whole x
    turn = op.where(over, op.copysign(1, turn) - turn, turn)
    return op.where(near, series, op.sin(math.pi * turn) / (math.pi * far))
