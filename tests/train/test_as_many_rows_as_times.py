"""Batches with as many rows as times: what a step says where the two are mixed up, in runs and in
loops of single calls, and right programs of which it says nothing.
"""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import ScannedRowsWarning, SizeWarning

N = 5  # rows of a batch, and times
X = np.random.default_rng(0).standard_normal((4 * N, N, 3))  # (rows, time, in)
Y, TIMES = X[:, 0, 0], X[:, :, 0]
FLOAT = {"dtype": np.float64, "seed": 0}
GRU = {"r": wg.nn.GRU(3, 2, **FLOAT), "o": wg.nn.Linear(2, 1, **FLOAT)}
CELL = {"w": np.full((3, 2), 0.1), "u": np.eye(2), "o": wg.nn.Linear(2, 1, **FLOAT)}


def outputs(m, x):
    return m["o"](m["r"](wg.swapaxes(x, 0, 1))[0])[..., 0]  # (time, rows)


def batch_first(m, x, y):
    return wg.mse(m["o"](m["r"](x)[1])[:, 0], y)


def last_row(m, x, y):
    return wg.mse(outputs(m, x)[:, -1], y)


def turned(m, x, y):
    return wg.mse(outputs(m, x), y)


def last_real(m, x, y):
    hs, lengths = m["r"](wg.swapaxes(x, 0, 1))[0], 1 + wg.argmax(x[:, :, 0], axis=1)
    return wg.mse(m["o"](hs[wg.arange(x.shape[0]), lengths - 1])[:, 0], y)


def last_real_of_rows(m, x, y):
    hs, lengths = m["r"](wg.swapaxes(x, 0, 1))[0], 1 + wg.argmax(x[:, :, 0], axis=1)
    return wg.mse(m["o"](hs[lengths - 1, wg.arange(x.shape[0])])[:, 0], y)


def by_hand(m, x, y):
    def cell(h, x):
        return wg.tanh(x @ m["w"] + h @ m["u"]), None

    h, _ = wg.scan(cell, wg.zeros((x.shape[0], 2), x.dtype), x)
    return wg.mse(m["o"](h)[:, 0], y)


def sliced(step, x, y):
    for i in range(0, len(x), N):
        step(x[i : i + N], y[i : i + N])


def picked(step, x, y):
    rows = np.random.default_rng(0).permutation(len(x))[:N]
    step(x[rows], y[rows])


def in_order(step, x, y):
    step.run(x, y, batch_size=N)


def shuffled(step, x, y):
    step.run(x, y, batch_size=N, shuffle_seed=0)


def told(loss, model, way, x, y):
    found = warned(lambda: way(wg.TrainStep(loss, model, wg.optim.SGD(0.01)), x, y))
    assert all(each.filename == __file__ for each in found)
    return [each.category for each in found]


WAYS = [sliced, in_order, shuffled]
MISTAKES = {
    batch_first: (GRU, Y, ScannedRowsWarning),
    last_row: (GRU, Y, SizeWarning),
    turned: (GRU, TIMES, SizeWarning),
    last_real: (GRU, Y, SizeWarning),
    by_hand: (CELL, Y, ScannedRowsWarning),
}


@pytest.mark.parametrize("loss", MISTAKES)
@pytest.mark.parametrize("way", WAYS)
def test_rows_and_times_that_are_mixed_up_are_told(loss, way):
    model, y, category = MISTAKES[loss]
    assert told(loss, model, way, X, y) == [category]


@pytest.mark.parametrize("loss", [last_row, turned])
def test_what_a_recurrent_layer_gives_is_told_of_rows_that_were_picked(loss):
    model, y, category = MISTAKES[loss]
    assert told(loss, model, picked, X, y) == [category]


def test_counted_rows_along_times_are_told_with_their_repair():
    (found,) = warned(lambda: shuffled(wg.TrainStep(last_real, GRU, wg.optim.SGD(0.01)), X, Y))
    assert "write hs[lengths - 1, wg.arange(batch)]" in str(found.message)


def test_a_scan_along_rows_is_told_with_its_repair():
    (found,) = warned(lambda: shuffled(wg.TrainStep(by_hand, CELL, wg.optim.SGD(0.01)), X, Y))
    assert "wg.scan(f, init, wg.swapaxes(x, 0, 1))" in str(found.message)


def swapped(m, x, y):
    return by_hand(m, wg.swapaxes(x, 0, 1), y)


def targets_turned(m, x, y):
    return turned(m, x, y.T)


@pytest.mark.parametrize("way", [*WAYS, picked])
def test_rows_and_times_that_meet_their_like_are_let_pass(way):
    assert told(swapped, CELL, way, X, Y) == []
    assert told(targets_turned, GRU, way, X, TIMES) == []
    assert told(last_real_of_rows, GRU, way, X, Y) == []


def each_batch(step, x, y):
    for one, other in zip(x, y, strict=True):
        step(one, other)


def along_axis_1(step, x, y):
    for i in range(0, x.shape[1], N):
        step(x[:, i : i + N], y[..., i : i + N])


def all_times(m, x, y):
    return wg.mse(m["o"](m["r"](x)[0])[..., 0], y)  # of (time, batch, in)


def test_times_first_are_let_pass():
    first = np.ascontiguousarray(np.swapaxes(X, 0, 1))  # (time, rows, in)
    assert told(batch_first, GRU, along_axis_1, first, Y) == []
    assert told(all_times, GRU, along_axis_1, first, first[..., 0]) == []
    batches, labels = X.flatten().reshape(4, N, N, 3), np.array(Y).reshape(4, N)
    assert told(batch_first, GRU, each_batch, batches, labels) == []
    assert told(batch_first, GRU, each_batch, np.array(batches), np.array(labels)) == []
    assert told(batch_first, GRU, picked, X, Y) == []  # may be (time, rows, in), and is let pass


def test_targets_that_come_turned_are_let_pass():
    first = np.ascontiguousarray(TIMES.T)  # (time, rows)

    def given(step, x, y):
        rows = np.arange(N)
        step(x[rows], TIMES[rows].T)
        step(x[rows], first[:, rows])
        step(x[rows], first[:, :N])

    assert told(turned, GRU, given, X, None) == []


def test_rows_and_columns_of_one_kind_are_let_pass():
    def of_neighbours(m, x, y):
        return wg.mse(wg.sum(x, axis=0) * m, y)

    def whole(step, x, y):
        step.run(x, y, batch_size=N)

    nodes = np.random.default_rng(0).random((N, N))  # rows and columns are nodes of a graph
    assert told(of_neighbours, np.ones(1), whole, nodes, Y[:N]) == []


P = np.linalg.inv(0.5 ** np.abs(np.subtract.outer(np.arange(4 * N), np.arange(4 * N))))  # by row
FLAT, B = X[:, 0], np.full(3, 0.1)


def residual(b, x, y):
    return y - x @ b


SQUARES = {
    "r @ P @ r": lambda b, x, y, p: residual(b, x, y) @ p @ residual(b, x, y),
    "r * (P @ r)": lambda b, x, y, p: wg.mean(residual(b, x, y) * (p @ residual(b, x, y))),
    "vecdot": lambda b, x, y, p: wg.vecdot(residual(b, x, y) @ p, residual(b, x, y)),
    "einsum": lambda b, x, y, p: wg.einsum("i,ij,j->", residual(b, x, y), p, residual(b, x, y)),
    "tensordot": lambda b, x, y, p: wg.mean((wg.tensordot(p, x @ b, 1) - y) ** 2),
    "two layers": lambda b, x, y, p: wg.mse(p @ wg.tanh(p @ x @ b), y),
}


def run_square(loss, model, *data, **options):
    step = wg.TrainStep(loss, model, wg.optim.SGD(1e-4))
    return warned(lambda: step.run(*data, batch_size=len(data[0]), **options))


@pytest.mark.parametrize("name", SQUARES)
def test_a_square_matrix_whose_rows_alone_are_shuffled_is_told(name):
    (found,) = run_square(SQUARES[name], B, FLAT, Y, P, shuffle_seed=0)
    assert (found.category, found.filename) == (SizeWarning, __file__)
    assert "leaves its columns as they are. Leave out shuffle_seed" in str(found.message)
    assert run_square(SQUARES[name], B, FLAT, Y, P) == []
    step = wg.TrainStep(SQUARES[name], B, wg.optim.SGD(1e-4))
    assert warned(lambda: [step(FLAT, Y, P) for _ in range(3)]) == []


def test_a_square_matrix_is_told_when_a_later_run_shuffles():
    step = wg.TrainStep(SQUARES["r @ P @ r"], B, wg.optim.SGD(1e-4))

    def run(seed):
        return warned(lambda: step.run(FLAT, Y, P, batch_size=4 * N, shuffle_seed=seed))

    assert warned(lambda: step(FLAT, Y, P)) == []
    assert run(None) == []
    assert [each.category for each in run(0)] == [SizeWarning]
    assert run(1) == []  # once


def test_a_kernel_matrix_and_its_coefficients_are_told():
    def ridge(a, k, y):
        return wg.mse(k @ a, y) + a @ k @ a

    assert len(run_square(ridge, np.zeros(4 * N), P, Y, shuffle_seed=0)) == 1
    assert run_square(ridge, np.zeros(4 * N), P, Y) == []


def test_fit_and_ensembles_that_shuffle_a_square_matrix_tell():
    loss = SQUARES["r @ P @ r"]
    step = wg.TrainStep(loss, B, wg.optim.SGD(1e-4))
    options = {"epochs": 2, "batch_size": 4 * N, "progress": False}
    assert len(warned(lambda: wg.train.fit(step, (FLAT, Y, P), **options))) == 1
    for options in ({"shuffle_seed": 0}, {"shuffle_seed": [0, 1]}):
        many = wg.Ensemble(loss, [B, B + 1], wg.optim.SGD(1e-4))
        found = warned(lambda: many.run(FLAT, Y, P, batch_size=4 * N, **options))  # noqa: B023
        assert [each.category for each in found] == [SizeWarning]


def test_a_square_matrix_of_features_is_let_pass():
    def features(m, x, y):
        return wg.mse(wg.tanh(x @ m["a"]) @ m["b"], y) + wg.mean(x.T @ x) + wg.mean(x @ x.T)

    model = {"a": np.full((4 * N, 3), 0.1), "b": B}
    assert run_square(features, model, P, Y, shuffle_seed=0) == []
    summed = run_square(lambda b, k: b @ (np.ones(4 * N) @ k), np.ones(4 * N), P, shuffle_seed=0)
    assert summed == []  # the same in any order


def test_a_square_matrix_from_outside_by_the_numbers_of_rows_is_right():
    def picked(b, x, y, i):
        r = residual(b, x, y)
        return r @ wg.asarray(P)[i][:, i] @ r

    ways = ((SQUARES["r @ P @ r"], P, None), (picked, np.arange(4 * N), 0))
    models = []
    for loss, last, seed in ways:
        step = wg.TrainStep(loss, B, wg.optim.SGD(1e-3))
        run = {"batch_size": 4 * N, "epochs": 5, "shuffle_seed": seed}
        assert warned(lambda: step.run(FLAT, Y, last, **run)) == []  # noqa: B023
        models.append(np.array(step.model))
    np.testing.assert_allclose(models[0], models[1], rtol=1e-10)


BLOCK = {"b": wg.nn.TransformerBlock(3, 1, **FLOAT), "o": wg.nn.Linear(3, 1, **FLOAT)}


@pytest.mark.parametrize("pooled", [lambda h: h[-1], lambda h: h[0], lambda h: wg.mean(h, axis=0)])
def test_rows_of_a_batch_that_comes_first_are_told_with_their_repair(pooled):
    def loss(m, x, y):
        return wg.mse(m["o"](pooled(m["b"](x)))[:, 0], y)

    (found,) = warned(lambda: shuffled(wg.TrainStep(loss, BLOCK, wg.optim.SGD(0.01)), X, Y))
    assert found.category is SizeWarning
    assert "of times write h[:, 0], h[:, -1] and wg.mean(h, axis=1)" in str(found.message)


def test_rows_behind_times_are_told_with_their_repair_where_the_batch_is_normalized():
    def loss(m, x, y):
        return last_row(m, x - wg.mean(x, axis=0), y)

    (found,) = warned(lambda: shuffled(wg.TrainStep(loss, GRU, wg.optim.SGD(0.01)), X, Y))
    assert "hs[-1] the last time of all rows" in str(found.message)


@pytest.mark.parametrize(
    "pooled", [lambda h: h[:, -1], lambda h: h[:, 0], lambda h: wg.mean(h, axis=1)]
)
def test_times_of_a_batch_that_comes_first_are_let_pass(pooled):
    def loss(m, x, y):
        return wg.mse(m["o"](pooled(m["b"](x)))[:, 0], y)

    assert told(loss, BLOCK, shuffled, X, Y) == []
