"""Every rule against its formula, transcribed here in plain NumPy, along a path of gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import wengert as wg

o = wg.optim
norm = np.linalg.norm
Array = np.ndarray
STEPS = 30


def gradients() -> list[Array]:
    rng = np.random.default_rng(3)
    return [rng.normal(size=(4, 3)) for _ in range(STEPS)]


START = np.random.default_rng(4).normal(size=(4, 3))


def sgd(lr, momentum, dampening, wd, nesterov) -> Callable[[Array, list[Array]], Array]:
    def run(w, gs):
        v = None
        for g in gs:
            g = g + wd * w
            v = g if v is None else momentum * v + (1 - dampening) * g
            w = w - lr * (g + momentum * v if nesterov else v)
        return w

    return run


def adam(lr, b1, b2, eps, wd, decoupled=False, amsgrad=False):
    def run(w, gs):
        m = v = top = np.zeros_like(w)
        for t, g in enumerate(gs, 1):
            w = w * (1 - lr * wd) if decoupled else w
            g = g if decoupled else g + wd * w
            m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
            top = np.maximum(top, v)
            root = np.sqrt((top if amsgrad else v) / (1 - b2**t))
            w = w - lr * (m / (1 - b1**t)) / (root + eps)
        return w

    return run


def rmsprop(lr, alpha, eps, wd, momentum, centered):
    def run(w, gs):
        s = a = b = np.zeros_like(w)
        for g in gs:
            g = g + wd * w
            s, a = alpha * s + (1 - alpha) * g**2, alpha * a + (1 - alpha) * g
            b = momentum * b + g / (np.sqrt(s - a**2 if centered else s) + eps)
            w = w - lr * b
        return w

    return run


def adagrad(lr, lr_decay, wd, first, eps):
    def run(w, gs):
        s = np.full_like(w, first)
        for t, g in enumerate(gs):
            g = g + wd * w
            s = s + g**2
            w = w - lr / (1 + t * lr_decay) * g / (np.sqrt(s) + eps)
        return w

    return run


def radam(lr, b1, b2, eps, wd):
    def run(w, gs):
        m = v = np.zeros_like(w)
        limit = 2 / (1 - b2) - 1
        for t, g in enumerate(gs, 1):
            g = g + wd * w
            m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
            step = m / (1 - b1**t)
            rho = limit - 2 * t * b2**t / (1 - b2**t)
            if rho > 5:
                r = (rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho)
                step = step * np.sqrt(r) * np.sqrt(1 - b2**t) / (np.sqrt(v) + eps)
            w = w - lr * step
        return w

    return run


def lion(lr, b1, b2, wd):
    def run(w, gs):
        m = np.zeros_like(w)
        for g in gs:
            w = w - lr * (np.sign(b1 * m + (1 - b1) * g) + wd * w)
            m = b2 * m + (1 - b2) * g
        return w

    return run


def lamb(lr, b1, b2, eps, wd):
    def run(w, gs):
        m = v = np.zeros_like(w)
        for t, g in enumerate(gs, 1):
            m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
            u = (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps) + wd * w
            w = w - lr * norm(w) / norm(u) * u
        return w

    return run


def lars(lr, momentum, wd, trust, eps=0.0, nesterov=False, clip=False):
    def run(w, gs):
        v = np.zeros_like(w)
        for g in gs:
            local = trust * norm(w) / (norm(g) + wd * norm(w) + eps)
            rate = min(local, lr) if clip else local * lr
            move = rate * (g + wd * w)
            v = momentum * v + move
            w = w - (move + momentum * v if nesterov else v)
        return w

    return run


def lookahead(inner, k, alpha):
    """Around plain descent, whose steps need no state."""

    def run(w, gs):
        slow = w
        for t, g in enumerate(gs, 1):
            w = w - inner * g
            if t % k == 0:
                slow = slow + alpha * (w - slow)
                w = slow
        return w

    return run


FORMULAS = {
    "SGD": (o.SGD(0.1), sgd(0.1, 0, 0, 0, False)),
    "SGD momentum": (o.SGD(0.1, 0.9, 0.3, 0.1), sgd(0.1, 0.9, 0.3, 0.1, False)),
    "SGD nesterov": (o.SGD(0.1, 0.9, 0, 0.1, True), sgd(0.1, 0.9, 0, 0.1, True)),
    "Adam": (o.Adam(0.1, (0.8, 0.9), 1e-3, 0.1), adam(0.1, 0.8, 0.9, 1e-3, 0.1)),
    "Adam amsgrad": (
        o.Adam(0.1, (0.8, 0.9), 1e-3, amsgrad=True),
        adam(0.1, 0.8, 0.9, 1e-3, 0, amsgrad=True),
    ),
    "AdamW": (o.AdamW(0.1), adam(0.1, 0.9, 0.999, 1e-8, 0.01, decoupled=True)),
    "RMSProp": (o.RMSProp(0.1, 0.9, 1e-3, 0.1, 0.5), rmsprop(0.1, 0.9, 1e-3, 0.1, 0.5, False)),
    "RMSProp centered": (
        o.RMSProp(0.1, 0.9, 1e-3, 0.1, 0.5, True),
        rmsprop(0.1, 0.9, 1e-3, 0.1, 0.5, True),
    ),
    "Adagrad": (o.Adagrad(0.1, 0.1, 0.1, 0.5, 1e-3), adagrad(0.1, 0.1, 0.1, 0.5, 1e-3)),
    "RAdam": (o.RAdam(0.1, (0.8, 0.95), 1e-3, 0.1), radam(0.1, 0.8, 0.95, 1e-3, 0.1)),
    "Lion": (o.Lion(0.1, (0.8, 0.95), 0.1), lion(0.1, 0.8, 0.95, 0.1)),
    "Lamb": (o.Lamb(0.1, (0.8, 0.95), 1e-3, 0.1), lamb(0.1, 0.8, 0.95, 1e-3, 0.1)),
    "Lars": (o.Lars(0.5), lars(0.5, 0.0, 0.0, 0.001)),
    "Lars momentum": (o.Lars(0.5, 0.9, 0.1, 0.02), lars(0.5, 0.9, 0.1, 0.02)),
    "Lars eps": (o.Lars(0.5, 0.9, 0.1, 0.02, eps=3.0), lars(0.5, 0.9, 0.1, 0.02, 3.0)),
    "Lars nesterov": (
        o.Lars(0.5, 0.9, 0.1, 0.02, nesterov=True),
        lars(0.5, 0.9, 0.1, 0.02, nesterov=True),
    ),
    # LARC: with this trust the local rate is above lr at some steps and below at others
    "Lars clip": (
        o.Lars(0.07, 0.9, 0.1, 0.1, clip=True),
        lars(0.07, 0.9, 0.1, 0.1, clip=True),
    ),
    "Lookahead": (o.Lookahead(o.SGD(0.1), k=4, alpha=0.3), lookahead(0.1, 4, 0.3)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formula(name):
    optimizer, formula = FORMULAS[name]
    optimizer = optimizer.copy()
    weights = START.copy()
    for g in gradients():
        optimizer.step("w", weights, g)
    expected = formula(START, gradients())
    assert np.abs(expected - START).max() > 1e-3
    np.testing.assert_allclose(weights, expected, rtol=1e-11, atol=1e-12)


def test_the_local_rate_of_the_clipped_case_lies_on_both_sides_of_lr():
    size = norm(START)
    local = [0.1 * size / (norm(g) + 0.1 * size) for g in gradients()]
    assert min(local) < 0.07 < max(local)


@pytest.mark.parametrize("warmup", [False, True])
def test_average_of_weights(warmup):
    optimizer = o.EMA(o.SGD(0.1), decay=0.9, warmup=warmup)
    weights, average = START.copy(), START.copy()
    for t, g in enumerate(gradients(), 1):
        optimizer.step("w", weights, g)
        decay = min(0.9, (1 + t) / (10 + t)) if warmup else 0.9
        average = decay * average + (1 - decay) * weights
    np.testing.assert_allclose(optimizer.average("w"), average, rtol=1e-12)
    np.testing.assert_array_equal(weights, _plain(o.SGD(0.1)))


def _plain(optimizer):
    weights = START.copy()
    for g in gradients():
        optimizer.step("w", weights, g)
    return weights


def test_every_parameter_of_lookahead_counts_its_own_updates():
    optimizer = o.Lookahead(o.SGD(1.0), k=2, alpha=0.5)
    a, b = np.array([0.0]), np.array([0.0])
    one = np.array([1.0])
    optimizer.step("a", a, one)
    optimizer.step("b", b, one)
    assert (a, b) == (-1.0, -1.0)  # of a shared counter the second would be pulled back
    optimizer.step("a", a, one)
    assert a == -1.0  # 0 + 0.5 · (-2 - 0)
    assert b == -1.0


def test_excluded_parameters_are_neither_scaled_nor_decayed():
    g = np.array([3.0, 4.0])
    for exclude in ("*.bias", ["x", "*.bias"], lambda path: path.endswith("bias")):
        for optimizer in (o.Lars(0.1, weight_decay=0.5, exclude=exclude),):
            bias, weight = np.array([1.0, 1.0]), np.array([1.0, 1.0])
            optimizer.step("layer.bias", bias, g)
            optimizer.step("layer.weight", weight, g)
            np.testing.assert_allclose(bias, 1 - 0.1 * g)
            local = 0.001 * norm([1, 1]) / (5 + 0.5 * norm([1, 1]))
            np.testing.assert_allclose(weight, 1 - 0.1 * local * (g + 0.5))
    lamb_bias = np.array([1.0, 1.0])
    o.Lamb(0.1, weight_decay=0.5, exclude="*.bias").step("l.bias", lamb_bias, g)
    np.testing.assert_allclose(lamb_bias, 0.9, rtol=1e-5)


def test_a_zero_initialised_parameter_gets_the_base_rate_unless_clipped_or_excluded():
    """The rule of the paper leaves 1 where a norm is 0; it is a choice, and this is it."""
    for optimizer in (o.Lars(0.1), o.Lars(0.1, clip=True), o.Lars(0.1, variant="optax")):
        weights = np.zeros(2)
        optimizer.step("w", weights, np.array([3.0, 4.0]))
        np.testing.assert_allclose(weights, [-0.3, -0.4])
