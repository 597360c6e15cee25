"""Recurrent layers in the loss of a training step that go from row to row: it says so."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import Y, stepped, warned
from wengert.errors import ScannedRowsWarning

SEQUENCES = np.random.default_rng(2).standard_normal((8, 5, 3))  # (batch, time, in)
FLOAT = {"dtype": np.float64, "seed": 0}


def last_time(m, x, y):
    hs, _ = m[0](x)
    return wg.mean((m[1](hs[:, -1])[:, 0] - y) ** 2)


def mean_of_times(m, x, y):
    return wg.mean((m[1](wg.mean(m[0](x)[0], axis=1))[:, 0] - y) ** 2)


def last_state(m, x, y):
    hs, _ = m[0](x)
    return wg.mean((m[1](hs[-1])[:, 0] - y) ** 2)


def all_times(m, x, y):
    return wg.mean((m[1](m[0](x)[0])[..., 0] - y) ** 2)


def recurrent(kind, loss, *batch):
    model = [kind(3, 2, **FLOAT), wg.nn.Linear(2, 1, **FLOAT)]
    return stepped(loss, model, *batch)


@pytest.mark.parametrize("kind", [wg.nn.GRU, wg.nn.LSTM, wg.nn.RNN])
def test_a_recurrent_layer_that_goes_from_row_to_row_is_named(kind):
    (found,) = warned(recurrent(kind, last_time, SEQUENCES, Y))
    assert found.category is ScannedRowsWarning
    assert found.lineno == last_time.__code__.co_firstlineno + 1
    assert f"{kind.__name__}: given xs of shape (n, 5, in)" in str(found.message)
    assert "layer(wg.swapaxes(xs, 0, 1))" in str(found.message)


def test_a_recurrent_layer_in_a_checkpoint_is_named():
    def loss(m, x, y):
        return wg.checkpoint(last_time)(m, x, y)

    (found,) = warned(recurrent(wg.nn.GRU, loss, SEQUENCES, Y))
    assert found.category is ScannedRowsWarning


def test_rows_are_known_by_targets_that_have_no_time():
    (found,) = warned(recurrent(wg.nn.GRU, mean_of_times, SEQUENCES, Y))
    assert found.category is ScannedRowsWarning


@pytest.mark.parametrize(
    ("loss", "batch"),
    [
        (last_state, (SEQUENCES.swapaxes(0, 1), Y)),  # a time first
        (last_state, (np.ones((8, 8, 3)), Y)),  # as many times as rows
        (all_times, (SEQUENCES, np.ones((8, 5)))),  # with a target for each time
        (lambda m, x, y: last_state(m, wg.swapaxes(x, 0, 1), y), (SEQUENCES, Y)),
    ],
)
def test_sequences_with_time_first_are_let_pass(loss, batch):
    assert warned(recurrent(wg.nn.GRU, loss, *batch)) == []


def run(loss, batch, **options):
    model = [wg.nn.GRU(3, 2, **FLOAT), wg.nn.Linear(2, 1, **FLOAT)]
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.01))
    return warned(lambda: step.run(*batch, epochs=2, batch_size=4, **options))


def test_a_run_that_shuffles_rows_has_no_times_along_them():
    (found,) = run(all_times, (SEQUENCES, np.ones((8, 5))), shuffle_seed=0)
    assert found.category is ScannedRowsWarning


@pytest.mark.parametrize(
    ("loss", "options"),
    [
        (lambda m, x, y: all_times(m, wg.swapaxes(x, 0, 1), y.T), {"shuffle_seed": 0}),
        (all_times, {}),  # it may be a long series
    ],
)
def test_runs_along_times_are_let_pass(loss, options):
    assert run(loss, (SEQUENCES, np.ones((8, 5))), **options) == []
