"""Unreached: parameters that a loss computes with and no gradient comes back to, as behind a
stop_gradient in the wrong place, an argmax or a comparison.

A parameter that the loss does not use at all is another thing: models have parts that one of their
losses has no use for.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.core.words.warn import warn_user
from wengert.errors import UnreachedWarning

SHOWN = 3  # so many paths are named


def warn_of_unreached(paths: Sequence[str]) -> None:
    """Warn of parameters that are used and not trained."""
    names = ", ".join(map(repr, paths[:SHOWN]))
    more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    glob = f"{paths[0].rpartition('.')[0]}.*" if len(paths) > 1 else paths[0]
    warn_user(
        f"TrainStep: the loss computes with {names}{more}, and no gradient comes back from there: "
        "no training changes it. Look for a wg.stop_gradient around too much, an argmax, a "
        "comparison or a conversion to integers on the way. If it shall stay what it is, freeze "
        f"it: {{{glob!r}: None, '*': optimizer}}.",
        UnreachedWarning,
    )
