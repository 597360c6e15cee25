"""Trained masks: a float array of zeros and ones, a triangle of them, that stands in the model and
is trained like any other. It was meant to stay as it is, as a buffer of torch does; the mask opens,
and a model sees what it should predict.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.types import Value
from wengert.core.words.warn import warn_user
from wengert.errors import MaskWarning
from wengert.train.recorded.layers.outside_uses import LossFlow

SMALLEST = 3  # rows of a triangle that is surely a mask


def is_triangle(x: Any) -> bool:
    """Whether the last two axes of an array are a triangle of ones, with zeros beside it."""
    if x.ndim < 2 or x.dtype.kind != "f" or not x.shape[-1] == x.shape[-2] >= SMALLEST:
        return False
    corners = x[..., 0, -1], x[..., -1, 0]
    if {float(corner.flat[0]) for corner in corners if corner.size} != {0.0, 1.0}:
        return False  # without looking at all of a large matrix
    lower = x if corners[1].flat[0] == 1 else np.swapaxes(x, -1, -2)
    return any(bool((lower == np.tri(x.shape[-1], k=k)).all()) for k in (0, -1))


def warn_of_trained_mask(flow: LossFlow, path: str, x: Any, leaf: Value) -> bool:
    """Warn of a trained leaf of the model, if it is a mask that is applied to what is computed of
    data, and say whether it is.
    """
    if not is_triangle(x) or not flow.masks_data(leaf):
        return False
    warn_user(
        f"TrainStep: leaf {path!r} of the model is a mask of zeros and ones, {x.dtype}; float "
        "arrays in a model are trained, so that it opens. Make it an array of bools, which is "
        f"data, or give it no optimizer, {{{path!r}: None, '*': …}}, or keep it outside of the "
        "model.",
        MaskWarning,
    )
    return True
