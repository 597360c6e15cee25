"""Sizes that evaluations leave open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ShapeError

TIME = wg.Dim("time")


def _opened(kind: Any, recorded: list[str]) -> Any:
    def loss(m: Any, x: Any, mask: Any) -> Any:
        recorded.append("loss")
        return wg.mean(wg.sum(x * m * mask, axis=1))

    model = np.ones(1) if kind is wg.TrainStep else [np.ones(1), np.zeros(1)]
    dims = {"x": {1: TIME}, "mask": {-1: TIME}}
    return kind(loss, model, wg.optim.SGD(0.1), dims=dims)


@pytest.mark.parametrize("kind", [wg.TrainStep, wg.Ensemble])
def test_an_evaluation_leaves_open_what_its_step_does(kind: Any):
    recorded: list[str] = []

    def means(m: Any, x: Any, mask: Any) -> Any:
        recorded.append("means")
        return wg.mean(x * m * mask), wg.mean(x, axis=0)  # as long as the sequences

    def of_others(m: Any, rows: Any) -> Any:
        recorded.append("of others")
        return wg.mean(rows * m)

    step = _opened(kind, recorded)
    for length in (4, 5, 9):
        x = np.random.default_rng(length).standard_normal((10, length))
        mask = np.ones_like(x)
        _, found = step.evaluate(means, x, mask, batch_size=4)
        np.testing.assert_allclose(np.reshape(found, (-1, length))[0], x.mean(axis=0))
        found = step.evaluate(of_others, x, batch_size=4, dims={"rows": {1: TIME}})
        np.testing.assert_allclose(np.ravel(found)[0], x.mean())
    assert recorded == ["means", "of others"]


def test_an_evaluation_of_other_arrays_of_the_same_names():
    """A Dim of the step is that of two arguments; here they are not alike, or have no such axis."""
    step = _opened(wg.TrainStep, [])
    x, mask = np.ones((6, 3)), np.ones((6, 2))
    found = step.evaluate(lambda m, x, mask: wg.mean(x) + wg.mean(mask), x, mask, batch_size=3)
    assert found == 2.0
    assert step.evaluate(lambda m, x: wg.mean(x), np.ones(6), batch_size=3) == 1.0
    with pytest.raises(ShapeError, match=r"returned shape \(3,\) for a batch of 3"):
        step.evaluate(lambda m, x: wg.sum(x, axis=1), x, batch_size=3)
    with pytest.raises(TypeError, match="dims=3 was given"):
        step.evaluate(lambda m, x: wg.mean(x), x, batch_size=3, dims=3)
