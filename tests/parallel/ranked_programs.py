"""Programs that run on any number of ranks, and print one line each: what must be equal.

    python ranked_programs.py NAME…

Started by the tests below MPI, and without it on one process.
"""

import json
import os
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

import wengert as wg

ROWS, STEPS = 36, int(os.environ.get("RANKED_STEPS", "6"))


def _data(columns=4):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, columns)).astype(np.float32)
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


def _mlp_step(ranks, **options):
    options = {"clip_norm": 1.0, **options}
    return wg.TrainStep(_loss, _layers([4, 16, 1]), wg.optim.Adam(1e-2), ranks=ranks, **options)


def mlp(make):
    """Single calls, each with this rank's rows; an epoch in shuffled batches, the last smaller."""
    ranks = make()
    step = _mlp_step(ranks)
    losses = [step(*wg.parallel.shard(ranks, *_data())) for _ in range(STEPS)]
    history = step.run(*_data(), batch_size=16, epochs=3, shuffle_seed=5)
    return step, [*losses, *history.loss.tolist()]


def large(make):
    """A gradient of more bytes than are sent to everybody; accumulation."""
    ranks = make()
    step = wg.TrainStep(
        _loss, _layers([4, 100, 100, 1]), wg.optim.SGD(1e-2), accumulate=2, ranks=ranks
    )
    return step, step.run(*_data(), batch_size=12, epochs=2, shuffle_seed=1).loss.tolist()


def gru(make):
    """A carry with a row for each row of the batch, and a count that is the same for all."""
    ranks = make(state_rows="h")
    rng = np.random.default_rng(2)
    model = {
        name: rng.normal(size=(12, 8)).astype(np.float32) / 4 for name in ("update", "reset", "new")
    } | {"out": rng.normal(size=(8, 1)).astype(np.float32)}

    def loss(model, state, x, y):
        h, count = state["h"], state["count"]
        both = wg.concat([x, h], axis=1)
        z, r = wg.sigmoid(both @ model["update"]), wg.sigmoid(both @ model["reset"])
        new = wg.tanh(wg.concat([x, r * h], axis=1) @ model["new"])
        h = (1 - z) * h + z * new
        return wg.mean((h @ model["out"] - y) ** 2), {
            "h": wg.stop_gradient(h),
            "count": count + 1,
        }

    state = {"h": np.zeros((ROWS, 8), np.float32), "count": np.array(0)}
    step = wg.TrainStep(loss, model, wg.optim.Adam(1e-2), state=state, clip_norm=1.0, ranks=ranks)
    losses = [step(*wg.parallel.shard(ranks, *_data())) for _ in range(STEPS)]
    assert step.state["count"] == STEPS
    return step, losses


def dropout(make):
    """Random numbers that differ between micro-batches and not between numbers of ranks."""
    ranks = make()

    def loss(model, x, y, rng):
        return _loss(model, wg.dropout(x, 0.3, rng), y), {"x": wg.mean(x), "rows": x[:, 0]}

    model = _layers([4, 16, 1])
    step = wg.TrainStep(loss, model, wg.optim.Adam(1e-2), has_aux=True, seed=3, ranks=ranks)
    found = [step(*wg.parallel.shard(ranks, *_data())) for _ in range(STEPS)]
    losses, auxes = zip(*found, strict=True)
    assert np.array_equal(auxes[-1]["rows"], _data()[0][:, 0])
    return step, [*losses, *(float(aux["x"]) for aux in auxes)]


def batch_norm(make):
    """Statistics of the whole batch, in two layers, and running ones that are carried."""
    ranks = make()
    norms = [wg.nn.BatchNorm(16), wg.nn.BatchNorm(1)]
    model = {"layers": _layers([4, 16, 1]), "norms": norms}

    def loss(model, state, x, y):
        first, last = model["layers"]
        x, before = model["norms"][0](x @ first["w"] + first["b"], state[0], training=True)
        x, after = model["norms"][1](wg.tanh(x) @ last["w"] + last["b"], state[1], training=True)
        return wg.mean((x - y) ** 2), [before, after]

    state = [norm.initial_state() for norm in norms]
    step = wg.TrainStep(loss, model, wg.optim.Adam(1e-2), state=state, clip_norm=1.0, ranks=ranks)
    losses = [step(*wg.parallel.shard(ranks, *_data())) for _ in range(STEPS)]
    return step, [*losses, *step.run(*_data(), batch_size=12, epochs=2, shuffle_seed=1).loss]


def skipping(make):
    """Rows that are not finite on one rank are skipped by all."""
    ranks = make()
    step = _mlp_step(ranks, nonfinite="skip")
    x, y = _data()
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
    step = _mlp_step(ranks)
    x, y = _data()
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
    step = _mlp_step(make())
    step.run(*_data(), batch_size=16, epochs=2, shuffle_seed=5)
    step.save(folder / "half.safetensors")
    return step, []


def resuming(make, folder=Path()):
    """The other half."""
    step = _mlp_step(make())
    step.load(folder / "half.safetensors")
    step.run(*_data(), batch_size=16, epochs=2, shuffle_seed=5)
    return step, []


def unbroken(make):
    """What `saving` and `resuming` do together."""
    step = _mlp_step(make())
    step.run(*_data(), batch_size=16, epochs=2, shuffle_seed=5)
    step.run(*_data(), batch_size=16, epochs=2, shuffle_seed=5)
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
