"""Programs that run on any number of ranks, and print one line each: what must be equal.

    python ranked_programs.py NAME…

Started by the tests below MPI, and without it on one process.
"""

import json
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

import wengert as wg

ROWS, STEPS = 36, 6


def data(rows=ROWS):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 4)).astype(np.float32)
    return x, np.sin(x.sum(axis=1, keepdims=True))


def _layers(sizes):
    rng = np.random.default_rng(1)
    return [
        {"w": rng.normal(size=(m, n)).astype(np.float32) / m**0.5, "b": np.zeros(n, np.float32)}
        for m, n in pairwise(sizes)
    ]


def _forward(model, x):
    *hidden, last = model
    for layer in hidden:
        x = wg.tanh(x @ layer["w"] + layer["b"])
    return x @ last["w"] + last["b"]


def _loss(model, x, y):
    return wg.mean((_forward(model, x) - y) ** 2)


# Steps, for `tests/fuzz/rank_matrix.py` as well: there they have more rows and wider layers.


def mlp_step(ranks, width=16, **options):
    """A network with tanh, Adam and clipping."""
    options = {"clip_norm": 1.0, **options}
    model = _layers([4, width, 1])
    return wg.TrainStep(_loss, model, wg.optim.Adam(1e-2), ranks=ranks, **options)


def gru_step(ranks, width=8, rows=ROWS):
    """A recurrent cell. Its `ranks` have state_rows="h"."""
    rng = np.random.default_rng(2)
    names, shape = ("update", "reset", "new"), (4 + width, width)
    model = {name: rng.normal(size=shape).astype(np.float32) / width**0.5 for name in names}
    model["out"] = rng.normal(size=(width, 1)).astype(np.float32)

    def loss(model, state, x, y):
        h, count = state["h"], state["count"]
        both = wg.concat([x, h], axis=1)
        z, r = wg.sigmoid(both @ model["update"]), wg.sigmoid(both @ model["reset"])
        new = wg.tanh(wg.concat([x, r * h], axis=1) @ model["new"])
        h = (1 - z) * h + z * new
        carried = {"h": wg.stop_gradient(h), "count": count + 1}
        return wg.mean((h @ model["out"] - y) ** 2), carried

    options = {"clip_norm": 1.0, "ranks": ranks}
    state = {"h": np.zeros((rows, width), np.float32), "count": np.array(0)}
    return wg.TrainStep(loss, model, wg.optim.Adam(1e-2), state=state, **options)


def dropout_step(ranks, width=16):
    """A network whose inputs are dropped at random; aux by rows."""

    def loss(model, x, y, rng):
        return _loss(model, wg.dropout(x, 0.3, rng), y), {"x": wg.mean(x), "rows": x[:, 0]}

    options = {"has_aux": True, "seed": 3, "ranks": ranks}
    return wg.TrainStep(loss, _layers([4, width, 1]), wg.optim.Adam(1e-2), **options)


def batch_norm_step(ranks, width=16):
    """A network with a norm behind each layer."""
    norms = [wg.nn.BatchNorm(width), wg.nn.BatchNorm(1)]
    model = {"layers": _layers([4, width, 1]), "norms": norms}

    def loss(model, state, x, y):
        first, last = model["layers"]
        x, before = model["norms"][0](x @ first["w"] + first["b"], state[0], training=True)
        x, after = model["norms"][1](wg.tanh(x) @ last["w"] + last["b"], state[1], training=True)
        return wg.mean((x - y) ** 2), [before, after]

    options = {"clip_norm": 1.0, "ranks": ranks}
    state = [norm.initial_state() for norm in norms]
    return wg.TrainStep(loss, model, wg.optim.Adam(1e-2), state=state, **options)


def mlp(make):
    """Single calls, each with this rank's rows; an epoch in shuffled batches, the last smaller."""
    ranks = make()
    step = mlp_step(ranks)
    losses = [step(*wg.parallel.shard(ranks, *data())) for _ in range(STEPS)]
    history = step.run(*data(), batch_size=16, epochs=3, shuffle_seed=5)
    return step, [*losses, *history.loss.tolist()]


def large(make):
    """A gradient of more bytes than are sent to everybody; accumulation."""
    ranks = make()
    step = wg.TrainStep(
        _loss, _layers([4, 100, 100, 1]), wg.optim.SGD(1e-2), accumulate=2, ranks=ranks
    )
    return step, step.run(*data(), batch_size=12, epochs=2, shuffle_seed=1).loss.tolist()


def gru(make):
    """A carry with a row for each row of the batch, and a count that is the same for all."""
    ranks = make(state_rows="h")
    step = gru_step(ranks)
    losses = [step(*wg.parallel.shard(ranks, *data())) for _ in range(STEPS)]
    assert step.state["count"] == STEPS
    return step, losses


def dropout(make):
    """Random numbers that differ between micro-batches and not between numbers of ranks."""
    ranks = make()
    step = dropout_step(ranks)
    found = [step(*wg.parallel.shard(ranks, *data())) for _ in range(STEPS)]
    losses, auxes = zip(*found, strict=True)
    assert np.array_equal(auxes[-1]["rows"], data()[0][:, 0])
    return step, [*losses, *(float(aux["x"]) for aux in auxes)]


def batch_norm(make):
    """Statistics of the whole batch, in two layers, and running ones that are carried."""
    ranks = make()
    step = batch_norm_step(ranks)
    losses = [step(*wg.parallel.shard(ranks, *data())) for _ in range(STEPS)]
    return step, [*losses, *step.run(*data(), batch_size=12, epochs=2, shuffle_seed=1).loss]


def skipping(make):
    """Rows that are not finite on one rank are skipped by all."""
    ranks = make()
    step = mlp_step(ranks, nonfinite="skip")
    x, y = data()
    bad = x.copy()
    bad[5, 1] = np.nan
    skipped = []
    for k in range(6):
        step(*wg.parallel.shard(ranks, bad if k % 3 == 1 else x, y))
        skipped.append(step.last.skipped)
    assert skipped == [False, True, False] * 2
    return step, []


def refusing(make):
    """All ranks raise the same error, and go on from the state they had."""
    ranks = make()
    step = mlp_step(ranks)
    x, y = data()
    step(*wg.parallel.shard(ranks, x, y))
    before = step.fingerprint()
    bad = x.copy()
    bad[5, 1] = np.inf
    raised = None
    try:
        step(*wg.parallel.shard(ranks, bad, y))
    except wg.errors.NonFiniteError as error:
        raised = error
    assert raised is not None
    assert "'x' is inf" in str(raised)
    assert raised.row == 5
    assert "micro-batch 1" in raised.__notes__[-1]
    assert step.fingerprint() == before
    return step, [step(*wg.parallel.shard(ranks, x, y))]


def saving(make, folder=Path()):
    """Half of a run, saved by the first rank."""
    step = mlp_step(make())
    step.run(*data(), batch_size=16, epochs=2, shuffle_seed=5)
    step.save(folder / "half.safetensors")
    return step, []


def resuming(make, folder=Path()):
    """The other half."""
    step = mlp_step(make())
    step.load(folder / "half.safetensors")
    step.run(*data(), batch_size=16, epochs=2, shuffle_seed=5)
    return step, []


def unbroken(make):
    """What `saving` and `resuming` do together."""
    step = mlp_step(make())
    step.run(*data(), batch_size=16, epochs=2, shuffle_seed=5)
    step.run(*data(), batch_size=16, epochs=2, shuffle_seed=5)
    return step, []


SAME = [mlp, large, gru, dropout, batch_norm, skipping, refusing]


def main(*names):
    """Print the rank and what came of each program. Files are written where it runs."""
    rank = wg.parallel.mpi().rank
    for name in names:
        step, numbers = globals()[name](wg.parallel.mpi)
        found = {"rank": rank, "program": name, "fingerprint": step.fingerprint()}
        sys.stdout.write(json.dumps({**found, "numbers": numbers}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
