"""Probabilities that options are drawn with: what are none is refused, also where they are known
when the program runs only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes, promotion
from wengert.core.define import elementwise
from wengert.core.lowering import Elementwise, changed_meanwhile
from wengert.core.samples import Exactly, sample
from wengert.core.table import op

SUM_ERROR = 1e-3  # what rounding of many float32 may leave


def _checked(p: Any, total: Any, possible: Any, apart: Any) -> Any:
    """The probabilities; what are none is refused as NumPy does it, and too few of them that are
    not 0, where so many options are drawn apart.
    """
    wrong = np.extract(~(np.asarray(p) >= 0), p)  # NaN, too
    if wrong.size:
        raise ValueError(
            f"choice: p holds {wrong[0]}; probabilities are 0 or more. Check where they come from."
        )
    off = np.extract(~(np.abs(np.subtract(total, 1)) <= SUM_ERROR), total)
    if off.size:
        raise ValueError(
            f"choice: the sum of p is {off[0]:.9g}; probabilities have the sum 1. Pass "
            "p / np.sum(p)."
        )
    few = np.extract(np.less(possible, apart), possible)
    if few.size:
        raise ValueError(
            f"choice: {int(np.max(apart))} were to be drawn without replacement, and p has "
            f"{int(few[0])} probabilities that are not 0; there must be enough of them. Draw "
            "fewer, or with replace=True."
        )
    return np.array(p)


def _refuses(e: Any, p: Any, total: Any, possible: Any, apart: Any) -> Any:
    distance = e.abs(e.sub(total, e.const(1)))
    fits = e.and_(e.ge(p, e.const(0)), e.le(distance, e.const(SUM_ERROR)))
    return e.or_(e.not_(fits), e.lt(possible, apart))


@elementwise(
    numpy=_checked,
    dtypes=promotion.inexact,
    flat=True,  # what is drawn has no derivative by them
    samples=(
        sample(Exactly([0.25, 0.0, 0.75]), Exactly(1.0), Exactly(2.0), Exactly(0.0)),
        sample(Exactly([[0.5], [1.0]]), Exactly([[1.0]]), Exactly([2.0]), Exactly([[1.0], [2.0]])),
    ),
    space="hidden",
    exact=True,
    lower=Elementwise(
        lambda e, p, total, possible, apart: p,
        failure=changed_meanwhile(ValueError, "what are no probabilities", refuses=_refuses),
    ),
)
def checked_probabilities(p: Any, total: Any, possible: Any, apart: Any, /) -> None:
    """Probabilities, where they and their sum are right and enough of them are not 0."""


def probabilities_of(p: Any, apart: int) -> Any:
    """The probabilities as float64, refused now or when the program runs where they are none."""
    p = op.astype(p, dtypes.float64)
    possible = op.sum(op.astype(op.not_equal(p, 0.0), dtypes.float64))
    return op.checked_probabilities(p, op.sum(p), possible, float(apart))
