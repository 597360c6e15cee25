"""Where a loss that takes logits is given probabilities, in a program that is recorded: a warning
at the user's line.
"""

from __future__ import annotations

from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import LogitsWarning
from wengert.interpret.picked import picked_from
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
