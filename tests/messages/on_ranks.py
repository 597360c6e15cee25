"""Bad input to steps that ranks share; what takes several processes is in tests/parallel."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

import wengert as wg

rows = np.arange(8.0)[:, None]
alone = wg.parallel.one_process


def _mean(w: Any, x: Any) -> Any:
    return wg.mean((x - w) ** 2)


def _step(loss: Any = _mean, ranks: Any = None, **options: Any) -> Any:
    ranks = alone() if ranks is None else ranks
    return wg.TrainStep(loss, np.ones(1), wg.optim.SGD(0.1), ranks=ranks, **options)


def _count(w: Any, x: Any) -> Any:
    return _mean(w, x), {"above": wg.sum(x > 2)}


def _pairs(w: Any, x: Any) -> Any:
    return _mean(w, x), x @ x.T


def _in_a_loop(w: Any, x: Any) -> Any:
    total, _ = wg.scan(lambda c, row: (c + wg.parallel.batch_sum(row[0]), c), 0.0, x)
    return wg.mean(x * w) + total


def _with_total(w: Any, x: Any) -> Any:
    return _mean(w, x) + wg.parallel.batch_sum(wg.sum(x))


def _in_one_of_four(make: Callable[[], Any]) -> Any:
    """What a launcher of four processes makes of it; a warning is raised."""
    with patch.dict("os.environ", PMI_SIZE="4", PMI_RANK="0"), warnings.catch_warnings():
        warnings.simplefilter("error", wg.errors.UnsharedWarning)
        return make()


def _ensemble(**options: Any) -> Any:
    return wg.Ensemble(_mean, [np.ones(1)] * 2, wg.optim.SGD(0.1), **options)


def _unranked(**options: Any) -> Any:
    return wg.TrainStep(_mean, np.ones(1), wg.optim.SGD(0.1), **options)


CASES: dict[str, Callable[[], Any]] = {
    "ranks: a number": lambda: _step(ranks=2),
    "ranks: none of them in one of four processes": lambda: _in_one_of_four(_unranked),
    "ranks: an ensemble in one of four processes": lambda: _in_one_of_four(_ensemble),
    "ranks: one process in one of four": lambda: _in_one_of_four(alone),
    "ranks: of an ensemble": lambda: _ensemble(ranks=alone()),
    "ranks: their micro-batches, given to the step": lambda: _unranked(micro_batches=8),
    "ranks: an option by another name": lambda: alone(microbatches=4),  # type: ignore[call-arg]
    "ranks: no micro-batch": lambda: alone(micro_batches=0),
    "ranks: rows of a state that are no globs": lambda: alone(state_rows=[0]),  # type: ignore[list-item]
    "ranks: another reduction": lambda: alone(reduction="max"),
    "ranks: a glob that matches nothing": lambda: _step(ranks=alone(state_rows="h")),
    "ranks: rows of a state that the batch has not": lambda: _step(
        lambda w, h, x: (_mean(w, x), h), alone(state_rows="*"), state=np.ones(4)
    )(rows),
    "ranks: batch arrays of different lengths": lambda: _step(lambda w, x, y: _mean(w, x))(
        rows, np.ones(3)
    ),
    "ranks: a batch without rows": lambda: _step()(1.0),
    "ranks: an empty batch": lambda: _step()(rows[:0]),
    "ranks: integers that differ": lambda: _step(_count, has_aux=True)(rows),
    "ranks: aux by rows in two axes": lambda: _step(_pairs, alone(micro_batches=3), has_aux=True)(
        rows
    ),
    "ranks: sums over the batch, op by op": lambda: _step(_with_total, compiled=False)(rows),
    "ranks: sums over the batch in a loop": lambda: _step(_in_a_loop)(rows),
    "ranks: nothing to shard": lambda: wg.parallel.shard(alone()),
    "ranks: shards of different lengths": lambda: wg.parallel.shard(alone(), rows, rows[:3]),
    "ranks: a shard of a table": lambda: wg.parallel.shard(alone(), "x.csv"),
}
