"""What stands in the place of the logarithms of q, or of the probabilities p, in kl_div(log_q, p):
a warning at the user's line. Of what a program is given the first call is looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import LogitsWarning, TargetsWarning
from wengert.interpret.mistakes.first_values import ask_first_value, moves_elements
from wengert.interpret.mistakes.widening import place_of
from wengert.interpret.trace import Trace

_SLACK = 0.05  # of a sum of probabilities that were clipped, or had something added before log
_ROUNDING = 1e-4  # by which probabilities that were computed may lie below 0
_LOGARITHMS = ("log", "log_softmax", "log_sigmoid")


def note_logits_of_q(name: str, log_q: Value, p: Value, axis: int) -> None:
    """Warn of logits in the place of logarithms, which are those of probabilities that add up to 1:
    of numbers that are known, and of what a layer gives in a program.
    """
    log_q, p = _without_levels(log_q), _without_levels(p)
    text = None
    if type(log_q) is Tensor:
        if _is_product(log_q):
            text = f"{name}: given what a layer made as the first operand; {_LOG_SOFTMAX}"
    elif isinstance(log_q, np.ndarray) and isinstance(p, np.ndarray):
        text = _logits_told(name, log_q, p, axis)
    if text is not None:
        warn_user(text, LogitsWarning, user_line())


def note_logarithms_of_p(name: str, p: Value) -> None:
    """Warn of logarithms in the place of probabilities, as torch takes them with log_target=True,
    and of logits: the result is NaN.
    """
    p, text = _without_levels(p), None
    if isinstance(p, np.ndarray):
        text = _logarithms_told(name, p)
    elif type(p) is Tensor:
        place = place_of(p)
        if place is not None and _elements_of(*place).op.name in _LOGARITHMS:
            text = f"{name}: given logarithms as the second operand; {_EXP}"
        elif _is_affine(p):
            text = f"{name}: given what a layer made as the second operand; {_EXP}"
        else:
            ask_first_value(p, name, _logarithms_told, TargetsWarning)
    if text is not None:
        warn_user(text, TargetsWarning, user_line())


_LOG_SOFTMAX = (
    "it holds logarithms of probabilities, which add up to 1. Write wg.log_softmax(logits) for it."
)
_EXP = (
    "it holds probabilities, and the first their logarithms. Write wg.exp(log_p) for it, or "
    "wg.softmax of the logits."
)


def _logits_told(name: str, log_q: Any, p: Any, axis: int) -> str | None:
    """What is wrong with numbers that are known. A part of all classes, of which p does not add up
    to 1 either, may be meant, and some rows of logits may add up to 1 by chance.
    """
    if not log_q.size or not np.min(log_q) < 0:  # else they may be probabilities
        return None
    with np.errstate(all="ignore"):
        sums = np.exp(log_q.astype(np.float64)).sum(axis)
        off = [np.mean(np.abs(each - 1) > _SLACK) for each in (sums, p.sum(axis))]
    if np.isnan(sums).any() or off[0] <= 0.5 or off[1]:
        return None
    return (
        f"{name}: given numbers as the first operand whose exponentials add up to "
        f"{sums.reshape(-1)[0]:.3g} in the first row; {_LOG_SOFTMAX}"
    )


def _logarithms_told(name: str, p: Any, where: str = "") -> str | None:
    x = np.asarray(p)
    if x.dtype.kind != "f" or not x.size or not np.min(x) < -_ROUNDING:
        return None
    return (
        f"{name}: p from {np.min(x):g} to {np.max(x):g} was given{where} as the second operand; "
        f"{_EXP}"
    )


def _is_product(x: Tensor) -> bool:
    """Whether recorded numbers are a product of matrices, as a layer gives it: with a bias, or
    divided by a temperature, and not one that looks up logarithms.
    """
    place = place_of(x)
    if place is None:
        return False
    level, node = place[0], _elements_of(*place)
    while node.op.name in ("add", "multiply", "divide") and node.operands[0] is not None:
        node = _elements_of(level, _by_axes(level, node)[-1])
    if node.op is not op.matmul:
        return False
    factors = [_elements_of(level, each) for each in node.operands if each is not None]
    return all(each.op.name not in _LOGARITHMS for each in factors)


def _is_affine(x: Tensor) -> bool:
    """Whether recorded numbers are a product of matrices with a bias, maybe divided by a
    temperature. A product alone may be one of probabilities, as in a Markov chain, and so may be
    a mixture of one and others.
    """
    place = place_of(x)
    if place is None:
        return False
    level, node = place[0], _elements_of(*place)
    while node.op.name in ("multiply", "divide") and node.operands[0] is not None:
        number, wide = _by_axes(level, node)
        if level.graph.type(number).shape != ():
            return False
        node = _elements_of(level, wide)
    if node.op.name != "add":
        return False
    bias, product = _by_axes(level, node)
    is_bias = len(level.graph.type(bias).shape) == 1
    return (
        is_bias
        and _elements_of(level, bias).op in (op.input, op.constant)
        and _elements_of(level, product).op is op.matmul
    )


def _by_axes(level: Trace, node: Any) -> list[int]:
    """The operands of a node, those with most axes last."""
    operands = [each for each in node.operands if each is not None]
    return sorted(operands, key=lambda each: len(level.graph.type(each).shape))


def _elements_of(level: Trace, number: int) -> Any:
    """The node whose elements a node picks, rearranges, converts or detaches."""
    node = level.graph.nodes[number]
    while moves_elements(node) or node.op is op.stop_gradient:
        if node.operands[0] is None:
            break
        node = level.graph.nodes[node.operands[0]]
    return node


def _without_levels(x: Value) -> Value:
    """What derivatives compute with."""
    while type(x) is Tensor and not x.level.symbolic:
        x = x._value
    return x
