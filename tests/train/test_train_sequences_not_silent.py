"""What a training step does with rows, times and statistics otherwise than meant: it says so."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import stepped, warned
from wengert.errors import SizeWarning

nn = wg.nn
RNG = np.random.default_rng(0)


def drawn(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ran(loss, model, *data, **options):
    return lambda: wg.TrainStep(loss, model, wg.optim.SGD(0.01)).run(*data, **options)


# Rows that meet columns, since there are as many.


def weighted(m, x, y, w):
    return wg.mean((m(x) - y) ** 2 * w)


def masked(m, x, real):
    return wg.mean(m(x, mask=real) ** 2)


def scaled(m, x, mean, std):
    return wg.mean(m((x - mean) / std) ** 2)


ATTENTION = nn.MultiheadAttention(8, 2, seed=0)
MIXED = {
    "weights of rows": stepped(weighted, nn.Linear(4, 8), drawn(8, 4), drawn(8, 8), drawn(8)),
    "weights of rows in a run": ran(
        weighted, nn.Linear(4, 8), drawn(32, 4), drawn(32, 8), drawn(32), batch_size=8
    ),
    "real keys of rows in a run": ran(
        masked, ATTENTION, drawn(30, 6, 8), drawn(30, 6) > 0, batch_size=6
    ),
    "two arrays in a run": ran(
        lambda m, x, w: wg.mean(m(x) * w), nn.Linear(4, 8), drawn(16, 4), drawn(16), batch_size=8
    ),
}


@pytest.mark.parametrize("case", MIXED)
def test_rows_that_meet_columns_are_told(case):
    found = warned(MIXED[case])
    assert [each.category for each in found] == [SizeWarning]
    assert "as many rows as columns" in str(found[0].message)
    assert found[0].filename == __file__


UNMIXED = {
    "a mean of columns": stepped(scaled, nn.Linear(8, 8), drawn(8, 8), drawn(8), drawn(8)),
    "a mask of times": stepped(masked, ATTENTION, drawn(6, 6, 8), drawn(6, 6) > 0),
    "weights of rows": stepped(
        lambda m, x, y, w: weighted(m, x, y, w[:, None]),
        nn.Linear(4, 8),
        drawn(8, 4),
        drawn(8, 8),
        drawn(8),
    ),
    "weights of fewer rows": stepped(
        lambda m, x, y, w: wg.mean(wg.mean((m(x) - y) ** 2, axis=1) * w),
        nn.Linear(4, 8),
        drawn(8, 4),
        drawn(8, 8),
        drawn(8),
    ),
    "a carried state of the batch": lambda: wg.TrainStep(
        lambda m, h, x, y: (wg.mean((m(x) + h - y) ** 2), h * 0.5),
        nn.Linear(4, 8),
        wg.optim.SGD(0.01),
        state=drawn(8, 8),
    ).run(drawn(16, 4), drawn(16, 8), batch_size=8),
}


@pytest.mark.parametrize("case", UNMIXED)
def test_rows_that_meet_rows_are_not_told(case):
    assert not warned(UNMIXED[case])
