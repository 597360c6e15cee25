"""Norms of gradients that lie in several vectors, and clipping by them. Exact up to the largest
float: no square overflows or underflows on the way.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.core.table import op
from wengert.core.types import Value
from wengert.optim.length import length

SMALL = 2.0**-100


def global_norm(gradients: Sequence[Value]) -> Value:
    """The length of all gradients as one vector, in float64."""
    norms = [length(g) for g in gradients]
    return norms[0] if len(norms) == 1 else op.vector_norm(op.stack(norms))


def clip_by_norm(gradients: Sequence[Value], norm: Value, limit: Value) -> list[Value]:
    """The gradients, shortened where their norm is larger than the limit. A norm that is not finite
    changes nothing: it must be seen, not clipped away.
    """
    longer = op.logical_and(op.greater(norm, limit), op.isfinite(norm))
    factor = op.where(longer, limit / op.where(longer, norm, 1.0), 1.0)
    # A factor too small for the gradients' dtype is two factors.
    first = op.maximum(factor, SMALL)
    second = factor / first
    return [g * op.astype(first, g.dtype) * op.astype(second, g.dtype) for g in gradients]
