"""Float32 that becomes float64 in a program: told once, at the line that widens it."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import wengert as wg
from core.warned_calls import W, X, trained, warned
from wengert.errors import (
    WengertWarning,
    WideningWarning,
)

WIDENED = {
    "a scalar below": lambda x: x / np.sqrt(4),
    "a scalar on the left": lambda x: np.sqrt(4) * x,
    "a scalar of NumPy's in where": lambda x: wg.where(x > 0, x, np.float64(2)),
    "an array without axes": lambda x: x + np.array(2.0),
    "an array": lambda x: x @ np.ones((4, 2)),
    "integers": lambda x: x * np.arange(4),
    "in a scan": lambda x: wg.scan(lambda c, row: (c, row * np.float64(2)), 0.0, x)[1],
}
KEPT = {
    "Python numbers": lambda x: x / math.sqrt(4) * 2 + 1.5,
    "float32": lambda x: x / np.float32(2) @ np.ones((4, 2), np.float32),
    "small integers": lambda x: x * np.arange(4, dtype=np.int8),
    "asked for": lambda x: x.astype(np.float64) / np.sqrt(4),
    "what was wide before": lambda x: wg.mean(x > 0) * np.sqrt(4),
    "an index": lambda x: x[np.arange(2)] + wg.take(x, np.array([0]), axis=0),
    "functions of ours": lambda x: wg.softmax(wg.gelu(wg.layer_norm(x))) + wg.mean(x, axis=0),
}


@pytest.mark.parametrize("name", WIDENED)
def test_float32_that_a_constant_widens_is_named_at_its_line(name):
    f = WIDENED[name]
    results = []
    (found,) = warned(lambda: results.append(wg.compile(f)(X)))
    assert found.category is WideningWarning
    assert found.filename == __file__
    assert found.lineno == f.__code__.co_firstlineno
    assert "float32 meets" in str(found.message)
    assert results[0].dtype == np.float64  # it is no false alarm


@pytest.mark.parametrize("name", KEPT)
def test_what_stays_float32_or_was_asked_for_is_no_reason_to_warn(name):
    def kept(w, x):
        return wg.mean(KEPT[name](x * w)).astype("float32") + wg.sum(w)

    assert warned(lambda: wg.compile(KEPT[name])(X)) == []
    assert warned(lambda: trained(kept)) == []


def test_a_batch_of_float64_that_is_not_cast_is_no_reason_to_warn():
    def run():
        step = wg.TrainStep(lambda w, x: wg.mean(x * w), W, wg.optim.SGD(0.1), cast=False)
        step(X.astype(np.float64))

    assert warned(run) == []


INTEGERS = {
    "features": lambda w, n: wg.mean(n @ w),
    "targets": lambda w, n: wg.mean((w[:, 0] - n[0]) ** 2),
    "a layer": lambda w, n: wg.mean(wg.nn.Linear.of(w.T)(n)),
}
COUNTS = np.arange(12).reshape(3, 4)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_of_a_batch_that_widen_are_named_at_their_line(name):
    loss, model = INTEGERS[name], np.ones((4, 2), np.float32)
    for call in (
        lambda: wg.TrainStep(loss, model, wg.optim.SGD(0.1))(COUNTS),
        lambda: wg.compile(wg.grad(loss))(model, COUNTS),
    ):
        (found,) = warned(call)
        assert found.category is WideningWarning
        assert (found.filename, found.lineno) == (__file__, loss.__code__.co_firstlineno)
        assert "float32 meets an array of int64" in str(found.message)


NOT_WIDENED = {
    "converted": lambda w, n: wg.mean(n.astype(np.float32) @ w),
    "small integers": lambda w, n: wg.mean(n.astype(np.int8) @ w),
    "asked for": lambda w, n: wg.mean(w.astype(np.float64).T @ n.T),
    "classes": lambda w, n: wg.cross_entropy(w, n[0] % 2),
    "an index": lambda w, n: wg.mean(w[n[0] % 4]) + wg.mean(wg.take(w, n[0] % 4, axis=0)),
    "a mask": lambda w, n: wg.mean(w * (n[0][:, None] > 3)),
    "a size": lambda w, n: wg.sum(w) / n.shape[0],
}


@pytest.mark.parametrize("name", NOT_WIDENED)
def test_integers_that_do_not_widen_are_no_reason_to_warn(name):
    model = np.ones((4, 2), np.float32)
    step = wg.TrainStep(NOT_WIDENED[name], model, wg.optim.SGD(0.1))
    assert warned(lambda: step(COUNTS)) == []


def test_a_state_that_is_wider_than_the_model_is_named():
    def loss(w, state, x):
        return wg.mean(x * w - state["mean"]), {"mean": wg.mean(x) + 0 * state["mean"]}

    def made(dtype, model=W, **options):
        state = {"mean": np.zeros((), dtype), "count": np.zeros(2, int)}
        wg.TrainStep(loss, model, wg.optim.SGD(0.1), state=state, **options)

    (found,) = warned(lambda: made(np.float64))
    assert found.category is WideningWarning
    assert found.filename == __file__
    assert "leaf 'mean' of the state is float64, and the model float32" in str(found.message)
    assert warned(lambda: made(np.float32)) == []
    assert warned(lambda: made(np.float64, cast=False)) == []
    assert warned(lambda: made(np.float64, model=W.astype(np.float64))) == []


def test_a_float64_model_is_no_reason_to_warn():
    assert warned(lambda: wg.compile(lambda x: x / np.sqrt(2))(X.astype(np.float64))) == []


def test_a_line_is_shown_once_and_each_line_for_itself():
    def loss(w, x):
        y = x * w / np.sqrt(2)
        z = x * w * np.float64(3)
        return wg.mean(y) + wg.mean(z)

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            trained(loss)
    first = loss.__code__.co_firstlineno
    assert [each.lineno for each in found] == [first + 1, first + 2]


def test_a_category_silences():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", WideningWarning)
        wg.compile(lambda x: x / np.sqrt(2))(X)
    assert found == []
    with warnings.catch_warnings():
        warnings.simplefilter("error", WengertWarning)
        with pytest.raises(WideningWarning, match=r"divide: float32 meets np\.float64"):
            wg.compile(lambda x: x / np.sqrt(2))(X)
