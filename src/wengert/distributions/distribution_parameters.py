"""What the parameters of a distribution come to: their dtype, and the shape of a draw.

Python numbers give way to arrays and NumPy's scalars. Where there are none of these, what is
computed (log_prob, entropy, kl, cdf) is float64, as every function of Python numbers, and what is
drawn is float32, as everywhere in wg.random.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import functions, ops  # noqa: F401 (fill the table)
from wengert.core.dtypes import float64
from wengert.core.op_parts.broadcast import broadcast_shapes
from wengert.core.signatures.shapes import canonical_shape
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.words.foreign_names.missing import Explained
from wengert.core.words.foreign_names.repairs_of_objects import OF_DISTRIBUTIONS
from wengert.core.words.source import begin_body, end_body
from wengert.ops.drawing.draws import draw_dtype, strong_dtypes


class Distribution(Explained):
    """What distributions have in common: missing attributes are explained."""

    __slots__ = ()
    _repairs = OF_DISTRIBUTIONS
    _nature = "a distribution is a dataclass of its parameters"


def computed(*numbers: Any) -> list[Any]:
    """Numbers and arrays as arrays of the dtype that a formula of them has."""
    dtype = np.result_type(*(strong_dtypes(*numbers) or [float64]))
    return _converted(dtype, numbers)


def drawn_from(name: str, dtype: Any, *parameters: Any) -> list[Any]:
    """Parameters as arrays of the dtype of a draw."""
    return _converted(draw_dtype(name, dtype, *parameters), parameters)


def _converted(dtype: Any, numbers: tuple[Any, ...]) -> list[Any]:
    return [op.astype(op.asarray(x), dtype) for x in numbers]


def or_nan(name: str, parameter: str, holds: Any, x: Any) -> Any:
    """A parameter that a recorded function has computed, and NaN where it is not above 0. Numbers
    that are known were looked at when the distribution was made.

    A message about the NaN says which parameter of what function it is.
    """
    if not isinstance(holds, Tensor):
        return x
    outer = begin_body(f"{name}({parameter})")
    try:
        return op.where(holds, x, math.nan)
    finally:
        end_body(outer)


def drawn_shape(name: str, shape: Any, *parameters: Any) -> tuple[Any, ...]:
    """The shape asked for, and behind it that of the parameters together."""
    together = broadcast_shapes(name, [x.shape for x in parameters])
    return (*canonical_shape(name, shape), *together)
