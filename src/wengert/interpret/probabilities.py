"""Where a loss that takes logits is given probabilities, in a program that is recorded: a warning
at the user's line.
"""

from __future__ import annotations

from wengert.core.dtypes import is_float
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import LogitsWarning
from wengert.interpret.picked import picked_from
from wengert.interpret.tape import Tape
from wengert.interpret.widening import place_of


def note_probabilities(name: str, logits: Value) -> None:
    """Warn where what a loss takes for logits comes from a softmax or a sigmoid, by whatever picks
    or rearranges its elements. The loss would apply another one, and hardly learn anything.
    """
    place = place_of(logits)
    if place is None:
        return
    level, number = place
    made_by = level.graph.nodes[picked_from(level, number)].op
    if made_by is op.softmax or made_by is op.sigmoid:
        warn_user(
            f"{name}: given what {made_by.name} made; it takes logits, and applies a "
            f"{made_by.name} of its own. Pass what goes into the {made_by.name}.",
            LogitsWarning,
            user_line(),
        )


def note_swapped(name: str, logits: Value, targets: Value) -> None:
    """Warn of targets in a loss of a training step that depend on the model, where logits do not:
    they stand in each other's place.
    """
    if is_float(targets.dtype) and _is_differentiated(targets) and not _is_differentiated(logits):
        warn_user(
            f"{name}: given targets that the model has computed, and logits that do not depend on "
            f"it; logits come first. Write {name}(model(x), targets), without a softmax.",
            LogitsWarning,
            user_line(),
        )


def _is_differentiated(x: Value) -> bool:
    while type(x) is Tensor and not x.level.symbolic:
        if isinstance(x.level, Tape):
            return True
        x = x.value
    return False
