"""Norms of gradients, and gradients made shorter. All of it can be recorded and compiled.

Norms are exact as far as floats go: no square overflows or underflows on the way. What is not
finite is never clipped into silence. On arrays it raises NonFiniteError; with nonfinite="ignore",
and in recorded code, which cannot raise, it stays as it is and the norm says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.core.words.arguments import worded
from wengert.core.words.noticed.unused_results import warn_if_dropped
from wengert.errors import NonFiniteError
from wengert.functions.clipping import (
    scaled_length,
    shortened_by_scaled,
    unscaled,
    within_if_finite,
)
from wengert.optim.parameters import named, parameters_of, replaced
from wengert.runtime.nonfinite_policies import RAISE, WITHOUT_SKIP, require_policy


@worded
def global_norm(grads: Any) -> Any:
    """The length of all float leaves of a tree as one vector, in float64; a tied leaf counts once.

    >>> global_norm({"w": np.array([[3.0]]), "b": np.array([4.0])})
    array(5.)
    """
    return unscaled(*scaled_length(list(parameters_of("global_norm", grads).values())))


@worded
def clip_by_global_norm(grads: Any, max_norm: Any, *, nonfinite: str = "raise") -> tuple[Any, Any]:
    """The tree, scaled so that all its float leaves together are at most `max_norm` long, and how
    long they were.

    >>> clip_by_global_norm({"w": np.array([30.0]), "b": np.array([40.0])}, 1.0)
    ({'w': array([0.6]), 'b': array([0.8])}, array(50.))
    """
    by = "clip_by_global_norm"
    _warn_if_dropped(by, "grads, norm")
    parameters = _checked(by, grads, nonfinite, max_norm=max_norm)
    scaled = scaled_length(list(parameters.values()))
    clipped = {path: shortened_by_scaled(x, max_norm, *scaled) for path, x in parameters.items()}
    return replaced(grads, clipped), unscaled(*scaled)


@worded
def clip_by_norm(grads: Any, max_norm: Any, *, nonfinite: str = "raise") -> Any:
    """The tree with every float leaf scaled, one by one, to be at most `max_norm` long.

    >>> clip_by_norm({"w": np.array([30.0, 40.0]), "b": np.array([0.5])}, 1.0)
    {'w': array([0.6, 0.8]), 'b': array([0.5])}
    """
    _warn_if_dropped("clip_by_norm", "grads")
    parameters = _checked("clip_by_norm", grads, nonfinite, max_norm=max_norm)
    clipped = {
        path: shortened_by_scaled(x, max_norm, *scaled_length([x]))
        for path, x in parameters.items()
    }
    return replaced(grads, clipped)


@worded
def clip_by_value(grads: Any, max_value: Any, *, nonfinite: str = "raise") -> Any:
    """The tree with every element of its float leaves between -max_value and max_value.

    >>> clip_by_value({"w": np.array([30.0, -0.5])}, 1.0)
    {'w': array([ 1. , -0.5])}
    """
    _warn_if_dropped("clip_by_value", "grads")
    parameters = _checked("clip_by_value", grads, nonfinite, max_value=max_value)
    clipped = {path: within_if_finite(x, max_value) for path, x in parameters.items()}
    return replaced(grads, clipped)


def _warn_if_dropped(by: str, results: str) -> None:
    bound = "max_value" if by == "clip_by_value" else "max_norm"
    warn_if_dropped(
        f"{by}: given gradients, which stay as they are; clipped ones were returned, and nothing "
        f"reads them. Write {results} = wg.optim.{by}(grads, {bound}).",
        function=by,
    )


def _checked(by: str, grads: Any, nonfinite: Any, **bound: Any) -> dict[str, Any]:
    """The float leaves by path, if the arguments are good."""
    ((name, value),) = bound.items()
    require_policy(by, nonfinite, WITHOUT_SKIP)
    if not isinstance(value, Tensor) and not _is_positive(value):
        raise ValueError(
            f"{by}: {name}={value!r} was given; it must be a finite number above 0. "
            "Choose one, or do not clip."
        )
    parameters = parameters_of(by, grads)
    for path, x in parameters.items():
        if nonfinite == RAISE and not isinstance(x, Tensor) and not np.isfinite(x).all():
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
