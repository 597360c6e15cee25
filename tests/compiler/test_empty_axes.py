"""Axes of an open size that is 0 when a program is called: what eager calls give or refuse."""

import warnings

import numpy as np
import pytest

import wengert as wg

REDUCTIONS = {
    "max": np.max,
    "max of columns": lambda x: np.max(x, axis=0),
    "max of rows": lambda x: np.max(x, axis=1),
    "min": lambda x: np.amin(x, axis=(0, 1)),
    "ufunc": np.maximum.reduce,
    "argmax": np.argmax,
    "argmax of columns": lambda x: np.argmax(x, axis=0, keepdims=True),
    "argmin of columns": lambda x: x.argmin(0),
    "argmin of rows": lambda x: x.argmin(1),
    "ptp": lambda x: np.ptp(x, axis=0),
    "of a slice": lambda x: np.max(x[1:], axis=0),
    "median": lambda x: np.median(x, axis=0),
    "sum": lambda x: np.sum(x, axis=0),
    "prod": np.prod,
    "mean": lambda x: np.mean(x, axis=0),
    "nanmean": lambda x: np.nanmean(x, axis=0),
    "std": lambda x: np.std(x, axis=0, ddof=1),
    "any": lambda x: np.any(x, axis=0),
    "sort": lambda x: np.sort(x, axis=0),
    "logsumexp": lambda x: wg.logsumexp(x, axis=0),
    "softmax": lambda x: wg.softmax(x, axis=0),
    "largest norm": lambda x: wg.linalg.vector_norm(x, ord=np.inf),
    "norm": lambda x: wg.linalg.vector_norm(x, axis=0),
    "in a loop": lambda x: wg.scan(lambda c, _: (c, np.max(x)), 0.0, np.zeros(2))[1],
}


def outcome(f, x):
    """The value of a call, or what it says instead, without the line."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(x)
        except wg.errors.ShapeError as error:
            return str(error).partition(" (test_")[0]


def require_alike(compiled, function, sizes):
    refused = 0
    for size in sizes:
        x = np.random.default_rng(size).standard_normal((size, 3))
        found, expected = outcome(compiled, x), outcome(lambda x: wg.vjp(function, x)[0], x)
        refused += isinstance(expected, str)
        if isinstance(expected, str):
            assert found == expected
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    return refused


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("sizes", [(0, 3, 0, 1), (4, 0, 2)], ids=str)
def test_reductions(name, sizes):
    function = REDUCTIONS[name]
    compiled = wg.compile(lambda x: function(x), dims={"x": {0: wg.Dim("n")}})
    refused = require_alike(compiled, function, sizes)
    without = ("max", "min", "ufunc", "arg", "ptp", "of a slice", "in a loop")
    if name.startswith(without) and "rows" not in name:
        assert refused >= sizes.count(0)
    else:
        assert refused == 0


def test_training_goes_on_after_a_batch_of_no_rows():
    step = wg.TrainStep(lambda w, x: np.max(x * w), np.ones(3), wg.optim.SGD(0.5))
    before = step.fingerprint()
    for _ in range(2):
        with pytest.raises(wg.errors.ShapeError, match="max: given shape"):
            step(np.ones((0, 3)))
        assert step.fingerprint() == before
        step(np.ones((2, 3)))
        before = step.fingerprint()
