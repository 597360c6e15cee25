"""Layers of images: formulas in JAX, derivatives, trees, training, refusals."""

from __future__ import annotations

import copy
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wengert as wg
from wengert.errors import ShapeError

nn = wg.nn
DOUBLE = {"dtype": np.float64}


def random(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape)


def shaken(layer, seed=0):
    rng = np.random.default_rng(seed)
    return wg.tree.map(lambda x: x + 0.3 * rng.normal(size=x.shape), layer)


def standard(x, axes, eps):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + eps)


def per_channel(p, x, y):
    each = (1, -1, *(1,) * (x.ndim - 2))
    return y * p.scale.reshape(each) + p.shift.reshape(each)


def jax_group_norm(p, x):
    parts = x.reshape(x.shape[0], p.groups, -1)
    return per_channel(p, x, standard(parts, 2, p.eps).reshape(x.shape))


def jax_instance_norm(p, x):
    return per_channel(p, x, standard(x, tuple(range(2, x.ndim)), p.eps))


def jax_rms_norm(p, x):
    axes = tuple(range(-p.scale.ndim, 0))
    return x / jnp.sqrt((x**2).mean(axes, keepdims=True) + p.eps) * p.scale


def jax_batch_norm(p, x):
    return per_channel(p, x, standard(x, (0, *range(2, x.ndim)), p.eps))


def jax_conv(p, x):
    y = jax.lax.conv_general_dilated(
        x, p.weight, p.stride, ((1, 1),) * 2, feature_group_count=p.groups
    )
    return y + p.bias.reshape(-1, 1, 1)


def run(p, x):
    return p(x)


def run_batch_norm(p, x):
    return p(x, p.initial_state(), training=True)[0]


LAYERS = {
    "conv": (
        nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2, **DOUBLE),
        run,
        jax_conv,
        random(2, 4, 5, 6),
    ),
    "group_norm": (nn.GroupNorm(2, 4, **DOUBLE), run, jax_group_norm, random(3, 4, 5)),
    "group_norm of vectors": (nn.GroupNorm(2, 6, **DOUBLE), run, jax_group_norm, random(3, 6)),
    "instance_norm": (nn.InstanceNorm(3, **DOUBLE), run, jax_instance_norm, random(2, 3, 4, 2)),
    "rms_norm": (nn.RMSNorm((3, 4), eps=0.1, **DOUBLE), run, jax_rms_norm, random(2, 3, 4)),
    "batch_norm": (
        nn.BatchNorm(3, axis=1, **DOUBLE),
        run_batch_norm,
        jax_batch_norm,
        random(2, 3, 4, 2),
    ),
    "residual": (
        nn.Residual(nn.InstanceNorm(3, **DOUBLE), "tanh"),
        run,
        lambda p, x: x + jnp.tanh(jax_instance_norm(p.body[0], x)),
        random(2, 3, 4),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_values_and_gradients_are_those_of_the_formula_in_jax(name):
    layer, ours, theirs, x = LAYERS[name]
    layer = shaken(layer)
    leaves, structure = wg.tree.flatten(layer)

    def loss(leaves, x):
        y = theirs(wg.tree.unflatten(structure, leaves), x)
        return jnp.sum(jnp.sin(y)), y

    wanted, y = jax.jit(jax.grad(loss, argnums=(0, 1), has_aux=True))(leaves, x)
    np.testing.assert_allclose(ours(layer, x), y, rtol=1e-10, atol=1e-12)
    found = wg.compile(wg.grad(lambda p, x: wg.sum(wg.sin(ours(p, x))), argnums=(0, 1)))(layer, x)
    assert type(found[0]) is type(layer)
    both = zip(wg.tree.leaves(found), jax.tree.leaves(wanted), strict=True)
    for a, b in both:
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_plain_dataclasses_that_can_be_copied(name):
    layer = LAYERS[name][0]
    assert dataclasses.is_dataclass(layer)
    for other in (wg.tree.copy(layer), copy.deepcopy(layer)):
        assert type(other) is type(layer)
        assert repr(other) == repr(layer)
        for a, b in zip(wg.tree.leaves(layer), wg.tree.leaves(other), strict=True):
            assert np.array_equal(a, b)
            assert not np.shares_memory(a, b)


def test_batch_norm_evaluates_along_its_axis():
    norm = shaken(nn.BatchNorm(3, axis=1, **DOUBLE))
    last = copy.deepcopy(norm)
    last.axis = -1
    state = {"mean": random(3), "var": np.array([0.5, 1.0, 2.0])}
    x = random(2, 3, 4, 5)
    found, same = norm(x, state, training=False)
    expected, _ = last(np.moveaxis(x, 1, -1), state, training=False)
    assert same is state
    np.testing.assert_array_equal(found, np.moveaxis(expected, -1, 1))


@dataclasses.dataclass
class Net:
    conv: nn.Conv2d
    norm: nn.BatchNorm
    head: nn.Sequential

    def __call__(self, x, state, training):
        y, state = self.norm(self.conv(x), state, training=training)
        return self.head(wg.relu(y)), state


def test_a_convnet_trains_with_any_batch_size():
    net = Net(
        nn.Conv2d(1, 4, 3, padding="same", seed=0),
        nn.BatchNorm(4, axis=1),
        nn.Sequential(
            nn.MaxPool(2),
            nn.Residual(nn.Conv2d(4, 4, 3, padding=1, seed=1), "relu"),
            nn.AdaptiveMeanPool(1),
            nn.Flatten(),
            nn.Linear(4, 2, seed=2),
        ),
    )

    def loss(net, state, x, y):
        logits, state = net(x, state, training=True)
        return wg.cross_entropy(logits, y), state

    rng = np.random.default_rng(0)
    x = rng.normal(size=(32, 1, 6, 6)).astype(np.float32)
    x[:16, :, :, :3] += 1.5  # the left half is brighter in one class
    y = (np.arange(32) >= 16).astype(np.int64)
    step = wg.TrainStep(loss, net, wg.optim.Adam(3e-2), state=net.norm.initial_state())
    losses = [float(step(x, y)) for _ in range(30)]
    assert losses[-1] < losses[0] / 4
    step(x[:5], y[:5])
    assert step.model.conv.weight.dtype == np.float32


def test_a_transposed_layer_begins_with_the_fan_of_what_goes_in():
    wide = nn.ConvTranspose2d(64, 2, 3, init="lecun_normal", seed=0, **DOUBLE)
    assert np.std(wide.weight) == pytest.approx((64 * 9) ** -0.5, rel=0.1)
    assert wide.weight.flags.c_contiguous


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels=3 with groups=2"),
        (lambda: nn.Conv2d(3, 4, (3, 3, 3)), ShapeError, "window"),
        (lambda: nn.Conv2d(3, 4, 3, padding="Same"), ShapeError, "padding='Same'"),
        (lambda: nn.Conv2d(3, 4, kernel_size=3), TypeError, "kernel_size"),
        (lambda: nn.GroupNorm(3, 4), ValueError, "channels=4 with groups=3"),
        (lambda: nn.GroupNorm(2, 4)(np.ones((1, 3, 4))), ShapeError, "axis 1 must be the 4"),
        (lambda: nn.Residual(nn.Linear(2, 3))(np.ones((1, 2))), ShapeError, "shortcut="),
        (
            lambda: nn.BatchNorm(3)(
                np.ones((2, 3, 4, 4)), nn.BatchNorm(3).initial_state(), training=True
            ),
            ShapeError,
            "axis=1",
        ),
        (lambda: nn.BatchNorm(3, axis=None), TypeError, "axis=None"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
