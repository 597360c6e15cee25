"""A BatchNorm behind a convolution that takes columns for features, where images are as wide as
there are channels: it says so.
"""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import BatchNormWarning

nn = wg.nn
RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 1, 8, 8)).astype(np.float32)
Y = np.arange(6) % 3
CONV = nn.Conv2d(1, 8, 3, padding="same", seed=0)


def as_it_is(conv, x):
    return conv(x)


def net(conv, norm):
    return {"conv": conv, "norm": norm, "out": nn.Linear(8, 3, seed=1)}


def step_of(model, before=as_it_is):
    def loss(m, s, x, y):
        h, s = m["norm"](before(m["conv"], x), s, training=True)
        h = wg.mean(wg.relu(h), axis=tuple(range(2, h.ndim)))
        return wg.cross_entropy(m["out"](h), y), s

    state = model["norm"].initial_state()
    return wg.TrainStep(loss, wg.tree.copy(model), wg.optim.SGD(0.01), state=state)


def gated(conv, x):
    return wg.relu(conv(x)) * wg.sigmoid(conv(x)) + x


IN_BETWEEN = [as_it_is, lambda conv, x: wg.relu(conv(x)), lambda conv, x: 2 * conv(x), gated]


@pytest.mark.parametrize("before", IN_BETWEEN)
def test_columns_that_are_normalized_in_the_place_of_channels_are_told(before):
    step = step_of(net(CONV, nn.BatchNorm(8)), before)
    for call in (lambda: step(X, Y), lambda: step_of(net(CONV, nn.BatchNorm(8)), before)(X, Y)):
        found = warned(call)
        assert {each.category for each in found} == {BatchNormWarning}
        assert len(found) == 1
        assert "Write BatchNorm(…, axis=1)" in str(found[0].message)
        assert found[0].filename == __file__


@pytest.mark.parametrize(
    ("conv", "x"),
    [
        (nn.Conv1d(2, 8, 3, padding="same", seed=0), np.ones((6, 2, 8), np.float32)),
        (nn.Conv2d(2, 8, 3, padding="same", groups=2, seed=0), np.ones((6, 2, 5, 8), np.float32)),
        (nn.ConvTranspose2d(1, 8, 2, seed=0), np.ones((6, 1, 7, 7), np.float32)),
    ],
)
def test_columns_behind_other_convolutions_are_told(conv, x):
    (found,) = warned(lambda: step_of(net(conv, nn.BatchNorm(8)))(x, Y))
    assert found.category is BatchNormWarning


def test_columns_are_told_in_compiled_functions():
    norm = nn.BatchNorm(8)
    predict = wg.compile(lambda x: norm(CONV(x), norm.initial_state(), training=False)[0])
    (found,) = warned(lambda: predict(X))
    assert found.category is BatchNormWarning


def channels_last(conv, x):
    return wg.moveaxis(conv(x), 1, -1)


def patches(conv, x):
    return wg.moveaxis(conv(x)[:, :, :2, :4], 1, -1).reshape(-1, 8, 8)


def pooled(conv, x):
    return wg.mean(conv(x), axis=(2, 3))


def as_data(conv, x):
    return x[:, 0] + wg.mean(conv(x))


@pytest.mark.parametrize(
    ("norm", "before"),
    [
        (nn.BatchNorm(8, axis=1), as_it_is),
        (nn.BatchNorm(8, axis=3), as_it_is),  # the last axis by its number
        (nn.BatchNorm(8), channels_last),
        (nn.BatchNorm(8), patches),
        (nn.BatchNorm(8), pooled),
        (nn.BatchNorm(8), as_data),  # (batch, 8, 8), of no convolution
    ],
)
def test_features_that_are_channels_or_are_meant_are_not_told(norm, before):
    def loss(m, s, x, y):
        h, s = m["norm"](before(m["conv"], x), s, training=True)
        return wg.mean(h**2 * y[:1]), s

    model = wg.tree.copy(net(CONV, norm))
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.01), state=norm.initial_state())
    assert [each for each in warned(lambda: step(X, Y)) if each.category is BatchNormWarning] == []


def test_what_a_linear_layer_gives_is_not_told():
    def loss(m, s, x):
        h, s = m["norm"](m["linear"](x), s, training=True)
        return wg.mean(h**3), s

    model = {"linear": nn.Linear(4, 8, seed=0), "norm": nn.BatchNorm(8)}
    state = model["norm"].initial_state()
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.01), state=state)
    assert warned(lambda: step(RNG.standard_normal((6, 8, 4)).astype(np.float32))) == []
