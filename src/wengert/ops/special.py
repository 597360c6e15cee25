"""Special functions: the error function and the gamma function, which NumPy has not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import promotion, special
from wengert.core.define import elementwise
from wengert.core.dtypes import DType, int64
from wengert.core.samples import Integers, Real, sample, uniform
from wengert.core.table import op
from wengert.core.types import Value
from wengert.errors import DTypeError


def _gauss(x: Any) -> Any:
    """2/√π · exp(-x²)."""
    return 2 / math.sqrt(math.pi) * op.exp(-(x * x))


@elementwise(
    numpy=special.erf,
    dtypes=promotion.inexact,
    partials=lambda _out, x: _gauss(x),
    emit=lambda e, x: e.erf(x),
    samples=uniform((-2, 2)),
)
def erf(x: Any, /) -> None:
    """The error function of each element."""


@elementwise(
    numpy=special.erfc,
    dtypes=promotion.inexact,
    partials=lambda _out, x: -_gauss(x),
    emit=lambda e, x: e.erfc(x),
    samples=uniform((-2, 2)),
)
def erfc(x: Any, /) -> None:
    """1 - erf(x) of each element, accurate for large x."""


@elementwise(
    numpy=special.lgamma,
    dtypes=promotion.inexact,
    partials=lambda _out, x: op.digamma(x),
    emit=lambda e, x: e.lgamma(x),
    samples=(*uniform((0.3, 4)), *uniform((-1.8, -1.2))),
)
def lgamma(x: Any, /) -> None:
    """log |Γ(x)| of each element."""


@elementwise(
    numpy=special.digamma,
    dtypes=promotion.inexact,
    partials=lambda _out, x: op.polygamma(1, x),
    emit=lambda e, x: e.digamma(x),
    samples=(*uniform((0.3, 4)), *uniform((-1.8, -1.2))),
)
def digamma(x: Any, /) -> None:
    """The derivative of log Γ at each element."""


def _polygamma_dtypes(name: str, operands: Sequence[Value]) -> tuple[list[DType], DType]:
    n, x = operands
    order = type(n) if isinstance(n, bool | int | float) else n.dtype
    if np.dtype(order).kind not in "iu":
        raise DTypeError(
            f"{name}: given orders of dtype {np.dtype(order)}; the order n must be an integer. "
            "Convert it with astype."
        )
    _, result = promotion.inexact(name, [x])
    return [int64, result], result


def _polygamma(n: Any, x: Any) -> Any:
    if np.asarray(n).dtype.kind not in "iu":
        raise TypeError  # worded by the dtype rule
    return special.polygamma(n, x)


@elementwise(
    numpy=_polygamma,
    dtypes=_polygamma_dtypes,
    partials=lambda _out, n, x: (0, lambda: op.polygamma(op.add(n, 1), x)),
    emit=lambda e, n, x: e.polygamma(n, x),
    samples=(
        sample(Integers((3, 4), 0, 4), Real((3, 4), 0.3, 4)),
        sample(Integers((2, 1), 0, 4), Real((3,), -1.8, -1.2)),
        sample(Integers((), 1, 3), Real((), 0.3, 4)),
    ),
)
def polygamma(n: Any, x: Any, /) -> None:
    """The n-th derivative of digamma at each x, for integers n >= 0; NaN for negative n."""
