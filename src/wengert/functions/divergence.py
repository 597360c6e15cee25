"""Losses between distributions along an axis: cross-entropy and the Kullback-Leibler divergence."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.define import composite
from wengert.core.dims import Shape, product
from wengert.core.op_parts.batching import BatchedCall
from wengert.core.op_parts.broadcast import canonical_axis, unbroadcast
from wengert.core.op_parts.samples import Integers, Real, sample
from wengert.core.rules import pull
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import DTypeError, ShapeError
from wengert.functions.parameter import canonical_number
from wengert.functions.reduction import (
    Reduction,
    canonical_reduction,
    cotangent_per_loss,
    reduce_losses,
    reduced_type,
    require_equal_shapes,
)
from wengert.functions.statistics import as_float, reduced_shape
from wengert.interpret.mistakes.binary_targets import note_class_targets, note_no_logarithms
from wengert.interpret.mistakes.called_again import is_in_loss
from wengert.interpret.mistakes.divergence_operands import note_logarithms_of_p, note_logits_of_q
from wengert.interpret.mistakes.probabilities import (
    note_no_logarithms_made,
    note_one_class,
    note_swapped,
)
from wengert.interpret.mistakes.rows_of_probabilities import note_rows_of_probabilities

_CONVERT = "Integers are class indices, floats are probabilities: convert or reshape the targets."
FLOAT_LABELS = (
    "Class indices are integers. Labels of which one is missing, in a column of a frame, are read "
    "as floats, with NaN in its place: leave its row out before, frame.dropna(). If none is, "
    "convert them, y.astype(int)"
)


def _class_type(
    logits: Any, targets: Any, axis: int, reduction: Reduction, label_smoothing: float
) -> ArrayType:
    losses = reduced_shape(tuple(logits.shape), (axis,), False)
    dtype = dtypes.floating(logits.dtype)
    if targets.dtype.kind in "iu":
        needed, what = losses, "class indices"
    elif dtypes.is_float(targets.dtype):
        needed, what = tuple(logits.shape), "dense targets"
        dtype = dtypes.promote(ArrayType((), dtype), targets)
    else:
        raise DTypeError(
            f"cross_entropy: targets have dtype {targets.dtype}; they must be integers (class "
            "indices) or floats (a probability per class). Convert them with astype."
        )
    if tuple(targets.shape) != needed:
        raise ShapeError(
            f"cross_entropy: logits have shape {tuple(logits.shape)}, with classes along axis "
            f"{axis}, and {targets.dtype} targets have shape {tuple(targets.shape)}; {what} must "
            f"have shape {needed}. {_repair(tuple(logits.shape), axis, targets, needed)}"
        )
    return reduced_type(losses, dtype, reduction)


def _repair(logits: Shape, axis: int, targets: Any, needed: Shape) -> str:
    """What to do about class targets of another shape than the one that is needed."""
    given, rank = tuple(targets.shape), len(logits)
    if targets.dtype.kind not in "iu":
        is_labels = given == (*logits[:axis], *logits[axis + 1 :])
        return f"{FLOAT_LABELS}." if is_labels else _CONVERT
    if rank > 2 and axis == rank - 1 and given == (*logits[:1], *logits[2:]):
        return (
            "If classes lie along axis 1, as in PyTorch, write axis=1, or "
            "wg.moveaxis(logits, 1, -1)."
        )
    if rank == 1 and len(given) == 1:
        return (
            "Logits are one row, and targets are of several: look for where rows are lost. The "
            "last state of a recurrent layer is (batch, hidden) here, so that h[-1] is that of one "
            "row: leave [-1] out."
        )
    if len(given) == len(needed) == 1:
        return (
            "There must be one row of logits for each target: look for where rows are lost. "
            "Recurrent layers take (time, batch, features), not (batch, time, features)."
        )
    return _CONVERT


def _class_params(
    logits: Any, targets: Any, axis: int, reduction: Any, label_smoothing: float
) -> dict[str, Any]:
    smoothing = canonical_number(
        "cross_entropy", "label_smoothing", label_smoothing, lambda s: 0 <= s <= 1, "in [0, 1]"
    )
    axis = canonical_axis("cross_entropy", axis, logits.ndim)
    dense = dtypes.is_float(targets.dtype)
    needed = logits.shape if dense else (*logits.shape[:axis], *logits.shape[axis + 1 :])
    note_rows_of_probabilities("cross_entropy", logits, axis - logits.ndim)
    if targets.dtype.kind in "iuf" and targets.shape == needed:  # else it is refused
        note_one_class("cross_entropy", logits, axis)
        if dense:
            note_class_targets("cross_entropy", targets, axis - logits.ndim)
    if is_in_loss():
        note_swapped("cross_entropy", logits, targets, "softmax")
    return {
        "axis": axis,
        "reduction": canonical_reduction("cross_entropy", reduction),
        "label_smoothing": smoothing,
    }


def _column(x: Any, axis: int) -> Any:
    """An array of losses with an axis of size 1 where the classes are; a 0-d array as it is."""
    return op.reshape(x, (*x.shape[:axis], 1, *x.shape[axis:])) if x.shape else x


def _checked(targets: Any, classes: Any) -> Any:
    """Class indices, none of which may be negative: one that is does not mean the last class."""
    if isinstance(targets, np.ndarray) and isinstance(classes, int):
        extremes = (np.minimum, np.maximum) if targets.size else ()
        if not all(0 <= each.reduce(targets, None) < classes for each in extremes):
            wrong = (targets < 0) | (targets >= classes)
            raise IndexError(
                f"cross_entropy: class {targets[wrong][0]} was given at position "
                f"{tuple(int(i) for i in np.argwhere(wrong)[0])} for logits of {classes} classes; "
                f"a class lies between 0 and {classes - 1}. Where there is none, give any class "
                "and mask the loss of reduction='none'."
            )
        return targets
    targets = op.astype(targets, dtypes.int64)
    return op.where(op.less(targets, 0), classes, targets)  # refused where it is read


def _chosen(logits: Any, targets: Any, axis: int) -> Any:
    """Whether each logit is that of the class its target names."""
    count = logits.shape[axis]
    classes = np.arange(count) if isinstance(count, int) else op.arange(count)
    after = (1,) * (len(logits.shape) - axis - 1)
    return op.equal(_classes_axis(targets, axis), op.reshape(classes, (-1, *after)))


def _classes_axis(targets: Any, axis: int) -> Any:
    return op.reshape(targets, (*targets.shape[:axis], 1, *targets.shape[axis:]))


def _excess_type(logits: Any, targets: Any, axis: int, label_smoothing: float) -> ArrayType:
    losses = _class_type(logits, targets, axis, "none", label_smoothing)
    return ArrayType(tuple(logits.shape), losses.dtype)


@composite(
    type=_excess_type,
    canonical=lambda logits, targets, axis, label_smoothing: {
        name: value
        for name, value in _class_params(logits, targets, axis, "none", label_smoothing).items()
        if name != "reduction"
    },
    samples=(
        sample((3, 4), Integers((3,), 0, 4), axis=1, label_smoothing=0.0),
        sample((2, 3, 4), Integers((2, 4), 0, 3), axis=1, label_smoothing=0.1),
        sample((3, 4), Real((3, 4), 0.1, 1.0), axis=0, label_smoothing=0.0),
    ),
    space="hidden",
)
def excess(logits: Any, targets: Any, /, axis: int, label_smoothing: float) -> Any:
    """Derivative of every cross-entropy by its logits: how far softmax is above the targets."""
    _excess_type(logits, targets, axis, label_smoothing)
    p = op.softmax(logits, axis)
    if dtypes.is_float(targets.dtype):  # they may sum to anything
        above = p * op.sum(targets, axis, True) - targets
    else:
        above = op.where(_chosen(logits, targets, axis), p - 1, p)
    if label_smoothing == 0:
        return above
    share = op.divide(op.full((), 1, dtype=p.dtype), logits.shape[axis])
    return above * (1 - label_smoothing) + (p - share) * label_smoothing


def _excess(logits: Any, targets: Any, axis: int, label_smoothing: float) -> Any:
    params = {"axis": axis, "label_smoothing": label_smoothing}
    return excess.rebind((logits, targets), params)


def _cross_entropy_vjp(
    g: Any,
    _remembered: Any,
    logits: Any,
    targets: Any,
    axis: int,
    reduction: Reduction,
    label_smoothing: float,
) -> Any:

    def by_logits() -> Any:
        if _remembered is not None:
            return _remembered
        return _excess(logits, targets, axis, label_smoothing)

    if reduction == "none":
        g = _column(g, axis)
    elif reduction == "mean":
        g = g / product((*logits.shape[:axis], *logits.shape[axis + 1 :]))
    return (
        lambda: unbroadcast(pull(g, by_logits()), logits),
        lambda: unbroadcast(pull(g, op.log_softmax(logits, axis) * (label_smoothing - 1)), targets),
    )


def _cross_entropy_jvp(
    d: Any,
    _out: Any,
    logits: Any,
    targets: Any,
    axis: int,
    reduction: Reduction,
    label_smoothing: float,
) -> Any:
    terms = []
    if d[0] is not None:
        terms.append(op.pull(d[0], _excess(logits, targets, axis, label_smoothing)))
    if d[1] is not None:
        terms.append(op.pull(d[1], op.log_softmax(logits, axis) * (label_smoothing - 1)))
    total = terms[0] if len(terms) == 1 else terms[0] + terms[1]
    return reduce_losses(op.sum(total, axis), reduction)


def _losses_of_each(call: BatchedCall) -> Any:
    """The losses of all examples, which are reduced in each of them."""
    losses = call.again(call.fronts(), axis=call.params["axis"] + 1, reduction="none")
    axes = tuple(range(1, len(losses.shape)))
    if call.params["reduction"] == "none" or not axes:
        return losses
    return (op.mean if call.params["reduction"] == "mean" else op.sum)(losses, axis=axes)


def _cross_entropy_of_arrays(
    logits: Any, targets: Any, axis: int, reduction: Reduction, label_smoothing: float
) -> tuple[Any, Any]:
    """`cross_entropy` of NumPy arrays, and its `excess`, from the same exponentials.

    That is the plain case, class indices along the last axis; in others there is no excess.
    """
    plain = targets.dtype.kind in "iu" and logits.dtype.kind == "f" and label_smoothing == 0
    if (
        not plain
        or axis != logits.ndim - 1
        or targets.shape != logits.shape[:-1]
        or not logits.size
    ):
        return op.cross_entropy.body(logits, targets, axis, reduction, label_smoothing), None
    chosen = (np.arange(targets.size), _checked(targets, logits.shape[-1]).reshape(-1))
    below = logits.reshape(targets.size, -1)
    below = below - np.maximum.reduce(below, axis=1, keepdims=True)
    powers = np.exp(below)
    total = np.add.reduce(powers, 1)
    losses = np.log(total) - below[chosen]
    powers /= total[:, None]
    powers[chosen] -= 1
    above = powers.reshape(logits.shape)
    if reduction == "none":
        return losses.reshape(targets.shape), above
    loss = np.add.reduce(losses)
    return np.asarray(loss / targets.size if reduction == "mean" else loss), above


@composite(
    numpy=lambda *operands, **params: _cross_entropy_of_arrays(*operands, **params)[0],
    remember=_cross_entropy_of_arrays,
    type=_class_type,
    canonical=_class_params,
    vjp=_cross_entropy_vjp,
    jvp=_cross_entropy_jvp,
    samples=(
        sample((3, 4), Integers((3,), 0, 4)),
        sample((2, 3, 4), Integers((2, 4), 0, 3), axis=1, reduction="none"),
        sample((2, 3, 4), Integers((3, 4), 0, 2), axis=0, reduction="sum", label_smoothing=0.1),
        sample((3, 4), Real((3, 4), 0.1, 1.0)),
        sample((3, 4), Real((3, 4), 0.1, 1.0), axis=0, reduction="none", label_smoothing=0.2),
        sample((5,), Integers((), 0, 5)),
    ),
    batch=_losses_of_each,
)
def cross_entropy(
    logits: Any,
    targets: Any,
    /,
    axis: int = -1,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Minus the logarithm of the probability that the softmax of the logits gives to the targets.

    Classes lie along `axis`. Integer targets are class indices, without that axis; float targets
    are a probability per class, with it. `label_smoothing` moves that part of every target to all
    classes alike. "mean" divides by the number of losses, one per position beside the classes.

    >>> wg.cross_entropy(np.array([[0.0, 0.0], [0.0, -1000.0]]), np.array([0, 1]), reduction="none")
    array([6.93147181e-01, 1.00000000e+03])
    """
    _class_type(logits, targets, axis, reduction, label_smoothing)
    x = as_float(logits)
    if dtypes.is_float(targets.dtype):
        # A class of probability 0 does not count, not even where its logit is -inf.
        losses = -op.sum(op.pull(targets, op.log_softmax(x, axis)), axis)
    else:
        index = _classes_axis(_checked(targets, x.shape[axis]), axis)
        shifted = x - op.stop_gradient(op.max(x, axis, True))
        chosen = op.reshape(op.take_along_axis(shifted, index, axis), targets.shape)
        losses = op.log(op.sum(op.exp(shifted), axis)) - chosen
    if label_smoothing > 0:
        everywhere = op.mean(op.log_softmax(x, axis), axis)
        losses = losses * (1 - label_smoothing) - everywhere * label_smoothing
    return reduce_losses(losses, reduction)


def _kl_type(log_q: Any, p: Any, axis: int, reduction: Reduction) -> ArrayType:
    require_equal_shapes("kl_div", log_q, p)
    for what, x in (("log_q", log_q), ("p", p)):
        if not dtypes.is_float(x.dtype):
            raise DTypeError(
                f"kl_div: {what} has dtype {x.dtype}; it must be float32 or float64. "
                "Convert it with astype."
            )
    losses = reduced_shape(tuple(p.shape), (axis,), False)
    return reduced_type(losses, dtypes.promote(log_q, p), reduction)


def _kl_vjp(g: Any, _out: Any, log_q: Any, p: Any, axis: int, reduction: Reduction) -> Any:
    g = _column(
        cotangent_per_loss(g, reduction, reduced_shape(tuple(p.shape), (axis,), False)), axis
    )
    return (
        lambda: unbroadcast(op.pull(g, -p), log_q),
        lambda: unbroadcast(op.pull(g, op.log(p) - log_q + 1), p),
    )


def _kl_jvp(d: Any, _out: Any, log_q: Any, p: Any, axis: int, reduction: Reduction) -> Any:
    terms = [op.pull(d[0], -p)] if d[0] is not None else []
    terms += [op.pull(d[1], op.log(p) - log_q + 1)] if d[1] is not None else []
    total = terms[0] if len(terms) == 1 else terms[0] + terms[1]
    return reduce_losses(op.sum(total, axis), reduction)


def _kl_params(log_q: Any, p: Any, axis: int, reduction: Any) -> dict[str, Any]:
    if log_q.shape == p.shape and dtypes.is_float(p.dtype):  # else it is refused
        note_no_logarithms("kl_div", log_q)
        note_no_logarithms_made("kl_div", log_q)
        note_logarithms_of_p("kl_div", p)
        along = canonical_axis("kl_div", axis, log_q.ndim) - log_q.ndim
        note_logits_of_q("kl_div", log_q, p, along)
    return {
        "axis": canonical_axis("kl_div", axis, log_q.ndim),
        "reduction": canonical_reduction("kl_div", reduction),
    }


@composite(
    type=_kl_type,
    canonical=_kl_params,
    vjp=_kl_vjp,
    jvp=_kl_jvp,
    samples=(
        sample((3, 4), Real((3, 4), 0.1, 1.0)),
        sample((2, 3, 4), Real((2, 3, 4), 0.1, 1.0), axis=1, reduction="none"),
        sample((3, 4), Real((3, 4), 0.1, 1.0), axis=0, reduction="sum"),
    ),
    batch=_losses_of_each,
)
def kl_div(log_q: Any, p: Any, /, axis: int = -1, reduction: Reduction = "mean") -> Any:
    """Kullback-Leibler divergence of q from p, the sum of p * (log p - log q) along the axis.

    The first operand holds logarithms, as log_softmax gives them, the second probabilities; where p
    is 0 nothing is added. "mean" divides by the number of distributions, not of elements. "none"
    gives a number for each distribution, summed along the axis already, where torch's has one for
    each element.

    >>> wg.kl_div(np.log(np.array([0.5, 0.5])), np.array([1.0, 0.0]))
    array(0.69314718)
    """
    _kl_type(log_q, p, axis, reduction)
    log_p = op.log(op.where(op.equal(p, 0), 1, p))
    return reduce_losses(op.sum(op.pull(p, log_p - log_q), axis), reduction)
