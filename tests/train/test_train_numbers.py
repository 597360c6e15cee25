"""Python numbers in batches: known when the program runs, and weak."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert as wg

X = np.linspace(-1.0, 1.0, 64).reshape(32, 2)


def loss(w, x, scale, power):
    return wg.mean((x @ w - 1.0) ** 2) * (scale / 3) + wg.sum(w * w) * power / 7


def make(calls=None, dtype=np.float32, **options):
    def counted(*args):
        if calls is not None:
            calls.append(args)
        return loss(*args)

    return wg.TrainStep(counted, np.full(2, 0.3, dtype), wg.optim.SGD(0.1), **options)


@pytest.mark.parametrize("cast", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_change_without_recording_again(dtype, cast):
    calls = []
    step, plain = (make(calls, dtype, cast=cast), make(None, dtype, cast=cast, compiled=False))
    x = X.astype(dtype)
    for scale, power in ((0.5, 1), (0.25, 2), (2.0, 3), (0.5, 4)):
        np.testing.assert_allclose(step(x, scale, power), plain(x, scale, power), rtol=1e-5)
    assert len(calls) == 1
    assert step.model.dtype == dtype
    np.testing.assert_allclose(step.model, plain.model, rtol=1e-5)
    step.check(x, 0.5, 2)


def test_a_run_with_numbers_is_the_same_as_single_calls():
    run, single = make(), make()
    run.run(X, 0.3, 2, batch_size=4)
    for i in range(8):
        single(X[4 * i : 4 * i + 4], 0.3, 2)
    assert run.fingerprint() == single.fingerprint()
    run.run(X, 0.7, 3, batch_size=4)
    for i in range(8):
        single(X[4 * i : 4 * i + 4], 0.7, 3)
    assert run.fingerprint() == single.fingerprint()


def test_bound_functions_take_numbers():
    step, calls = make(), []
    bound = step.bind(lambda w, x, k: (calls.append(k), x @ w * k)[1])
    for k in (0.5, 2.0, 3.0):
        found = bound(X, k)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, X.astype(np.float32) @ step.model * k, rtol=1e-6)
    assert len(calls) == 1
    assert step.evaluate(lambda w, x, k: wg.mean(x) * 0 + k, X, 2.5, batch_size=5) == 2.5


def test_a_number_that_python_needs_is_specialised():
    step = wg.TrainStep(lambda w, x, n: wg.mean(x[:, :n] @ w[:n]), np.ones(2), wg.optim.SGD(0.0))
    with pytest.warns(UserWarning, match="the value of n "):
        step(X, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert step(X, 2) == pytest.approx(float(np.mean(X.sum(1))), abs=1e-15)


def test_a_number_that_is_not_finite_is_explained():
    step = make()
    with pytest.raises(wg.errors.NonFiniteError):
        step(X, float("nan"), 1)


def test_the_dtypes_of_batches_are_kept_beside_numbers():
    step = wg.TrainStep(lambda w, k, x: wg.mean(w * k * x), np.ones(2), wg.optim.SGD(0.0))
    whole = np.arange(4).reshape(2, 2)
    step(0.5, whole)
    step(np.float64(0.5), whole)
    with pytest.raises(wg.errors.DTypeError, match="'x' has dtype float64"):
        step(0.5, whole * 1.0)
