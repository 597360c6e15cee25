"""Lists of rows that a training step joins and pairs, or that would be constants: it says so."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import X, Y, stepped, warned
from wengert.errors import PairedRowsWarning, TraceError

COLUMN = np.ones((3, 1))
ROWS = [np.array([y]) for y in Y]  # collected of calls with one row each
NUMBERS = [np.asarray(y) for y in Y]


def rows_less(m, x, y):
    return wg.mean(((x @ m)[:, 0] - y) ** 2)


def column_less(m, x, y):
    return wg.mean((x @ m - wg.stack(y)) ** 2)


@pytest.mark.parametrize(("loss", "rows"), [(rows_less, ROWS), (column_less, NUMBERS)])
def test_a_list_of_rows_that_is_paired_is_named(loss, rows):
    (found,) = warned(stepped(loss, COLUMN, X, rows))
    assert (found.category, found.filename) == (PairedRowsWarning, __file__)
    assert "'y' is a list of 8 arrays of one number" in str(found.message)


@pytest.mark.parametrize(
    ("loss", "batch"),
    [
        (rows_less, (X, NUMBERS)),
        (column_less, (X, ROWS)),
        (rows_less, (X[:5], ROWS)),  # by chance no rows: there are others
    ],
)
def test_lists_that_fit_are_let_pass(loss, batch):
    assert warned(stepped(loss, COLUMN, *batch)) == []


@dataclass
class Features:
    v: Any


V = np.arange(8.0)
GIVEN = {
    "a dict": {"v": V.tolist(), "x": V},
    "a dataclass": Features(V.tolist()),
    "a tuple": (V, {"v": V.tolist()}),
    "lists of lists": {"v": [[a] for a in V.tolist()]},
    "lists of tuples": {"v": [(a, a) for a in V.tolist()]},
    "a list of NumPy's": {"v": list(V), "x": V},
}
CALLS = {
    "call": lambda step, d: step(d, Y),
    "run": lambda step, d: step.run(d, Y, batch_size=4),
    "evaluate": lambda step, d: step.evaluate(constant, d, Y, batch_size=4),
    "fit": lambda step, d: wg.train.fit(step, (d, Y), 1, 4, validation=0.5, progress=False),
}


def constant(m, d, y):
    """Whatever the data are."""
    return wg.mean((m - y) ** 2)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("given", GIVEN)
def test_lists_of_numbers_inside_of_data_are_refused(call, given):
    step = wg.TrainStep(constant, np.array(0.0), wg.optim.SGD(0.1))
    with pytest.raises(TraceError, match=r"'d(\.1)?\.v' is a list of numbers.*np.array"):
        CALLS[call](step, GIVEN[given])


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", [list, tuple])
def test_lists_of_numbers_of_numpy_are_refused(call, kind):
    """Rewards that were appended one by one: a run would shuffle the others alone."""
    numbers = kind(np.arange(9.0))
    step = wg.TrainStep(constant, np.array(0.0), wg.optim.SGD(0.1))
    with pytest.raises(TraceError, match=f"'d' is a {kind.__name__} of NumPy's numbers.*np.array"):
        CALLS[call](step, numbers)


def test_a_few_numbers_of_numpy_in_a_tuple_are_let_pass():
    step = wg.TrainStep(constant, np.array(0.0), wg.optim.SGD(0.1))
    assert np.isfinite(step((Y.mean(), Y.std()), Y))
    assert np.isfinite(step.run((Y.mean(), Y.std()), Y, batch_size=4).loss).all()


@dataclass
class Scaled:
    """A model whose sizes are a list."""

    w: Any
    sizes: Any

    def __call__(self, x):
        return self.w * x


def test_numbers_beside_arrays_and_settings_are_let_pass():
    step = wg.TrainStep(constant, np.array(0.0), wg.optim.SGD(0.1))
    settings = {"v": V, "window": (2, 3), "rate": 0.1, "names": ["a", "b"], "both": [V, 1.0]}
    for given in (settings, Scaled(V, [1, 2])):
        assert np.isfinite(step(given, Y))
    other = wg.TrainStep(
        lambda m, x: wg.sum(m["w"] * x), {"w": np.ones(8), "sizes": [1, 2]}, wg.optim.SGD(0.1)
    )
    assert np.isfinite(step(other.model, Y))
