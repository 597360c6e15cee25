"""What a draw is made of, looked at when the program runs: a NaN among logits or probabilities
would draw one class for ever, without a word.

In the loss of a training step nothing is refused. What is NaN there comes to the loss, which is
looked at, and a step may be told to skip such batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import promotion
from wengert.core.define import elementwise
from wengert.core.lowering import Elementwise, changed_meanwhile
from wengert.core.op_parts.samples import Integers, sample
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.interpret.mistakes.called_again import is_in_loss

SUM_ERROR = 1e-3  # what rounding of many float32 may leave


_REFUSED = "required: what is drawn from is not what it must be. Check where it comes from."


def _required(refused: Any, x: Any, refusal: str = _REFUSED) -> Any:
    if np.any(refused):
        raise ValueError(refusal)
    return np.broadcast_to(x, np.broadcast(refused, x).shape).copy()


@elementwise(
    numpy=_required,
    dtypes=promotion.selection,
    flat=True,
    samples=(
        sample(Integers((3, 4), 0, 1), (3, 4), refusal="refused"),
        sample(Integers((3, 1), 0, 1), (3, 4), refusal="refused"),
        sample(Integers((), 0, 1), (0, 3), refusal="refused"),
    ),
    space="hidden",
    exact=True,
    lower=Elementwise(
        lambda e, refused, x, *, refusal=_REFUSED: x,
        failure=changed_meanwhile(
            ValueError,
            "what is refused",
            refuses=lambda e, refused, x: refused,
        ),
    ),
)
def required(refused: Any, x: Any, /, *, refusal: str = _REFUSED) -> None:
    """What a draw is made of; a ValueError of these words where it is refused."""


def drawn_classes(logits: Any, noise: Any) -> Any:
    """The class of each draw along the last axis: where a logit with its noise is largest. None of
    the logits may be NaN, and not all of one draw -inf: it would be that one.
    """
    noisy = logits + noise
    classes = op.argmax(noisy, axis=-1)
    if _is_let_pass(logits):
        return classes
    places = op.expand_dims(classes, -1)
    drawn = op.take_along_axis(op.broadcast_to(logits, noisy.shape), places, axis=-1)[..., 0]
    return op.required(
        op.logical_not(op.greater(drawn, -np.inf)),  # NaN is not greater, either
        classes,
        refusal="categorical: logits hold NaN, or are -inf for every class of a draw; each must be "
        "a number or -inf, and one of every draw a number. Check where they come from, and what "
        "masks them.",
    )


def drawable_probabilities(p: Any) -> Any:
    """The probabilities of all options of a choice: none is negative, and their sum is 1."""
    if _is_let_pass(p):
        return p
    away = op.abs(op.sum(p) - 1)
    holds = op.logical_and(op.greater_equal(p, 0), op.less_equal(away, SUM_ERROR))
    return op.required(
        op.logical_not(holds),
        p,
        refusal="choice: p holds NaN or a negative number, or its sum is not 1; probabilities are "
        "0 or more, and have the sum 1. Check where they come from, and pass p / np.sum(p).",
    )


def drawable_probability(p: Any) -> Any:
    """The probability of True: between 0 and 1, as exactly as it was computed."""
    if _is_let_pass(p) or p.dtype.kind != "f":
        return p
    inside = op.logical_and(op.greater_equal(p, -SUM_ERROR), op.less_equal(p, 1 + SUM_ERROR))
    return op.required(
        op.logical_not(inside),
        p,
        refusal="bernoulli: p holds NaN, or what is not between 0 and 1; these are probabilities. "
        "Check where it comes from; the sigmoid of logits is one.",
    )


def _is_let_pass(x: Any) -> bool:
    return type(x) is Tensor and is_in_loss()
