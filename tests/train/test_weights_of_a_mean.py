"""Weights of rows that are multiplied by the mean of all rows: they only scale the loss."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import stepped, warned
from wengert.errors import PairedRowsWarning

rng = np.random.default_rng(0)
X, Y, W = rng.standard_normal((8, 3)), rng.standard_normal(8), rng.uniform(0.5, 2.0, 8)
LABELS = np.arange(8) % 2
MASK = np.arange(24).reshape(8, 3) % 5 > 0
MODEL = {"v": np.ones(3), "q": rng.standard_normal((3, 2)), "scale": np.array(1.0)}


def predicted(m, x):
    return x @ m["v"]


TOLD = {
    "cross_entropy": lambda m, x, y, w: wg.mean(wg.cross_entropy(x @ m["q"], y) * w),
    "mse": lambda m, x, y, w: wg.sum(w * wg.mse(predicted(m, x), y)) / wg.sum(w),
    "a mean": lambda m, x, y, w: wg.mean(wg.mean((predicted(m, x) - y) ** 2) * w),
    "a mean with more": lambda m, x, y, w: (
        -wg.mean(w * (0.5 * wg.mean(predicted(m, x)) - 0.1 * wg.sum(m["v"] ** 2)))
    ),
    "in NumPy": lambda m, x, y, w: np.mean(-2.0 * (w * np.mean((predicted(m, x) - y) ** 2))),
    "computed weights": lambda m, x, y, w: wg.mean(wg.mse(predicted(m, x), y) * wg.exp(-w)),
    "columns": lambda m, x, y, w: wg.mean(wg.mse(predicted(m, x), y) * w[:, None]),
}
RIGHT = {
    "none": lambda m, x, y, w: wg.mean(wg.mse(predicted(m, x), y, reduction="none") * w),
    "their mean": lambda m, x, y, w: wg.mean(w) * wg.mse(predicted(m, x), y),
    "a number of the model": lambda m, x, y, w: wg.mean(m["scale"] * w) + wg.mean(predicted(m, x)),
    "a mean of data": lambda m, x, y, w: wg.mean(wg.mean(y) * w) * wg.mean(predicted(m, x)),
    "centered": lambda m, x, y, w: wg.mean((predicted(m, x) - wg.mean(predicted(m, x))) * w),
    "predictions": lambda m, x, y, w: wg.mean((wg.mean(predicted(m, x)) * w - y) ** 2),
    "beside others": lambda m, x, y, w: wg.mean(y + 0.9 * wg.mean(predicted(m, x)) * w),
    "squares": lambda m, x, y, w: wg.mean(wg.square(wg.mean(predicted(m, x)) * w)),
    "inverses": lambda m, x, y, w: wg.mean(2 / (wg.mean(wg.exp(predicted(m, x))) * w)),
    "for each row": lambda m, x, y, w: wg.mean(wg.mean((x * m["v"]) ** 2, axis=1) * w),
    "for each column": lambda m, x, y, w: wg.mean(wg.mean((x * m["v"]) ** 2, axis=0) * x),
}


def batch(case):
    return X, LABELS if case == "cross_entropy" else Y, W


@pytest.mark.parametrize("case", TOLD)
def test_weights_of_a_mean_are_told(case):
    (found,) = warned(stepped(TOLD[case], MODEL, *batch(case)))
    assert (found.category, found.filename) == (PairedRowsWarning, __file__)
    assert "the weights only scale the loss" in str(found.message)
    repair = 'cross_entropy(…, reduction="none")' if case == "cross_entropy" else ""
    assert repair in str(found.message)


@pytest.mark.parametrize("case", RIGHT)
def test_right_weights_are_let_pass(case):
    assert warned(stepped(RIGHT[case], MODEL, *batch(case))) == []


def test_a_mask_of_places_beside_a_mean_is_told():
    def loss(m, x, mask):
        return wg.sum(wg.mean((x * m["v"]) ** 2) * mask) / wg.sum(mask)

    (found,) = warned(stepped(loss, MODEL, X, MASK.astype(float)))
    assert "data of shape (n, 3)" in str(found.message)
