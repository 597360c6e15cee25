"""Probabilities of classes in the place of logits that no softmax of ours has made: a softmax of
the user's own, recorded, or numbers that add up to 1. Of those that a program is given the first
call is looked at.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.process.meanwhile import Meanwhile
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import LogitsWarning
from wengert.interpret.mistakes.first_values import ask_first_value, moves_elements
from wengert.interpret.mistakes.probabilities import note_probabilities
from wengert.interpret.mistakes.widening import place_of
from wengert.interpret.trace import Trace

_SLACK = 1e-5  # of a sum of float32 probabilities
_DEEP = 8  # nodes of one formula that was written twice, np.exp(x) / np.sum(np.exp(x))
_noted = Meanwhile[bool]()


def rows_are_noted() -> AbstractContextManager[bool]:
    """What is called meanwhile takes logits that have been looked at."""
    return _noted.said(True)


def note_rows_of_probabilities(name: str, logits: Value, axis: int = -1) -> None:
    """Warn where what is taken for logits, with classes along an axis, are probabilities: by the
    op that made them, by the formula, or by their numbers.
    """
    if _noted.value or note_probabilities(name, logits):
        return
    while type(logits) is Tensor and not logits.level.symbolic:
        logits = logits._value  # examples of a vmap lie along axis 0, and axis counts from the end
    if type(logits) is not Tensor:
        text = _RowsTold(None, axis)(name, logits)
    elif _is_own_softmax(logits):
        text = (
            f"{name}: given numbers that add up to 1 by their formula, as e / sum(e), which are "
            "probabilities; it takes logits, and applies a softmax of its own. Pass what goes into "
            "the softmax, or wg.log of the probabilities."
        )
    else:
        text, classes = None, logits.shape[axis]
        if isinstance(classes, int):
            ask_first_value(logits, name, _RowsTold(classes, axis), LogitsWarning)
    if text is not None:
        warn_user(text, LogitsWarning, user_line())


@dataclass(frozen=True)
class _RowsTold:
    """What is wrong with numbers that are known. Logits of a fresh network, all the same, and rows
    of 0 and 1 may be meant; other numbers of 0 and more do not add up to 1 by chance, in each row.
    """

    classes: int | None  # how many there are, in the argument of a program
    axis: int

    def __call__(self, name: str, logits: Any, where: str = "") -> str | None:
        try:
            x = np.asarray(logits)
        except ValueError:  # rows of different lengths: they are refused
            return None
        if x.dtype.kind != "f" or x.ndim < -self.axis or not x.size or x.min() < 0:
            return None
        rows = np.moveaxis(x, self.axis, -1)
        if self.classes is not None and rows.shape[-1] != self.classes:
            return None  # what is made of the argument has another axis of classes
        if not (np.abs(rows.sum(-1) - 1) <= _SLACK).all():
            return None
        if ((rows == rows[..., :1]).all(-1) | (rows.max(-1) == 1)).all():
            return None
        return (
            f"{name}: given numbers{where} that are 0 or more and add up to 1 in each row, which "
            "are probabilities; it takes logits, and applies a softmax of its own. Pass what goes "
            "into the softmax, or wg.log of the probabilities."
        )


def _is_own_softmax(logits: Tensor) -> bool:
    """Whether recorded numbers are e / sum(e), or exp(x - logsumexp(x)), along the last axis."""
    place = place_of(logits)
    if place is None:
        return False
    level, number = place
    node = level.graph.nodes[_elements_of(level, number)]
    if node.op is op.exp:
        inner = level.graph.nodes[_elements_of(level, node.operands[0])]
        below = inner.operands[-1]
        return inner.op is op.log_softmax or (
            inner.op is op.subtract
            and level.graph.nodes[_elements_of(level, below)].op is op.logsumexp
        )
    return node.op is op.divide and _is_sum_of(level, node.operands[1], node.operands[0])


def _elements_of(level: Trace, number: Any) -> int:
    """The node whose elements a node picks, rearranges or converts."""
    while moves_elements(node := level.graph.nodes[number]) and node.operands[0] is not None:
        number = node.operands[0]
    return int(number)


def _is_sum_of(level: Trace, total: Any, terms: Any) -> bool:
    """Whether a node is the sum of another one along its last axis, in whatever shape."""
    node = level.graph.nodes[_elements_of(level, total)]
    last = len(level.graph.type(terms).shape) - 1
    return (
        node.op is op.sum
        and node.params["axes"] == (last,)
        and _are_same(level, node.operands[0], terms, _DEEP)
    )


def _are_same(level: Trace, one: Any, other: Any, deep: int) -> bool:
    """Whether two nodes compute the same, as they are written."""
    if one == other:
        return True
    a, b = (level.graph.nodes[number] for number in (one, other))
    if not deep or a.op is not b.op or a.op is op.input or len(a.operands) != len(b.operands):
        return False
    if a.op is op.constant:
        return np.array_equal(a.params["value"], b.params["value"])
    pairs = zip(a.operands, b.operands, strict=True)
    return repr(a.params) == repr(b.params) and all(
        _are_same(level, x, y, deep - 1) for x, y in pairs
    )
