"""Recurrent layers in the loss of a training step that go from row to row: it says so."""

import re

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import Y, stepped, warned
from wengert.errors import ScannedRowsWarning, SummedRowsWarning

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
    assert "If axis 0 of the data is time, swap it before the run." in str(found.message)


@pytest.mark.parametrize(
    ("loss", "options"),
    [
        (lambda m, x, y: all_times(m, wg.swapaxes(x, 0, 1), y.T), {"shuffle_seed": 0}),
        (all_times, {}),  # it may be a long series
    ],
)
def test_runs_along_times_are_let_pass(loss, options):
    assert run(loss, (SEQUENCES, np.ones((8, 5))), **options) == []


# Rows in order, in a run that shuffles them.

REWARDS = np.random.default_rng(3).standard_normal(8)
FEATURES = np.random.default_rng(4).standard_normal((8, 3))


def returned(w, x, r):
    return wg.mean((x @ w - wg.linear_recurrence(0.9, r, reverse=True)) ** 2)


def scanned(w, x, r):
    returns = wg.scan(lambda g, r: (r + 0.9 * g,) * 2, 0.0, r, reverse=True)[1]
    return wg.mean((x @ w - returns) ** 2)


def summed(w, x, r):
    return wg.mean((x @ w - wg.cumsum(r)) ** 2)


def next_value(w, x, r):
    v = x @ w
    return wg.mean((v[:-1] - r[:-1] - 0.9 * wg.stop_gradient(v[1:])) ** 2)


def values_again(w, x, r):
    return wg.mean(((x @ w)[:-1] - r[1:] - 0.9 * (x @ w)[1:]) ** 2)


def autoregression(w, x, r):
    return wg.mean((r[1:] - w[0] - w[1] * (r[:-1] - w[0])) ** 2)


def second_order(w, x, r):
    return wg.mse(wg.stack([r[1:-1], r[:-2]], axis=1) @ w[:2], r[2:])


def predicted_before(w, x, r):
    return wg.mean((x[1:, 0] - (x @ w)[:-1]) ** 2)


def next_class(w, x, r):
    logs = wg.log_softmax(x[:-1] * w)
    return -wg.mean(wg.take_along_axis(logs, wg.astype(x[1:, :1] > 0, int), axis=1))


def euler(w, x, r):
    return wg.mean((np.diff(r) / np.diff(x[:, 0]) + w[0] * r[:-1]) ** 2)


def drift(w, x, r):
    return wg.mean((np.diff(r) / 0.1 - w[0]) ** 2)


def associative(w, x, r):
    returns = wg.associative_scan(lambda a, b: 0.9 * a + b, r, reverse=True)
    return wg.mean((x @ w - returns) ** 2)


def joined(w, x, r):
    v = x @ w
    return wg.mean((v - r - 0.9 * wg.concat([v[1:], v[-1:]])) ** 2)


def padded(w, x, r):
    return wg.mean((x @ w - wg.pad(r[:-1], (1, 0))) ** 2)


def filtered(w, x, r):
    """The likelihood of a Kalman filter, which the carry adds up."""

    def body(carry, v):
        m, p, total = carry
        p = p + wg.exp(w[0])
        s = p + wg.exp(w[1])
        k = p / s
        return (m + k * (v - m), (1 - k) * p, total + wg.log(s) + (v - m) ** 2 / s), None

    return wg.scan(body, (0.0, 1.0, 0.0), r)[0][2]


def hidden_states(w, x, r):
    """The likelihood of a Markov chain that emits one of two classes."""

    def body(alpha, seen):
        moved = wg.logsumexp(alpha[:, None] + wg.log_softmax(w[:2] * np.eye(2)), axis=0)
        return moved + wg.log_sigmoid(wg.where(seen, w[1:], -w[1:])), None

    return -wg.logsumexp(wg.scan(body, wg.zeros(2), r > 0)[0])


def last_average(w, x, r):
    return (wg.scan(lambda m, v: (0.9 * m + 0.1 * v, None), 0.0, x @ w)[0] - 1.0) ** 2


def shuffled_run(loss, **options):
    step = wg.TrainStep(loss, np.ones(3), wg.optim.SGD(0.01))
    step(FEATURES, REWARDS)  # in order, by the same program
    return warned(lambda: step.run(FEATURES, REWARDS, batch_size=8, **options))


@pytest.mark.parametrize(
    ("loss", "name"),
    [
        (returned, "linear_rec"),
        (scanned, "scan"),
        (summed, "cumsum"),
        (next_value, "getitem"),
        (values_again, "getitem"),
        (autoregression, "getitem"),
        (second_order, "getitem"),
        (predicted_before, "getitem"),
        (next_class, "getitem"),
        (euler, "getitem"),
        (drift, "getitem"),
        (associative, "scan"),
        (joined, "concat"),
        (padded, "pad"),
        (filtered, "scan"),
        (hidden_states, "scan"),
        (last_average, "scan"),
    ],
)
def test_what_goes_from_row_to_row_is_named_in_a_run_that_shuffles_them(loss, name):
    (found,) = shuffled_run(loss, shuffle_seed=0)
    assert found.category is ScannedRowsWarning
    assert str(found.message).startswith(name)
    assert "Compute it before the run" in str(found.message)
    assert shuffled_run(loss) == []


def risk_sets(w, x, r):
    """Rows that the loss has sorted."""
    scores = (x @ w)[wg.argsort(r)]
    return wg.mean(wg.log(wg.cumsum(wg.exp(scores))) - scores)


def ranked(w, x, r):
    """Pairs of rows, whichever they are."""
    v = x @ w
    return wg.mean(wg.softplus((v[1:] - v[:-1]) * wg.sign(r[1:] - r[:-1])))


def ranked_by_terms(w, x, r):
    v = x @ w
    return wg.mean((v[1:] - r[1:] - v[:-1] + r[:-1]) ** 2)


def mixed(w, x, r):
    return wg.mean(((0.7 * x[1:] + 0.3 * x[:-1]) @ w - 0.7 * r[1:] - 0.3 * r[:-1]) ** 2)


def negatives(w, x, r):
    """Of each row, that of the next one."""
    v, u = wg.tanh(x @ w), wg.tanh(r * w[0])
    return (
        wg.mean(v * wg.roll(u, 1))
        + wg.mean(v * wg.roll(u, -1))
        + wg.mean(wg.relu(1 + (v * u)[:-1] - v[:-1] * u[1:]))
    )


def reconstructed(w, x, r):
    """Rows, and not their neighbours."""
    v = x @ w
    own, other = (v - x[:, 0]) ** 2, (v[:-1] - x[1:, 0]) ** 2
    return wg.mean(own) + wg.mean(wg.relu(1 - other))


def differences(w, x, r):
    return wg.mean((r[1:] - (r[:-1] + wg.tanh((x[1:] - x[:-1]) @ w))) ** 2)


def added_up(w, x, r):
    """A loop over rows, one at a time."""
    return wg.scan(lambda s, row: (s + (row[0] @ w - row[1]) ** 2, row[1]), 0.0, (x, r))[0]


def running_moments(w, x, r):
    """Of all rows, by Welford's formula: it does not matter which comes first."""

    def body(carry, v):
        n, mean, squares = carry
        off = v - mean
        mean = mean + off / (n + 1)
        return (n + 1, mean, squares + off * (v - mean)), None

    n, mean, squares = wg.scan(body, (0.0, 0.0, 0.0), x @ w - r)[0]
    return mean**2 + squares / n


def running_logsumexp(w, x, r):
    def body(carry, v):
        top, total = carry
        higher = wg.maximum(top, v)
        return (higher, total * wg.exp(top - higher) + wg.exp(v - higher)), v

    top, total = wg.scan(body, (-1e9, 0.0), x @ w - r)[0]
    return top + wg.log(total)


def noisy_sum(w, x, r):
    """Each row draws by a key that is carried."""

    def body(carry, row):
        key, total = carry
        key, own = wg.random.split(key)
        return (key, total + (row[0] @ w - row[1] + wg.random.normal(own, ())) ** 2), None

    return wg.scan(body, (wg.random.key(0), 0.0), (x, r))[0][1]


def last_is_dropped(w, x, r):
    """A filter beside a sum, which nothing reads."""
    return wg.scan(lambda c, v: ((0.9 * c[0] + v, c[1] + v * v), None), (0.0, 0.0), x @ w - r)[0][1]


@pytest.mark.parametrize(
    "loss",
    [
        running_moments,
        running_logsumexp,
        noisy_sum,
        last_is_dropped,
        risk_sets,
        ranked,
        ranked_by_terms,
        mixed,
        negatives,
        reconstructed,
        differences,
        added_up,
    ],
)
def test_rows_whose_order_does_not_matter_are_let_pass(loss):
    assert shuffled_run(loss, shuffle_seed=0) == []


def test_one_series_in_a_fit_that_shuffles_its_rows_is_named():
    def loss(m, x, r):
        return wg.mean((m[1](m[0](x)[0])[:, 0] - r) ** 2)

    model = [wg.nn.GRU(3, 2, **FLOAT), wg.nn.Linear(2, 1, **FLOAT)]

    def fit(**options):
        step = wg.TrainStep(loss, model, wg.optim.SGD(0.01))
        data = (FEATURES, REWARDS)
        return warned(lambda: wg.train.fit(step, data, 1, batch_size=4, progress=False, **options))

    (told,) = fit()
    assert told.category is ScannedRowsWarning
    assert str(told.message).startswith("GRU: it goes along axis 0")
    assert "shuffle_seed=None" in str(told.message)
    assert fit(shuffle_seed=None) == []


def test_a_carried_state_in_batches_of_time_is_told_to_keep_the_order():
    def loss(m, h, x, y):
        states, h = m[0](x, h)
        return wg.mean((m[1](states) - y) ** 2), h

    series = np.sin(np.arange(9)[:, None, None] + np.arange(2)[:, None])  # (time, series, 1)
    model = [wg.nn.GRU(1, 3, **FLOAT), wg.nn.Linear(3, 1, **FLOAT)]

    def fit(**options):
        step = wg.TrainStep(loss, model, wg.optim.SGD(0.01), state=np.zeros((2, 3)))
        data = series[:-1], series[1:]
        return warned(lambda: wg.train.fit(step, data, 1, batch_size=4, progress=False, **options))

    (told,) = fit()
    assert told.category is ScannedRowsWarning
    assert "keep the order of the rows, shuffle_seed=None" in str(told.message)
    assert "swap it before the run" not in str(told.message)
    assert fit(shuffle_seed=None) == []


SERIES = np.cumsum(np.random.default_rng(2).standard_normal(48))


def filtered(w, y):
    return wg.mean(wg.scan(lambda m, o: (m + wg.sigmoid(w) * (o - m), (o - m) ** 2), 0.0, y)[1])


def lagged(w, y):
    return wg.mean((y[1:] - w * y[:-1]) ** 2)


def told_in_evaluate(f, loss=filtered, size=12):
    step = wg.TrainStep(loss, np.array(0.3), wg.optim.SGD(0.1))
    assert not warned(lambda: step.run(SERIES, batch_size=12))  # whose batches may be windows
    return warned(lambda: step.evaluate(f, SERIES, batch_size=size))


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (filtered, "scan"),
        (lagged, r"getitem: x\[1:\] beside x\[:-1\]"),
        (lambda w, y: wg.mean(wg.cumsum(w * y)), "cumsum"),
        (lambda w, y: wg.mean(wg.linear_recurrence(0.9, w * y, reverse=True)), "linear_recurrence"),
        (lambda w, y: wg.mean(wg.associative_scan(wg.maximum, w * y)), "scan"),
    ],
)
def test_what_is_evaluated_along_the_rows_depends_on_the_batch(f, name):
    (found,) = told_in_evaluate(f)
    assert found.category is SummedRowsWarning
    assert re.search(rf"goes along the rows of a batch \({name}\)", str(found.message))
    assert "Evaluate all rows in one batch: batch_size=len(x)." in str(found.message)
    assert not told_in_evaluate(f, size=48)


@pytest.mark.parametrize(
    "f",
    [
        lambda w, y: wg.mean((y - w) ** 2),
        lambda w, y: wg.mean(wg.scan(lambda s, o: (s + o, (w * o) ** 2), 0.0, y)[1]),
        lambda w, y: wg.mean(wg.relu(1 - w * (y - wg.roll(y, 1)))),  # each row and another one
        lambda w, y: (
            wg.logsumexp(wg.log_softmax(w * y[:, None] * y, axis=1)[:, 0]) * 0 + wg.mean(y)
        ),
    ],
)
def test_what_is_evaluated_for_each_row_is_let_pass(f):
    assert not told_in_evaluate(f)


WALKS = np.cumsum(np.random.default_rng(3).standard_normal((48, 6, 2)), axis=1)


def told_of_layer(kind, given, size=12):
    """What is told of a layer that is evaluated on sequences, (batch, time, in)."""

    def error(m, x, y):
        return wg.mean((m[1](given(m[0], x))[..., 0] - y) ** 2)

    model = [kind(2, 3, **FLOAT), wg.nn.Linear(3, 1, **FLOAT)]
    step = wg.TrainStep(error, model, wg.optim.SGD(0.1))
    data = (WALKS, WALKS[..., 0])
    return warned(lambda: step.evaluate(error, *data, batch_size=size))


@pytest.mark.parametrize("kind", [wg.nn.GRU, wg.nn.LSTM, wg.nn.RNN])
def test_a_layer_along_the_rows_that_are_evaluated_is_told(kind):
    (found,) = told_of_layer(kind, lambda layer, x: layer(x)[0])
    assert found.category is SummedRowsWarning
    assert f"goes along the rows of a batch ({kind.__name__})" in str(found.message)
    assert "swap the axes: layer(wg.swapaxes(x, 0, 1)); if it is time" in str(found.message)
    assert not told_of_layer(kind, lambda layer, x: layer(x)[0], size=48)  # may be (time, batch)

    def along_time(layer, x):
        return wg.swapaxes(layer(wg.swapaxes(x, 0, 1))[0], 0, 1)

    assert not told_of_layer(kind, along_time)


def test_the_validation_of_a_fit_in_windows_is_let_pass():
    step = wg.TrainStep(filtered, np.array(0.3), wg.optim.SGD(0.1))
    fit = {"batch_size": 12, "shuffle_seed": None, "progress": False}
    assert not warned(lambda: wg.train.fit(step, SERIES, 2, validation=SERIES, **fit))
