"""Rows of what the model gives that are taken by actions or classes, where one number of each row
is meant: single calls tell it, and let pass rows that are taken on purpose.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import stepped, warned
from wengert.errors import ScannedRowsWarning

rng = np.random.default_rng(0)
ROWS, ACTIONS = 16, 3
STATES = rng.normal(size=(ROWS, 4)).astype(np.float32)
TAKEN = np.arange(ROWS) % ACTIONS
REWARDS = rng.normal(size=ROWS).astype(np.float32)
MODEL = {
    "w": rng.normal(size=(4, ACTIONS)).astype(np.float32),
    "table": rng.normal(size=(ROWS, ACTIONS)).astype(np.float32),
}


def told(loss, *batch):
    """What a single call says of rows that are taken."""
    found = warned(stepped(loss, MODEL, *batch))
    return [str(each.message) for each in found if each.category is ScannedRowsWarning]


def logits(m, s):
    return s @ m["w"]


def logp(m, s):
    return wg.log_softmax(logits(m, s))


def with_entropy(m, s, a, r):
    known = logp(m, s)
    entropy = -wg.mean(wg.sum(wg.exp(known) * known, axis=1))
    return -wg.mean(known[a].sum(-1) * r) - 0.01 * entropy


def bootstrapped(m, s, a, r):
    target = wg.stop_gradient(r + 0.9 * wg.max(logits(m, wg.flip(s, 0)), axis=1))
    return wg.mean((logits(m, s)[a] - target[:, None]) ** 2)


MISTAKEN = {
    "policy gradient": lambda m, s, a, r: -wg.mean(logp(m, s)[a] * r[:, None]),
    "summed": lambda m, s, a, r: -wg.sum(wg.sum(logp(m, s)[a], axis=-1) * r),
    "entropy": with_entropy,
    "likelihood": lambda m, s, a, r: -wg.mean(logp(m, s)[a]) + 0 * wg.mean(r),
    "logarithm": lambda m, s, a, r: (
        -wg.mean(wg.log(wg.softmax(logits(m, s)) + 1e-8)[a] * r[:, None])
    ),
    "take": lambda m, s, a, r: -wg.mean(wg.take(logp(m, s), a, axis=0) * r[:, None]),
    "values": lambda m, s, a, r: wg.mean((logits(m, s)[a].max(1) - r) ** 2),
    "bootstrapped values": bootstrapped,
    "converted": lambda m, s, a, r: (
        -wg.mean(logp(m, s)[a.astype(np.int32).reshape(-1)] * r[:, None])
    ),
}


@pytest.mark.parametrize("loss", MISTAKEN.values(), ids=MISTAKEN)
def test_rows_taken_by_actions_are_named(loss):
    (text,) = told(loss, STATES, TAKEN, REWARDS)
    assert "x of shape (batch, 3) that the model gives" in text
    assert "wg.take_along_axis(x, index[:, None], axis=1)[:, 0]" in text


def aggregated(m, s, senders, receivers):
    h = logits(m, s)
    return wg.mean(wg.scatter_add(wg.zeros(h.shape, h.dtype), receivers, h[senders]) ** 2)


def along_edges(m, s, senders, receivers):
    h = logits(m, s)
    return wg.mean(wg.sum((h[senders] - h[receivers]) ** 2, axis=1))


def to_prototypes(m, s, classes, r):
    p = wg.softmax(logits(m, s))
    return wg.mean(wg.sum((p - p[classes]) ** 2, axis=1) * r**2)


def to_prototypes_computed_twice(m, s, classes, r):
    return wg.mean(wg.sum((logits(m, s) - logits(m, s)[classes]) ** 2, axis=1) * r**2)


ON_PURPOSE = {
    "one of each row": (
        lambda m, s, a, r: -wg.mean(wg.take_along_axis(logp(m, s), a[:, None], axis=1)[:, 0] * r),
        TAKEN,
    ),
    "by both indices": (
        lambda m, s, a, r: -wg.mean(logp(m, s)[wg.arange(s.shape[0]), a] * r),
        TAKEN,
    ),
    "a table of the model": (lambda m, s, a, r: wg.mean((m["table"][a] - r[:, None]) ** 2), TAKEN),
    "partners": (
        lambda m, s, p, r: wg.mean((logits(m, s)[p] - r[:, None]) ** 2),
        np.arange(ROWS)[::-1],
    ),
    "prototypes": (to_prototypes, TAKEN),
    "prototypes, computed twice": (to_prototypes_computed_twice, TAKEN),
    "a star of nodes": (
        lambda m, s, a, r: aggregated(m, s, a, wg.arange(s.shape[0])) + wg.mean(r),
        TAKEN,
    ),
    "edges": (lambda m, s, a, r: along_edges(m, s, a, wg.arange(s.shape[0])) + wg.mean(r), TAKEN),
    "next layer": (lambda m, s, a, r: wg.mean(logits(m, s)[a] @ m["w"].T) + wg.mean(r), TAKEN),
    "one row for all": (lambda m, s, a, r: wg.mean((logits(m, s)[a] - r[:, None]) ** 2), 0 * TAKEN),
}


@pytest.mark.parametrize(("loss", "index"), ON_PURPOSE.values(), ids=ON_PURPOSE)
def test_rows_taken_on_purpose_are_let_pass(loss, index):
    assert told(loss, STATES, index, REWARDS) == []


def test_few_rows_say_nothing():
    assert told(MISTAKEN["policy gradient"], STATES[:5], TAKEN[:5], REWARDS[:5]) == []


def test_a_run_tells_it_once():
    step = wg.TrainStep(MISTAKEN["policy gradient"], MODEL, wg.optim.SGD(0.1))
    with pytest.warns(ScannedRowsWarning) as caught:
        step.run(STATES, TAKEN, REWARDS, batch_size=8)
    assert [each.category for each in caught].count(ScannedRowsWarning) == 1
