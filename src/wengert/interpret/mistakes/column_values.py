"""A column of values, (n, 1), for n distributions of shape (n,): a warning at the user's line."""

from __future__ import annotations

from wengert.core.dims import Dim, Shape
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import PairedRowsWarning
from wengert.interpret.mistakes.widening import place_of


def note_column(name: str, x: Value, shape: Shape) -> None:
    """Warn of x (n, 1) for distributions of shape (n,), where n is the open size of a batch: no two
    of these are alike by chance. An axis that was written on purpose, `x[:, None]`, says that pairs
    are meant.
    """
    if len(shape) != 1 or not isinstance(shape[0], Dim) or tuple(x.shape) != (shape[0], 1):
        return
    place = place_of(x)
    if place is not None and place[0].graph.nodes[place[1]].op is op.reshape:
        return
    warn_user(
        f"{name}: given x of shape ({shape[0]}, 1) for distributions of shape ({shape[0]},); the "
        "result has a number for each pair of rows. Write x[:, 0] for one of each row; if pairs "
        "are meant, x[:, 0][:, None].",
        PairedRowsWarning,
        user_line(),
    )
