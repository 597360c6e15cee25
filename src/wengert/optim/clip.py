"""Norms of gradients, and gradients made shorter. All of it can be recorded and compiled.

Norms are exact as far as floats go: no square overflows or underflows on the way. What is not
finite is never clipped into silence. On arrays it raises NonFiniteError; with nonfinite="ignore",
and in recorded code, which cannot raise, it stays as it is and the norm says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.arguments import worded
from wengert.core.dtypes import float64
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.errors import NonFiniteError
from wengert.optim.length import length
from wengert.optim.parameters import named, parameters_of, replaced

HIGH = 2.0**512  # above, and with many elements, the norm may be beyond the largest float
POLICIES = ("raise", "ignore")


@worded
def global_norm(grads: Any) -> Any:
    """The length of all float leaves of a tree as one vector, in float64; a tied leaf counts once.

    >>> global_norm({"w": np.array([[3.0]]), "b": np.array([4.0])})
    array(5.)
    """
    return _unscaled(*_scaled_norm(list(parameters_of("global_norm", grads).values())))


@worded
def clip_by_global_norm(grads: Any, max_norm: Any, *, nonfinite: str = "raise") -> tuple[Any, Any]:
    """The tree, scaled so that all its float leaves together are at most `max_norm` long, and how
    long they were.

    >>> clip_by_global_norm({"w": np.array([30.0]), "b": np.array([40.0])}, 1.0)
    ({'w': array([0.6]), 'b': array([0.8])}, array(50.))
    """
    by = "clip_by_global_norm"
    parameters = _checked(by, grads, nonfinite, max_norm=max_norm)
    scaled_norm = _scaled_norm(list(parameters.values()))
    clipped = {path: _clipped(x, max_norm, *scaled_norm) for path, x in parameters.items()}
    return replaced(grads, clipped), _unscaled(*scaled_norm)


@worded
def clip_by_norm(grads: Any, max_norm: Any, *, nonfinite: str = "raise") -> Any:
    """The tree with every float leaf scaled, one by one, to be at most `max_norm` long.

    >>> clip_by_norm({"w": np.array([30.0, 40.0]), "b": np.array([0.5])}, 1.0)
    {'w': array([0.6, 0.8]), 'b': array([0.5])}
    """
    parameters = _checked("clip_by_norm", grads, nonfinite, max_norm=max_norm)
    clipped = {path: _clipped(x, max_norm, *_scaled_norm([x])) for path, x in parameters.items()}
    return replaced(grads, clipped)


@worded
def clip_by_value(grads: Any, max_value: Any, *, nonfinite: str = "raise") -> Any:
    """The tree with every element of its float leaves between -max_value and max_value.

    >>> clip_by_value({"w": np.array([30.0, -0.5])}, 1.0)
    {'w': array([ 1. , -0.5])}
    """
    parameters = _checked("clip_by_value", grads, nonfinite, max_value=max_value)
    clipped = {}
    for path, x in parameters.items():
        bound = op.astype(op.asarray(max_value), x.dtype)
        clipped[path] = op.where(op.isfinite(x), op.clip(x, -bound, bound), x)
    return replaced(grads, clipped)


def _scaled_norm(leaves: Sequence[Any]) -> tuple[Any, Any]:
    """The norm of the leaves in float64 times a power of two, and that power: below 1 for elements
    so large that the norm itself might overflow.
    """
    leaves = [x for x in leaves if 0 not in x.shape]
    wide = [x for x in leaves if x.dtype == float64]  # others are far from the ends of float64
    down: Any = np.ones(())
    if wide:
        largest = op.max(op.stack([op.max(op.abs(x)) for x in wide]))
        down = op.where(op.greater(largest, HIGH), 1 / HIGH, 1.0)
    norms = [length(x * down) if x.dtype == float64 else length(x) * down for x in leaves]
    return (op.vector_norm(op.stack(norms)) if norms else np.zeros(())), down


def _unscaled(norm: Any, down: Any) -> Any:
    with np.errstate(over="ignore"):  # finite elements may have a norm beyond the largest float
        return op.divide(norm, down)


def _clipped(x: Any, max_norm: Any, norm: Any, down: Any) -> Any:
    """One leaf, scaled by max_norm over the norm if that is finite and larger."""
    most = op.astype(op.asarray(max_norm), float64)
    clips = op.logical_and(op.greater(norm, most * down), op.less(norm, np.inf))
    ratio = most / op.where(clips, norm, 1)
    return op.where(clips, op.astype(op.astype(x, float64) * down * ratio, x.dtype), x)


def _checked(by: str, grads: Any, nonfinite: Any, **bound: Any) -> dict[str, Any]:
    """The float leaves by path, if the arguments are good."""
    ((name, value),) = bound.items()
    if nonfinite not in POLICIES:
        raise ValueError(
            f"{by}: nonfinite={nonfinite!r} was given; it is one of {', '.join(POLICIES)}. "
            "Choose one."
        )
    if not isinstance(value, Tensor) and not _is_positive(value):
        raise ValueError(
            f"{by}: {name}={value!r} was given; it must be a finite number above 0. "
            "Choose one, or do not clip."
        )
    parameters = parameters_of(by, grads)
    for path, x in parameters.items():
        if nonfinite == "raise" and not isinstance(x, Tensor) and not np.isfinite(x).all():
            index = np.unravel_index(int(np.argmin(np.isfinite(x))), np.shape(x))
            raise NonFiniteError(
                f"{by}: {named(path)} is {np.asarray(x)[index]} at index "
                f"{tuple(map(int, index))}; a gradient must be finite to be clipped. Find its "
                "cause, or pass nonfinite='ignore'."
            )
    return parameters


def _is_positive(value: Any) -> bool:
    array = np.asarray(value)
    return array.ndim == 0 and array.dtype.kind in "fiu" and bool(0 < array < np.inf)
