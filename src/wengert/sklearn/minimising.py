"""Training with all rows at once: L-BFGS, for small data."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from wengert.optim.quasi_newton.lbfgs import LBFGS
from wengert.sklearn.network import BATCH, NetworkPlan, loss_of
from wengert.sklearn.training import Rows

LBFGS_NAME = "lbfgs"


class Minimum(NamedTuple):
    """What a search came to."""

    model: Any
    loss: float
    iterations: int
    converged: bool


def require_whole_batches(name: str, settings: Mapping[str, Any], incremental: bool) -> None:
    """Refuse what has no meaning where all rows are one batch and there are no epochs."""
    given = [
        f"{each}={settings[each]!r}"
        for each in ("dropout", "early_stopping", "optimizer", "schedule", "clip_norm")
        if settings[each]
    ]
    given += ["norm='batch'"] if settings["norm"] == BATCH else []
    given += ["partial_fit"] if incremental else []
    if given:
        raise ValueError(
            f"{name}: solver='lbfgs' was given with {', '.join(given)}; it searches over all rows "
            "at once, without batches and epochs. Leave these out, or choose solver='adam'."
        )


def minimise(network: NetworkPlan, model: Any, rows: Rows, settings: Mapping[str, Any]) -> Minimum:
    """Search for the weights with the least loss, from these on."""
    search = LBFGS(
        max_iter=settings["max_iter"],
        max_eval=settings["max_fun"],
        tolerance_grad=settings["tol"],
        history_size=10,
        line_search_fn="strong_wolfe",
    )
    search._minimized = _programs(network)[1]
    alpha = np.asarray(settings["alpha"], network.dtype)
    minimum = search.minimize(
        _programs(network)[0], model, dict(rows.inputs), rows.y, rows.weight, alpha
    )
    return Minimum(minimum.tree, minimum.value, minimum.iterations, minimum.converged)


@lru_cache(16)
def _programs(network: NetworkPlan) -> tuple[Any, Any]:
    """The loss of a network, and where its programs are remembered."""
    return loss_of(network), LBFGS()._minimized
