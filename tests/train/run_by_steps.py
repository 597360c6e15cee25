"""A run as single calls, for comparison."""

import numpy as np

import wengert as wg
from wengert.train.runs.row_orders import shuffled


def by_steps(step, arrays, size, epochs=1, seed=None, drop_last=False):
    """The run as single calls: losses, norms, rates and what was skipped."""
    rows = len(wg.tree.leaves(arrays)[0])
    found = []
    for _ in range(epochs):
        order = shuffled(rows, seed, step.epoch)
        order = np.arange(rows) if order is None else order
        engine = step._engine
        engine.progress = engine.progress._replace(shuffled=seed is not None)
        for begin in range(0, rows - size + 1 if drop_last else rows, size):
            chosen = order[begin : begin + size]
            step(*wg.tree.map(lambda x, chosen=chosen: x[chosen], arrays))
            last = step.last
            found.append((last.loss, last.grad_norm, last.learning_rate, last.skipped))
        step.epoch += 1
    return found
