"""Epochs that could not be measured: the validation loss, or what a fit goes by, is no number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from wengert.core import tree
from wengert.core.words.warn import warn_user
from wengert.errors import NonFiniteError, WengertWarning
from wengert.runtime.nonfinite_policies import RAISE
from wengert.train.batch import leaf_names
from wengert.train.engine import Engine
from wengert.train.fitting.fit_data import BY
from wengert.train.fitting.measures import VALIDATION_LOSS
from wengert.train.nonfinite import first_nonfinite


def look_at_measures(
    engine: Engine, measured: Mapping[str, float], monitor: str, data: tuple[Any, ...]
) -> bool:
    """Refuse validation data that are not finite where a measure shows it, or warn; say whether
    there was something to say. Only the validation loss, and what decides on the best epoch, must
    be finite.
    """
    name = next(
        (n for n in (VALIDATION_LOSS, monitor) if not math.isfinite(measured.get(n, 0))), None
    )
    if name is None:
        return False
    arrays = tuple(tree.with_numpy(x) for x in data)
    names = leaf_names(engine.names(len(data)), arrays)
    place = first_nonfinite(zip(names, tree.leaves(arrays), strict=True))
    if place is not None and engine.nonfinite == RAISE:
        raise NonFiniteError(
            f"{BY}: validation: {place[0]}; {name} is {measured[name]} for these rows, and no "
            "epoch can be told from another. Correct the argument, or leave the rows out.",
            parameter=place[1],
            index=place[2],
            row=place[2][0] if place[2] else None,
        )
    if place is None and not math.isnan(measured[name]):
        return False  # one epoch may well be beyond the largest float, and the next one not
    why = f": {place[0]}" if place else " although the validation data are finite"
    warn_user(
        f"{BY}: {name} is {measured[name]} after an epoch{why}; such an epoch counts as no better "
        "than another. Look at what the loss computes for these rows.",
        WengertWarning,
    )
    return True
