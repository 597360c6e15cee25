"""Folds: how an op that reduces axes goes from element to element, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.dtypes import DType, is_float
from wengert.core.op import Op
from wengert.core.table import op

BLOCK = 64  # vectors (lanes) or rows (rows) that are added up before a new sum begins
GROUP = 64  # blocks whose sums are added up before a new sum begins


@dataclass(frozen=True, slots=True)
class Fold:
    """A reduction as a loop: `prepare` an element, `combine` it with what came before."""

    identity: Callable[[DType], Any]  # of the result's dtype
    combine: Callable[[Any, Any, Any], Any]  # (e, so far, element)
    truth: bool = False  # whether elements are first asked whether they are not zero


def _least(dtype: DType) -> Any:
    if is_float(dtype):
        return -np.inf
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def _greatest(dtype: DType) -> Any:
    if is_float(dtype):
        return np.inf
    return True if dtype.kind == "b" else np.iinfo(dtype).max


FOLDS: dict[Op, Fold] = {
    op.sum: Fold(lambda _: 0, lambda e, x, y: e.add(x, y)),
    op.prod: Fold(lambda _: 1, lambda e, x, y: e.mul(x, y)),
    op.max: Fold(_least, lambda e, x, y: e.max(x, y)),
    op.min: Fold(_greatest, lambda e, x, y: e.min(x, y)),
    op.any: Fold(lambda _: False, lambda e, x, y: e.or_(x, y), truth=True),
    op.all: Fold(lambda _: True, lambda e, x, y: e.and_(x, y), truth=True),
    op.count_nonzero: Fold(lambda _: 0, lambda e, x, y: e.add(x, y), truth=True),
}
