"""Where a loss that takes logits is given probabilities, in a program that is recorded: a warning
at the user's line.
"""

from __future__ import annotations

from typing import Any

from wengert.core.dtypes import is_float
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import LogitsWarning
from wengert.interpret.mistakes.picked import picked_from
from wengert.interpret.mistakes.widening import place_of
from wengert.interpret.tape import Tape


def note_probabilities(name: str, logits: Value) -> bool:
    """Warn where what a loss takes for logits comes from a softmax or a sigmoid, by whatever picks
    or rearranges its elements, and say whether it does. The loss would apply another one, and
    hardly learn anything.
    """
    made_by = _made_by(logits)
    if made_by is not op.softmax and made_by is not op.sigmoid:
        return False
    warn_user(
        f"{name}: given what {made_by.name} made; it takes logits, and applies a "
        f"{made_by.name} of its own. Pass what goes into the {made_by.name}.",
        LogitsWarning,
        user_line(),
    )
    return True


def note_no_logarithms_made(name: str, log_q: Value) -> None:
    """Warn where what a loss takes for logarithms of probabilities are these themselves."""
    made_by = _made_by(log_q)
    if made_by is op.softmax or made_by is op.sigmoid:
        warn_user(
            f"{name}: given what {made_by.name} made as the first operand; it holds logarithms of "
            f"probabilities. Pass wg.log_{made_by.name} of the same.",
            LogitsWarning,
            user_line(),
        )


def _made_by(x: Value) -> Any:
    """The op that made the elements of a recorded value."""
    place = place_of(x)
    if place is None:
        return None
    level, number = place
    return level.graph.nodes[picked_from(level, number)].op


def note_one_class(name: str, logits: Value, axis: int) -> None:
    """Warn of a single logit for each loss: a softmax of it is 1 whatever it is, the loss is 0, and
    so is its derivative.
    """
    if logits.shape[axis] == 1:
        warn_user(
            f"{name}: given logits of shape {tuple(logits.shape)}, with one class along axis "
            f"{axis}; the softmax of one logit is 1, so that the loss is 0 and trains nothing. "
            "Write wg.bce_with_logits(logits, targets) for one logit of yes or no, or give the "
            "model an output for each class.",
            LogitsWarning,
            user_line(),
        )


def note_swapped(name: str, logits: Value, targets: Value, applied: str) -> None:
    """Warn of targets in a loss of a training step that depend on the model, where logits do not:
    they stand in each other's place. `applied` is what the loss applies to logits itself.
    """
    if is_float(targets.dtype) and _is_differentiated(targets) and not _is_differentiated(logits):
        warn_user(
            f"{name}: given targets that the model has computed, and logits that do not depend on "
            f"it; logits come first. Write {name}(model(x), targets), without a {applied}.",
            LogitsWarning,
            user_line(),
        )


def _is_differentiated(x: Value) -> bool:
    while type(x) is Tensor and not x.level.symbolic:
        if isinstance(x.level, Tape):
            return True
        x = x._value
    return False
