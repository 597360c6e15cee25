"""Two ranks that differ in something: each case prints what the error says, on both.

python disagreeing.py
"""

import json
import sys
import warnings
from unittest.mock import patch

import llvmlite
import numpy as np

import wengert as wg

ROWS = 16


def _step(ranks, rate=0.1, start=0.0, **options):
    def loss(w, x):
        return wg.mean((x - w) ** 2)

    model = np.full(3, start, np.float32)
    return wg.TrainStep(loss, model, wg.optim.SGD(rate), ranks=ranks, **options)


def _batch(ranks, rows=ROWS):
    return wg.parallel.shard(ranks, np.ones((rows, 3), np.float32))


def optimizer(ranks, other):
    _step(ranks, rate=0.2 if other else 0.1)(_batch(ranks))


def parameters(ranks, other):
    _step(ranks, start=float(other))(_batch(ranks))


def setting(ranks, other):
    _step(ranks, clip_norm=2.0 if other else 1.0)(_batch(ranks))


def one_assigned(ranks, other):
    step = _step(ranks)
    step(_batch(ranks))
    if other:
        step.model = np.ones(3, np.float32)
    step(_batch(ranks))


def rows(ranks, other):
    _step(ranks)(_batch(ranks, ROWS + 8 * other))


def form(ranks, other):
    def loss(w, x, *more):
        return wg.mean((x - w) ** 2)

    step = wg.TrainStep(loss, np.zeros(3, np.float32), wg.optim.SGD(0.1), ranks=ranks)
    x = _batch(ranks)
    step(x, x) if other else step(x)


def data(ranks, other):
    x = np.ones((ROWS, 3), np.float32) * (1 + other)
    _step(ranks).run(x, batch_size=8)


def rate_later(ranks, other):
    step = _step(ranks)
    step(_batch(ranks))
    if other:
        step.optimizer.learning_rate = 0.5
    step(_batch(ranks))


def version(ranks, other):
    """At the first step, where a rank has come to another version since ranks have met."""
    with _other_version(np, other):
        _step(ranks)(_batch(ranks))


def version_at_once(ranks, other):
    with _other_version(wg, other):
        wg.parallel.mpi()


def version_of_the_compiler(ranks, other):
    with _other_version(llvmlite, other):
        wg.parallel.mpi()


def _other_version(package, other):
    return patch.object(package, "__version__", "0.0.9" if other else package.__version__)


def same_rows(ranks, other):
    """Not where they differ: the whole batch on both ranks is a warning, raised here."""
    x = np.arange(3.0 * ROWS, dtype=np.float32).reshape(ROWS, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _step(ranks)(wg.parallel.shard(ranks, x))
        _step(ranks)(x)


def program(ranks, other):
    power = 4 if other else 2

    def loss(w, x):
        return wg.mean((x - w) ** power)

    wg.TrainStep(loss, np.zeros(3, np.float32), wg.optim.SGD(0.1), ranks=ranks)(_batch(ranks))


# The last one ends the ranks: it is found when they have begun to compute.
CASES = [
    optimizer,
    parameters,
    setting,
    one_assigned,
    rows,
    form,
    data,
    rate_later,
    version,
    version_at_once,
    version_of_the_compiler,
    same_rows,
    program,
]


def main():
    ranks = wg.parallel.mpi()
    for case in CASES:
        try:
            case(ranks, ranks.rank == 1)
        except (wg.errors.RankError, wg.errors.RankWarning) as error:
            text = str(error)
        else:
            text = ""
        line = json.dumps({"rank": ranks.rank, "case": case.__name__, "text": text})
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
