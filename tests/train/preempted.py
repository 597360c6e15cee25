"""A program that trains, and goes on where it was told to end: `python preempted.py <file>`."""

import signal
import sys
from pathlib import Path

import numpy as np

import wengert as wg

path = Path(sys.argv[1])
rng = np.random.default_rng(0)
x, y = rng.standard_normal((400, 3)), rng.standard_normal(400)


def loss(w, x, y, rng):
    return wg.mean((wg.dropout(x, 0.1, rng) @ w - y) ** 2)


step = wg.TrainStep(loss, np.zeros(3), wg.optim.Adam(1e-3), accumulate=3)
if path.exists():
    step.load(path)


def end(*_):
    step.save(path)
    raise SystemExit(3)


signal.signal(signal.SIGTERM, end)
print("begun", flush=True)
for epoch in step.epochs(x, y, batch_size=4, epochs=1000 - step.epoch, shuffle_seed=1):
    if epoch.index % 20 == 0:
        print(epoch.index, flush=True)
print(step.fingerprint(), flush=True)
