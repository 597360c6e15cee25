"""A mask among the parameters of a model is told; other triangles are not."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import MaskWarning

ROWS = np.random.default_rng(0).standard_normal((4, 3, 2)).astype(np.float32)
MASK = np.tril(np.ones((3, 3), np.float32))
W = np.eye(2, dtype=np.float32)


def scores(m, x):
    return x @ m["w"] @ wg.swapaxes(x, 1, 2)


def multiplied(m, x):
    return wg.mean(wg.exp(scores(m, x)) * m["mask"])


def added(m, x):
    return wg.mean(wg.softmax(scores(m, x) + (1 - m["mask"][:, :3]) * -1e9) ** 2)


def factor(m, x):  # of a covariance
    return wg.mean((x @ m["w"]) ** 2) + wg.mean((wg.swapaxes(x, 1, 2) @ m["mask"]) ** 2)


def told(loss, mask, optimizer):
    step = wg.TrainStep(loss, {"w": W, "mask": mask}, optimizer)
    return [each.category for each in warned(lambda: step(ROWS))]


@pytest.mark.parametrize("loss", [multiplied, added])
def test_a_mask_that_is_trained_is_told(loss):
    assert told(loss, MASK, wg.optim.SGD(0.1)) == [MaskWarning]


def test_upper_and_stacked_masks_are_told():
    upper = np.triu(np.ones((1, 3, 3), np.float32), 1)
    assert told(multiplied, upper, wg.optim.SGD(0.1)) == [MaskWarning]


RIGHT = {
    "bools": (multiplied, MASK.astype(bool), wg.optim.SGD(0.1)),
    "frozen": (multiplied, MASK, {"mask": None, "*": wg.optim.SGD(0.1)}),
    "a factor": (factor, MASK, wg.optim.SGD(0.1)),
    "an identity": (multiplied, np.eye(3, dtype=np.float32), wg.optim.SGD(0.1)),
    "ones": (multiplied, np.ones((3, 3), np.float32), wg.optim.SGD(0.1)),
    "gates that begin elsewhere": (multiplied, 0.5 * MASK, wg.optim.SGD(0.1)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_other_arrays_are_no_reason_to_warn(name):
    assert told(*RIGHT[name]) == []
